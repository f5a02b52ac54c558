import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';

const ALL = { _meta: { 'mcp-bridge/view': 'all' } };
const READ_ONLY = { readOnlyHint: true };

async function listedBy(answer: (params: Message['params']) => object | undefined) {
  const core = new CoreInMemory({ definition: { trustHints: true } });
  core.server().declare({ tools: {} });
  core.server().answers = ({ method, params }) => (method === 'tools/list' ? answer(params) : undefined);
  const client = await core.ready(ALL);
  client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  await core.settle();
  return { core, client, names: namesIn(client.answersTo('list')[0]) };
}
const namesIn = (message: Message | undefined): unknown[] =>
  ((message?.result?.tools ?? []) as { name: unknown }[]).map(({ name }) => name);

describe('a list that the bridge reads', () => {
  test('is read to its last page; an empty cursor is one too', async () => {
    const pages: Record<string, object> = {
      first: { tools: [{ name: 'a' }], nextCursor: '' },
      '': { tools: [{ name: 'b' }], nextCursor: 'x' },
      x: { tools: [{ name: 'c' }], nextCursor: null },
    };
    const { names } = await listedBy((params) => ({ result: pages[String(params?.cursor ?? 'first')] }));
    expect(names).toEqual(['memory__a', 'memory__b', 'memory__c']);
  });

  test.each<[string, object]>([
    ['refuses', { error: { code: -32601, message: 'no' } }],
    ['says nothing', { result: null }],
    ['says a number', { result: 7 }],
    ['says an array', { result: [{ name: 'a' }] }],
    [
      'says a list without names',
      { result: { tools: [{ annotations: READ_ONLY }, { name: null, annotations: READ_ONLY }] } },
    ],
  ])('of a server that %s is empty, and its tools are called all the same', async (_, answer) => {
    const { core, client, names } = await listedBy(() => answer);
    expect(names).toEqual([]);
    const direct = await core.ready({ _meta: { 'mcp-bridge/view': 'server:memory' } });
    direct.call(1);
    await core.settle();
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
    expect([direct.answersTo(1).length, client.link.isClosed]).toEqual([1, false]);
  });

  test('without end is left at some page', async () => {
    let asked = 0;
    const { names } = await listedBy(() => ({ result: { tools: [{ name: `t${++asked}` }], nextCursor: 'more' } }));
    expect(names.length).toBe(1000);
  });

  test('that changes while it is read is read once more, however often it changes', async () => {
    const core = new CoreInMemory();
    core.server().declare({ tools: {} });
    const client = await core.ready(ALL);
    client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const server = core.server();
    const says = (name: string): void =>
      server.say({ jsonrpc: '2.0', id: server.requests.at(-1)?.id, result: { tools: [{ name }] } });
    for (let n = 0; n < 3; n++) server.say(changed);
    says('old');
    await core.settle();
    expect(client.answersTo('list')).toEqual([]);
    says('new');
    await core.settle();
    expect(namesIn(client.answersTo('list')[0])).toEqual(['memory__new']);
    expect(server.requests.length).toBe(2);
  });

  test('of a server that dies meanwhile is read when it comes back, for the waiting client', async () => {
    const core = new CoreInMemory();
    core.server().declare({ tools: {} });
    const client = await core.ready(ALL);
    client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    core.server().crash();
    await core.settle();
    expect(client.answersTo('list').map(namesIn)).toEqual([[]]);
    core.server().has({ tools: [{ name: 'back' }] });
    client.say({ jsonrpc: '2.0', id: 'again', method: 'tools/list' });
    await core.settle();
    expect(client.notifications('notifications/tools/list_changed').length).toBe(1);
    expect(core.openCalls).toBe(0);
  });
});
