import { expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ONE_AT_A_TIME = { limits: { maxInFlightPerClient: 1 } };

function ask(client: TestClient, id: string, method: string, params: object): void {
  client.say({ jsonrpc: '2.0', id, method, params });
}

const subscribe = (client: TestClient, id: string, uri = 'x:1') => ask(client, id, 'resources/subscribe', { uri });
const unsubscribe = (client: TestClient, id: string, uri = 'x:1') => ask(client, id, 'resources/unsubscribe', { uri });

/** What the server was sent of wants. */
function told(core: CoreInMemory): unknown[] {
  const about = core.server().requests.filter(({ method }) => /subscribe$|setLevel$/.test(method ?? ''));
  return about.map(({ method, params }) => `${method?.split('/')[1]} ${params?.uri ?? params?.level}`);
}

/** Has the server do what it was asked last. */
async function done(core: CoreInMemory, request = core.server().requests.at(-1)): Promise<void> {
  await core.settle();
  core.server().say({ jsonrpc: '2.0', id: request?.id, result: {} });
  await core.settle();
}

async function subscribed(core: CoreInMemory): Promise<TestClient> {
  const client = await core.ready();
  subscribe(client, 'first');
  await core.settle();
  await done(core);
  return client;
}

async function updatesOf(core: CoreInMemory, client: TestClient, uri = 'x:1'): Promise<Message[]> {
  core.server().say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
  await core.settle();
  return client.notifications('notifications/resources/updated');
}

test('an end of a subscription that is overtaken by another client’s wanted is not told to the server', async () => {
  const core = new CoreInMemory(ONE_AT_A_TIME);
  const [one, other] = [await subscribed(core), await core.ready()];
  one.call('busy');
  unsubscribe(one, 'end');
  subscribe(other, 'second');
  await core.settle();
  await done(core);
  const busy = core.server().requests.find(({ method }) => method === 'tools/call');
  await done(core, busy);
  expect(one.answersTo('end')).toMatchObject([{ result: {} }]);
  expect(told(core)).toEqual(['subscribe x:1', 'subscribe x:1']);
  expect([await updatesOf(core, other), await updatesOf(core, one)].map(({ length }) => length)).toEqual([1, 0]);
});

test.each([
  ['the end of a subscription', unsubscribe],
  ['a second request for a subscription', subscribe],
])('%s that is cancelled while it waits has changed nothing', async (_, again) => {
  const core = new CoreInMemory(ONE_AT_A_TIME);
  const client = await subscribed(core);
  client.call('busy');
  again(client, 'again');
  client.cancel('again');
  await core.settle();
  expect(await updatesOf(core, client)).toHaveLength(1);
  client.link.destroy();
  await core.settle();
  expect(told(core)).toEqual(['subscribe x:1', 'unsubscribe x:1']);
});

test('the end of a subscription that is cancelled after it was sent is told to the server once more', async () => {
  const core = new CoreInMemory();
  const client = await subscribed(core);
  unsubscribe(client, 'end');
  await core.settle();
  client.cancel('end');
  await core.settle();
  expect(told(core)).toEqual(['subscribe x:1', 'unsubscribe x:1', 'unsubscribe x:1']);
  expect(await updatesOf(core, client)).toEqual([]);
});

test('a level that is asked for while a more verbose one is under way does not take that back', async () => {
  const core = new CoreInMemory();
  const [chatty, terse] = [await core.ready(), await core.ready()];
  ask(chatty, 'level', 'logging/setLevel', { level: 'debug' });
  await core.settle();
  ask(terse, 'level', 'logging/setLevel', { level: 'error' });
  await core.settle();
  await done(core);
  expect([chatty, terse].map((client) => client.answersTo('level')[0]?.result)).toEqual([{}, {}]);
  expect(told(core)).toEqual(['setLevel debug']);
  core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'debug', data: 1 } });
  await core.settle();
  expect([chatty, terse].map((client) => client.notifications('notifications/message').length)).toEqual([1, 0]);
});

test('nothing is kept of subscriptions in the view of all servers that are refused', async () => {
  const core = new CoreInMemory({ limits: { maxSubscribedBytesPerClient: 300 } });
  core.server().has({ resources: [] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  const uri = (n: number): string => `mcp-bridge://memory/x:${n}/${'u'.repeat(100)}`;
  for (let n = 0; n < 10; n++) subscribe(client, `too long ${n}`, uri(n));
  subscribe(client, 'refused', 'mcp-bridge://memory/x:1');
  await core.settle();
  const sent = core.server().requests.filter(({ method }) => method === 'resources/subscribe');
  expect(sent).toHaveLength(1);
  const [{ id } = {}] = sent;
  core.server().say({ jsonrpc: '2.0', id, error: { code: -32002, message: 'no such resource' } });
  await core.settle();
  expect(client.received.map(({ error }) => error?.code)).toEqual([...Array(10).fill(-32600), -32002]);
  expect(core.server().instance.sharedSettings.size).toBe(0);
});
