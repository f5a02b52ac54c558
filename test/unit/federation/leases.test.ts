// Leases of servers that remember: one host serves such a server at a time, whatever stands still, is cut off, or starts again.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SIGN_AGE_MS } from '../../../src/federation/board.ts';
import { type LeaseBoard, type LeaseListener, LeaseTable } from '../../../src/federation/lease-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type LeaseView, MemoryLeases } from '../../support/memory-leases.ts';
import { runs } from '../../support/runs.ts';

const NAME = 'memory';
const MARGIN_MS = 1000;

/** Hosts with a clock that all share. A host that stands still gives no signs, and hears nothing. */
class Hosts {
  readonly clock = new FakeClock();
  readonly leases = new MemoryLeases();
  readonly all: Host[] = [];

  host(name: string, run = 'r1'): Host {
    const host = new Host(this, name, run);
    this.all.push(host);
    return host;
  }

  /** Turns the clock on by steps, with a sign of each host that lives. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      for (const host of this.all) host.sign();
      this.clock.advance(1000);
      await flush();
    }
  }

  isThere(name: string, run: string | undefined): boolean {
    return this.all.some(
      (host) =>
        host.name === name &&
        (run === undefined || host.run === run) &&
        !host.hasLeft &&
        this.clock.now() - host.signedMs < SIGN_AGE_MS,
    );
  }

  /** The hosts that would begin a call. */
  serving(): string[] {
    return this.all.filter(({ table }) => table.fenceOf(NAME) !== undefined).map(({ name }) => name);
  }
}

