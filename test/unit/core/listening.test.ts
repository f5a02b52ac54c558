// A server of 2026 is listened to once, for all clients; clients of 2025 subscribe and hear of changes as they always have.

import { describe, expect, test } from 'vitest';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { membersOf } from '../../../src/util/json-value.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ID = 'io.modelcontextprotocol/subscriptionId';
const ALL = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: {},
  logging: {},
};
const LISTS = { toolsListChanged: true, resourcesListChanged: true };

async function coreOf2026(capabilities: object = ALL): Promise<CoreInMemory> {
  const core = new CoreInMemory();
  core.server().era = ERA_2026;
  core.server().declare(capabilities);
  core.server().answers = ({ method = '' }) =>
    method.endsWith('/list') ? { result: { resultType: 'complete', [method.split('/')[0] ?? '']: [] } } : undefined;
  return core;
}

const listens = (core: CoreInMemory): Message[] =>
  core.server().requests.filter(({ method }) => method === 'subscriptions/listen');
const wanted = (listen: Message | undefined): unknown => listen?.params?.notifications;

/** Lets the time pass for which changes are gathered. */
async function gathered(core: CoreInMemory): Promise<void> {
  await core.settle();
  await core.pass(20);
}

async function acknowledge(core: CoreInMemory, listen = listens(core).at(-1), honored = wanted(listen)): Promise<void> {
  core.server().say({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: honored, _meta: { [ID]: listen?.id } },
  });
  await gathered(core);
}

async function notice(core: CoreInMemory, method: string, params: object, id: unknown): Promise<void> {
  core.server().say({ jsonrpc: '2.0', method: `notifications/${method}`, params: { ...params, _meta: { [ID]: id } } });
  await core.settle();
}

async function subscribe(core: CoreInMemory, client: TestClient, uri: string, id = uri): Promise<void> {
  client.say({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri } });
  await gathered(core);
}

