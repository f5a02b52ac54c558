// The core on links in memory, with a clock and a turn of the loop that the test moves, and servers that say what the
// test tells them to. Nothing happens by itself: settle() lets happen what is due.

import { type AuditTrail, keepAuditTrail } from '../../src/core/audit-trail.ts';
import { CallMeters } from '../../src/core/call-meter.ts';
import type { CallTracing } from '../../src/core/call-tracing.ts';
import { ConnectionManager } from '../../src/core/connection-manager.ts';
import { Counters } from '../../src/core/counters.ts';
import { Events } from '../../src/core/events.ts';
import type { DialInDesk } from '../../src/core/handshake.ts';
import type { Instance, InstanceContext } from '../../src/core/instance.ts';
import { OwnedTasks } from '../../src/core/owned-tasks.ts';
import type { ControlHandler } from '../../src/core/router.ts';
import { type Runner, Server } from '../../src/core/server.ts';
import { KnownServer } from '../../src/core/server-knowledge.ts';
import type { Session } from '../../src/core/session.ts';
import { SuspendedCalls } from '../../src/core/suspended-calls.ts';
import { ToolAccounts } from '../../src/core/tool-accounts.ts';
import { ClientMessaging } from '../../src/messaging/client-messaging.ts';
import { ArgumentCheck } from '../../src/meta-tools/argument-check.ts';
import { DiscoverTools } from '../../src/meta-tools/discover-tools.ts';
import { ToolFinder } from '../../src/meta-tools/tool-finder.ts';
import type { ClientSettingsSource } from '../../src/model/client-settings.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/model/limits.ts';
import { DEFAULT_LIVENESS, type LivenessSettings } from '../../src/model/liveness-settings.ts';
import { DEFAULT_MESSAGING, type MessagingSettings } from '../../src/model/messaging-settings.ts';
import type { Grant } from '../../src/model/principal.ts';
import type { ServerNature, Sharing } from '../../src/model/server-definition.ts';
import { DEFAULT_RESULTS, type ResultsSettings } from '../../src/model/settings.ts';
import { OPEN_GATE } from '../../src/model/tool-gate.ts';
import type { Era } from '../../src/protocol/era.ts';
import { ERA_2025 } from '../../src/protocol/era-2025.ts';
import { ResultDesk } from '../../src/results/result-desk.ts';
import { BridgeError } from '../../src/util/bridge-error.ts';
import type { Logger } from '../../src/util/logger.ts';
import { type Frame, FrameSplitter } from '../../src/wire/frame-splitter.ts';
import type { Carrier, CarrierHandler, LinkHandler } from '../../src/wire/link.ts';
import { type ByteSink, FlushTurn, Outbox } from '../../src/wire/outbox.ts';
import { FakeClock } from './fake-clock.ts';

/** What tests look at in a message. */
export interface Message {
  readonly jsonrpc?: string;
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly code?: string; readonly server?: string; readonly reason?: string };
  };
}

type Later = (task: () => void) => void;

/** The daemon's end of a link, whose other end is a test. */
export class TestLink implements Carrier, ByteSink {
  readonly outbox: Outbox;
  readonly lines: string[] = [];
  readonly #later: Later;
  readonly #reader: FrameSplitter;
  readonly #splitterOf: (handler: LinkHandler) => FrameSplitter;
  #handler: LinkHandler | undefined;
  #splitter: FrameSplitter | undefined;
  #counter: CarrierHandler | undefined;
  readonly #untaken: Buffer[] = [];
  readonly #unread: Buffer[] = [];
  #isBlocked = false;
  isPaused = false;
  #daemonEnded = false;
  #isEnding = false;
  #peerEnded = false;
  isClosed = false;
  /** A peer that does not close its side when the daemon has. */
  clingsOn = false;
  /** On a socket this is an error that destroys it, and loses what is still queued. */
  writesAfterEnd = 0;
  /** Told each line that the peer takes. */
  onLine: ((line: string) => void) | undefined;

