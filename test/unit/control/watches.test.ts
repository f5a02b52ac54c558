// Watches of the daemon: each kind of event, a slow reader, one that goes, sampling, and texts of others.

import { describe, expect, test } from 'vitest';
import { EventFilter } from '../../../src/control/event-filter.ts';
import { EVENT_KINDS, type EventBatch, type WatchReport } from '../../../src/control/event-report.ts';
import { PastEvents } from '../../../src/control/past-events.ts';
import { Watches } from '../../../src/control/watches.ts';
import type { ControlPeer } from '../../../src/core/router.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

/** A core whose control connections can watch. */
class WatchedCore {
  readonly core: CoreInMemory;
  readonly past: PastEvents;
  readonly watches: Watches;
  #peer: ControlPeer | undefined;

  constructor(options: CoreOptions = {}) {
    this.core = new CoreInMemory({ ...options, control: (_, peer) => this.#asked(peer) });
    const { events, clock, limits } = this.core;
    const date = () => 1_000_000 + clock.now();
    this.past = new PastEvents(events, date);
    this.watches = new Watches({ events, past: this.past, limits, clock, date });
  }

  #asked(peer: ControlPeer): void {
    this.#peer = peer;
  }

  /** A control connection, and the daemon's side of it. */
  async peer(): Promise<{ client: TestClient; peer: ControlPeer }> {
    const client = await this.core.ready({ _meta: { 'mcp-bridge/role': 'control' } });
    client.say({ jsonrpc: '2.0', id: 1, method: 'bridge/any' });
    await this.core.settle();
    if (this.#peer === undefined) throw new Error('nobody asked');
    return { client, peer: this.#peer };
  }

  async watch(params: object = {}): Promise<Watched> {
    const { client, peer } = await this.peer();
    return new Watched(this, client, peer, this.watches.open(peer, { ...params }));
  }
}

class Watched {
  readonly of: WatchedCore;
  readonly client: TestClient;
  readonly peer: ControlPeer;
  readonly report: WatchReport;

  constructor(of: WatchedCore, client: TestClient, peer: ControlPeer, report: WatchReport) {
    this.of = of;
    this.client = client;
    this.peer = peer;
    this.report = report;
  }

  /** The batches since the last look. */
  async batches(waitMs = 0): Promise<EventBatch[]> {
    await this.of.core.settle();
    this.of.core.clock.advance(waitMs);
    await this.of.core.settle();
    const batches = this.client.notifications('bridge/event').map(({ params }) => params as unknown as EventBatch);
    this.client.link.lines.length = 0;
    return batches;
  }

  async events(waitMs = 0) {
    return (await this.batches(waitMs)).flatMap(({ events }) => events);
  }

  async kinds(waitMs = 0): Promise<string[]> {
    return (await this.events(waitMs)).map(({ kind }) => kind);
  }
}

const request = (core: CoreInMemory, n = -1): Message | undefined => core.server().requests.at(n);

describe('the events of a watch', () => {
  test('a client that comes, calls, and goes', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const watch = await watched.watch();
    const client = await core.ready({ _meta: { 'mcp-bridge/clientId': 'me' } });
    expect(await watch.events()).toMatchObject([
      {
        kind: 'client.ready',
        client: 'me',
        name: 'test',
        version: '1',
        view: 'server:memory',
        protocolVersion: '2025-06-18',
      },
    ]);
    client.call(7, { secret: 'not told' });
    const begun = await watch.batches();
    expect(begun.flatMap(({ events }) => events)).toMatchObject([
      { kind: 'call.begun', client: 'me', request: '7', role: 'call', server: 'memory', tool: 'tool' },
      { kind: 'call.sent', client: 'me', server: 'memory', tool: 'tool' },
    ]);
    expect(JSON.stringify(begun)).not.toContain('not told');
    core.clock.advance(40);
    core.server().answer(request(core));
    const ended = await watch.events();
    expect(ended).toMatchObject([
      { kind: 'call.answered' },
      { kind: 'call.ended', outcome: 'ok', code: null, totalMs: 40, serverMs: 40, waitedMs: 0, waits: [], progress: 0 },
    ]);
    expect(JSON.stringify(ended)).not.toContain('not told');
    client.link.destroy();
    expect(await watch.kinds()).toEqual(['client.left']);
  });

  test('a call that waits for its client says so, and how long', async () => {
    const watched = new WatchedCore({ limits: { maxInFlightPerClient: 1 } });
    const { core } = watched;
    const watch = await watched.watch({ kinds: ['call'] });
    const client = await core.ready();
    client.call(1);
    await core.settle();
    client.call(2);
    expect(await watch.kinds()).toEqual(['call.begun', 'call.sent', 'call.begun', 'call.waiting']);
    core.clock.advance(30);
    core.server().answer(request(core));
    await core.settle();
    core.clock.advance(12);
    core.server().answer(request(core));
    const events = await watch.events();
    expect(events.at(-1)).toMatchObject({
      kind: 'call.ended',
      totalMs: 42,
      waitedMs: 30,
      serverMs: 12,
      waits: ['client'],
    });
  });

  test.each([
    ['tool-error', { result: { isError: true, content: [] } }],
    ['error', { error: { code: -32000, message: 'no' } }],
  ])('an answer of the server that is a failure: %s', async (outcome, answer) => {
    const watched = new WatchedCore();
    const watch = await watched.watch({ kinds: ['call.ended'] });
    const client = await watched.core.ready();
    client.call(1);
    await watched.core.settle();
    watched.core.server().say({ jsonrpc: '2.0', id: request(watched.core)?.id, ...answer });
    expect(await watch.events()).toMatchObject([{ kind: 'call.ended', outcome, serverMs: 0 }]);
  });

  test('a cancelled call, one of a client that goes, one whose server dies', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const watch = await watched.watch({ kinds: ['call.ended', 'instance', 'incident'] });
    const one = await core.ready();
    one.call(1);
    await core.settle();
    one.cancel(1);
    expect(await watch.events(250)).toMatchObject([
      { kind: 'call.ended', outcome: 'cancelled' },
      { kind: 'incident', name: 'cancelled', limit: false, times: 1 },
    ]);
    one.call(2);
    await core.settle();
    one.link.destroy();
    expect(await watch.events(250)).toMatchObject([
      { kind: 'call.ended', outcome: 'client-gone' },
      { kind: 'incident', name: 'cancelled' },
    ]);
    const other = await core.ready();
    other.call(3);
    await core.settle();
    core.server().crash();
    expect(await watch.events(250)).toMatchObject([{ kind: 'call.ended', outcome: 'crashed', code: 'SERVER_CRASHED' }]);
  });

  test('progress, and a call that is refused before it is one', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    core.server().server.gate = {
      isOpen: false,
      refusalOf: () => new BridgeError('TOOL_DISABLED', 'It is switched off'),
      tagsOf: () => [],
      isChanged: () => false,
    };
    const watch = await watched.watch({ kinds: ['call'] });
    const client = await core.ready();
    client.call(1);
    expect(await watch.events()).toMatchObject([
      { kind: 'call.begun', tool: 'tool', requestBytes: expect.any(Number) },
      { kind: 'call.ended', outcome: 'refused', code: 'TOOL_DISABLED', serverMs: null },
    ]);
  });

  test('a call with progress counts it', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const watch = await watched.watch({ kinds: ['call.progress', 'call.ended'] });
    const client = await core.ready();
    client.call(1, {}, { progressToken: 'p' });
    await core.settle();
    const params = { progressToken: request(core)?.id, progress: 1 };
    core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params });
    core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: { ...params, progress: 2 } });
    core.server().answer(request(core));
    expect(await watch.events()).toMatchObject([{ count: 1 }, { count: 2 }, { kind: 'call.ended', progress: 2 }]);
  });

  test('a question and its answer', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const watch = await watched.watch({ kinds: ['question'] });
    const client = await core.ready({ capabilities: { sampling: {} }, _meta: { 'mcp-bridge/clientId': 'me' } });
    client.call(1);
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} });
    await core.settle();
    const asked = client.received.find(({ method }) => method === 'sampling/createMessage');
    client.say({ jsonrpc: '2.0', id: asked?.id, result: {} });
    expect(await watch.events()).toMatchObject([
      { kind: 'question.asked', client: 'me', server: 'memory', about: 'sampling' },
      { kind: 'question.ended', client: 'me', server: 'memory', end: 'answered' },
    ]);
  });

  test('messages between clients, without their texts', async () => {
    const watched = new WatchedCore({ agents: { isEnabled: true } });
    const { core } = watched;
    const watch = await watched.watch({ kinds: ['message'] });
    const sender = await core.ready({ _meta: { 'mcp-bridge/clientId': 'a' } });
    const capabilities = { experimental: { 'mcp-bridge': { accepts: ['x/y'] } } };
    await core.ready({ _meta: { 'mcp-bridge/clientId': 'b' }, capabilities });
    const params = { to: 'nobody', method: 'x/y', params: { text: 'private' } };
    sender.say({ jsonrpc: '2.0', id: 1, method: 'bridge/send', params });
    const batches = await watch.batches();
    expect(batches.flatMap(({ events }) => events)).toMatchObject([
      { kind: 'message.sent', outcome: 'refused', from: 'a', to: null, method: null, bytes: null },
    ]);
    expect(JSON.stringify(batches)).not.toContain('private');
    expect(watched.watches.messages).toHaveLength(1);
  });

  test('all other kinds, each with its subject', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const { events } = core;
    const watch = await watched.watch();
    const client = await core.ready({ _meta: { 'mcp-bridge/clientId': 'me' } });
    client.call(1);
    await core.settle();
    const { instance } = core.server();
    await watch.batches();
    const error = new BridgeError('SERVER_START_FAILED', 'It could not be started');
    const session = core.manager.clients()[0];
    if (session === undefined) throw new Error('there is no client');
    events.clientRefused.tell(session, 'full', undefined);
    events.clientCutOff.tell(session, 'too slow', undefined);
    events.clientAway.tell(session, undefined, undefined);
    events.clientBack.tell(session, undefined, undefined);
    events.instanceStarting.tell(instance, undefined, undefined);
    events.instanceReady.tell(instance, undefined, undefined);
    events.instanceStopped.tell(instance, undefined, undefined);
    events.instanceFailed.tell(instance, error, undefined);
    events.instanceDied.tell(instance, error, undefined);
    events.serverDialledIn.tell('caller', undefined, undefined);
    events.toolsChanged.tell('memory', ['one', 'two'], undefined);
    events.approvalsWanted.tell('/work', 2, undefined);
    events.incident.tell('serverBusy', 'memory', undefined);
    expect(await watch.events()).toMatchObject([
      { kind: 'client.refused', client: 'me', reason: 'full' },
      { kind: 'client.cutOff', client: 'me', reason: 'too slow' },
      { kind: 'client.away', client: 'me' },
      { kind: 'client.back', client: 'me' },
      { kind: 'instance.starting', server: 'memory', instance: 1 },
      { kind: 'instance.ready', server: 'memory', instance: 1 },
      { kind: 'instance.stopped', server: 'memory', instance: 1 },
      { kind: 'instance.failed', server: 'memory', code: 'SERVER_START_FAILED', message: 'It could not be started' },
      { kind: 'instance.died', server: 'memory', code: 'SERVER_START_FAILED' },
      { kind: 'server.connected', server: 'caller' },
      { kind: 'tools.changed', server: 'memory', tools: ['one', 'two'] },
      { kind: 'approvals.wanted', cwd: '/work', count: 2 },
      { kind: 'incident', name: 'serverBusy', server: 'memory', client: null, limit: true, times: 1 },
    ]);
  });

  test('incidents that come in thousands are counted together', async () => {
    const watched = new WatchedCore();
    const watch = await watched.watch({ kinds: ['incident'] });
    for (let i = 0; i < 5000; i++) watched.core.events.incident.tell('strayProgress', 'memory', undefined);
    expect(await watch.events()).toMatchObject([{ name: 'strayProgress', times: 1 }]);
    expect(await watch.events(250)).toMatchObject([{ name: 'strayProgress', times: 4999 }]);
  });

  test('the names of the kinds are those of the table', () => {
    expect(EVENT_KINDS).toHaveLength(25);
    expect(new Set(EVENT_KINDS).size).toBe(25);
  });
});