describe('a server of 2026', () => {
  test('is listened to for the lists that it declares, once for all clients', async () => {
    const core = await coreOf2026();
    await core.ready();
    await core.ready();
    expect(listens(core)).toMatchObject([
      { params: { notifications: LISTS, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
    ]);
  });

  test('that reports nothing is not listened to', async () => {
    const core = await coreOf2026({ tools: {}, resources: {} });
    const client = await core.ready();
    await subscribe(core, client, 'x:1');
    expect([listens(core), client.answersTo('x:1')]).toMatchObject([[], [{ error: { code: -32601 } }]]);
    expect(core.openCalls).toBe(0);
  });

  test('is never sent a subscription, a level, a ping or a change of roots', async () => {
    const core = await coreOf2026();
    const client = await core.ready({ capabilities: { roots: {}, sampling: {} } });
    await subscribe(core, client, 'x:1');
    client.say({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'debug' } });
    client.say({ jsonrpc: '2.0', id: 2, method: 'ping' });
    client.say({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    client.say({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId: 'x' } });
    client.call(3);
    await core.settle();
    client.cancel(3);
    await core.settle();
    expect([1, 2].map((id) => client.answersTo(id)[0]?.result)).toEqual([{}, {}]);
    const methods = new Set(core.server().received.map(({ method }) => method));
    expect([...methods].sort()).toEqual([
      'notifications/cancelled',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'subscriptions/listen',
      'tools/call',
      'tools/list',
    ]);
  });
});

describe('a subscription', () => {
  test('makes a new listen with all resources; the old one is cancelled when the new one holds', async () => {
    const core = await coreOf2026();
    const [one, other] = [await core.ready(), await core.ready()];
    await acknowledge(core);
    await subscribe(core, one, 'x:1');
    expect([wanted(listens(core)[1]), core.server().cancelled, one.answersTo('x:1')]).toEqual([
      { ...LISTS, resourceSubscriptions: ['x:1'] },
      [],
      [],
    ]);
    await acknowledge(core);
    expect([core.server().cancelled, one.answersTo('x:1')]).toMatchObject([[listens(core)[0]?.id], [{ result: {} }]]);
    await subscribe(core, other, 'x:1'); // the server reports it already
    await subscribe(core, other, 'x:2');
    await acknowledge(core);
    expect([wanted(listens(core)[2]), other.answersTo('x:1'), other.answersTo('x:2')]).toMatchObject([
      { resourceSubscriptions: ['x:1', 'x:2'] },
      [{ result: {} }],
      [{ result: {} }],
    ]);
    expect([listens(core).length, core.openCalls]).toEqual([3, 0]);
  });

  test('that comes while a listen is on its way waits for the next one', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    for (const uri of ['x:1', 'x:2', 'x:3']) await subscribe(core, client, uri);
    expect(listens(core).map(wanted)).toEqual([LISTS]);
    await acknowledge(core);
    expect(wanted(listens(core)[1])).toMatchObject({ resourceSubscriptions: ['x:1', 'x:2', 'x:3'] });
    await acknowledge(core);
    expect(['x:1', 'x:2', 'x:3'].flatMap((uri) => client.answersTo(uri))).toHaveLength(3);
  });

  test('that the server does not honour is refused, and asked for no more', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    await subscribe(core, client, 'x:2');
    await acknowledge(core, undefined, { ...LISTS, resourceSubscriptions: [] });
    await acknowledge(core);
    expect([client.answersTo('x:1'), client.answersTo('x:2')]).toMatchObject([[{ error: {} }], [{ result: {} }]]);
    expect(wanted(listens(core).at(-1))).toEqual({ ...LISTS, resourceSubscriptions: ['x:2'] });
  });

  test('fails with the listen that carries it; the listen before goes on', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    const error = { code: -32602, message: 'no such resource' };
    core.server().say({ jsonrpc: '2.0', id: listens(core)[1]?.id, error });
    await core.settle();
    expect(client.answersTo('x:1')).toMatchObject([{ error }]);
    await core.pass(120_000);
    expect([listens(core).length, core.server().cancelled]).toEqual([2, []]);
    await notice(core, 'tools/list_changed', {}, listens(core)[0]?.id);
    expect(client.notifications('notifications/tools/list_changed')).toHaveLength(1);
  });

  test('that is given up while it is asked for gets no answer, and ends', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    client.cancel('x:1');
    await acknowledge(core);
    await acknowledge(core);
    expect([client.answersTo('x:1'), wanted(listens(core).at(-1)), core.openCalls]).toEqual([[], LISTS, 0]);
  });

  test('ends with its last client', async () => {
    const core = await coreOf2026();
    const [one, other] = [await core.ready(), await core.ready()];
    await acknowledge(core);
    for (const client of [one, other]) await subscribe(core, client, 'x:1');
    await acknowledge(core);
    one.say({ jsonrpc: '2.0', id: 'u', method: 'resources/unsubscribe', params: { uri: 'x:1' } });
    await core.settle();
    expect([one.answersTo('u'), listens(core).length]).toMatchObject([[{ result: {} }], 2]);
    other.link.destroy();
    await gathered(core);
    expect(wanted(listens(core)[2])).toEqual(LISTS);
  });

  test('changes one listen with all others that come within some milliseconds', async () => {
    const core = await coreOf2026();
    const clients = [await core.ready(), await core.ready()];
    await acknowledge(core);
    for (let n = 0; n < 50; n++) {
      for (const client of clients)
        client.say({ jsonrpc: '2.0', id: n, method: 'resources/subscribe', params: { uri: `x:${n}` } });
      await core.settle();
    }
    clients[0]?.say({ jsonrpc: '2.0', id: 'u', method: 'resources/unsubscribe', params: { uri: 'x:0' } });
    clients[1]?.say({ jsonrpc: '2.0', id: 'u', method: 'resources/unsubscribe', params: { uri: 'x:0' } });
    await core.settle();
    expect(listens(core)).toHaveLength(1);
    await gathered(core);
    await acknowledge(core);
    const uris = Array.from({ length: 49 }, (_, n) => `x:${n + 1}`);
    expect(listens(core).slice(1).map(wanted)).toEqual([{ ...LISTS, resourceSubscriptions: uris }]);
    for (const client of clients) expect(client.answersTo(49)).toMatchObject([{ result: {} }]);
  });

  test('comes the later, the more was sent for the last one', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, `x:${'y'.repeat(100_000)}`, 'long');
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    expect(listens(core)).toHaveLength(2);
    await core.pass(150);
    expect(listens(core)).toHaveLength(3);
  });

  test('waits while the server takes nothing', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    core.server().link?.block();
    client.call(1, { long: 'x'.repeat(200_000) });
    await subscribe(core, client, 'x:1');
    await subscribe(core, client, 'x:2');
    core.server().link?.take();
    await core.settle();
    expect(listens(core)).toHaveLength(1);
    core.server().link?.unblock();
    await gathered(core);
    expect(listens(core).slice(1).map(wanted)).toMatchObject([{ resourceSubscriptions: ['x:1', 'x:2'] }]);
  });

  test('to a resource that the server has declined a moment ago is declined too', async () => {
    const core = await coreOf2026();
    const [one, other] = [await core.ready(), await core.ready()];
    await acknowledge(core);
    await subscribe(core, one, 'x:1');
    other.say({ jsonrpc: '2.0', id: 'x:1', method: 'resources/subscribe', params: { uri: 'x:1' } });
    await acknowledge(core, undefined, { ...LISTS, resourceSubscriptions: [] });
    await gathered(core);
    expect([one, other].map((client) => client.answersTo('x:1'))).toMatchObject([[{ error: {} }], [{ error: {} }]]);
  });

  test('that the server never acknowledges fails after the time for the bridge’s own requests', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    await core.pass(61_000);
    expect(client.answersTo('x:1')).toMatchObject([{ error: {} }]);
    expect(core.server().cancelled).toContain(listens(core)[1]?.id);
  });

  test('is renewed for a server that was started again', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    await acknowledge(core);
    await subscribe(core, client, 'x:2');
    core.server().crash();
    await core.settle();
    expect(client.answersTo('x:2')).toMatchObject([{ error: { data: { code: 'SERVER_CRASHED' } } }]);
    client.call(1);
    await core.settle();
    expect(listens(core).map(wanted)).toEqual([{ ...LISTS, resourceSubscriptions: ['x:1'] }]);
  });
});