  constructor(later: Later, turn: FlushTurn, maxFrameBytes: number) {
    this.#later = later;
    this.outbox = new Outbox(this, turn);
    this.#reader = new FrameSplitter(1 << 30, {
      frame: (b, start, end) => {
        const line = b.toString('utf8', start, end);
        this.lines.push(line);
        this.onLine?.(line);
      },
      overflowed: () => undefined,
      badFrame: (reason) => this.lines.push(reason),
    });
    this.#splitterOf = (handler) => new FrameSplitter(maxFrameBytes, handler);
  }

  get writableLength(): number {
    return this.#untaken.reduce((sum, { length }) => sum + length, 0);
  }
  write(bytes: Uint8Array): boolean {
    if (this.#daemonEnded) this.writesAfterEnd++;
    this.#untaken.push(Buffer.from(bytes));
    if (!this.#isBlocked) this.take();
    return !this.#isBlocked;
  }
  cork(): void {
    this.#isBlocked ||= false;
  }
  uncork(): void {
    this.#isBlocked ||= false;
  }
  start(handler: LinkHandler): void {
    this.#handler = handler;
    this.#splitter = this.#splitterOf(handler);
  }
  get heldBytes(): number {
    return this.#splitter?.heldBytes ?? 0;
  }
  handTo(handler: CarrierHandler, { b, end }: Frame): number {
    this.#handler = handler;
    this.#splitter?.handTo(handler);
    this.#counter = handler;
    return this.#splitter?.bytesBehind(b, end) ?? 0;
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
    this.#later(() => this.#read());
  }
  end(): void {
    this.outbox.flush();
    this.#daemonEnded = true;
    this.resume();
    this.#closeIfOver();
  }
  destroy(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.outbox.close();
    this.#later(() => this.#handler?.closed());
  }

  // --- the peer's side ---

  /** Takes nothing more of what is meant for it. */
  block(): void {
    this.#isBlocked = true;
  }
  /** Takes everything, or as many writes as told. */
  take(writes = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < writes; i++) {
      const bytes = this.#untaken.shift();
      if (bytes === undefined) break;
      this.#reader.push(bytes);
    }
    this.#closeIfOver();
  }
  /** The same, and the daemon is told; what comes from then on is not taken. */
  drain(writes: number): void {
    this.take(writes);
    this.#handler?.drained();
  }
  unblock(): void {
    this.#isBlocked = false;
    this.take();
    this.#handler?.drained();
  }
  push(bytes: Buffer): void {
    this.#unread.push(bytes);
    this.#read();
  }
  endByPeer(): void {
    this.#isEnding = true;
    this.#read();
  }

  /** As on a stream, the end comes behind what was not read yet. */
  #read(): void {
    while (!this.isPaused && !this.isClosed) {
      const bytes = this.#unread.shift();
      if (bytes === undefined) break;
      const counter = this.#counter; // one that comes with these bytes knows of them
      this.#splitter?.push(bytes);
      if (counter === this.#counter) counter?.read(bytes.length);
    }
    if (!this.#isEnding || this.#peerEnded || this.isPaused || this.isClosed) return;
    this.#peerEnded = true;
    this.#handler?.ended();
    this.#closeIfOver();
  }
  #closeIfOver(): void {
    if (this.#daemonEnded && this.#untaken.length === 0 && (this.#peerEnded || !this.clingsOn)) this.destroy();
  }
}

export class TestClient {
  readonly link: TestLink;

  constructor(link: TestLink) {
    this.link = link;
  }
  get received(): Message[] {
    return this.link.lines.map((line) => JSON.parse(line) as Message);
  }
  answersTo(id: number | string): Message[] {
    return this.received.filter((message) => message.method === undefined && message.id === id);
  }
  notifications(method: string): Message[] {
    return this.received.filter((message) => message.method === method);
  }
  say(...lines: (string | object)[]): void {
    const text = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    this.link.push(Buffer.from(text));
  }
  initialize(id: number | string = 'init', params: object = {}): void {
    const clientInfo = { name: 'test', version: '1' };
    this.say({
      jsonrpc: '2.0',
      id,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo, ...params },
    });
  }
  call(id: number | string, args: object = {}, meta?: object): void {
    const params = { name: 'tool', arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
    this.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
  }
  cancel(id: number | string): void {
    this.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  }
}

interface ServerSettings {
  readonly name: string;
  readonly later: Later;
  readonly newLink: () => TestLink;
  readonly clock: FakeClock;
  /** How long what it says holds while it does not run. */
  readonly ttlMs: number;
}

/** One instance, which lives and dies as the test says. */
export class TestInstance {
  readonly inCore: Instance;
  readonly #of: TestServer;
  readonly #settings: ServerSettings;
  state: 'idle' | 'starting' | 'ready' = 'idle';
  starts = 0;
  isRetired = false;
  /** What it was offered when it was started last. */
  offered: object = {};
  /** The client that it was told then; undefined for the bridge. */
  introduced: object | undefined;
  /** How many used it, each time that this changed. */
  readonly users: number[] = [];
  link: TestLink | undefined;

  constructor(of: TestServer, instance: Instance, settings: ServerSettings) {
    this.#of = of;
    this.inCore = instance;
    this.#settings = settings;
  }

  get ports(): Runner {
    return {
      start: () => this.#start(),
      usersChanged: (users) => void this.users.push(users),
      vacate: () => this.#vacate(),
      broken: () => this.#settings.later(() => this.crash()),
      retire: () => {
        this.isRetired = true;
        if (this.state === 'starting') this.failToStart();
        this.crash();
      },
    };
  }

  /** Nobody uses it: it ends a moment later. */
  #vacate(): void {
    if (this.state !== 'ready') return;
    this.crash();
    this.#settings.later(() => this.#of.server.stopped(this.inCore));
  }

  #start(): void {
    if (this.state !== 'idle') return;
    this.state = 'starting';
    this.starts++;
    this.inCore.begun();
    this.offered = this.inCore.key.capabilities;
    this.introduced = this.inCore.introduction();
    if (this.#of.opensByItself) this.#settings.later(() => this.open());
  }
  open(): void {
    if (this.state !== 'starting') return;
    this.state = 'ready';
    const link = this.#settings.newLink();
    this.link = link;
    link.onLine = (line) => this.#settings.later(() => this.#answerByItself(link, JSON.parse(line) as Message));
    this.link.start({
      frame: () => undefined,
      overflowed: () => undefined,
      badFrame: () => undefined,
      ended: () => undefined,
      closed: () => undefined,
      drained: () => this.inCore.drained(),
    });
    this.inCore.opened({
      link: this.link,
      instanceId: `${this.#settings.name}-${this.starts}`,
      version: this.#of.era.versions[0] ?? '',
      supportedVersions: this.#of.era.versions,
      initializeResult: Buffer.from(`${this.#of.hello}\n`),
      era: this.#of.era,
      clientInfo: { name: 'mcp-bridge', version: '0' },
    });
  }
  #answerByItself(link: TestLink, request: Message): void {
    if (link !== this.link || request.method === undefined || request.id === undefined) return;
    if (this.#isFence(request)) return this.say({ jsonrpc: '2.0', id: request.id, result: {} });
    const answer = this.#of.answers(request, this);
    if (answer !== undefined) this.say({ jsonrpc: '2.0', id: request.id, ...answer });
  }
  /** The ping by which the bridge hears whether a server that was offered roots asks for them at once. */
  #isFence({ method }: Message): boolean {
    return method === 'ping' && 'roots' in this.offered && this.#of.answersPings;
  }
  failToStart(): void {
    this.state = 'idle';
    const { name } = this.#settings;
    this.inCore.failed(new BridgeError('SERVER_START_FAILED', `Server ${name} could not be started`, { server: name }));
  }
  crash(): void {
    if (this.state !== 'ready') return;
    this.state = 'idle';
    this.link?.destroy();
    const { name } = this.#settings;
    this.inCore.closed(new BridgeError('SERVER_CRASHED', `Server ${name} ended`, { server: name }));
  }

  /** What it was sent since it was started last. */
  get received(): Message[] {
    return (this.link?.lines ?? []).map((line) => JSON.parse(line) as Message);
  }
  get requests(): Message[] {
    const asked = this.received.filter((message) => message.method !== undefined && message.id !== undefined);
    return asked.filter((message) => !this.#isFence(message));
  }
  get cancelled(): unknown[] {
    return this.received.flatMap(({ method, params }) =>
      method === 'notifications/cancelled' ? [params?.requestId] : [],
    );
  }
  say(line: string | object): void {
    const text = typeof line === 'string' ? line : JSON.stringify(line);
    const bytes = Buffer.from(`${text}\n`);
    if (this.state === 'ready') this.inCore.fromServer.frame(bytes, 0, bytes.length - 1);
  }
  /** Answers a request that it was sent with the request's own arguments. */
  answer(request: Message | undefined): void {
    if (request === undefined) throw new Error('there is no such request');
    this.say({ jsonrpc: '2.0', id: request.id, result: { echo: request.params?.arguments ?? null } });
  }
}