describe('a filter', () => {
  test('a kind, a server, a client, a tool: each narrows', async () => {
    const watched = new WatchedCore({ servers: ['one', 'two'] });
    const { core } = watched;
    const ofOne = await watched.watch({ servers: ['one'] });
    const ofTool = await watched.watch({ kinds: ['call.ended'], tools: ['tool'], clients: ['b'] });
    for (const [id, server] of [
      ['a', 'one'],
      ['b', 'two'],
    ] as const) {
      const client = await core.ready({ _meta: { 'mcp-bridge/clientId': id, 'mcp-bridge/view': `server:${server}` } });
      client.call(1);
      await core.settle();
      core.server(server).answer(core.server(server).requests.at(-1));
      await core.settle();
    }
    const first = await ofOne.events();
    expect(new Set(first.map((event) => ('server' in event ? event.server : '')))).toEqual(new Set(['one']));
    expect(await ofTool.events()).toMatchObject([{ kind: 'call.ended', client: 'b', server: 'two', tool: 'tool' }]);
  });

  test.each([[null], ['x'], [[1, null, {}]], [{}]])('that is none is no condition: %j', async (kinds) => {
    const watched = new WatchedCore();
    const watch = await watched.watch({ kinds, servers: kinds, batchMs: 'soon', callsPerSecond: -1, past: {} });
    expect(watch.report).toMatchObject({ watch: expect.any(String), batchMs: 0, callsPerSecond: 1000, past: [] });
  });
});