describe('a notice', () => {
  test('goes to the clients that want it, without the bridge’s subscription', async () => {
    const core = await coreOf2026();
    const [one, other] = [await core.ready(), await core.ready()];
    await acknowledge(core);
    await subscribe(core, one, 'x:1');
    await acknowledge(core);
    const { id } = listens(core)[1] as Message;
    await notice(core, 'resources/updated', { uri: 'x:1' }, id);
    core
      .server()
      .say(
        `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"a": 1,"${ID}":${id}},"uri":"x:1"}}`,
      );
    await core.settle();
    expect(one.link.lines.slice(-2)).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1"}}',
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"a": 1},"uri":"x:1"}}',
    ]);
    expect(other.notifications('notifications/resources/updated')).toEqual([]);
  });

  test('of a changed list goes to all clients, and the bridge reads the list', async () => {
    const core = await coreOf2026();
    const clients = [await core.ready(), await core.ready()];
    await acknowledge(core);
    const before = core.server().requests.filter(({ method }) => method === 'tools/list').length;
    await notice(core, 'tools/list_changed', {}, listens(core)[0]?.id);
    const line = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}';
    expect(clients.map(({ link }) => link.lines.at(-1))).toEqual([line, line]);
    expect(core.server().requests.filter(({ method }) => method === 'tools/list')).toHaveLength(before + 1);
  });

  test('of a listen that holds no more is dropped: the next one has it too', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    await notice(core, 'tools/list_changed', {}, listens(core)[0]?.id); // nothing is missed while the next one is on its way
    await acknowledge(core);
    await notice(core, 'tools/list_changed', {}, listens(core)[0]?.id);
    await notice(core, 'tools/list_changed', {}, listens(core)[1]?.id);
    expect(client.notifications('notifications/tools/list_changed')).toHaveLength(2);
    expect(core.counters.notificationsDropped).toBe(1);
  });
});

