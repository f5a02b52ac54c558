// Other hosts put together, on a bus, a board and leases in the process: what of one part the others hear.

import { afterEach, expect, test } from 'vitest';
import { Federation, type Ground } from '../../../src/federation/federation.ts';
import { encodeEntries, encodeEntry, type OfferedServer } from '../../../src/federation/host-entry.ts';
import type { FederationReport } from '../../../src/model/federation-report.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { Places } from '../../../src/model/places.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryBus, type MemoryNode } from '../../support/memory-bus.ts';
import { MemoryLeases } from '../../support/memory-leases.ts';

const open = new Set<Federation>();
afterEach(async () => {
  for (const federation of open) await federation.close();
  open.clear();
});

const none = undefined;
const NATS = { servers: [], credentials: none, user: none, password: none, token: none, nkey: none, tls: none };

class World {
  readonly clock = new FakeClock();
  readonly bus = new MemoryBus();
  readonly leases = new MemoryLeases();
  readonly others: MemoryNode = this.bus.node();

  join(
    host: string,
    kept?: string,
    isUp = true,
  ): { readonly federation: Federation; readonly node: MemoryNode; readonly told: () => number } {
    let told = 0;
    const node = this.bus.node();
    node.isUp = isUp;
    const claims: Ground['claims'] = () => Promise.reject(new Error('there is no store'));
    const nothing = (): void => undefined;
    const federation = new Federation(
      {
        settings: {
          ...{ nats: NATS, tenant: 'acme', user: 'ann', host, offer: ['*'], use: ['*'], agents: [] },
          hasBulkConnection: false,
        },
        ...{
          clock: this.clock,
          turn: new FlushTurn(nothing),
          pacer: new ReadPacer({ now: () => 0 }),
          limits: DEFAULT_LIMITS,
        },
        ...{ version: '1', uid: 1, logger: { debug: nothing, info: nothing, warn: nothing, error: nothing } },
        ...{ accept: nothing, refusalOf: () => none, trustsHints: () => false, kept, keep: nothing },
        ...{
          places: new Places(DEFAULT_LIMITS),
          changed: () => told++,
          refused: nothing,
          failed: (error) => expect.fail(String(error)),
        },
      },
      {
        ...{ bus: node, board: node.board, leases: this.leases.view(), claims, server: () => undefined },
        close: () => Promise.resolve(),
      },
    );
    open.add(federation);
    return { federation, node, told: () => told };
  }

  /** Writes what another host says of itself, with a sign of life. */
  async write(host: string, run: string, servers: readonly OfferedServer[]): Promise<void> {
    await this.others.board.sign(`acme.${host}`);
    await this.others.board.put(`acme.${host}`, encodeEntry({ host, run, version: '1', servers }));
  }

  /** The report of a daemon; the time passes in which it asks the others. */
  async reportOf(federation: Federation): Promise<FederationReport> {
    const asked = federation.report();
    await this.pass(2000);
    return asked;
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 250) {
      this.bus.nowMs = this.clock.now() + 250;
      this.clock.advance(250);
      this.bus.deliver();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const remembering = (name: string): OfferedServer => ({
  ...{ name, description: '', mark: 'm', sharing: 'dedicated', nature: undefined },
});

test('hundreds of leases that change together are told of together', async () => {
  const world = new World();
  const { federation, told } = world.join('laptop');
  const names = Array.from({ length: 300 }, (_, i) => `notes-${i}`);
  await world.write('builder', 'r1', names.map(remembering));
  await world.write('spare', 'r2', names.map(remembering));
  await world.pass(3000);
  expect(federation.servers.size).toBe(600);
  const before = told();
  for (const name of names)
    world.leases.write(
      `acme.${name}`,
      Buffer.from(JSON.stringify({ v: 1, host: 'spare', run: 'r2', fence: 1 })),
      undefined,
    );
  await world.pass(1000);
  expect(told() - before).toBe(1);
  expect(federation.anywhere('notes-7')).toMatchObject({ isLeased: true, anyOf: ['notes-7@builder', 'notes-7@spare'] });
});

test('a host that offers a name twice offers it once', async () => {
  const world = new World();
  const { federation } = world.join('laptop');
  const free: OfferedServer = { ...remembering('notes'), sharing: undefined };
  await world.write('builder', 'r1', [free, remembering('notes')]);
  await world.pass(3000);
  expect([...federation.servers.keys()]).toEqual(['notes@builder']);
  expect(federation.servers.get('notes@builder')).toMatchObject({ sharing: 'shared', alsoNamed: ['notes'] });
});

test('a server that one host offers to everybody is found by its name alone, and goes with its host', async () => {
  const world = new World();
  const { federation, told } = world.join('laptop');
  const free: OfferedServer = { ...remembering('compiler'), sharing: undefined };
  await world.write('builder', 'r1', [free]);
  await world.write('spare', 'r2', [{ ...free, mark: 'other' }]);
  await world.pass(3000);
  expect(federation.anywhere('compiler')).toMatchObject({ anyOf: ['compiler@builder', 'compiler@spare'] });
  const before = told();
  await world.others.board.remove('acme.spare');
  await world.pass(3000);
  expect([...federation.servers.keys()]).toEqual(['compiler@builder']);
  expect(told()).toBeGreaterThan(before);
});

test('the first look ends when the hosts that are there are known, and they count from then on', async () => {
  const world = new World();
  await world.write('builder', 'r1', [remembering('notes')]);
  const { federation } = world.join('laptop');
  await federation.firstLook; // no time passes
  expect([...federation.servers.keys()]).toEqual(['notes@builder']);
  expect(federation.down).toBeUndefined();
});

test('the first look ends when the bus says that it is away, and the hosts of the last run count at once', async () => {
  const world = new World();
  const entry = { host: 'builder', run: 'r1', version: '1', servers: [remembering('notes')] };
  const { federation } = world.join('laptop', encodeEntries([entry]), false);
  await federation.firstLook;
  expect([...federation.servers.keys()]).toEqual(['notes@builder']);
  expect(federation.down).toBeDefined();
});

test('a request that NATS did not let out is told as one missing permission for each server', async () => {
  const world = new World();
  const { federation, node } = world.join('laptop');
  await world.pass(3000);
  expect((await world.reportOf(federation)).faults).toEqual([]);
  const asked = 'mcp.v1.req.acme.ann.everything-at-build';
  for (const what of ['tools.list._', 'tools.call.echo', 'subscriptions.listen._'])
    node.deny('publish', `${asked}.${what}`);
  expect((await world.reportOf(federation)).faults).toEqual([
    `NATS does not let this daemon publish to ${asked}.>: give its user the permissions in docs/federation.md`,
  ]);
  node.connect(false);
  node.connect(true); // what is permitted by now is denied no more
  await world.pass(3000);
  expect((await world.reportOf(federation)).faults).toEqual([]);
});
