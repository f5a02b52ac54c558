// Who is there, and who offers what: entries and signs of life on a board in the process, with a clock that the test turns.

import { afterEach, describe, expect, test } from 'vitest';
import { ENTRY_AGE_MS, LEASE_MS } from '../../../src/federation/board.ts';
import { encodeEntry, type HostEntry, type OfferedServer } from '../../../src/federation/host-entry.ts';
import { HostList } from '../../../src/federation/host-list.ts';
import { OwnHost } from '../../../src/federation/own-host.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryBus, type MemoryNode } from '../../support/memory-bus.ts';

const offered = (name: string): OfferedServer => ({
  ...{ name, description: `does ${name}`, mark: 'm1' },
  ...{ sharing: undefined, nature: undefined },
});

class Hosts {
  readonly bus = new MemoryBus();
  readonly clock = new FakeClock();
  readonly all: TestHost[] = [];

  /** A host that comes now. */
  async join(name: string, run = `run-${name}`, offers: readonly string[] = [`of-${name}`]): Promise<TestHost> {
    const host = this.add(name, run, offers);
    host.connect(true);
    await this.pass(250);
    return host;
  }

  add(name: string, run = `run-${name}`, offers: readonly string[] = [`of-${name}`]): TestHost {
    const host = new TestHost(this, name, run);
    this.all.push(host);
    host.own.offer(offers.map(offered));
    return host;
  }