describe('a listen that ends', () => {
  const ends: readonly [string, (core: CoreInMemory, id: unknown) => void][] = [
    [
      'with a result',
      (core, id) => core.server().say({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: { [ID]: id } } }),
    ],
    [
      'because the server cancels it',
      (core, requestId) =>
        core.server().say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    ],
    [
      'with an error',
      (core, id) => core.server().say({ jsonrpc: '2.0', id, error: { code: -32603, message: 'lost' } }),
    ],
  ];

  test.each(ends)('%s is opened again after a pause, and possible changes are checked (D10)', async (_, end) => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    await acknowledge(core);
    const lists = (): number => core.server().requests.filter(({ method }) => method === 'tools/list').length;
    const before = lists();
    end(core, listens(core)[1]?.id);
    await core.settle();
    expect(listens(core)).toHaveLength(2);
    await core.pass(1000);
    expect(wanted(listens(core)[2])).toMatchObject({ resourceSubscriptions: ['x:1'] });
    await acknowledge(core);
    expect([lists() - before, client.notifications('notifications/resources/updated')]).toMatchObject([
      1,
      [{ params: { uri: 'x:1' } }],
    ]);
  });

  test('again and again is opened after longer and longer pauses, up to a minute', async () => {
    const core = await coreOf2026();
    await core.ready();
    const pauses: number[] = [];
    for (let n = 0; n < 8; n++) {
      await acknowledge(core);
      ends[0]?.[1](core, listens(core).at(-1)?.id);
      await core.settle();
      let seconds = 0;
      for (const before = listens(core).length; listens(core).length === before; seconds++) await core.pass(1000);
      pauses.push(seconds);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    await acknowledge(core);
    await core.pass(10_000);
    ends[0]?.[1](core, listens(core).at(-1)?.id);
    await core.pass(1000);
    expect(listens(core)).toHaveLength(10);
  });

  test('because the server takes no other one beside it is tried again after longer and longer pauses', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await acknowledge(core);
    await subscribe(core, client, 'x:1');
    await acknowledge(core);
    client.say({ jsonrpc: '2.0', id: 'u', method: 'resources/unsubscribe', params: { uri: 'x:1' } });
    await gathered(core);
    const pauses: number[] = [];
    for (let n = 0; n < 4; n++) {
      core.server().say({ jsonrpc: '2.0', id: listens(core).at(-1)?.id, error: { code: -32000, message: 'one' } });
      await core.settle();
      let seconds = 0;
      for (const before = listens(core).length; listens(core).length === before; seconds++) await core.pass(1000);
      pauses.push(seconds);
    }
    expect(pauses).toEqual([1, 2, 4, 8]);
    expect(wanted(listens(core).at(-1))).toEqual(LISTS);
    core.server().say({ jsonrpc: '2.0', id: listens(core).at(-1)?.id, error: { code: -32000, message: 'one' } });
    await core.settle();
    const before = listens(core).length;
    await subscribe(core, client, 'x:2');
    expect(listens(core).slice(before).map(wanted)).toEqual([{ ...LISTS, resourceSubscriptions: ['x:2'] }]);
  });

  test('is opened at once for a resource that somebody wants to hear of meanwhile', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    for (let n = 0; n < 6; n++) {
      await acknowledge(core);
      ends[0]?.[1](core, listens(core).at(-1)?.id);
      if (n < 5) await core.pass(60_000);
    }
    await subscribe(core, client, 'x:1');
    expect(wanted(listens(core).at(-1))).toMatchObject({ resourceSubscriptions: ['x:1'] });
    // Those who have asked while a listen was on its way that has failed do not wait either.
    client.say({ jsonrpc: '2.0', id: 'x:2', method: 'resources/subscribe', params: { uri: 'x:2' } });
    await core.settle();
    ends[2]?.[1](core, listens(core).at(-1)?.id);
    await gathered(core);
    expect([client.answersTo('x:1'), wanted(listens(core).at(-1))]).toMatchObject([
      [{ error: { message: 'lost' } }],
      { resourceSubscriptions: ['x:2'] },
    ]);
  });

  test('because the server does not know the method ends the wait of all clients that want something else', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    await subscribe(core, client, 'x:1');
    core.server().say({ jsonrpc: '2.0', id: listens(core)[0]?.id, error: { code: -32601, message: 'no' } });
    await gathered(core);
    expect(client.answersTo('x:1')).toMatchObject([{ error: { code: -32601 } }]);
    expect(core.openCalls).toBe(0);
  });

  test('because the server knows no such method is not opened again', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    core.server().say({ jsonrpc: '2.0', id: listens(core)[0]?.id, error: { code: -32601, message: 'no' } });
    await core.pass(200_000);
    await subscribe(core, client, 'x:1');
    expect([listens(core).length, client.answersTo('x:1')]).toMatchObject([1, [{ error: { code: -32601 } }]]);
  });

  test('because the server honours nothing of it is not opened again', async () => {
    const core = await coreOf2026();
    await core.ready();
    await acknowledge(core, undefined, {});
    ends[0]?.[1](core, listens(core)[0]?.id);
    await core.pass(200_000);
    expect(listens(core)).toHaveLength(1);
  });
});