const LIST_MEMBERS: Readonly<Record<string, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
};
const capabilityOf = (member: string): string => (member === 'resourceTemplates' ? 'resources' : member);

/** One server by name, with its instances; what is asked of it is meant for the first of them. */
export class TestServer {
  readonly name: string;
  readonly server: Server;
  readonly instances: TestInstance[] = [];
  /** It declares no lists, so that the bridge asks it for none. */
  hello = '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"memory","version":"1"}}';
  /** The era in which it speaks from its next start on. */
  era: Era = ERA_2025;
  /** Whether it comes up by itself when asked to. */
  opensByItself = true;
  /** Whether one that was offered roots answers pings by itself. */
  answersPings = true;
  /** What it says by itself to a request: the `result` or the `error`; undefined leaves that to the test. */
  answers: (request: Message, instance: TestInstance) => object | undefined = () => undefined;

  constructor(settings: ServerSettings, context: InstanceContext, definition: Partial<TestDefinition> = {}) {
    const { clock, ttlMs } = settings;
    this.name = settings.name;
    this.server = new Server({
      definition: {
        name: settings.name,
        description: '',
        timeoutMs: undefined,
        trustHints: false,
        sharing: 'auto',
        ...definition,
      },
      known: new KnownServer({ date: () => clock.now(), ttlMs, changed: () => undefined }),
      gate: OPEN_GATE,
      context,
      makeRunner: (inCore) => {
        const instance = new TestInstance(this, inCore, settings);
        this.instances.push(instance);
        return instance.ports;
      },
    });
  }

