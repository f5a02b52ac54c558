// The calls under way, and the end of one that its client did not ask for: whoever owns it, its client gets one answer.

import { describe, expect, test } from 'vitest';
import { FollowedCalls } from '../../../src/control/followed-calls.ts';
import { callsOf, cancelCall } from '../../../src/control/open-calls.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { CoreInMemory, type CoreOptions } from '../../support/core-in-memory.ts';

function world(options: CoreOptions = {}) {
  const core = new CoreInMemory(options);
  const { events, clock } = core;
  const followed = new FollowedCalls({ events, clock, date: () => clock.now(), happened: () => undefined });
  followed.renewBudget(100);
  const here = () => ({ sessions: core.manager.clients(), suspended: core.suspended, programs: [], followed, clock });
  const open = () => callsOf(here(), undefined).open;
  return { core, followed, here, open, cancel: (name = '') => cancelCall(here(), name) };
}

const PREFIX = 'io.modelcontextprotocol/';
const META_2026 = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
  [`${PREFIX}clientCapabilities`]: { elicitation: { form: {} } },
};
const ended = { code: -32603, data: { code: 'CALL_STOPPED' } };

describe('a call under way', () => {
  test('is shown with the known facts, and its age since somebody watches', async () => {
    const { core, followed, open } = world({ limits: { maxInFlightPerClient: 1 } });
    const client = await core.ready({ _meta: { 'mcp-bridge/clientId': 'me' } });
    client.call(1);
    await core.settle();
    expect(open()).toMatchObject([
      {
        client: 'me',
        request: '1',
        role: 'call',
        server: 'memory',
        state: 'sent',
        ageMs: null,
        at: null,
        waitedMs: null,
      },
    ]);
    followed.start();
    core.clock.advance(5);
    client.call(2);
    await core.settle();
    core.clock.advance(20);
    expect(open()).toMatchObject([
      { request: '1', ageMs: null },
      { request: '2', tool: 'tool', state: 'waiting', ageMs: 20, waitedMs: 20, serverMs: null, waits: ['client'] },
    ]);
  });

  test('keeps its name, and no two have the same', async () => {
    const { core, followed, open } = world();
    const client = await core.ready();
    for (let id = 0; id < 3; id++) client.call(id);
    await core.settle();
    followed.start();
    client.call(3);
    await core.settle();
    const names = open().map(({ call }) => call);
    expect(new Set(names).size).toBe(4);
    expect(open().map(({ call }) => call)).toEqual(names);
  });

  test('is one of many: an answer has at most 1,000, and says how many there are', async () => {
    const { core, here } = world({ limits: { maxInFlightPerClient: 5000, maxInFlightPerServer: 5000 } });
    const client = await core.ready();
    for (let id = 0; id < 1200; id++) client.call(id);
    await core.settle();
    const all = callsOf(here(), undefined);
    expect([all.open.length, all.openTotal, all.recordedSince]).toEqual([1000, 1200, null]);
    expect(callsOf(here(), 5).open).toHaveLength(5);
  });
});