describe('past events', () => {
  test('of one group leave room for those of the others, and come in order', async () => {
    const watched = new WatchedCore();
    const { core, past } = watched;
    await core.ready();
    core.events.instanceDied.tell(core.server().instance, new BridgeError('SERVER_CRASHED', 'It has ended'), undefined);
    const died = past.last(1000, new EventFilter({ kinds: ['instance.died'] }));
    expect(died).toHaveLength(1);
    for (let n = 0; n < 210; n++) core.events.toolsChanged.tell(`s${n}`, ['t']);
    for (let n = 0; n < 110; n++) {
      (await core.ready()).link.destroy();
      await core.settle();
    }
    expect(past.last(1000, new EventFilter({ kinds: ['instance.died'] }))).toEqual(died);
    const all = past.last(10_000, new EventFilter({}));
    expect(all.filter(({ kind }) => kind.startsWith('client.'))).toHaveLength(200);
    expect(all.filter(({ kind }) => kind === 'tools.changed')).toHaveLength(200);
    expect(all.findIndex(({ kind }) => kind === 'instance.died')).toBeLessThan(
      all.findIndex(({ kind }) => kind === 'tools.changed'),
    );
    expect(past.last(3, new EventFilter({}))).toEqual(all.slice(-3));
  });

  test('the last of them are in the answer, as far as the filter takes them, and calls are not kept', async () => {
    const watched = new WatchedCore();
    const client = await watched.core.ready();
    client.call(1);
    await watched.core.settle();
    for (let i = 0; i < 300; i++) watched.core.events.toolsChanged.tell(`s${i}`, [], undefined);
    const { report } = await watched.watch({ past: 1000, kinds: ['tools', 'call'] });
    expect(report.past).toHaveLength(200);
    expect(report.past.at(-1)).toMatchObject({ kind: 'tools.changed', server: 's299' });
  });
});

