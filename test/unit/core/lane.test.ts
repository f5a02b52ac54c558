import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const ABLE = { capabilities: { elicitation: {} } };
const NAME = '"tool"';

describe('the habits of a tool', () => {
  test('is learnt under the tool’s name also for calls that have waited for its start', async () => {
    const core = new CoreInMemory({ ttlMs: 1_000_000 });
    const client = await core.ready(ABLE);
    core.server().crash();
    for (let n = 0; n < 3; n++) {
      client.call(n);
      await core.settle();
      core.server().answer(core.server().requests.at(-1));
      await core.settle();
      core.server().crash();
    }
    expect([...core.server().server.known.habits]).toEqual([[NAME, 3]]);
  });

  test('is learnt under the tool’s name also for calls that have moved to another instance', async () => {
    const core = new CoreInMemory();
    const [talking, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    for (const client of [talking, other]) client.call(1);
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: 7, method: 'elicitation/create', params: {} });
    await core.settle();
    const [first, second] = core.server().instances;
    for (const instance of [first, second]) instance?.answer(instance.requests[0]);
    await core.settle();
    expect([...core.server().server.known.habits]).toEqual([[NAME, -1]]);
  });

  test('are learnt under the method if there is no name', async () => {
    const core = new CoreInMemory();
    const client = await core.ready(ABLE);
    client.say({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'a:1' } });
    await core.settle();
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect([...core.server().server.known.habits]).toEqual([['"resources/read"', 1]]);
  });

  test('is learnt under the server’s own name in a joined view', async () => {
    const core = new CoreInMemory();
    core.server().has({ tools: [{ name: 'tool' }] });
    const client = await core.ready({ ...ABLE, _meta: { 'mcp-bridge/view': 'all' } });
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory__tool' } });
    await core.settle();
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
    expect([...core.server().server.known.habits]).toEqual([[NAME, 1]]);
  });
});