describe('the end of a call by somebody else', () => {
  test('that was sent: the client gets one error, the server a cancellation, and the late answer is dropped', async () => {
    const { core, followed, open, cancel } = world();
    followed.start();
    const client = await core.ready();
    client.call(1);
    client.call(2);
    await core.settle();
    expect(cancel(open()[0]?.call)).toEqual({ cancelled: true, reason: null });
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ error: ended }]);
    expect(core.server().cancelled).toEqual([core.server().requests[0]?.id]);
    for (const request of core.server().requests) core.server().answer(request);
    await core.settle();
    expect([client.answersTo(1).length, client.answersTo(2).length, core.openCalls]).toEqual([1, 1, 0]);
    expect(followed.recent().find(({ request }) => request === '1')).toMatchObject({
      outcome: 'cancelled',
      code: 'CALL_STOPPED',
    });
  });

  test('that waits: it is never sent', async () => {
    const { core, open, cancel } = world({ limits: { maxInFlightPerClient: 1 } });
    const client = await core.ready();
    client.call(1);
    client.call(2);
    await core.settle();
    const waiting = open().find(({ state }) => state === 'waiting');
    expect(cancel(waiting?.call).cancelled).toBe(true);
    await core.settle();
    expect(client.answersTo(2)).toMatchObject([{ error: ended }]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
    expect([client.answersTo(1).length, core.openCalls]).toEqual([1, 0]);
  });

  test('whose server is being started', async () => {
    const { core, open, cancel } = world();
    core.server().opensByItself = false;
    const client = core.connect();
    client.initialize('init', { _meta: { 'mcp-bridge/view': 'discover' } });
    await core.settle();
    const execute = { name: 'execute_tool', arguments: { server: 'memory', tool: 'tool', arguments: {} } };
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: execute });
    await core.settle();
    const [call] = open();
    expect(call).toMatchObject({ request: '1', state: 'waiting' });
    expect(cancel(call?.call).cancelled).toBe(true);
    await core.settle();
    expect(client.answersTo(1)).toHaveLength(1);
    core.server().open();
    await core.settle();
    expect([client.answersTo(1).length, core.openCalls]).toEqual([1, 0]);
  });

  test('that is a message to another client: the receiver gets a cancellation', async () => {
    const { core, open, cancel } = world({ agents: { isEnabled: true } });
    const sender = await core.ready({ _meta: { 'mcp-bridge/clientId': 'a' } });
    const meta = { 'mcp-bridge/clientId': 'b', 'mcp-bridge/accepts': true };
    const receiver = await core.ready({ _meta: meta });
    sender.say({ jsonrpc: '2.0', id: 1, method: 'bridge/send', params: { to: 'b', method: 'x/y', params: {} } });
    await core.settle();
    const asked = receiver.received.find(({ method }) => method === 'x/y');
    expect(asked?.id).toBeDefined();
    expect(cancel(open()[0]?.call).cancelled).toBe(true);
    await core.settle();
    expect(sender.answersTo(1)).toMatchObject([{ error: { data: { code: 'CALL_STOPPED' } } }]);
    expect(receiver.notifications('notifications/cancelled')).toMatchObject([{ params: { requestId: asked?.id } }]);
    receiver.say({ jsonrpc: '2.0', id: asked?.id, result: {} });
    await core.settle();
    expect(sender.answersTo(1)).toHaveLength(1);
  });

  test('that waits for a letter: the letter is kept for the next reader', async () => {
    const { core, followed, open, cancel } = world({ agents: { isEnabled: true } });
    followed.start();
    const agent = (id: string) => core.ready({ _meta: { 'mcp-bridge/clientId': id, 'mcp-bridge/view': 'discover' } });
    const [reader, writer] = [await agent('reader'), await agent('writer')];
    const use = async (client: typeof reader, id: number, name: string, args: object): Promise<void> => {
      client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
      await core.settle();
    };
    await use(reader, 1, 'read_messages', { wait: 30 });
    expect(cancel(open()[0]?.call)).toEqual({ cancelled: true, reason: null });
    await core.settle();
    expect(reader.answersTo(1)).toMatchObject([{ error: { data: { code: 'CALL_STOPPED' } } }]);
    expect(followed.recent()[0]).toMatchObject({ outcome: 'cancelled', code: 'CALL_STOPPED' });
    await use(writer, 2, 'send_message', { to: 'reader', text: 'kept' });
    await core.pass(31_000);
    expect(reader.answersTo(1)).toHaveLength(1);
    await use(reader, 3, 'read_messages', {});
    expect(JSON.stringify(reader.answersTo(3))).toContain('kept');
    expect(core.openCalls).toBe(0);
  });

  test('that listens: it ends with its result, and gets no more notices', async () => {
    const { core, open, cancel } = world();
    core.server().has({ tools: [{ name: 'tool' }] });
    const client = core.connect();
    const notifications = { toolsListChanged: true };
    client.say({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { _meta: META_2026, notifications } });
    await core.pass(100);
    expect(client.notifications('notifications/subscriptions/acknowledged')).toHaveLength(1);
    expect(cancel(open()[0]?.call)).toEqual({ cancelled: true, reason: null });
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ result: expect.anything() }]);
    core.server().say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    await core.pass(1000);
    expect(client.notifications('notifications/tools/list_changed')).toEqual([]);
    expect([client.answersTo(1).length, core.openCalls]).toEqual([1, 0]);
  });

  test('whose client was asked something: the question is cancelled, and no answer is passed on', async () => {
    const { core, open, cancel } = world();
    core.server().era = ERA_2026;
    const client = await core.ready({ capabilities: { elicitation: { form: {} } } });
    client.call(1);
    await core.settle();
    const params = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object' } };
    const inputRequests = { who: { method: 'elicitation/create', params } };
    const { id } = core.server().requests.at(-1) ?? {};
    core.server().say({ jsonrpc: '2.0', id, result: { resultType: 'input_required', inputRequests } });
    await core.settle();
    const question = client.received.find(({ method }) => method === 'elicitation/create');
    const [call, ...others] = open();
    expect(others).toEqual([]);
    expect(cancel(call?.call)).toEqual({ cancelled: true, reason: null });
    await core.settle();
    expect(client.answersTo(1)).toMatchObject([{ error: ended }]);
    expect(client.notifications('notifications/cancelled')).toMatchObject([{ params: { requestId: question?.id } }]);
    const sent = core.server().requests.filter(({ method }) => method === 'tools/call').length;
    client.say({ jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: {} } });
    await core.settle();
    expect(core.server().requests.filter(({ method }) => method === 'tools/call')).toHaveLength(sent);
    expect([client.answersTo(1).length, core.openCalls]).toEqual([1, 0]);
  });

  test.each([['of a call that has ended'], ['of none']])(
    'under the name %s does nothing, and says so',
    async (which) => {
      const { core, open, cancel } = world();
      const client = await core.ready();
      client.call(1);
      await core.settle();
      const name = open()[0]?.call;
      core.server().answer(core.server().requests[0]);
      client.call(1);
      await core.settle();
      const told = cancel(which === 'of none' ? 'w-1' : name);
      expect(told).toEqual({ cancelled: false, reason: expect.stringContaining('no such call') });
      await core.settle();
      expect(open()).toHaveLength(1);
    },
  );
});

