// A server that dies over a call: whether the call is made again.

import { describe, expect, test } from 'vitest';
import type { Frame } from '../../../src/wire/frame-splitter.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const SAFE = [{ name: 'tool', annotations: { readOnlyHint: true } }];

async function serving(
  tools: readonly object[],
  trustHints = true,
): Promise<{ core: CoreInMemory; client: TestClient; calls: () => Message[] }> {
  const core = new CoreInMemory({ definition: { trustHints }, limits: { callTimeoutMs: 30_000 } });
  core.server().has({ tools });
  const client = await core.ready();
  const calls = (): Message[] => core.server().requests.filter(({ method }) => method === 'tools/call');
  return { core, client, calls };
}

const codesOf = (client: TestClient, id: number | string): unknown[] =>
  client.answersTo(id).map(({ error }) => error?.data?.code);

/** The last that was called, as the server has got it. */
const frameOf = (message: Message | undefined): Frame => {
  const b = Buffer.from(`${JSON.stringify(message)}\n`);
  return { b, start: 0, end: b.length - 1 };
};

describe('a call that its server has not looked at', () => {
  test('is made again by the next instance, once, whatever the tool says of itself', async () => {
    const { core, client, calls } = await serving([{ name: 'tool' }], false);
    client.call(1, { x: 1 }, { progressToken: 'p' });
    await core.settle();
    expect(core.server().instance.returned(frameOf(calls()[0]))).toBe(true);
    core.server().crash();
    await core.settle();
    expect([client.received, calls().map(({ params }) => params?.arguments)]).toEqual([[], [{ x: 1 }]]);
    expect(core.server().instance.returned(frameOf(calls()[0]))).toBe(false);
    core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: calls()[0]?.id } });
    core.server().crash();
    await core.settle();
    expect(client.received.map(({ params }) => params?.progressToken)[0]).toBe('p');
    expect([codesOf(client, 1), core.server().starts, core.openCalls]).toEqual([['SERVER_CRASHED'], 2, 0]);
  });

  test('is answered as always if its server has looked at it after all', async () => {
    const { core, client, calls } = await serving([{ name: 'tool' }], false);
    client.call(1);
    await core.settle();
    core.server().instance.returned(frameOf(calls()[0]));
    core.server().answer(calls()[0]);
    await core.settle();
    core.server().crash();
    await core.settle();
    expect([client.answersTo(1).length, core.server().starts, core.openCalls]).toEqual([1, 1, 0]);
  });

  test('keeps the server’s own name for the tool', async () => {
    const core = new CoreInMemory();
    core.server().has({ tools: SAFE });
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory__tool' } });
    await core.settle();
    const call = (): Message | undefined => core.server().requests.find(({ method }) => method === 'tools/call');
    core.server().instance.returned(frameOf(call()));
    core.server().crash();
    await core.settle();
    expect(call()?.params?.name).toBe('tool');
    core.server().answer(call());
    await core.settle();
    expect(client.answersTo(1)).toHaveLength(1);
  });

  test('that nobody waits for any more is dropped', async () => {
    const { core, client, calls } = await serving([{ name: 'tool' }], false);
    client.call(1);
    await core.settle();
    client.cancel(1);
    await core.settle();
    expect(core.server().instance.returned(frameOf(calls()[0]))).toBe(true);
    core.server().crash();
    await core.settle();
    expect([core.server().starts, core.openCalls]).toEqual([1, 0]);
  });
});