describe('batches', () => {
  test('come at most four times a second, however often they are wanted', async () => {
    const watched = new WatchedCore();
    const watch = await watched.watch({ batchMs: 1 });
    expect(watch.report.batchMs).toBe(250);
    let batches = 0;
    for (let ms = 0; ms < 1000; ms += 10) {
      watched.core.events.serverDialledIn.tell(`s${ms}`, undefined, undefined);
      batches += (await watch.batches(10)).length;
    }
    expect(batches).toBe(4);
  });

  test('without a wait, events of one turn come together', async () => {
    const watched = new WatchedCore();
    const watch = await watched.watch();
    for (let i = 0; i < 10; i++) watched.core.events.serverDialledIn.tell(`s${i}`, undefined, undefined);
    const [batch, ...others] = await watch.batches();
    expect([batch?.events.length, others]).toEqual([10, []]);
  });
});

describe('sampling', () => {
  test('follows as many calls as wanted, whole ones, and says how many are left out', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const watch = await watched.watch({ kinds: ['call'], callsPerSecond: 8, batchMs: 250 });
    const client = await core.ready();
    for (let id = 0; id < 50; id++) client.call(id);
    await core.settle();
    for (const one of core.server().requests) core.server().answer(one);
    const [batch] = await watch.batches(250);
    expect(batch).toMatchObject({ callsBegun: 50, callsLeftOut: 48, lost: 0 });
    const kinds = batch?.events.map(({ kind }) => kind) ?? [];
    const whole = ['call.begun', 'call.sent', 'call.answered', 'call.ended'];
    for (const kind of whole) expect(kinds.filter((one) => one === kind)).toHaveLength(2);
    client.call(100);
    await core.settle();
    expect(await watch.batches(250)).toMatchObject([{ callsBegun: 1, callsLeftOut: 0 }]);
  });

  test('counts from its own beginning, also after an earlier watch', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const earlier = await watched.watch({ kinds: ['call.ended'], batchMs: 250 });
    expect(earlier.peer.isWatching).toBe(true);
    const client = await core.ready();
    for (let id = 0; id < 20; id++) client.call(id);
    await core.settle();
    watched.watches.close(earlier.peer, earlier.report.watch ?? '');
    expect(earlier.peer.isWatching).toBe(false);
    for (let id = 20; id < 30; id++) client.call(id);
    await core.settle();
    const later = await watched.watch({ kinds: ['call.begun'], callsPerSecond: 4, batchMs: 250 });
    for (let id = 30; id < 33; id++) client.call(id);
    await core.settle();
    expect(await later.batches(250)).toMatchObject([{ callsBegun: 3, callsLeftOut: 2 }]);
  });

  test('of two watches has two separate limits', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const few = await watched.watch({ kinds: ['call.ended'], callsPerSecond: 4, batchMs: 250 });
    const none = await watched.watch({ kinds: ['call.ended'], callsPerSecond: 0, batchMs: 250 });
    const all = await watched.watch({ kinds: ['call.ended'], batchMs: 250 });
    const client = await core.ready();
    for (let id = 0; id < 20; id++) client.call(id);
    await core.settle();
    for (const one of core.server().requests) core.server().answer(one);
    await core.settle();
    core.clock.advance(250);
    const seen = async (watch: Watched) => (await watch.batches()).map((one) => [one.events.length, one.callsLeftOut]);
    expect(await seen(few)).toEqual([[1, 19]]);
    expect(await seen(none)).toEqual([[0, 20]]);
    expect(await seen(all)).toEqual([[20, 0]]);
  });
});

