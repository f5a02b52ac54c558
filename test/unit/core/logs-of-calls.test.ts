// Logs that clients of the era without a handshake ask for in a request: they get them while it is under way, and no others.

import { describe, expect, test } from 'vitest';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const WHO = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
};

function callTool(client: TestClient, id: number, logLevel?: string, more: object = {}): void {
  const _meta = { ...WHO, ...(logLevel === undefined ? {} : { [`${PREFIX}logLevel`]: logLevel }), ...more };
  client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'tool', arguments: {}, _meta } });
}
const log = (core: CoreInMemory, level: string, data: unknown = level): void =>
  core.server().say({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data } });
const logsOf = (client: TestClient): unknown[] =>
  client.notifications('notifications/message').map(({ params }) => params?.data);
const asked = (core: CoreInMemory): unknown[] =>
  core.server().requests.map(({ method, params }) => (method === 'logging/setLevel' ? params?.level : method));
const callsAt = (core: CoreInMemory): Message[] =>
  core.server().requests.filter(({ method }) => method === 'tools/call');

function makeCore(capabilities: object = { tools: {}, logging: {} }): CoreInMemory {
  const core = new CoreInMemory();
  core.server().declare(capabilities);
  core.server().answers = ({ method }) => {
    if (method === 'tools/list') return { result: { tools: [] } };
    return method === 'logging/setLevel' ? { result: {} } : undefined;
  };
  return core;
}
async function connected(core: CoreInMemory): Promise<TestClient> {
  const client = core.connect();
  await core.settle();
  return client;
}