describe('a call during which its server dies', () => {
  test.each([
    ['readOnlyHint', { readOnlyHint: true }],
    ['idempotentHint', { idempotentHint: true }],
  ])('is made once more if the tool has the %s and hints are trusted', async (_, annotations) => {
    const { core, client, calls } = await serving([{ name: 'tool', annotations }]);
    client.call(1, { x: 1 }, { progressToken: 'p' });
    await core.settle();
    core.server().crash();
    await core.settle();
    expect([client.received, calls().map(({ params }) => params?.arguments)]).toEqual([[], [{ x: 1 }]]);
    core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: calls()[0]?.id } });
    core.server().answer(calls()[0]);
    await core.settle();
    expect(client.received.map(({ id, params }) => id ?? params?.progressToken)).toEqual(['p', 1]);
    expect(core.openCalls).toBe(0);
    expect(core.sessionOf(client)).toMatchObject({ sentCount: 0, waitingBytes: 0 });
  });

  test('is not made a third time', async () => {
    const { core, client } = await serving(SAFE);
    client.call(1);
    await core.settle();
    core.server().crash();
    await core.settle();
    core.server().crash();
    await core.settle();
    expect([codesOf(client, 1), core.server().starts]).toEqual([['SERVER_CRASHED'], 2]);
    expect(core.openCalls).toBe(0);
  });

  test.each([
    ['hints are not trusted', SAFE, false],
    ['the tool has no hint', [{ name: 'tool' }], true],
    ['another tool has it', [{ name: 'tool' }, { name: 'other', annotations: { readOnlyHint: true } }], true],
    ['it says that it may destroy', [{ name: 'tool', annotations: { readOnlyHint: false } }], true],
  ])('is told that its outcome is unknown where %s', async (_, tools, trustHints) => {
    const { core, client } = await serving(tools, trustHints);
    client.call(1);
    await core.settle();
    core.server().crash();
    await core.settle();
    expect([codesOf(client, 1), core.server().starts]).toEqual([['SERVER_CRASHED'], 1]);
  });

  test('is made again under the server’s own name in a joined view', async () => {
    const core = new CoreInMemory({ definition: { trustHints: true } });
    core.server().has({ tools: SAFE });
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory__tool' } });
    await core.settle();
    core.server().crash();
    await core.settle();
    const again = core.server().requests.find(({ method }) => method === 'tools/call');
    expect(again?.params?.name).toBe('tool');
    core.server().answer(again);
    await core.settle();
    expect(client.answersTo(1)).toHaveLength(1);
  });

  test('can be cancelled, abandoned and timed out before it is made again', async () => {
    const { core, client, calls } = await serving(SAFE);
    const leaver = await core.ready();
    client.call(1);
    client.call(2);
    leaver.call(1);
    await core.settle();
    core.server().opensByItself = false;
    core.server().crash();
    await core.settle();
    client.cancel(1);
    leaver.link.destroy();
    await core.pass(35_000);
    expect([client.answersTo(1), codesOf(client, 2), core.openCalls]).toEqual([[], ['CALL_TIMED_OUT'], 0]);
    core.server().open();
    await core.settle();
    expect(calls()).toEqual([]);
  });

  test('fails with the start that fails', async () => {
    const { core, client } = await serving(SAFE);
    client.call(1);
    await core.settle();
    core.server().opensByItself = false;
    core.server().crash();
    core.server().failToStart();
    await core.settle();
    expect(codesOf(client, 1)).toEqual(['SERVER_START_FAILED']);
  });

  test('that was cancelled is not repeated', async () => {
    const { core, client, calls } = await serving(SAFE);
    client.call(1);
    await core.settle();
    client.cancel(1);
    core.server().crash();
    await core.settle();
    expect([core.server().starts, calls().length, core.openCalls]).toEqual([1, 1, 0]);
  });
});

describe('a client’s shared setting, given back by a server that has not read it', () => {
  const METHODS = /subscribe$|setLevel$/;
  const sharedSettingsAt = (core: CoreInMemory): Message[] =>
    core.server().requests.filter((m) => METHODS.test(m.method ?? ''));

  /** The client says it, the server gives it back and goes, and the next instance answers. */
  async function secondTry(core: CoreInMemory, client: TestClient, request: object, answer: object): Promise<void> {
    client.say({ jsonrpc: '2.0', ...request });
    await core.settle();
    expect(core.server().instance.returned(frameOf(sharedSettingsAt(core).at(-1)))).toBe(true);
    core.server().crash();
    await core.settle();
    for (const { id } of sharedSettingsAt(core)) core.server().say({ jsonrpc: '2.0', id, ...answer });
    await core.settle();
  }

  const NO = { error: { code: -32602, message: 'no' } };

  test.each([
    { id: 1, method: 'resources/subscribe', params: { uri: 'x:1' } },
    { id: 1, method: 'logging/setLevel', params: { level: 'debug' } },
  ])('and refused by the next one leaves nothing: $method', async (request) => {
    const core = new CoreInMemory();
    const client = await core.ready();
    await secondTry(core, client, request, NO);
    expect(client.answersTo(1)).toHaveLength(1);
    core.server().say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:1' } });
    await core.settle();
    expect(client.notifications('notifications/resources/updated')).toEqual([]);
    expect(core.server().instance.sharedSettings.size).toBe(0);
  });

  test('is over with an unsubscribe that the next one grants: the one after that is told nothing', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.say({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'x:1' } });
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: sharedSettingsAt(core)[0]?.id, result: {} });
    await core.settle();
    await secondTry(core, client, { id: 2, method: 'resources/unsubscribe', params: { uri: 'x:1' } }, { result: {} });
    expect(client.answersTo(2)).toHaveLength(1);
    expect(core.server().instance.sharedSettings.size).toBe(0);
    core.server().crash();
    client.call(3);
    await core.settle();
    expect(sharedSettingsAt(core)).toEqual([]);
  });
});
