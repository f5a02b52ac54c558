// Requests that come again because the bridge was started again, and may have been carried out before.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';
import type { ResumingClient } from '../../support/resuming-client.ts';
import { calls, codeOf, ready } from '../../support/resuming-in-memory.ts';

describe('a request that may have been carried out before the bridge was started again', () => {
  const inputSchema = { type: 'object' };
  const SAFE = { name: 'safe', inputSchema, annotations: { readOnlyHint: true } };
  const TOOL = { name: 'tool', inputSchema };
  const announce = (client: ResumingClient, ...ids: (number | string)[]): void =>
    client.say({ jsonrpc: '2.0', method: 'bridge/again', params: { ids } });

  test('is made only if that does no harm', async () => {
    const core = new CoreInMemory({ definition: { trustHints: true } });
    core.server().has({ tools: [SAFE, TOOL] });
    const client = await ready(core);
    await core.settle();
    announce(client, 1, 2, 3, 4, 'five');
    client.call(1, 'safe');
    client.call(2, 'tool');
    client.say({ jsonrpc: '2.0', id: 3, method: 'tools/list' });
    client.say({ jsonrpc: '2.0', id: 4, method: 'server/specific' });
    client.call('five', 'tool');
    client.call(6, 'tool');
    await core.settle();
    expect(calls(core).map(({ params }) => params?.name)).toEqual(['safe', 'tool']);
    for (const call of calls(core)) core.server().answer(call);
    await core.settle();
    const outcomes = [1, 2, 3, 4, 'five', 6].map((id) => client.answersTo(id).map(codeOf));
    expect(outcomes).toEqual([
      [undefined],
      ['OUTCOME_UNKNOWN'],
      [undefined],
      ['OUTCOME_UNKNOWN'],
      ['OUTCOME_UNKNOWN'],
      [undefined],
    ]);
    expect(client.answersTo(2)[0]?.error).toMatchObject({
      code: -32603,
      message: 'The bridge was restarted while this call was under way; whether it was done is not known',
    });
    // The id is free for another request now.
    client.call(2, 'tool');
    await core.settle();
    expect(calls(core)).toHaveLength(3);
  });

  test('is not made when it was a message to another client', async () => {
    const core = new CoreInMemory({ agents: { isEnabled: true } });
    const other = await core.ready({
      _meta: { 'mcp-bridge/clientId': 'other', 'mcp-bridge/view': 'all', 'mcp-bridge/accepts': true },
    });
    const client = await ready(core, { 'mcp-bridge/view': 'all' });
    announce(client, 1, 2, 3, 4, 5);
    client.say({ jsonrpc: '2.0', id: 1, method: 'bridge/send', params: { to: 'other', method: 'note' } });
    client.say({ jsonrpc: '2.0', id: 2, method: 'bridge/send', params: { to: 'other', method: 'note', notify: true } });
    client.say({ jsonrpc: '2.0', id: 3, method: 'bridge/post', params: { to: 'other', text: 'hello' } });
    client.call(4, 'send_message', { to: 'other', text: 'hello' });
    client.say({ jsonrpc: '2.0', id: 5, method: 'bridge/clients' });
    await core.settle();
    const outcomes = [1, 2, 3, 4, 5].map((id) => client.answersTo(id).map(codeOf));
    expect(outcomes).toEqual([...Array<string[]>(4).fill(['OUTCOME_UNKNOWN']), [undefined]]);
    expect(other.received).toEqual([]);
    expect(core.counters).toMatchObject({ messages: 0, letters: 0 });
    expect(core.openCalls).toBe(0);
  });

  test('is not made where hints are not trusted', async () => {
    const core = new CoreInMemory();
    core.server().has({ tools: [SAFE] });
    const client = await ready(core);
    await core.settle();
    announce(client, 1);
    client.call(1, 'safe');
    await core.settle();
    expect(client.answersTo(1).map(codeOf)).toEqual(['OUTCOME_UNKNOWN']);
  });

  test.each([
    ['all', (name: string) => ({ name: `memory__${name}`, arguments: {} })],
    [
      'discover',
      (name: string) => ({ name: 'execute_tool', arguments: { server: 'memory', tool: name, arguments: {} } }),
    ],
  ])('goes by the same rule in the view %s', async (view, paramsOf) => {
    const core = new CoreInMemory({ definition: { trustHints: true } });
    core.server().has({ tools: [SAFE, TOOL] });
    const client = await ready(core, { 'mcp-bridge/view': view });
    client.say({ jsonrpc: '2.0', id: 0, method: 'tools/call', params: paramsOf('safe') });
    // The first check of arguments loads what checks them.
    while (calls(core).length === 0) await core.settle();
    announce(client, 1, 2, 3);
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: paramsOf('safe') });
    client.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: paramsOf('tool') });
    client.say({ jsonrpc: '2.0', id: 3, method: 'tools/list' });
    await core.settle();
    expect(calls(core).map(({ params }) => params?.name)).toEqual(['safe', 'safe']);
    for (const call of calls(core)) core.server().answer(call);
    await core.settle();
    expect([1, 2, 3].map((id) => client.answersTo(id).length)).toEqual([1, 1, 1]);
    expect(JSON.stringify(client.answersTo(2)[0])).toContain('OUTCOME_UNKNOWN');
    expect(core.openCalls).toBe(0);
  });
});
