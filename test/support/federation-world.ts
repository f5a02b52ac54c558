// Homes and owners on a bus in the process, with a clock that the test turns. The servers of owners are functions of the test.

import { ClaimFault, Claims } from '../../src/federation/claims.ts';
import { Home } from '../../src/federation/home.ts';
import type { HomeConnection } from '../../src/federation/home-connection.ts';
import type { Holder } from '../../src/federation/lease-table.ts';
import { Owner } from '../../src/federation/owner.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/model/limits.ts';
import { Places } from '../../src/model/places.ts';
import type { BusPrincipal } from '../../src/model/principal.ts';
import type { BusServer } from '../../src/model/server-definition.ts';
import { NO_FILTER } from '../../src/model/tool-rules.ts';
import type { Carrier, LinkHandler } from '../../src/wire/link.ts';
import { FlushTurn } from '../../src/wire/outbox.ts';
import { ReadPacer } from '../../src/wire/read-pacer.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryBus, type MemoryNode } from './memory-bus.ts';
import { StillClock } from './still-clock.ts';

export interface Asked {
  readonly id: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly principal: BusPrincipal;
  answer(result: object): void;
  progress(progress: number): void;
  /** True once the caller has cancelled it. */
  isCancelled: boolean;
}

export type TestTool = (asked: Asked) => void;

export class FederationWorld {
  readonly bus = new MemoryBus();
  readonly clock = new FakeClock();
  readonly turn = new FlushTurn((flush) => this.#later.push(flush));
  /** Those of all hosts that are made from now on. */
  limits: Limits;
  /** Long answers that are parked. */
  readonly parked = new Map<string, Uint8Array>();
  /** Parking takes until then. */
  parking: Promise<void> = Promise.resolve();
  /** A reason why nothing can be parked. */
  parkingFault: Error | undefined;
  /** A reason why nothing that is parked can be taken now. */
  takingFault: Error | undefined;
  /** What was refused on either side. */
  readonly refused: string[] = [];
  /** Hosts that give no sign of life. */
  readonly silent = new Set<string>();
  /** Homes take parts on a connection of their own. */
  hasBulk = false;
  /** Hosts that may not be used. */
  readonly unused = new Set<string>();
  readonly runs = new Map<string, string>();
  /** Its time never passes, so it never lets anything wait. */
  pacer = new ReadPacer({ now: () => 0 });
  #later: (() => void)[] = [];

  constructor(limits: Partial<Limits> = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** The store of long answers, for one daemon. */
  claims(): Claims {
    const { parked } = this;
    return new Claims(() => {
      if (this.parkingFault !== undefined) return Promise.reject(this.parkingFault);
      return Promise.resolve({
        put: async (id, bytes) => {
          await this.parking;
          parked.set(id, bytes);
        },
        take: (id) => {
          if (this.takingFault !== undefined) return Promise.reject(this.takingFault);
          const bytes = parked.get(id);
          parked.delete(id);
          const gone = new ClaimFault('it is not there any more', { isGone: true });
          return bytes === undefined ? Promise.reject(gone) : Promise.resolve(bytes);
        },
      });
    });
  }

  owner(host: string, serve: TestTool, run = `run-${host}`): OwnerNode {
    this.runs.set(host, run);
    return new OwnerNode(this, host, run, serve);
  }

  home(host: string, user = 'ann'): HomeNode {
    return new HomeNode(this, host, user);
  }

  /** Lets happen what is due now. */
  settle(): void {
    for (;;) {
      this.bus.nowMs = this.clock.now();
      this.bus.deliver();
      const later = this.#later;
      this.#later = [];
      for (const task of later) task();
      if (later.length === 0 && this.bus.isIdleAt(this.clock.now())) return;
    }
  }

  /** Lets pass what does not wait for the clock, until something holds. */
  async passed(holds: () => boolean): Promise<void> {
    for (let i = 0; i < 1000 && !holds(); i++) {
      await Promise.resolve();
      this.settle();
    }
  }

  /** Ends the last call in the place of an owner. */
  forgeEnd(host: string, headers: Record<string, string>, body = ''): void {
    const reply = this.bus.published.findLast((message) => message.reply !== undefined)?.reply ?? '';
    const frame = { 'Mcp-Frame': 'end', 'Mcp-Seq': '1', 'Mcp-Owner': `${host} ${this.runs.get(host)}` };
    this.bus.node().publish({ subject: reply, headers: { ...frame, ...headers }, data: Buffer.from(body) });
    this.settle();
  }

  /** Turns the clock on, and lets happen what is due on the way. */
  advance(ms: number, stepMs = 250): void {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(left, stepMs));
      this.settle();
    }
  }
}