  get first(): TestInstance {
    const [first] = this.instances;
    if (first === undefined) throw new Error('nobody has needed it yet');
    return first;
  }
  get instance(): Instance {
    return this.first.inCore;
  }
  get state(): TestInstance['state'] {
    return this.instances[0]?.state ?? 'idle';
  }
  get starts(): number {
    return this.instances.reduce((sum, { starts }) => sum + starts, 0);
  }
  get users(): readonly number[] {
    return this.first.users;
  }
  get link(): TestLink | undefined {
    return this.instances[0]?.link;
  }
  get received(): Message[] {
    return this.instances[0]?.received ?? [];
  }
  get requests(): Message[] {
    return this.instances[0]?.requests ?? [];
  }
  get cancelled(): unknown[] {
    return this.instances[0]?.cancelled ?? [];
  }
  get openCalls(): number {
    return this.instances.reduce((sum, { inCore }) => sum + inCore.openCalls, 0);
  }
  /** It has these, and says so whenever it is asked. */
  has(lists: Readonly<Record<string, readonly object[]>>): void {
    const capabilities = Object.fromEntries(Object.keys(lists).map((member) => [capabilityOf(member), {}]));
    this.declare(capabilities);
    this.answers = ({ method }) => {
      const member = Object.keys(LIST_MEMBERS).find((name) => LIST_MEMBERS[name] === method);
      return member === undefined ? undefined : { result: { [member]: lists[member] ?? [] } };
    };
  }
  /** What it says to `initialize` from its next start on. */
  declare(capabilities: object, instructions?: string): void {
    const serverInfo = { name: this.name, version: '1' };
    this.hello = JSON.stringify({ protocolVersion: '2025-11-25', capabilities, serverInfo, instructions });
  }
  open(): void {
    this.instances[0]?.open();
  }
  failToStart(): void {
    this.first.failToStart();
  }
  crash(): void {
    this.instances[0]?.crash();
  }
  say(line: string | object): void {
    this.instances[0]?.say(line);
  }
  answer(request: Message | undefined): void {
    this.first.answer(request);
  }
}

