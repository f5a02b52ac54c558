import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { declaredSharingIn, sharingOf } from '../../../src/model/sharing.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const SECOND = 1000;
const LOSES_WRITES = { sharing: undefined, nature: { losesWrites: 'all of its file' } };
const KEEPS = { keepsState: 'it keeps thoughts' };
const declaring = (sharing: unknown): object => ({ 'x-mux': { sharing } });
const metaOf = ({ params }: Message): unknown => params?._meta;

describe('the clients that may share an instance', () => {
  test.each([
    [undefined, undefined, undefined, 'auto'],
    [undefined, undefined, KEEPS, 'dedicated'],
    [undefined, 'isolated', undefined, 'dedicated'],
    [undefined, 'shared', KEEPS, 'auto'],
    [undefined, 'session-aware', KEEPS, 'auto'],
    ['auto', 'isolated', KEEPS, 'auto'],
    ['shared', 'isolated', KEEPS, 'shared'],
    ['dedicated', 'shared', undefined, 'dedicated'],
  ] as const)('a user says %s, the server %s, the table %j: %s', (sharing, declared, nature, expected) => {
    expect(sharingOf({ sharing, nature }, declared)).toBe(expected);
  });

  test.each([[{}], [{ 'x-mux': null }], [{ 'x-mux': 'shared' }], [{ 'x-mux': { sharing: 'mine' } }]])(
    'is not said by a server that declares %j',
    (capabilities) => expect(declaredSharingIn(capabilities)).toBeUndefined(),
  );
});

describe('a server that is known to keep something for a client', () => {
  test('has an instance for each', async () => {
    const core = new CoreInMemory({ definition: { sharing: undefined, nature: KEEPS } });
    const clients = [await core.ready(), await core.ready()];
    for (const client of clients) client.call(1);
    await core.settle();
    expect(core.server().instances.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });
});

describe('a server that says of itself', () => {
  test('that it is isolated has an instance for each client, also for clients that came before it said so', async () => {
    const core = new CoreInMemory({ definition: { sharing: undefined } });
    core.server().opensByItself = false;
    core.server().declare(declaring('isolated'));
    const clients = [core.connect(), core.connect(), core.connect()];
    for (const client of clients) client.initialize();
    await core.settle();
    for (const client of clients) client.call(1);
    for (let i = 0; i < 3; i++) {
      for (const instance of core.server().instances) instance.open();
      await core.settle();
    }
    expect(core.server().instances.map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
  });

  test('that it knows its clients apart learns which one asks, always under the same id', async () => {
    const core = new CoreInMemory({ definition: { sharing: undefined, nature: KEEPS } });
    core.server().declare(declaring('session-aware'));
    const [one, other] = [await core.ready(), await core.ready()];
    one.call(1);
    one.call(2, {}, { progressToken: 'p', mine: [1, { a: ' b' }] });
    one.say({ jsonrpc: '2.0', id: 3, method: 'some/method' });
    other.call(1, {}, { muxSessionId: 'sess_somebody-else' });
    await core.settle();
    const { requests } = core.server();
    expect(core.server().instances.length).toBe(1);
    const ids = requests.map((request) => (metaOf(request) as { muxSessionId?: string } | undefined)?.muxSessionId);
    expect(new Set(ids).size).toBe(2);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).toBe(ids[0]);
    expect(ids[3]).toMatch(/^sess_[0-9a-f]{32}$/);
    expect(metaOf(requests[1] as Message)).toEqual({ progressToken: 2, mine: [1, { a: ' b' }], muxSessionId: ids[0] });
  });

  test('that it knows its clients apart gets the bridge’s id last, even if a client writes a similar member', async () => {
    const core = new CoreInMemory({ definition: { sharing: undefined, nature: KEEPS } });
    core.server().declare(declaring('session-aware'));
    const client = await core.ready();
    client.call(1, {}, { MuxSessionId: 'theirs', a: 1 });
    client.call(2, {}, { muxSessionId: 'theirs', MUXSESSIONID: 'theirs' });
    await core.settle();
    for (const request of core.server().requests)
      expect((metaOf(request) as { muxSessionId: string }).muxSessionId).toMatch(/^sess_/);
    expect(Object.keys(metaOf(core.server().requests[0] as Message) as object).at(-1)).toBe('muxSessionId');
  });

  test('nothing hears of no session', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1, {}, { muxSessionId: 'mine' });
    await core.settle();
    expect(core.server().requests.map(metaOf)).toEqual([{ muxSessionId: 'mine' }]);
  });

  test('the rest of each request is unchanged', async () => {
    const params = fc.record(
      {
        name: fc.constant('tool'),
        arguments: fc.dictionary(fc.string(), fc.jsonValue()),
        _meta: fc.oneof(
          fc.dictionary(fc.constantFrom('muxSessionId', 'a', 'b"c', ''), fc.jsonValue()),
          fc.constantFrom<unknown>(null, 7, []),
        ),
      },
      { requiredKeys: ['name'] },
    );
    await fc.assert(
      fc.asyncProperty(params, fc.constantFrom(0, 1, 3), async (said, indent) => {
        const core = new CoreInMemory();
        core.server().declare(declaring('session-aware'));
        const client = await core.ready();
        client.say(
          JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: said }, null, indent).replaceAll(
            '\n',
            ' ',
          ),
        );
        await core.settle();
        const [sent] = core.server().requests;
        const { _meta, ...rest } = sent?.params ?? {};
        const { _meta: before = {}, ...others } = JSON.parse(JSON.stringify(said)) as { _meta?: unknown };
        expect(rest).toEqual(others);
        const isObject = typeof before === 'object' && before !== null && !Array.isArray(before);
        expect(_meta).toEqual(isObject ? { ...before, muxSessionId: expect.stringMatching(/^sess_/) } : before);
      }),
      { numRuns: 200 },
    );
  });
});