describe('a slow reader', () => {
  test('loses events, is told how many, and delays nobody', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const slow = await watched.watch();
    const quick = await watched.watch({ kinds: ['server'] });
    slow.client.link.block();
    let seen = 0;
    const name = 'x'.repeat(180);
    for (let turn = 0; turn < 40; turn++) {
      for (let i = 0; i < 100; i++) core.events.serverDialledIn.tell(name, undefined, undefined);
      seen += (await quick.batches(250)).reduce((sum, { events }) => sum + events.length, 0);
    }
    expect(seen).toBe(4000);
    expect(slow.peer.link.outbox.queuedBytes).toBeLessThan(600_000);
    slow.client.link.unblock();
    const batches = await slow.batches(250);
    const told = batches.reduce((sum, { events, lost }) => sum + events.length + lost, 0);
    expect(told).toBe(4000);
    expect(batches.at(-1)?.lost).toBeGreaterThan(0);
    expect(slow.client.link.isClosed).toBe(false);
  });

  test('that dies ends its watches, and the last one leaves no listener behind', async () => {
    const watched = new WatchedCore();
    const { core, watches } = watched;
    const one = await watched.watch();
    const other = await watched.watch();
    expect(watches.open(one.peer, {}).watch).not.toBeNull();
    expect(watches.size).toBe(3);
    const pending = core.clock.pending;
    one.client.link.destroy();
    await core.settle();
    expect(watches.size).toBe(1);
    expect(watches.close(other.peer, other.report.watch ?? '')).toBe(true);
    expect(watches.size).toBe(0);
    expect(core.clock.pending).toBe(pending - 1);
    const { toolWanted, callAnswered, callProgressed, questionAsked } = core.events;
    expect([toolWanted, callAnswered, callProgressed, questionAsked].some(({ isHeard }) => isHeard)).toBe(false);
    expect(watches.close(other.peer, 'w1')).toBe(false);
  });
});