describe('a call whose client was asked something and has not come back', () => {
  const QUESTION = {
    ...{ jsonrpc: '2.0', id: 's1', method: 'elicitation/create' },
    params: { message: 'Really?', requestedSchema: { type: 'object', properties: {} } },
  };

  async function suspended() {
    const all = world();
    const { core } = all;
    all.followed.start();
    await core.settle();
    const client = core.connect();
    const say = (id: number, more: object = {}): void =>
      client.say({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'buy', arguments: {}, _meta: META_2026, ...more },
      });
    const turn = async (): Promise<void> => {
      await core.settle();
      core.clock.advance(5);
      await core.settle();
    };
    say(1);
    await turn();
    core.server().say(QUESTION);
    await turn();
    const { requestState } = client.answersTo(1)[0]?.result ?? {};
    const retry = async (id: number): Promise<unknown> => {
      say(id, { requestState, inputResponses: { q1: { action: 'accept', content: {} } } });
      await turn();
      return client.answersTo(id)[0];
    };
    return { ...all, client, turn, retry };
  }

  test('is shown, with its tool and the time since it was asked', async () => {
    const { core, open, here } = await suspended();
    core.clock.advance(2000);
    expect(open()).toMatchObject([
      { state: 'suspended', server: 'memory', tool: 'buy', clientName: 'fresh', request: '1', ageMs: 2000 },
    ]);
    expect(callsOf(here(), undefined).openTotal).toBe(1);
    expect(callsOf(here(), 0).open).toHaveLength(0);
  });

  test('is ended by somebody else: the server is told and refused its question, and the retry gets the error', async () => {
    const { core, open, cancel, turn, retry } = await suspended();
    const [call] = open();
    expect(cancel(call?.call)).toEqual({ cancelled: true, reason: null });
    await turn();
    expect(core.server().cancelled).toEqual([core.server().requests[0]?.id]);
    expect(core.server().received.filter(({ id, error }) => id === 's1' && error !== undefined)).toHaveLength(1);
    expect(cancel(call?.call)).toEqual({ cancelled: false, reason: expect.stringContaining('waits for the client') });
    expect(await retry(2)).toMatchObject({ error: ended });
    expect(core.server().requests.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
    expect(open()).toEqual([]);
  });

  test("is not ended once its server has answered: the answer is the client's", async () => {
    const { core, open, cancel, turn, retry } = await suspended();
    core.server().answer(core.server().requests[0]);
    await turn();
    expect(cancel(open()[0]?.call)).toEqual({
      cancelled: false,
      reason: expect.stringContaining('ended at its server'),
    });
    expect(await retry(2)).toMatchObject({ result: expect.anything() });
  });

  test('has another name when it goes on, and ends like any other', async () => {
    const { core, open, cancel, retry, client, turn } = await suspended();
    const [before] = open();
    await retry(2);
    expect(open()).toMatchObject([{ state: 'sent', request: '2', tool: 'buy' }]);
    expect(cancel(before?.call).cancelled).toBe(false);
    expect(cancel(open()[0]?.call).cancelled).toBe(true);
    await turn();
    expect(client.answersTo(2)).toMatchObject([{ error: ended }]);
    expect([open(), core.openCalls]).toEqual([[], 0]);
  });
});