export interface TestDefinition {
  readonly description: string;
  readonly sharing: Sharing | undefined;
  readonly maxConcurrentCalls: number;
  readonly nature: ServerNature;
  readonly trustHints: boolean;
  readonly timeoutMs: number;
  /** `bus` for servers on other hosts. */
  readonly transport: string;
}

export interface CoreOptions {
  readonly limits?: Partial<Limits>;
  readonly liveness?: Partial<LivenessSettings>;
  readonly servers?: readonly string[];
  readonly definition?: Partial<TestDefinition>;
  /** How long what servers say holds while they do not run. */
  readonly ttlMs?: number;
  readonly control?: ControlHandler;
  /** Who is told of each call. */
  readonly audit?: AuditTrail;
  readonly tracing?: (events: Events) => CallTracing;
  readonly agents?: Partial<MessagingSettings>;
  readonly results?: Partial<ResultsSettings>;
  /** `discovery.timeoutMs`. */
  readonly executionTimeoutMs?: number;
  readonly dialIns?: DialInDesk;
  readonly clientSettings?: ClientSettingsSource;
  /** What is waited for before the servers of a directory are known. */
  readonly prepare?: (cwd: string | undefined) => Promise<void> | undefined;
  /** Takes the warnings of the log. */
  readonly warn?: Logger['warn'];
}

interface ConnectOptions {
  readonly clingsOn?: boolean;
  readonly uid?: number;
  /** What a client over HTTP was granted. */
  readonly grant?: Grant;
}

const silent: Logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

const NOBODY_DIALS_IN: DialInDesk = {
  admit: (name) => {
    throw new BridgeError('SERVER_EXISTS', `There is no room for ${name}`);
  },
  take: (_, link) => link.destroy(),
};

export class CoreInMemory {
  readonly clock = new FakeClock();
  readonly events = new Events((error) => {
    throw error;
  });
  readonly meters = new CallMeters(this.clock, this.events);
  readonly counters = new Counters(this.events);
  readonly accounts = new ToolAccounts();
  readonly limits: Limits;
  readonly suspended: SuspendedCalls;
  readonly ownedTasks: OwnedTasks;
  readonly manager: ConnectionManager;
  readonly messaging: ClientMessaging;
  #servers: ReadonlyMap<string, TestServer>;
  readonly #makeServer: (name: string) => TestServer;
  readonly #turn: FlushTurn;
  #tasks: (() => void)[] = [];