describe('a server that gets one call at a time', () => {
  test('gets the next one when that has ended, in whatever way, and everything else meanwhile', async () => {
    const core = new CoreInMemory({ definition: { sharing: undefined, nature: { losesWrites: 'all of its file' } } });
    const [one, other] = [await core.ready(), await core.ready()];
    one.call(1, { n: 1 });
    one.call(2, { n: 2 });
    other.call(1, { n: 3 });
    other.call(2, { n: 4 });
    await core.settle();
    const calls = (): unknown[] => core.server().requests.map(({ params }) => params?.arguments);
    expect(calls()).toEqual([{ n: 1 }]);
    const third = await core.ready();
    third.say({ jsonrpc: '2.0', id: 'r', method: 'resources/read', params: { uri: 'a:b' } });
    await core.settle();
    expect(core.server().requests.at(-1)?.method).toBe('resources/read');
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(calls().slice(2)).toEqual([{ n: 2 }]);
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
    expect(calls().slice(3)).toEqual([{ n: 3 }]);
    core.server().crash();
    await core.settle();
    expect(calls()).toEqual([{ n: 4 }]);
  });

  test('counts one that was given up until it is answered after all, or for 5 s', async () => {
    for (const giveUp of [(client: TestClient) => client.cancel(1), (client: TestClient) => client.link.destroy()]) {
      for (const answersLate of [true, false]) {
        const core = new CoreInMemory({ definition: LOSES_WRITES });
        const [one, other] = [await core.ready(), await core.ready()];
        one.call(1);
        other.call(1);
        await core.settle();
        giveUp(one);
        await core.settle();
        for (const { id } of core.server().requests.filter(({ method }) => method === 'ping'))
          core.server().say({ jsonrpc: '2.0', id, result: {} });
        await core.pass(4 * SECOND);
        const calls = (): number => core.server().requests.filter(({ method }) => method === 'tools/call').length;
        expect(calls()).toBe(1);
        if (answersLate) core.server().answer(core.server().requests[0]);
        else await core.pass(3 * SECOND);
        await core.settle();
        expect(calls()).toBe(2);
        expect(one.answersTo(1)).toEqual([]);
      }
    }
  });

  test('keeps the others waiting for 30 s while none of its calls ends; then they get an error that says why', async () => {
    const core = new CoreInMemory({ definition: LOSES_WRITES });
    const [one, other, third] = [await core.ready(), await core.ready(), await core.ready()];
    one.call(1);
    await core.settle();
    one.call(2);
    other.call(1);
    third.call(1);
    await core.pass(29 * SECOND);
    core.server().answer(core.server().requests[0]); // the next one has its own 30 s
    await core.settle();
    await core.pass(29 * SECOND);
    expect([one, other, third].flatMap((client) => client.received.filter(({ error }) => error))).toEqual([]);
    await core.pass(3 * SECOND);
    const errors = [...other.answersTo(1), ...third.answersTo(1)].map(({ error }) => error);
    expect(errors).toHaveLength(2);
    for (const error of errors) {
      expect(error?.message).toContain('30000 ms');
      expect(error?.data).toMatchObject({ code: 'SERVER_BUSY', hint: expect.stringContaining('maxConcurrentCalls') });
    }
    core.server().answer(core.server().requests[1]);
    await core.settle();
    expect(one.answersTo(2).map(({ result }) => result)).toEqual([{ echo: {} }]);
    expect(core.openCalls).toBe(0);
  });

  test('lets the calls of one client wait for its own as long as these take', async () => {
    const core = new CoreInMemory({ definition: LOSES_WRITES });
    const client = await core.ready();
    client.call(1);
    client.call(2);
    await core.settle();
    await core.pass(120 * SECOND);
    expect([...client.answersTo(1), ...client.answersTo(2)]).toEqual([]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(core.server().requests.length).toBe(2);
  });

  test('gets as many as its user says', async () => {
    for (const most of [0, 2]) {
      const definition = { sharing: undefined, maxConcurrentCalls: most, nature: { losesWrites: 'all of its file' } };
      const core = new CoreInMemory({ definition });
      const client = await core.ready();
      for (let i = 0; i < 5; i++) client.call(i);
      await core.settle();
      expect(core.server().requests.length).toBe(most === 0 ? 5 : most);
    }
  });
});

describe('the description of clients for a server', () => {
  const CODE = { name: 'code', version: '2' };
  const DESK = { name: 'desk', version: '1' };

  test('is the client that has it started, if all that use it then are the same; else it is the bridge', async () => {
    const core = new CoreInMemory();
    const one = await core.ready({ clientInfo: CODE });
    one.call(1);
    await core.settle();
    const server = core.server().first;
    expect(server.introduced).toEqual(CODE);
    for (const [clientInfo, expected] of [
      [CODE, CODE],
      [DESK, undefined],
    ]) {
      const next = await core.ready({ clientInfo });
      next.call(1);
      await core.settle();
      expect(server.introduced).toEqual(CODE);
      core.server().crash();
      next.call(2);
      await core.settle();
      expect(server.introduced).toEqual(expected);
    }
    expect(core.server().instances.length).toBe(1);
  });

  test('is that one client where each has an instance, and so is the answer that is kept', async () => {
    const core = new CoreInMemory({ definition: { sharing: 'dedicated' }, ttlMs: 60 * SECOND });
    const { instances } = core.server();
    const seen: unknown[] = [];
    for (const clientInfo of [CODE, DESK, CODE, DESK]) {
      const client = await core.ready({ clientInfo });
      seen.push(instances.flatMap(({ starts, introduced }) => (starts > 0 ? [introduced] : [])));
      client.link.destroy();
      await core.settle();
    }
    // Who comes again gets the answer that it got.
    expect(seen).toEqual([[CODE], [CODE, DESK], [CODE, DESK], [CODE, DESK]]);
  });
});

describe('other capabilities of a client than being asked', () => {
  const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };

  test('a server of 2026 is shared whatever its clients can do, which each call says', async () => {
    const core = new CoreInMemory();
    core.server().era = ERA_2026;
    for (const capabilities of [{}, { sampling: {} }, APPS, { elicitation: {} }]) {
      const client = await core.ready({ capabilities });
      client.call(1);
      await core.settle();
    }
    expect(core.server().starts).toBe(1);
    expect(core.server().requests).toHaveLength(4);
  });

  test('is told to its server, and keeps it apart from clients that say something else', async () => {
    const core = new CoreInMemory();
    for (const capabilities of [APPS, {}, APPS, { experimental: { x: {} } }]) {
      const client = await core.ready({ capabilities });
      client.call(1);
      await core.settle();
    }
    const seen = core.server().instances.map(({ offered, requests }) => [offered, requests.length]);
    expect(seen).toEqual([
      [APPS, 2],
      [{}, 1],
      [{ experimental: { x: {} } }, 1],
    ]);
  });

  test('may be a task, for which the server asks that client alone', async () => {
    const core = new CoreInMemory();
    const tasks = { requests: { sampling: { createMessage: {} } } };
    const [one, other] = [
      await core.ready({ capabilities: { sampling: {}, tasks } }),
      await core.ready({ capabilities: { sampling: {}, tasks } }),
    ];
    one.call(1);
    await core.settle();
    const server = core.server();
    server.say({ jsonrpc: '2.0', id: 's', method: 'sampling/createMessage', params: { task: {} } });
    await core.settle();
    one.say({ jsonrpc: '2.0', id: one.received[0]?.id, result: { task: { taskId: 't', status: 'working' } } });
    for (const [id, taskId] of [
      ['g', 't'],
      ['x', 'nobody-has-it'],
    ])
      server.say({ jsonrpc: '2.0', id, method: 'tasks/get', params: { taskId } });
    await core.settle();
    const asked = one.notifications('tasks/get');
    expect(asked.map(({ params }) => params)).toEqual([{ taskId: 't' }]);
    one.say({ jsonrpc: '2.0', id: asked[0]?.id, result: { taskId: 't', status: 'completed' } });
    await core.settle();
    const heard = server.received.filter(({ method }) => method === undefined);
    expect(heard.map(({ id, error }) => [id, error?.code])).toEqual([
      ['s', undefined],
      ['x', -32603],
      ['g', undefined],
    ]);
    expect(other.received).toEqual([]);
    one.link.destroy();
    server.say({ jsonrpc: '2.0', id: 'late', method: 'tasks/get', params: { taskId: 't' } });
    await core.settle();
    expect(server.received.at(-1)?.error?.code).toBe(-32603);
  });
});