async function flush(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

class Host {
  readonly name: string;
  readonly run: string;
  readonly view: LeaseView;
  readonly table: LeaseTable;
  readonly told: string[] = [];
  readonly faults: unknown[] = [];
  signedMs: number;
  /** How often it was to give a sign at once. */
  doubts = 0;
  writeFault: Error | undefined;
  isFrozen = false;
  hasLeft = false;
  isDown = false;
  readonly #hosts: Hosts;

  constructor(hosts: Hosts, name: string, run: string) {
    this.#hosts = hosts;
    this.name = name;
    this.run = run;
    this.signedMs = hosts.clock.now();
    this.view = hosts.leases.view();
    const board: LeaseBoard = {
      write: (...args) => (this.writeFault === undefined ? this.view.write(...args) : Promise.reject(this.writeFault)),
      watch: (...args) => this.view.watch(...args),
    };
    this.table = new LeaseTable({
      ...{ board, clock: hosts.clock, tenant: 'acme', host: name, run, isDown: () => this.isDown || this.isFrozen },
      sureUntilMs: () => this.signedMs + SIGN_AGE_MS - MARGIN_MS,
      doubted: () => this.doubts++,
      isThere: (other, otherRun) => hosts.isThere(other, otherRun),
      changed: (token) => this.told.push(token),
      fault: (error) => this.faults.push(error),
    });
    void this.table.busIsUp();
  }

  sign(): void {
    if (!this.isFrozen && !this.hasLeft && !this.isDown) this.signedMs = this.#hosts.clock.now();
  }

  freeze(isFrozen: boolean): void {
    this.isFrozen = isFrozen;
    this.view.holdUp(isFrozen);
  }

  async leave(): Promise<void> {
    this.hasLeft = true;
    await this.table.close();
  }
}

/** Two hosts that offer a server; `one` serves it, as it came first. */
async function oneBeforeTwo(ms = 2000): Promise<{ hosts: Hosts; one: Host; two: Host }> {
  const hosts = new Hosts();
  const [one, two] = [hosts.host('one'), hosts.host('two')];
  one.table.offer([NAME]);
  await hosts.pass(2000);
  two.table.offer([NAME]);
  await hosts.pass(ms);
  return { hosts, one, two };
}

/** Two hosts that offer a server from the same moment on, and the one that serves it. */
async function oneOfTwo(): Promise<{ hosts: Hosts; two: readonly Host[]; holder: string }> {
  const hosts = new Hosts();
  const two = [hosts.host('one'), hosts.host('two')];
  for (const { table } of two) table.offer([NAME]);
  await hosts.pass(3000);
  return { hosts, two, holder: hosts.serving()[0] ?? '' };
}

test('the first host that offers a server serves it, and a second one does not', async () => {
  const hosts = new Hosts();
  const one = hosts.host('one');
  one.table.offer([NAME]);
  await hosts.pass(2000);
  const two = hosts.host('two');
  two.table.offer([NAME]);
  await hosts.pass(60_000);
  expect(hosts.serving()).toEqual(['one']);
  expect(two.table.holderOf(NAME)).toEqual({ host: 'one', fence: 1 });
  expect(hosts.leases.read(`acme.${NAME}`)).toEqual({ v: 1, host: 'one', run: 'r1', fence: 1 });
});

test('a host that could not write a lease says so until it can, or has none to write', async () => {
  const hosts = new Hosts();
  const [one, two] = [hosts.host('one'), hosts.host('two')];
  two.writeFault = new Error('no quorum');
  two.table.offer([NAME]);
  await hosts.pass(3000);
  expect(two.faults.at(-1)).toBe(two.writeFault);
  one.table.offer([NAME]);
  await hosts.pass(3000);
  expect(hosts.serving()).toEqual(['one']);
  expect(two.faults.at(-1)).toBeUndefined();
});

test('of hosts that begin at once one serves', async () => {
  const hosts = new Hosts();
  for (const name of ['a', 'b', 'c', 'd']) hosts.host(name).table.offer([NAME]);
  await hosts.pass(3000);
  expect(hosts.serving()).toHaveLength(1);
});

test('a host that leaves gives the server up, and the next one serves it at once with the next number', async () => {
  const { hosts, one, two } = await oneBeforeTwo();
  await one.leave();
  await hosts.pass(1000);
  expect(two.table.fenceOf(NAME)).toBe(2);
  expect(two.told).toContain(NAME);
});

test('a host that stands still loses the server, and cannot begin anything when it goes on', async () => {
  const { hosts, one, two } = await oneBeforeTwo(20_000);
  expect(one.table.fenceOf(NAME)).toBe(1);
  one.freeze(true);
  await hosts.pass(20_000);
  expect(two.table.fenceOf(NAME)).toBe(2);
  // Its first deed, before it has heard of anything.
  one.isFrozen = false;
  expect(one.table.fenceOf(NAME)).toBeUndefined();
  expect(one.doubts).toBe(1);
  one.sign();
  expect(one.table.fenceOf(NAME)).toBeUndefined();
  one.freeze(false);
  await hosts.pass(60_000);
  expect(hosts.serving()).toEqual(['two']);
  expect(one.table.holderOf(NAME)).toEqual({ host: 'two', fence: 2 });
});

test('a host that was cut off for a moment keeps its number, if nobody has served meanwhile', async () => {
  const hosts = new Hosts();
  const one = hosts.host('one');
  one.table.offer([NAME]);
  await hosts.pass(2000);
  one.isDown = true;
  await hosts.pass(15_000);
  expect(one.table.fenceOf(NAME)).toBeUndefined();
  one.isDown = false;
  void one.table.busIsUp();
  await hosts.pass(2000);
  expect(one.table.fenceOf(NAME)).toBe(1);
});

test('a daemon that is started again takes its server back with the next number', async () => {
  const hosts = new Hosts();
  const before = hosts.host('one');
  before.table.offer([NAME]);
  await hosts.pass(2000);
  const two = hosts.host('two');
  two.table.offer([NAME]);
  await hosts.pass(20_000);
  before.hasLeft = true;
  before.freeze(true);
  hosts.host('one', 'r2').table.offer([NAME]);
  await hosts.pass(60_000);
  expect(hosts.serving()).toEqual(['one']);
  expect(two.table.holderOf(NAME)).toEqual({ host: 'one', fence: 2 });
});

test('a server that is offered no more goes to the next host', async () => {
  const { hosts, one } = await oneBeforeTwo();
  one.table.offer([]);
  await hosts.pass(2000);
  expect(hosts.serving()).toEqual(['two']);
});

test.each([
  ['no JSON', 'x'],
  ['of another version', '{"v":2,"host":"evil","run":"r","fence":9}'],
  ['with an absurd number', '{"v":1,"host":"evil","run":"r","fence":9007199254740991}'],
  ['of no host', '{"v":1,"host":"../evil","run":"r","fence":9}'],
  ['without a number', '{"v":1,"host":"evil","run":"r","fence":"9"}'],
  ['of a host that is not there', '{"v":1,"host":"evil","run":"r","fence":9}'],
  ['too long', `{"v":1,"host":"evil","run":"r","fence":9,"x":"${'y'.repeat(2000)}"}`],
])('a lease that is %s leads nobody anywhere', async (_, text) => {
  const hosts = new Hosts();
  hosts.leases.write(`acme.${NAME}`, Buffer.from(text), undefined);
  const one = hosts.host('one');
  await flush();
  expect(one.table.holderOf(NAME)).toBeUndefined();
  one.table.offer([NAME]);
  await hosts.pass(40_000);
  expect(hosts.serving()).toEqual(['one']);
});

test('a lease that somebody has spoilt is written again at once by its holder, with its number', async () => {
  const { hosts, holder } = await oneOfTwo();
  const before = hosts.leases.read(`acme.${NAME}`);
  hosts.leases.spoil(`acme.${NAME}`, Buffer.from('{"type":"io.nats.jetstream.api.v1.account_info_response"}'));
  await flush();
  expect([hosts.serving(), hosts.leases.read(`acme.${NAME}`)]).toEqual([[holder], before]);
});

test('a number that no write has is corrected by what stands on the board', async () => {
  const { hosts, holder } = await oneOfTwo();
  const lease = { v: 1, host: holder, run: 'earlier', fence: 7 };
  hosts.leases.misnumber(`acme.${NAME}`, Buffer.from(JSON.stringify(lease)), 900_000_000_000_000);
  await hosts.pass(20_000);
  expect(hosts.serving()).toHaveLength(1);
  expect(hosts.leases.read(`acme.${NAME}`)).toMatchObject({ host: hosts.serving()[0], fence: 8 });
});

test('a lease that is gone from the board is written again with a higher number', async () => {
  const hosts = new Hosts();
  const one = hosts.host('one');
  one.table.offer([NAME]);
  await hosts.pass(2000);
  hosts.leases.remove(`acme.${NAME}`);
  await hosts.pass(2000);
  expect([hosts.serving(), hosts.leases.read(`acme.${NAME}`)]).toMatchObject([['one'], { host: 'one', fence: 2 }]);
});

test('a number that nobody can have begins again', async () => {
  const hosts = new Hosts();
  hosts.leases.write(`acme.${NAME}`, Buffer.from('{"v":1,"host":"evil","run":"r","fence":1000000000}'), undefined);
  const one = hosts.host('one');
  one.table.offer([NAME]);
  await hosts.pass(40_000);
  expect(hosts.leases.read(`acme.${NAME}`)).toMatchObject({ host: 'one', fence: 1 });
});

test('a board that has lost all leases gets them again', async () => {
  const { hosts, two, holder } = await oneOfTwo();
  hosts.leases.lose();
  for (const { table } of two) void table.busIsUp();
  await hosts.pass(5000);
  expect(hosts.serving()).toEqual([holder]);
});

test('without leases nobody serves by a lease, and the reason is told', async () => {
  const hosts = new Hosts();
  const one = hosts.host('one');
  one.view.fault = new Error('no permission');
  void one.table.busIsUp();
  one.table.offer([NAME]);
  await hosts.pass(3000);
  expect(one.table.has(NAME)).toBe(false);
  expect(one.faults).toContain(one.view.fault);
});

/** A table on a board of the test. The host `one` is away; all others are there. */
function tableOn(board: LeaseBoard, faults: unknown[] = []) {
  const clock = new FakeClock();
  const table = new LeaseTable({
    ...{ board, clock, tenant: 'acme', host: 'two', run: 'r1', isDown: () => false },
    sureUntilMs: () => clock.now() + SIGN_AGE_MS,
    doubted: () => undefined,
    isThere: (host) => host !== 'one',
    changed: () => undefined,
    fault: (error) => faults.push(error),
  });
  return { table, clock };
}

test('a watch that fails is over without another fault', async () => {
  const faults: unknown[] = [];
  let end: () => void = () => undefined;
  const fault = new Error('no permission');
  const { table } = tableOn(
    {
      write: () => Promise.resolve(undefined),
      watch: (_, __, ended) => {
        end = ended;
        return Promise.reject(fault);
      },
    },
    faults,
  );
  void table.busIsUp();
  await flush();
  expect(end).not.toThrow();
  expect([faults, table.has(NAME)]).toEqual([[fault], false]);
});

test('who comes second after the bus was away knows who came first', async () => {
  const lease = (host: string, fence: number) => Buffer.from(JSON.stringify({ v: 1, host, run: 'r', fence }));
  let told: LeaseListener = () => undefined;
  const { table, clock } = tableOn({
    write: (key, _, over) => {
      told(key, lease('three', 2), 9, over);
      return Promise.resolve(undefined);
    },
    watch: (_, changed) => {
      told = changed;
      changed(`acme.${NAME}`, lease('one', 1), 8);
      return Promise.resolve(() => undefined);
    },
  });
  for (let i = 0; i < 2; i++) {
    void table.busIsUp();
    await flush();
  }
  table.offer([NAME]);
  clock.advance(16_000);
  await flush();
  expect(table.holderOf(NAME)).toEqual({ host: 'three', fence: 2 });
});

describe('whatever happens to hosts', () => {
  const event = fc.record({
    who: fc.nat(2),
    what: fc.constantFrom('freeze', 'thaw', 'down', 'up', 'withdraw', 'offer'),
    thenMs: fc.integer({ min: 0, max: 20 }).map((seconds) => seconds * 1000),
  });

  test('never do two of them serve one server, and numbers rise with each holder', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 25 }), async (events) => {
        const hosts = new Hosts();
        const three = ['a', 'b', 'c'].map((name) => hosts.host(name));
        for (const { table } of three) table.offer([NAME]);
        const holders = new Map<number, string>();
        const look = (): void => {
          const serving = hosts.all.filter(({ table, isFrozen }) => !isFrozen && table.fenceOf(NAME) !== undefined);
          expect(serving.length).toBeLessThanOrEqual(1);
          for (const { table, name } of serving) {
            const fence = table.fenceOf(NAME) ?? 0;
            expect(holders.get(fence) ?? name).toBe(name);
            holders.set(fence, name);
            expect(fence).toBe(Math.max(...holders.keys()));
          }
        };
        for (const { who, what, thenMs } of events) {
          const host = three[who];
          if (host === undefined) continue;
          if (what === 'freeze') host.freeze(true);
          if (what === 'thaw' && host.isFrozen) {
            host.isFrozen = false;
            look(); // it has heard of nothing yet
            host.freeze(false);
          }
          if (what === 'down') host.isDown = true;
          if (what === 'up' && host.isDown) {
            host.isDown = false;
            void host.table.busIsUp();
          }
          if (what === 'withdraw') host.table.offer([]);
          if (what === 'offer') host.table.offer([NAME]);
          for (let ms = 0; ms < thenMs; ms += 1000) {
            await hosts.pass(1000);
            look();
          }
        }
        for (const host of three) {
          host.freeze(false);
          host.isDown = false;
          void host.table.busIsUp();
          host.table.offer([NAME]);
        }
        await hosts.pass(40_000);
        look();
        expect(hosts.serving()).toHaveLength(1);
      }),
      { numRuns: runs(300) },
    );
  });
});