  constructor(options: CoreOptions = {}) {
    const later: Later = (task) => void this.#tasks.push(task);
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    const { limits, events } = this;
    if (options.audit !== undefined) keepAuditTrail(events, options.audit);
    const logger: Logger = { ...silent, warn: options.warn ?? silent.warn };
    this.#turn = new FlushTurn(later);
    this.suspended = new SuspendedCalls({
      limits,
      events,
      clock: this.clock,
      contain: (session, task) => this.manager.contain(session, task),
    });
    this.ownedTasks = new OwnedTasks({ limits, events, clock: this.clock });
    const results = new ResultDesk({
      settings: () => ({ ...DEFAULT_RESULTS, ...options.results }),
      files: undefined,
      events,
      clock: this.clock,
      logger,
    });
    const context = {
      limits,
      events,
      logger,
      clock: this.clock,
      cutter: results.cutter,
      accounts: this.accounts,
      audit: options.audit,
      tracing: options.tracing?.(events),
      contain: (session: Session, task: () => void) => this.manager.contain(session, task),
      suspended: this.suspended,
      ownedTasks: this.ownedTasks,
      cutOff: (session: Session, reason: string) => this.manager.cutOff(session, reason),
    };
    const names = options.servers ?? ['memory'];
    const newLink = (): TestLink => this.#newLink();
    const { clock } = this;
    const ttlMs = options.ttlMs ?? 0;
    this.#makeServer = (name) => new TestServer({ name, later, newLink, clock, ttlMs }, context, options.definition);
    this.#servers = new Map(names.map((name) => [name, this.#makeServer(name)]));
    this.messaging = new ClientMessaging({
      settings: { ...DEFAULT_MESSAGING, ...options.agents },
      limits,
      events,
      logger: silent,
      clock,
      date: () => new Date(clock.now()),
      willBeEnabled: () => false,
    });
    this.manager = new ConnectionManager({
      limits,
      events,
      logger: silent,
      servers: {
        prepare: options.prepare ?? (() => undefined),
        names: () => [...this.#servers.keys()],
        find: (name) => this.#servers.get(name)?.server,
        servers: () => [...this.#servers.values()].map(({ server }) => server),
        defaultView: names.length === 1 ? `server:${names[0]}` : 'all',
        origin: 'In a test.',
      },
      clientSettings: options.clientSettings,
      dialIns: options.dialIns ?? NOBODY_DIALS_IN,
      messaging: this.messaging,
      control: options.control ?? (() => undefined),
      ownTools: (view) => results.toolsOf(view),
      discoverTools: (view) =>
        new DiscoverTools(view, {
          finder: new ToolFinder({ clock: this.clock }),
          check: new ArgumentCheck((error) => {
            throw error;
          }),
          timeoutMs: () => options.executionTimeoutMs ?? 0,
          cutter: results.cutter,
        }),
      version: '0.0.0-test',
      build: '0.0.0-test+1',
      daemonId: 'in-memory',
      clock: this.clock,
      liveness: { ...DEFAULT_LIVENESS, ...options.liveness },
    });
  }

  #newLink(): TestLink {
    return new TestLink((task) => void this.#tasks.push(task), this.#turn, this.limits.maxMessageBytes);
  }

  /** From now on there are these servers; those that are `changed` are defined otherwise than before. */
  redefine(names: readonly string[], changed: readonly string[] = []): void {
    const before = this.#servers;
    const kept = (name: string): TestServer | undefined => (changed.includes(name) ? undefined : before.get(name));
    this.#servers = new Map(names.map((name) => [name, kept(name) ?? this.#makeServer(name)]));
    this.manager.serversChanged();
  }

  server(name = 'memory'): TestServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`there is no server ${name}`);
    return server;
  }

  /** A client that has connected and said nothing yet. */
  connect(options: ConnectOptions = {}): TestClient {
    const client = new TestClient(this.#newLink());
    client.link.clingsOn = options.clingsOn ?? false;
    const { uid = 1000, grant } = options;
    const pid = undefined;
    this.manager.accept(
      client.link,
      grant === undefined ? { kind: 'local', uid, pid } : { kind: 'http', uid, pid, grant },
    );
    return client;
  }

  /** A client that has shaken hands. */
  async ready(params: object = {}, options: ConnectOptions = {}): Promise<TestClient> {
    const client = this.connect(options);
    client.initialize('init', params);
    await this.settle();
    client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    client.link.lines.length = 0;
    return client;
  }

  sessionOf(client: TestClient): Session | undefined {
    return this.manager.clients().find((session) => session.link.outbox.sink === client.link);
  }

  /** Lets everything happen that is due now. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      await new Promise(setImmediate);
      const tasks = this.#tasks;
      this.#tasks = [];
      for (const task of tasks) task();
      quiet = tasks.length > 0 ? 0 : quiet + 1;
    }
  }

  /** Turns the clock on by seconds, and lets happen what becomes due in each. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      this.clock.advance(Math.min(1000, left));
      await this.settle();
    }
  }

  /** What the core still holds for requests that are not answered. */
  get openCalls(): number {
    const atServers = [...this.#servers.values()].reduce((sum, { openCalls }) => sum + openCalls, 0);
    return this.manager.clients().reduce((sum, session) => sum + session.calls.size, atServers);
  }
}