describe('logs', () => {
  const log = (core: CoreInMemory, level: string): void =>
    core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } });

  test('are asked for in each request of a client that has set a level, and go to clients that wait for an answer', async () => {
    const core = await coreOf2026();
    const [one, other, quiet] = [await core.ready(), await core.ready(), await core.ready()];
    for (const [client, level] of [
      [one, 'debug'],
      [other, 'error'],
    ] as const)
      client.say({ jsonrpc: '2.0', id: 'level', method: 'logging/setLevel', params: { level } });
    await core.settle();
    expect([one, other].map((client) => client.answersTo('level')[0]?.result)).toEqual([{}, {}]);
    log(core, 'error'); // nobody waits for anything
    for (const client of [one, other, quiet]) client.call(1);
    await core.settle();
    const calls = core.server().requests.filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ params }) => membersOf(params?._meta)['io.modelcontextprotocol/logLevel'])).toEqual([
      'debug',
      'error',
      undefined,
    ]);
    for (const level of ['debug', 'error']) log(core, level);
    await core.settle();
    const heard = [one, other, quiet].map((client) =>
      client.notifications('notifications/message').map(({ params }) => params?.level),
    );
    expect(heard).toEqual([['debug', 'error'], ['error'], []]);
  });

  test('have only the levels of the protocol', async () => {
    const core = await coreOf2026();
    const client = await core.ready();
    client.say({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'loud' } });
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ error: { code: -32602 } }]);
  });

  test('of a server that declares none cannot be asked for', async () => {
    const core = await coreOf2026({});
    const client = await core.ready();
    client.say({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'info' } });
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ error: { code: -32601 } }]);
  });
});

test('methods that only the era of 2026 has are unknown to its clients of 2025', async () => {
  const core = await coreOf2026();
  const client = await core.ready();
  const methods = ['subscriptions/listen', 'tasks/update', 'server/discover'];
  for (const method of methods) client.say({ jsonrpc: '2.0', id: method, method, params: {} });
  await core.settle();
  expect(methods.map((method) => client.answersTo(method)[0]?.error?.code)).toEqual([-32601, -32601, -32601]);
  expect(listens(core)).toHaveLength(1);
  expect(core.openCalls).toBe(0);
});

test('a request of a server of 2026 is answered with an error, and reaches no client', async () => {
  const core = await coreOf2026();
  const client = await core.ready({ capabilities: { sampling: {}, elicitation: {}, roots: {} } });
  client.call(1);
  await core.settle();
  client.link.lines.length = 0;
  const methods = ['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping', 'x/y'];
  for (const method of methods) core.server().say({ jsonrpc: '2.0', id: method, method, params: {} });
  await core.settle();
  const answers = core.server().received.filter(({ method }) => method === undefined);
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual(methods.map((method) => [method, -32601]));
  expect([client.link.lines, core.counters.serverNoise]).toEqual([[], methods.length]);
});