/** The process of a daemon, which can stand still. */
class Process {
  readonly node: MemoryNode;
  readonly clock: StillClock;
  readonly #world: FederationWorld;

  constructor(world: FederationWorld) {
    this.#world = world;
    this.node = world.bus.node();
    this.clock = new StillClock(world.clock);
  }

  standStill(): void {
    this.clock.standStill();
    this.node.isFrozen = true;
  }

  /** Its timers ring and its messages come, in either order. */
  goOn(isTimersFirst: boolean): void {
    if (isTimersFirst) this.clock.goOn();
    this.node.isFrozen = false;
    this.#world.settle();
    this.clock.goOn();
    this.#world.settle();
  }
}

class OwnerNode extends Process {
  /** The number of its lease, if it serves a server that remembers. */
  fence: number | undefined;
  readonly owner: Owner;
  /** The links of its clients, in the order in which they came. */
  readonly links: Carrier[] = [];

  constructor(world: FederationWorld, host: string, run: string, serve: TestTool) {
    super(world);
    const { turn, limits } = world;
    const { clock } = this;
    this.owner = new Owner({
      ...{ bus: this.node, clock, turn, limits, tenant: 'acme', host, run, uid: 1 },
      accept: (link, principal) => {
        this.links.push(link);
        serveLink(link, principal, serve);
      },
      fenceOf: () => this.fence,
      runOf: (from) =>
        from.startsWith('invented') || world.silent.has(from) ? undefined : (world.runs.get(from) ?? `run-${from}`),
      claims: world.claims(),
      refused: (_, why, count) => world.refused.push(count === undefined ? why : `${why} (${count})`),
      places: new Places(limits),
      pacer: world.pacer,
      failed: (error) => {
        throw error;
      },
    });
    this.owner.offer([{ name: 'tools', isForAny: true }]);
  }
}

/** Plays the core: each request goes to the test's server, and a cancelled one gets no answer. */
function serveLink(link: Carrier, principal: BusPrincipal, serve: TestTool): void {
  const open = new Map<string, Asked>();
  const write = (message: object, aim: () => void): void => {
    aim();
    link.outbox.utf8(JSON.stringify(message));
    link.outbox.endFrame();
  };
  link.start({
    frame: (b, start, end) => {
      const message = JSON.parse(b.toString('utf8', start, end)) as {
        id?: unknown;
        method: string;
        params?: Record<string, unknown>;
      };
      if (message.id === undefined) {
        const asked = open.get(JSON.stringify(message.params?.requestId));
        if (asked !== undefined) asked.isCancelled = true;
        return;
      }
      const id = JSON.stringify(message.id);
      const asked: Asked = {
        ...{ id, method: message.method, params: message.params ?? {}, principal, isCancelled: false },
        answer: (result) => {
          if (asked.isCancelled || !open.delete(id)) return;
          write({ jsonrpc: '2.0', id: message.id, result }, () => link.streams?.answering(id));
        },
        progress: (progress) => {
          if (asked.isCancelled || !open.has(id)) return;
          const params = { progressToken: 1, progress };
          write({ jsonrpc: '2.0', method: 'notifications/progress', params }, () => link.streams?.during(id));
        },
      };
      open.set(id, asked);
      serve(asked);
    },
    overflowed: () => undefined,
    badFrame: () => undefined,
    ended: () => undefined,
    closed: () => undefined,
    drained: () => undefined,
  });
}