  async pass(ms: number, stepMs = 250): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.bus.nowMs = this.clock.now() + stepMs;
      this.clock.advance(stepMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

class TestHost {
  readonly name: string;
  readonly run: string;
  readonly node: MemoryNode;
  readonly own: OwnHost;
  readonly list: HostList;
  readonly refused: string[] = [];
  readonly gone: string[] = [];
  changes = 0;
  hasRival = false;
  isContested = false;
  isAlive = true;
  fault: unknown;
  /** The time for which its clock stood still, as in a machine that sleeps. */
  sleptMs = 0;

  constructor(hosts: Hosts, name: string, run: string) {
    this.name = name;
    this.run = run;
    this.node = hosts.bus.node();
    this.node.isUp = false;
    const { clock } = hosts;
    const place = { board: this.node.board, clock, tenant: 'acme', host: name, run, isDown: () => !this.node.isUp };
    this.own = new OwnHost({
      ...{ ...place, version: '1', wallMs: () => clock.now() + this.sleptMs },
      isAlive: (other) =>
        Promise.resolve(
          hosts.all.some(
            (host) => host.name === name && host.run === other && host.isAlive && host.node.canReach(this.node),
          ),
        ),
      rivalled: (hasRival) => {
        this.hasRival = hasRival;
      },
      contested: (isContested) => {
        this.isContested = isContested;
      },
      signed: () => undefined,
      forgotten: () => this.list.watchAgain(),
      fault: (error) => {
        this.fault = error;
      },
    });
    this.list = new HostList({
      ...place,
      changed: () => this.changes++,
      gone: (host) => this.gone.push(host),
      replaced: (by) => this.own.wasReplaced(by),
      refused: (_, why) => this.refused.push(why),
      fault: (error) => {
        this.fault = error;
      },
    });
  }

  connect(isUp: boolean): void {
    this.node.isUp = isUp;
    if (!isUp) return;
    this.own.busIsUp(0);
    void this.list.busIsUp(0);
  }

  /** Its machine loses its power. */
  die(): void {
    this.isAlive = false;
    this.node.isUp = false;
  }

  async leave(): Promise<void> {
    this.list.close();
    await this.own.close();
    this.die();
  }

  get sees(): string[] {
    return this.list.hosts.map(({ host, servers }) => `${host}: ${servers.map(({ name }) => name).join()}`).toSorted();
  }
}

let hosts = new Hosts();
afterEach(() => {
  for (const { list, own } of hosts.all) {
    list.close();
    void own.close();
  }
  hosts = new Hosts();
});

describe('hosts that are there', () => {
  test('see each other, and what is offered newly', async () => {
    const a = await hosts.join('a');
    const b = await hosts.join('b');
    await hosts.pass(1000);
    expect([a.sees, b.sees]).toEqual([['b: of-b'], ['a: of-a']]);
    b.own.offer([offered('x'), offered('y')]);
    await hosts.pass(2000);
    expect(a.sees).toEqual(['b: x,y']);
    expect([a.fault, b.fault]).toEqual([undefined, undefined]);
  });

  test('are told of an entry once, when it is written, and of nothing while nothing changes', async () => {
    for (let i = 0; i < 12; i++) await hosts.join(`h${i}`);
    await hosts.pass(5000);
    const { puts, told } = hosts.bus.boardCounts;
    expect(puts).toBe(12);
    await hosts.pass(60_000);
    expect(hosts.bus.boardCounts).toMatchObject({ puts, told });
    hosts.all[0]?.own.offer([offered('new')]);
    await hosts.pass(2000);
    expect(hosts.bus.boardCounts).toMatchObject({ puts: puts + 1, told: told + 12 });
    for (const { list } of hosts.all.slice(1)) expect(list.get('h0')?.servers[0]?.name).toBe('new');
  });

  test('cost a number of messages that grows with their number, and not with its square', async () => {
    const costs: number[] = [];
    for (const count of [5, 40]) {
      hosts = new Hosts();
      for (let i = 0; i < count; i++) await hosts.join(`h${i}`);
      await hosts.pass(30_000);
      const before = { ...hosts.bus.boardCounts };
      await hosts.pass(60_000);
      const { puts, told, signs, counts, lists } = hosts.bus.boardCounts;
      expect(puts - before.puts + told - before.told).toBe(0);
      costs.push((signs - before.signs + counts - before.counts + lists - before.lists) / count);
    }
    expect(costs[0]).toBeLessThanOrEqual(36); // in a minute: 15 signs, 15 counts, 2 lists and what is at the edges
    expect(costs[1]).toBeLessThanOrEqual(36);
  });

  test('write what changes often no more than once a second', async () => {
    const a = await hosts.join('a');
    await hosts.pass(2000);
    const { puts } = hosts.bus.boardCounts;
    for (let i = 0; i < 20; i++) {
      a.own.offer([offered(`s${i}`)]);
      await hosts.pass(100, 100);
    }
    await hosts.pass(2000);
    expect(hosts.bus.boardCounts.puts - puts).toBeLessThanOrEqual(4);
    expect((await hosts.join('b')).sees).toEqual(['a: s19']);
  });
});

describe('hosts that go', () => {
  test('are gone at once when they say goodbye', async () => {
    const a = await hosts.join('a');
    const b = await hosts.join('b');
    await hosts.pass(1000);
    await b.leave();
    await hosts.pass(250);
    expect(a.sees).toEqual([]);
    expect(a.gone).toEqual(['b']);
  });

  test('leave no entry behind when they say goodbye while their first one is being written', async () => {
    const host = hosts.add('a');
    const { board } = host.node;
    const put = board.put.bind(board);
    board.put = async (key, value) => {
      await put(key, value);
      await new Promise(() => undefined); // the word that it is written does not come any more
    };
    host.connect(true);
    await hosts.pass(250);
    expect(hosts.bus.get('acme.a')).toBeDefined();
    await host.leave();
    expect(hosts.bus.get('acme.a')).toBeUndefined();
  });

  test('are gone within the lease when they die, and the list says since when they are silent', async () => {
    const a = await hosts.join('a');
    const b = await hosts.join('b');
    const c = await hosts.join('c');
    await hosts.pass(20_000);
    b.die();
    await hosts.pass(5000);
    expect(a.sees).toHaveLength(2);
    await hosts.pass(LEASE_MS - 5000);
    expect([a.sees, c.sees]).toEqual([['c: of-c'], ['a: of-a']]);
    expect(a.gone).toEqual(['b']);
    expect(a.list.get('b')).toBeUndefined();
    const [silent] = [...a.list.known].filter(({ isSilent }) => isSilent);
    expect(silent?.host).toBe('b');
    const silentMs = hosts.clock.now() - (silent?.seenMs ?? 0);
    expect(silentMs).toBeGreaterThan(LEASE_MS - 5000);
    expect(silentMs).toBeLessThan(LEASE_MS + 5000);
  });

  test('are there again when they give signs again, without a new entry', async () => {
    const a = await hosts.join('a');
    const b = await hosts.join('b');
    await hosts.pass(5000);
    b.node.isUp = false; // it stands still, and hears of no loss
    await hosts.pass(LEASE_MS);
    expect(a.sees).toEqual([]);
    b.node.isUp = true;
    await hosts.pass(9000);
    expect(a.sees).toEqual(['b: of-b']);
    expect(hosts.bus.boardCounts.puts).toBe(2);
  });

  test('do not appear to those who come later, though their entries are still there', async () => {
    const a = await hosts.join('a');
    await hosts.join('b');
    await hosts.pass(5000);
    a.die();
    await hosts.pass(LEASE_MS);
    const late = await hosts.join('late');
    expect(late.sees).toEqual(['b: of-b']);
  });

  test('are forgotten when their entries are over', async () => {
    const a = await hosts.join('a');
    (await hosts.join('b')).die();
    await hosts.pass(LEASE_MS + 1000);
    expect(a.list.size).toBe(1);
    await hosts.pass(ENTRY_AGE_MS, 10_000);
    expect(a.list.size).toBe(0);
  });
});

test.each([
  ['slept for a minute', 60_000],
  ['had its time of day set back', -60_000],
])('a host whose machine has %s is not sure to be taken for alive before its next sign', async (_, ms) => {
  const a = await hosts.join('a');
  await hosts.pass(5000);
  const isSure = (): boolean => a.own.sureUntilMs > hosts.clock.now();
  expect(isSure()).toBe(true);
  a.sleptMs += ms;
  expect(isSure()).toBe(false);
  await hosts.pass(5000);
  expect(isSure()).toBe(true);
  a.sleptMs += ms;
  expect(isSure()).toBe(false);
  a.own.signNow();
  await hosts.pass(1);
  expect(isSure()).toBe(true);
});

describe('a board that fails', () => {
  test('makes nobody silent: only what it says does', async () => {
    const a = await hosts.join('a');
    await hosts.join('b');
    await hosts.pass(5000);
    for (const { node } of hosts.all) node.boardFault = 'no quorum';
    await hosts.pass(60_000);
    expect(a.sees).toEqual(['b: of-b']);
    expect(String(a.fault)).toContain('no quorum');
    for (const { node } of hosts.all) node.boardFault = undefined;
    await hosts.pass(10_000);
    expect([a.sees, a.fault]).toEqual([['b: of-b'], undefined]);
  });

  test('has an entry again within half a minute when somebody has spoiled it', async () => {
    const hosts = new Hosts();
    const one = await hosts.join('one');
    const key = 'acme.one';
    expect(hosts.bus.get(key)).toBeDefined();
    hosts.bus.put(one.node, key, Buffer.from('{"jsonrpc":"2.0","id":1}'));
    await hosts.pass(32_000);
    expect(hosts.bus.get(key)?.toString()).toContain('"host":"one"');
  });

  test('is written again by all when it has forgotten all', async () => {
    for (const name of ['a', 'b', 'c']) await hosts.join(name);
    await hosts.pass(5000);
    hosts.bus.forgetBoard();
    await hosts.pass(35_000);
    expect((await hosts.join('late')).sees).toHaveLength(3);
    for (const { sees } of hosts.all) expect(sees).toHaveLength(3);
  });

  test('gives all who come back with the bus the time to say so', async () => {
    const a = await hosts.join('a');
    const b = await hosts.join('b');
    await hosts.pass(5000);
    for (const host of [a, b]) host.connect(false);
    hosts.bus.forgetBoard();
    await hosts.pass(60_000);
    expect(a.sees).toEqual(['b: of-b']);
    a.connect(true);
    await hosts.pass(10_000);
    expect(a.sees).toEqual(['b: of-b']);
    b.connect(true);
    await hosts.pass(20_000);
    expect([a.sees, b.sees, a.gone]).toEqual([['b: of-b'], ['a: of-a'], []]);
  });
});

describe('two daemons of one name', () => {
  test('the one that comes later says so and gives way, and takes the place once the other is gone', async () => {
    const first = await hosts.join('desk', 'run-1', ['one']);
    const other = await hosts.join('other');
    await hosts.pass(5000);
    const second = await hosts.join('desk', 'run-0', ['two']);
    await hosts.pass(40_000);
    expect([first.hasRival, second.hasRival]).toEqual([false, true]);
    expect(other.sees).toEqual(['desk: one']);
    first.die();
    await hosts.pass(35_000);
    expect(second.hasRival).toBe(false);
    expect(other.sees).toEqual(['desk: two']);
  });

  test('of two that come at once, one gives way', async () => {
    const one = hosts.add('desk', 'run-1', ['one']);
    const two = hosts.add('desk', 'run-2', ['two']);
    const other = await hosts.join('other');
    one.connect(true);
    two.connect(true);
    await hosts.pass(40_000);
    expect([one.hasRival, two.hasRival]).toEqual([false, true]);
    expect(other.sees).toEqual(['desk: one']);
  });

  test('that were parted, and meet, are both told, and the one with the higher run gives way', async () => {
    const [one, two] = [hosts.add('desk', 'run-1', ['one']), hosts.add('desk', 'run-2', ['two'])];
    const other = await hosts.join('other');
    two.node.side = 1;
    for (const host of [one, two]) host.connect(true);
    await hosts.pass(70_000);
    expect([one.hasRival, two.hasRival, one.isContested, two.isContested]).toEqual([false, false, false, false]);
    two.node.side = 0;
    for (const host of [one, two]) host.connect(true);
    await hosts.pass(5000);
    expect([one.hasRival, two.hasRival, one.isContested, two.isContested]).toEqual([false, true, true, false]);
    await hosts.pass(60_000);
    expect([other.sees, one.isContested]).toEqual([['desk: one'], true]);
    two.die();
    await hosts.pass(35_000);
    expect([other.sees, one.isContested]).toEqual([['desk: one'], false]);
  });

  test('the entry of an earlier run of its own is no rival', async () => {
    (await hosts.join('desk', 'run-9')).die();
    const again = await hosts.join('desk', 'run-1', ['again']);
    await hosts.pass(5000);
    expect(again.hasRival).toBe(false);
    expect((await hosts.join('other')).sees).toEqual(['desk: again']);
  });
});

test('an entry that has not come is read when its host gives signs', async () => {
  const a = await hosts.join('a');
  hosts.bus.isDeaf = true;
  await hosts.join('b');
  hosts.bus.isDeaf = false;
  expect(a.sees).toEqual([]);
  await hosts.pass(5000);
  expect(a.sees).toEqual(['b: of-b']);
});

test('an own entry that was spoiled is written again at once, and a rival by force ends no offer', async () => {
  const a = await hosts.join('a');
  const b = await hosts.join('b');
  await hosts.pass(62_000);
  const bad = hosts.bus.node();
  hosts.bus.put(bad, 'acme.a', Buffer.from('{"type":"an answer of somebody"}'));
  await hosts.pass(3000);
  expect((await hosts.join('late')).sees).toEqual(['a: of-a', 'b: of-b']);
  hosts.bus.put(bad, 'acme.a', encodeEntry({ host: 'a', run: '-', version: '1', servers: [] }));
  await hosts.pass(2500);
  expect(b.sees).toEqual(['a: of-a', 'late: of-late']);
  expect([a.hasRival, a.isContested, a.own.overwrites]).toEqual([false, false, 2]);
  await hosts.pass(600_000, 5000);
  expect(a.own.overwrites).toBe(0);
});

describe('a hostile host', () => {
  const entryOf = (host: string, more: Partial<HostEntry> = {}): Buffer =>
    encodeEntry({ host, run: 'r', version: '1', servers: [offered('tool')], ...more });

  test('that writes without end is read once a second, and the last entry counts', async () => {
    const a = await hosts.join('a');
    const bad = hosts.bus.node();
    await hosts.pass(1000);
    a.changes = 0;
    for (let i = 0; i < 1000; i++) {
      hosts.bus.put(bad, 'acme.bad', entryOf('bad', { servers: [offered(`tool${i}`)] }));
      if (i % 100 === 99) await hosts.pass(100, 100);
    }
    await hosts.pass(2000);
    expect(a.changes).toBeLessThanOrEqual(4);
    expect(a.list.get('bad')?.servers[0]?.name).toBe('tool999');
  });

  test('cannot write under the name of another, nor in another form', async () => {
    const a = await hosts.join('a');
    const bad = hosts.bus.node();
    hosts.bus.put(bad, 'acme.bad', entryOf('b'));
    hosts.bus.put(bad, 'acme.x1', Buffer.from('{"v":1'));
    hosts.bus.put(bad, 'acme.x2', Buffer.from('{"v":9}'));
    hosts.bus.put(bad, 'acme.x3', Buffer.alloc(600 * 1024, 0x20));
    await hosts.pass(1000);
    expect(a.sees).toEqual([]);
    expect(a.refused).toEqual([
      'its entry is that of b',
      'its entry cannot be read: it is not JSON',
      'its entry is of another version',
      'its entry has more than 524288 bytes',
    ]);
  });

  test('that invents hosts fills no more than the bound, and silent ones give way', async () => {
    const a = await hosts.join('a');
    await hosts.join('real');
    const bad = hosts.bus.node();
    const servers = Array.from({ length: 2000 }, (_, i) => offered(`s${i}`));
    for (let i = 0; i < 40; i++) hosts.bus.put(bad, `acme.big${i}`, entryOf(`big${i}`, { servers }));
    await hosts.pass(1000);
    expect(a.refused.at(-1)).toContain('more than 50000 servers');
    expect(a.list.get('real')).toBeDefined();
    for (let i = 0; i < 5000; i++) hosts.bus.put(bad, `acme.x${i}`, entryOf(`x${i}`, { servers: [] }));
    await hosts.pass(1000);
    expect(a.list.size).toBe(4096);
    expect(a.refused.at(-1)).toContain('4096 hosts already');
    await hosts.pass(LEASE_MS + 2000);
    expect(a.sees).toEqual(['real: of-real']);
    await hosts.join('new');
    expect(a.sees).toEqual(['new: of-new', 'real: of-real']);
  });
});