describe('bounds', () => {
  test('a connection has eight watches, and ends only its own', async () => {
    const watched = new WatchedCore();
    const { peer } = await watched.peer();
    const reports = Array.from({ length: 9 }, () => watched.watches.open(peer, {}));
    expect(reports.map(({ watch }) => watch)).toEqual(['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', null]);
    expect(reports[8]?.refused).toMatch(/8 watches already/);
    const { peer: stranger } = await watched.peer();
    expect(watched.watches.close(stranger, 'w1')).toBe(false);
  });

  test('the daemon has 64, and none for a connection that has ended', async () => {
    const watched = new WatchedCore();
    for (let i = 0; i < 8; i++) {
      const { peer } = await watched.peer();
      for (let n = 0; n < 8; n++) watched.watches.open(peer, {});
    }
    const { client, peer } = await watched.peer();
    expect(watched.watches.open(peer, {}).refused).toMatch(/64 watches/);
    client.link.destroy();
    await watched.core.settle();
    expect(watched.watches.open(peer, {}).refused).toMatch(/ended/);
  });

  test('the last 1,000 calls are kept while somebody watches calls, the newest first', async () => {
    const watched = new WatchedCore();
    const { core } = watched;
    const watch = await watched.watch({ callsPerSecond: 5000 });
    expect(watched.watches.calls.sinceMs).toBeDefined();
    const client = await core.ready();
    for (let id = 0; id < 1100; id++) {
      client.call(id);
      await core.settle();
      core.server().answer(request(core));
      if (id % 500 === 0) await watch.batches(250);
    }
    await core.settle();
    const recent = watched.watches.calls.recent();
    expect(recent).toHaveLength(1000);
    expect([recent[0]?.request, recent.at(-1)?.request]).toEqual(['1099', '100']);
    watched.watches.close(watch.peer, watch.report.watch ?? '');
    expect(watched.watches.calls.recent()).toEqual([]);
    expect(watched.watches.calls.sinceMs).toBeUndefined();
  });
});

describe('texts of others', () => {
  const LONG = 'n'.repeat(100_000);

  test.each([
    [
      'a name of a client',
      async (core: CoreInMemory) => void (await core.ready({ clientInfo: { name: LONG, version: LONG } })),
    ],
    [
      'a name of a tool',
      async (core: CoreInMemory) => {
        const client = await core.ready();
        client.say({ jsonrpc: '2.0', id: LONG, method: 'tools/call', params: { name: LONG } });
        client.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: '\u202e\ud83d\ude00\u0007' } });
        client.say({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 7 } });
      },
    ],
    [
      'names of changed tools',
      (core: CoreInMemory) => {
        core.events.toolsChanged.tell(
          LONG,
          Array.from({ length: 10_000 }, () => LONG),
          undefined,
        );
        return Promise.resolve();
      },
    ],
    [
      'what a server says when it dies',
      async (core: CoreInMemory) => {
        const client = await core.ready();
        client.call(1);
        await core.settle();
        core.events.instanceDied.tell(core.server().instance, new BridgeError('SERVER_CRASHED', LONG), undefined);
      },
    ],
  ])('%s is cut, and no line is longer than its reader can bear', async (_, cause) => {
    const watched = new WatchedCore();
    const watch = await watched.watch({ past: 10 });
    await cause(watched.core);
    await watched.core.settle();
    watched.core.clock.advance(250);
    await watched.core.settle();
    const lines = watch.client.link.lines.filter((line) => line.includes('bridge/event'));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line.length).toBeLessThan(20_000);
  });
});
