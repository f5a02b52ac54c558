// Clients that hang up with everything pending: what they have waiting is never sent, what the bridge would answer by
// itself is not answered, and nobody else notices.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type CoreOptions, type TestClient } from '../../support/core-in-memory.ts';

const ABLE = { capabilities: { elicitation: {} } };
const SHARED: CoreOptions = { definition: { sharing: 'shared' } };

function ask(client: TestClient, id: string, method: string, params: object): void {
  client.say({ jsonrpc: '2.0', id, method, params });
}

/** The requests that the bridge answers by itself when their turn comes. */
const OWN_ANSWERS: readonly [string, object][] = [
  ['logging/setLevel', { level: 'error' }],
  ['resources/unsubscribe', { uri: 'x:1' }],
];

/** A client that has the lane: its call waits for an answer of its own. */
async function conversing(core: CoreInMemory): Promise<TestClient> {
  const client = await core.ready(ABLE);
  for (let n = 0; n < 3; n++) {
    ask(client, `level ${n}`, 'logging/setLevel', { level: 'debug' });
    ask(client, `end ${n}`, 'resources/unsubscribe', { uri: 'x:1' });
  }
  ask(client, 'wish', 'resources/subscribe', { uri: 'x:1' });
  await core.settle();
  for (const { id } of core.server().requests) core.server().say({ jsonrpc: '2.0', id, result: {} });
  client.call('talk');
  await core.settle();
  core.server().say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: '?' } });
  await core.settle();
  return client;
}

describe('a client that hangs up', () => {
  test.each(OWN_ANSWERS)('with a call waiting and %s behind it costs nobody else anything', async (method, params) => {
    const core = new CoreInMemory(SHARED);
    const talker = await conversing(core);
    const leaver = await core.ready(ABLE);
    leaver.call('waits');
    ask(leaver, 'own', method, params);
    await core.settle();
    const sentBefore = core.server().requests.length;
    leaver.link.destroy();
    await core.settle();
    expect(core.counters.internalErrors).toBe(0);
    expect(core.server().requests).toHaveLength(sentBefore);
    core.server().answer(core.server().requests.find(({ method: sent }) => sent === 'tools/call'));
    await core.settle();
    expect(talker.answersTo('talk')).toHaveLength(1);
    expect([core.openCalls, core.server().instance.sessions.size]).toEqual([0, 1]);
  });

  test('at its limit of calls sends none of its waiting ones, on any server', async () => {
    const core = new CoreInMemory({ servers: ['a', 'b'], limits: { maxInFlightPerClient: 1 } });
    for (const name of ['a', 'b']) core.server(name).has({ tools: [{ name: 'tool' }] });
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
    for (const name of ['a', 'b', 'b', 'a'])
      client.say({
        jsonrpc: '2.0',
        id: `${name}${Math.random()}`,
        method: 'tools/call',
        params: { name: `${name}__tool` },
      });
    await core.settle();
    client.link.destroy();
    await core.settle();
    const calls = ['a', 'b'].map((name) => core.server(name).requests.filter(({ method }) => method === 'tools/call'));
    expect(calls.map(({ length }) => length)).toEqual([1, 0]);
    expect([core.openCalls, core.counters.internalErrors]).toEqual([0, 0]);
  });
});

test('a call that is repeated by an instance that its client no longer uses gets its turn', async () => {
  const core = new CoreInMemory({
    definition: { trustHints: true },
    limits: { maxInFlightPerClient: 1, maxInstancesPerServer: 1 },
  });
  core.server().has({ tools: [{ name: 'tool', annotations: { readOnlyHint: true } }] });
  const client = await core.ready();
  client.call('again');
  await core.settle();
  const before = core.server().first;
  core.redefine(['memory'], ['memory']);
  core.server().has({ tools: [{ name: 'tool', annotations: { readOnlyHint: true } }] });
  await core.settle();
  expect(before.inCore.sessions.size).toBe(0);
  client.call('next');
  before.crash();
  await core.settle();
  core.server().first.answer(core.server().requests.find(({ method }) => method === 'tools/call'));
  await core.settle();
  before.answer(before.requests.find(({ method }) => method === 'tools/call'));
  await core.settle();
  expect([client.answersTo('again'), client.answersTo('next')]).toMatchObject([[{ result: {} }], [{ result: {} }]]);
  expect(core.openCalls).toBe(0);
});
