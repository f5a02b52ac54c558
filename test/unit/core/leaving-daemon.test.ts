// A daemon that goes in order: what clients that can ask the next one are told, and what is still answered.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';
import { calls, codeOf, idsOf, ready } from '../../support/resuming-in-memory.ts';

describe('a daemon that goes in order', () => {
  test('says how much it has read, and answers that', async () => {
    const core = new CoreInMemory();
    const [client, plain] = [await ready(core), await core.ready()];
    client.call(1);
    plain.call(1);
    await core.settle();
    const taken = client.sent.length;
    const gone = core.manager.drain().then(() => core.manager.close('restart'));
    client.call(2);
    plain.call(2);
    await core.settle();
    expect(calls(core)).toHaveLength(2);
    for (const call of calls(core)) core.server().answer(call);
    await core.pass(1000);
    await gone;
    expect(idsOf(client)).toEqual([1]);
    expect(client.leaving).toEqual({ received: taken, reason: 'restart', unsent: [] });
    expect(plain.received.map(({ id, error }) => [id, codeOf({ error } as Message)])).toEqual([
      [2, 'SHUTTING_DOWN'],
      [1, undefined],
    ]);
  });

  test('still hears the answers that its calls wait for, and nothing else', async () => {
    const core = new CoreInMemory();
    const accepts = { 'mcp-bridge/clientId': 'asked', 'mcp-bridge/accepts': true };
    const client = await ready(core, accepts, { capabilities: { sampling: {} } });
    const other = await ready(core);
    client.call(1);
    other.say({ jsonrpc: '2.0', id: 'm', method: 'bridge/send', params: { to: 'asked', method: 'note' } });
    await core.settle();
    const taken = client.sent.length;
    const gone = core.manager.drain().then(() => core.manager.close('restart'));
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: { messages: [] } });
    await core.settle();
    client.take();
    const questions = client.messages.filter(({ id, method }) => id !== undefined && method !== undefined);
    expect(questions.map(({ method }) => method)).toEqual(['note', 'sampling/createMessage']);
    client.call(2);
    for (const { id } of questions) client.say({ jsonrpc: '2.0', id, result: { said: 'yes' } });
    client.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    client.wire.say('no message at all\n');
    await core.settle();
    expect(other.answersTo('m')[0]?.result).toEqual({ said: 'yes' });
    expect(core.server().received.at(-1)).toEqual({ jsonrpc: '2.0', id: 'q', result: { said: 'yes' } });
    core.server().answer(calls(core)[0]);
    await core.pass(1000);
    await gone;
    expect(calls(core)).toHaveLength(1);
    expect(idsOf(client).slice(2)).toEqual([1]);
    expect(client.leaving).toEqual({ received: taken, reason: 'restart', unsent: [] });
  });

  test('leaves requests that it could not answer in time unanswered, and cancels them', async () => {
    const core = new CoreInMemory({ limits: { drainTimeoutMs: 2000 } });
    const [client, away] = [await ready(core), await ready(core)];
    client.call(1);
    away.call(1);
    await core.settle();
    away.drop();
    await core.settle();
    const gone = core.manager.drain().then(() => core.manager.close());
    await core.pass(4000);
    await gone;
    expect(idsOf(client)).toEqual([]);
    expect(client.leaving).toEqual({ received: client.sent.length, reason: 'stop', unsent: [] });
    expect(core.server().cancelled).toHaveLength(2);
    expect(core.manager.isEmpty).toBe(true);
  });

  test('says which requests it has sent to no server, and sends none of them while it lets its clients go', async () => {
    const core = new CoreInMemory({ limits: { drainTimeoutMs: 2000, maxInFlightPerServer: 1 } });
    const [first, client] = [await ready(core), await ready(core)];
    const plain = await core.ready();
    first.call('sent');
    await core.settle();
    client.call(1);
    client.call('two');
    plain.call('three');
    const gone = core.manager.drain().then(() => core.manager.close('restart'));
    await core.settle();
    await core.pass(4000);
    await gone;
    for (const one of [first, client]) one.take();
    expect([first.leaving?.unsent, client.leaving?.unsent]).toEqual([[], [1, 'two']]);
    expect(calls(core)).toHaveLength(1);
    expect(plain.answersTo('three')).toMatchObject([
      { error: { message: expect.stringContaining('not sent'), data: { code: 'SHUTTING_DOWN', wasSent: false } } },
    ]);
  });

  test('tells a client that cannot ask the next one whether its call was sent', async () => {
    const core = new CoreInMemory({ limits: { drainTimeoutMs: 2000 } });
    const client = await core.ready();
    client.call('sent');
    const gone = core.manager.drain().then(() => core.manager.close());
    await core.settle();
    await core.pass(4000);
    await gone;
    expect(client.answersTo('sent')).toMatchObject([
      { error: { message: expect.stringContaining('not known'), data: { code: 'SHUTTING_DOWN', wasSent: true } } },
    ]);
  });

  test('counts messages delivered to other clients, and calls that may be done, as sent', async () => {
    const core = new CoreInMemory({ limits: { drainTimeoutMs: 2000, maxInFlightPerServer: 1 } });
    const receiver = await ready(core, { 'mcp-bridge/clientId': 'receiver', 'mcp-bridge/accepts': true });
    const [first, sender] = [await core.ready(), await ready(core)];
    first.call('sent');
    sender.say({ jsonrpc: '2.0', id: 'm', method: 'bridge/send', params: { to: 'receiver', method: 'note' } });
    sender.say({ jsonrpc: '2.0', method: 'bridge/again', params: { ids: ['again'] } });
    sender.say({ jsonrpc: '2.0', id: 'again', method: 'resources/read', params: { uri: 'x:1' } });
    await core.settle();
    const gone = core.manager.drain().then(() => core.manager.close('restart'));
    await core.pass(4000);
    await gone;
    sender.take();
    receiver.take();
    expect(sender.leaving?.unsent).toEqual([]);
  });

  test('does not wait for questions to clients that are away', async () => {
    const core = new CoreInMemory();
    const away = await ready(core, { 'mcp-bridge/clientId': 'away', 'mcp-bridge/accepts': true });
    const other = await ready(core);
    other.say({ jsonrpc: '2.0', id: 'm', method: 'bridge/send', params: { to: 'away', method: 'note' } });
    await core.settle();
    away.drop();
    await core.settle();
    await core.manager.drain();
    await core.settle();
    expect(other.answersTo('m').map(codeOf)).toEqual(['CLIENT_GONE']);
    expect(core.openCalls).toBe(0);
  });

  test('does not wait for calls of clients that are away', async () => {
    const core = new CoreInMemory();
    const away = await ready(core);
    away.call(1);
    await core.settle();
    away.drop();
    await core.settle();
    await core.manager.drain();
    const gone = core.manager.close();
    await core.settle();
    await gone;
    expect(core.manager.isEmpty).toBe(true);
  });
});

test('a stopping daemon waits for slow readers as long as it waits for answers, and no longer', async () => {
  const core = new CoreInMemory({ limits: { drainTimeoutMs: 5000 } });
  const client = await core.ready();
  for (let id = 1; id <= 6; id++) client.call(id);
  await core.settle();
  client.link.block();
  for (let id = 1; id <= 6; id++) core.server().say({ jsonrpc: '2.0', id, result: 'x'.repeat(5000) });
  await core.settle();
  let isGone = false;
  const gone = core.manager.drain().then(() => core.manager.close());
  void gone.then(() => {
    isGone = true;
  });
  await core.settle();
  for (let second = 1; second < 5; second++) {
    await core.pass(1000);
    client.link.drain(3); // one answer
  }
  expect([client.link.isClosed, isGone]).toEqual([false, false]);
  await core.pass(1000);
  await gone;
  expect(client.link.isClosed).toBe(true);
});