interface CameBack {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly progress?: number };
  readonly result?: { readonly text?: string; readonly requestState?: string };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code?: string } };
}

class HomeNode extends Process {
  readonly home: Home;
  readonly #world: FederationWorld;

  constructor(world: FederationWorld, host: string, user: string) {
    super(world);
    this.#world = world;
    const { turn, limits } = world;
    const { clock } = this;
    this.home = new Home({
      ...{ bus: this.node, clock, turn, limits, tenant: 'acme', user, host, hasBulk: world.hasBulk },
      runOf: (name) => world.runs.get(name),
      claims: world.claims(),
      ownersOf: () => [...world.runs.keys()].filter((name) => !world.unused.has(name)),
      mayAskAny: () => world.unused.size === 0,
      refused: (_, host, why) => world.refused.push(`${host}: ${why}`),
    });
  }

  /** `holder` is the host that serves it by a lease. */
  open(host: string | undefined, holder?: Holder): TestConnection {
    const name = host === undefined ? 'tools' : `tools@${host}`;
    const definition: BusServer = {
      ...{ transport: 'bus', name, offeredName: 'tools', host, mark: 'm', description: '' },
      ...{ timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined, tools: NO_FILTER },
      ...{ trustHints: false, sharing: 'shared' },
    };
    // Its time never passes, so it never lets anything wait.
    const pacer = new ReadPacer({ now: () => 0 });
    const failed = (error: unknown): void => {
      throw error;
    };
    return new TestConnection(this.#world, this.home.open(definition, { pacer, failed }, holder));
  }
}

const CONTROL = /^mcp\.v1\.host\.\w+\.\w+\.\w+\.call\.(.+)$/;

/** True for a subject on which a caller says more about its call. */
export const isControl = (subject: string): boolean => CONTROL.test(subject);

/** The subject of the answers to the call that a control subject is about. */
export const replyOfControl = (subject: string): string => subject.replace(CONTROL, '_INBOX.$1');

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

class TestConnection {
  readonly connection: HomeConnection;
  /** All that came back, in its order. */
  readonly came: CameBack[] = [];
  endedBy: string | undefined;
  readonly #world: FederationWorld;

  constructor(world: FederationWorld, connection: HomeConnection) {
    this.#world = world;
    this.connection = connection;
    void connection.ended.then((how) => {
      this.endedBy = how;
    });
    const handler: LinkHandler = {
      frame: (b, start, end) => this.came.push(JSON.parse(b.toString('utf8', start, end)) as CameBack),
      overflowed: () => undefined,
      badFrame: () => undefined,
      ended: () => undefined,
      closed: () => undefined,
      drained: () => undefined,
      returned: ({ b, start, end }) => {
        this.returned.push((JSON.parse(b.toString('utf8', start, end)) as { id: number }).id);
        return true;
      },
      mayRepeat: (idText) => this.safe.has(idText),
    };
    connection.start(handler);
  }

  write(message: object): void {
    this.connection.outbox.utf8(JSON.stringify(message));
    this.connection.outbox.endFrame();
    this.#world.settle();
  }

  call(id: number, args: object, name = 'work'): void {
    this.write({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: META } });
  }

  list(id: number, meta: object = {}): void {
    this.write({ jsonrpc: '2.0', id, method: 'tools/list', params: { _meta: { ...META, ...meta } } });
  }

  cancel(id: number): void {
    this.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  }

  /** The request state in the answer to a request. */
  stateOf(id: number): string | undefined {
    return this.answersTo(id)[0]?.result?.requestState;
  }

  /** Requests that were given back, to be made on another connection. */
  readonly returned: number[] = [];

  /** The ids of requests that do no harm twice. */
  readonly safe = new Set<string>();

  answersTo(id: number): CameBack[] {
    return this.came.filter((message) => message.id === id);
  }
}