describe('a call that asks for logs', () => {
  test('has the server log so much before it is sent, and no more within a second after it (C15)', async () => {
    const core = makeCore();
    const client = await connected(core);
    callTool(client, 1, 'debug');
    await core.settle();
    expect(asked(core).filter((what) => what !== 'tools/list')).toEqual(['debug', 'tools/call']);
    await core.pass(2000);
    core.server().answer(callsAt(core)[0]);
    await core.pass(1000);
    expect(asked(core).filter((what) => what !== 'tools/list')).toEqual(['debug', 'tools/call', 'info']);
    await core.pass(5000);
    expect(asked(core)).toHaveLength(4);
  });

  test('gets the messages of its level while it is under way, and a call without a level gets none (C15)', async () => {
    const core = makeCore();
    const [one, two, silent] = [await connected(core), await connected(core), await connected(core)];
    callTool(one, 1, 'warning');
    callTool(two, 1, 'debug');
    callTool(silent, 1);
    await core.settle();
    for (const level of ['debug', 'warning', 'error']) log(core, level);
    core.server().answer(callsAt(core)[0]);
    log(core, 'error', 'late');
    await core.settle();
    expect(logsOf(one)).toEqual(['warning', 'error']);
    expect(logsOf(two)).toEqual(['debug', 'warning', 'error', 'late']);
    expect(logsOf(silent)).toEqual([]);
    two.cancel(1);
    await core.settle();
    log(core, 'error', 'later');
    await core.settle();
    expect(logsOf(two)).not.toContain('later');
  });

  test('gets each message once, however many calls of its connection ask for it', async () => {
    const core = makeCore();
    const client = await connected(core);
    callTool(client, 1, 'info');
    callTool(client, 2, 'debug');
    callTool(client, 3, 'info', { [`${PREFIX}clientInfo`]: { name: 'other', version: '1' } });
    await core.settle();
    log(core, 'info');
    await core.settle();
    expect(logsOf(client)).toEqual(['info']);
  });

  test('changes nothing for clients of the era before', async () => {
    const core = makeCore();
    const [set, unset] = [await core.ready(), await core.ready()];
    set.say({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'warning' } });
    await core.settle();
    const client = await connected(core);
    callTool(client, 1, 'debug');
    await core.settle();
    for (const level of ['debug', 'info', 'warning']) log(core, level);
    await core.settle();
    expect(logsOf(set)).toEqual(['warning']);
    expect(logsOf(unset)).toEqual(['info', 'warning']);
    core.server().answer(callsAt(core)[0]);
    await core.pass(1000);
    expect(asked(core).filter((what) => what !== 'tools/list')).toEqual(['warning', 'debug', 'tools/call', 'warning']);
  });

  test('keeps its level where others want less, and has it set once more for another start', async () => {
    const core = makeCore();
    const client = await connected(core);
    callTool(client, 1, 'debug');
    callTool(client, 2, 'error');
    await core.settle();
    core.server().answer(callsAt(core)[0]);
    await core.pass(1000);
    expect(asked(core).at(-1)).toBe('error');
    core.server().crash();
    callTool(client, 3, 'notice');
    await core.settle();
    expect(asked(core)).toContain('notice');
  });

  test('goes on with the logs that its retry asks for, and gets none while it waits for that', async () => {
    const core = makeCore();
    const client = await connected(core);
    const able = { [`${PREFIX}clientCapabilities`]: { elicitation: { form: {} } } };
    callTool(client, 1, 'debug', able);
    await core.settle();
    const params = { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: {} } };
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
    await core.pass(1000);
    log(core, 'error', 'away');
    const { requestState, inputRequests = {} } = client.answersTo(1)[0]?.result ?? {};
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests as object).map((key) => [key, { action: 'accept', content: {} }]),
    );
    const _meta = { ...WHO, ...able, [`${PREFIX}logLevel`]: 'error' };
    const retry = { name: 'tool', arguments: {}, requestState, inputResponses, _meta };
    client.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: retry });
    await core.settle();
    for (const level of ['debug', 'error']) log(core, level);
    await core.settle();
    expect(logsOf(client)).toEqual(['error']);
  });

  test('gets logs from its retry on where it had asked for none', async () => {
    const core = makeCore();
    const client = await connected(core);
    const able = { [`${PREFIX}clientCapabilities`]: { elicitation: { form: {} } } };
    callTool(client, 1, undefined, able);
    await core.settle();
    const params = { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: {} } };
    core.server().say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
    await core.pass(1000);
    const { requestState, inputRequests = {} } = client.answersTo(1)[0]?.result ?? {};
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests as object).map((key) => [key, { action: 'accept', content: {} }]),
    );
    const _meta = { ...WHO, ...able, [`${PREFIX}logLevel`]: 'info' };
    const retry = { name: 'tool', arguments: {}, requestState, inputResponses, _meta };
    client.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: retry });
    await core.settle();
    log(core, 'info');
    await core.settle();
    expect(logsOf(client)).toEqual(['info']);
    expect(asked(core).at(-1)).toBe('info');
  });

  test('asks nothing of a server that has no logs', async () => {
    const core = makeCore({ tools: {} });
    const client = await connected(core);
    callTool(client, 1, 'debug');
    await core.pass(2000);
    expect(asked(core).sort()).toEqual(['tools/call', 'tools/list']);
  });

  test('also gets the messages of a server of its own era, which reads the level in the call (C15)', async () => {
    const core = makeCore();
    core.server().era = ERA_2026;
    const [one, silent] = [await connected(core), await connected(core)];
    callTool(one, 1, 'warning');
    callTool(silent, 1);
    await core.settle();
    expect(asked(core)).not.toContain('warning');
    expect(JSON.stringify(callsAt(core)[0]?.params)).toContain('"warning"');
    for (const level of ['debug', 'warning']) log(core, level);
    await core.settle();
    expect(logsOf(one)).toEqual(['warning']);
    expect(logsOf(silent)).toEqual([]);
  });

  test('gets no message of a server of its own era that may be about the request of another client (A11)', async () => {
    const core = makeCore();
    core.server().era = ERA_2026;
    const [one, two] = [await connected(core), await connected(core)];
    const old = await core.ready();
    callTool(one, 1, 'warning');
    callTool(one, 2, 'debug');
    callTool(two, 1, 'error');
    await core.settle();
    log(core, 'warning', 'of one');
    log(core, 'error', 'of one or two');
    await core.settle();
    expect([logsOf(one), logsOf(two)]).toEqual([['of one'], []]);
    expect(core.counters.notificationsDropped).toBe(1);
    for (const call of callsAt(core).slice(0, 2)) core.server().answer(call);
    log(core, 'error', 'of two');
    await core.settle();
    expect([logsOf(one), logsOf(two)]).toEqual([['of one'], ['of two']]);
    // Clients of the era before hear what a server logs meanwhile, whichever request it is about, as they always have.
    old.say({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'info' } });
    old.call(2);
    await core.settle();
    log(core, 'error', 'of two or old');
    await core.settle();
    expect([logsOf(two), logsOf(old)]).toEqual([['of two'], ['of two or old']]);
  });
});
