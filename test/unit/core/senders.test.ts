// What clients tell a server that does not take it: who is not read meanwhile, and for how long.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const large = 'x'.repeat(100_000);
const limits = { maxQueuedBytesPerServer: 70_000, stallTimeoutMs: 10_000 };
const NOTICE = { jsonrpc: '2.0', method: 'notifications/of-mine', params: { large } };

/** A client that has told a server more than it takes. */
async function congested(): Promise<{ core: CoreInMemory; client: TestClient }> {
  const core = new CoreInMemory({ limits });
  const client = await core.ready({ capabilities: { elicitation: {} } });
  client.call(1);
  await core.settle();
  core.server().link?.block();
  client.say(NOTICE);
  await core.settle();
  expect(client.link.isPaused).toBe(true);
  return { core, client };
}

const told = (core: CoreInMemory, method: string): Message[] =>
  core.server().received.filter((message) => message.method === method);

describe('a client that tells a server more than it takes is not read', () => {
  test('until it has taken it', async () => {
    const { core, client } = await congested();
    client.say(NOTICE);
    await core.pass(5000);
    expect(client.link.isPaused).toBe(true);
    core.server().link?.unblock();
    await core.settle();
    expect(client.link.isPaused).toBe(false);
    expect(told(core, NOTICE.method)).toHaveLength(2);
  });

  test('even if it sends answers to the server’s questions', async () => {
    const core = new CoreInMemory({ limits });
    const client = await core.ready({ capabilities: { elicitation: {} } });
    client.call(1);
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} });
    await core.settle();
    const [question] = client.notifications('elicitation/create');
    core.server().link?.block();
    client.say({ jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: { large } } });
    await core.settle();
    expect(client.link.isPaused).toBe(true);
    core.server().link?.unblock();
    expect(client.link.isPaused).toBe(false);
  });

  test('until its instance has ended', async () => {
    const { core, client } = await congested();
    core.server().crash();
    await core.settle();
    expect(client.link.isPaused).toBe(false);
  });

  test('for so long as it takes something, however little', async () => {
    const { core, client } = await congested();
    client.link.resume(); // whatever it sends, to have several writes to take
    for (let i = 0; i < 40; i++) client.say(NOTICE);
    await core.settle();
    for (let second = 0; second < 30; second++) {
      await core.pass(1000);
      core.server().link?.drain(1);
    }
    expect(core.counters.serversStalled).toBe(0);
  });
});

describe('a server that takes nothing for stallTimeoutMs', () => {
  async function stalled(): Promise<{ core: CoreInMemory; client: TestClient }> {
    const scene = await congested();
    await scene.core.pass(limits.stallTimeoutMs + 2000);
    expect([scene.core.counters.serversStalled, scene.client.link.isPaused]).toEqual([1, false]);
    return scene;
  }

  test('holds up its clients no longer, and does without their notices', async () => {
    const { core, client } = await stalled();
    const queued = core.server().link?.writableLength;
    for (let i = 0; i < 20; i++) client.say(NOTICE);
    client.say({ jsonrpc: '2.0', id: 'ping', method: 'ping' });
    await core.settle();
    expect(client.answersTo('ping')).toHaveLength(1);
    expect([core.server().link?.writableLength, core.counters.notificationsDropped]).toEqual([queued, 20]);
    expect(core.counters.serversStalled).toBe(1);
  });

  test('forgets clients that have gone', async () => {
    const { core, client } = await stalled();
    client.cancel(1);
    client.link.endByPeer();
    await core.settle();
    expect(core.manager.clients()).toEqual([]);
  });

  test('gets all again from when it has taken something', async () => {
    const { core, client } = await stalled();
    core.server().link?.unblock();
    client.say(NOTICE);
    await core.settle();
    expect(told(core, NOTICE.method)).toHaveLength(2);
    expect(client.link.isPaused).toBe(false);
  });

  test('gets an answer to each of its questions once it reads again, including those answered meanwhile', async () => {
    const core = new CoreInMemory({ limits });
    const client = await core.ready({ capabilities: { elicitation: {} } });
    client.call(1);
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} });
    await core.settle();
    core.server().link?.block();
    client.say(NOTICE);
    await core.pass(limits.stallTimeoutMs + 2000);
    const [question] = client.notifications('elicitation/create');
    client.say({ jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: { large } } });
    await core.settle();
    core.server().link?.unblock();
    const answers = core.server().received.filter(({ id, method }) => id === 'q' && method === undefined);
    expect(answers.map(({ error }) => error?.message)).toEqual([
      'The client answered while the server was not reading',
    ]);
  });
});

test('a client that cancels a call of a server that reads nothing is not delayed, and the server gets few bytes', async () => {
  const servers = ['hangs', 'fine'];
  const core = new CoreInMemory({ servers });
  for (const name of servers) core.server(name).has({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  await core.settle();
  core.server('hangs').link?.block();
  const call = (id: string, name: string, text: string): void =>
    client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { text } } });
  call('big', 'hangs__tool', 'x'.repeat(1_200_000));
  await core.settle();
  const before = core.server('hangs').link?.writableLength ?? 0;
  client.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'big', reason: large } });
  await core.settle();
  expect(client.link.isPaused).toBe(false);
  expect((core.server('hangs').link?.writableLength ?? 0) - before).toBeLessThan(300);
  call('small', 'fine__tool', 'hello');
  await core.settle();
  expect(core.server('fine').requests.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  core.server('hangs').link?.unblock();
  expect(core.server('hangs').cancelled).toHaveLength(1);
});
