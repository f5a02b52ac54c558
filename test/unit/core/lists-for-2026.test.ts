// Lists as clients of the era without a handshake get them, in every view.

import { describe, expect, test } from 'vitest';
import { OPEN_GATE } from '../../../src/model/tool-gate.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { CoreInMemory, type CoreOptions, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const WHO = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
  [`${PREFIX}clientCapabilities`]: {},
};

function ask(client: TestClient, id: number | string, method: string, view: string, params: object = {}): void {
  const _meta = { ...WHO, 'mcp-bridge/view': view };
  client.say({ jsonrpc: '2.0', id, method, params: { ...params, _meta } });
}

const TOOLS =
  '[{"name":"may","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"},"n":1.50},{"execution":{"taskSupport":"required"},"name":"must","inputSchema":{"type":"object"}},{"name":"plain","inputSchema":{"type":"object"}}]';
const SHOWN_BYTES =
  '[{"name":"may","inputSchema":{"type":"object"},"n":1.50},{"name":"plain","inputSchema":{"type":"object"}}]';

/** Servers whose tools know of tasks. */
function makeCore(names: readonly string[] = ['a'], options: CoreOptions = {}): CoreInMemory {
  const core = new CoreInMemory({ servers: names, ttlMs: 1e9, ...options });
  for (const name of names) {
    const server = core.server(name);
    server.declare({ tools: {}, prompts: {} });
    server.answers = ({ method, id }, instance) => {
      if (method === 'prompts/list') return { result: { prompts: [] } };
      if (method === 'tools/list') instance.say(`{"jsonrpc":"2.0","id":${id},"result":{"tools":${TOOLS}}}`);
      return undefined;
    };
  }
  return core;
}
async function connected(core: CoreInMemory): Promise<TestClient> {
  const client = core.connect();
  await core.settle();
  return client;
}
const namesIn = (client: TestClient, id: number | string): unknown =>
  (client.answersTo(id)[0]?.result?.tools as { name: string }[] | undefined)?.map(({ name }) => name);

describe('a list of tools of a server of the era before', () => {
  test.each([true, false])(
    'says nothing of tasks, and has no tool that must be one; the server runs: %s',
    async (runs) => {
      const core = makeCore();
      const client = await connected(core);
      ask(client, 0, 'prompts/get', 'server:a', { name: 'p' });
      await core.settle();
      if (!runs) core.server('a').crash();
      ask(client, 1, 'tools/list', 'server:a');
      await core.settle();
      expect(core.server('a').state).toBe(runs ? 'ready' : 'idle');
      expect(client.link.lines.at(-1)).toContain(`"tools":${SHOWN_BYTES}`);
      const old = await core.ready({ _meta: { 'mcp-bridge/view': 'server:a' } });
      old.say({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      await core.settle();
      expect(old.link.lines.at(-1)).toContain(`"tools":${TOOLS}`);
    },
  );

  test('is shown so in the view all too, where such a tool does not exist (A10, C19)', async () => {
    const core = makeCore(['a', 'b']);
    const client = await connected(core);
    ask(client, 1, 'tools/list', 'all');
    await core.pass(6000);
    expect(namesIn(client, 1)).toEqual(['a_may', 'a_plain', 'b_may', 'b_plain'].map((name) => name.replace('_', '__')));
    expect(JSON.stringify(client.answersTo(1))).not.toContain('execution');
    for (const [id, method] of Object.entries({ tool: 'tools/call', prompt: 'prompts/get' }))
      ask(client, id, method, 'all', { name: id === 'tool' ? 'a__must' : 'a__none' });
    ask(client, 'may', 'tools/call', 'all', { name: 'a__may', arguments: {} });
    await core.settle();
    for (const id of ['tool', 'prompt']) expect(client.answersTo(id).map(({ error }) => error?.code)).toEqual([-32602]);
    expect(core.server('a').requests.at(-1)?.params).toMatchObject({ name: 'may' });
  });

  test('is searched so in the view discover (C19)', async () => {
    const core = makeCore();
    const client = await connected(core);
    ask(client, 1, 'tools/call', 'discover', { name: 'list_tools', arguments: { server: 'a' } });
    await core.pass(6000);
    const text = JSON.stringify(client.answersTo(1));
    expect(text).toContain('plain');
    expect(text).not.toContain('must');
    ask(client, 2, 'tools/call', 'discover', { name: 'get_tool_details', arguments: { server: 'a', tool: 'may' } });
    await core.settle();
    expect(JSON.stringify(client.answersTo(2))).not.toContain('taskSupport');
  });

  test('may not be kept, as the server says nothing of that', async () => {
    const core = makeCore();
    const client = await connected(core);
    for (const [id, view] of ['server:a', 'all'].entries()) ask(client, id, 'tools/list', view);
    await core.pass(6000);
    for (const id of [0, 1])
      expect(client.answersTo(id)[0]?.result).toMatchObject({
        ttlMs: 0,
        cacheScope: 'private',
        resultType: 'complete',
      });
  });
});

describe('a list of a server of 2026', () => {
  const terms = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' };

  function makeNewer(names: readonly string[], ttls: Readonly<Record<string, number>> = {}): CoreInMemory {
    const core = makeCore(names);
    for (const name of names) {
      const server = core.server(name);
      server.era = ERA_2026;
      server.answers = ({ method }) => {
        if (method === 'prompts/list') return { result: { ...terms, prompts: [] } };
        const result = { ...terms, ttlMs: ttls[name] ?? terms.ttlMs, tools: [{ name: 'one', inputSchema: {} }] };
        return method === 'tools/list' ? { result } : undefined;
      };
    }
    return core;
  }

  test('keeps its terms while the server runs, less its age while it does not (E5)', async () => {
    const core = makeNewer(['a']);
    const client = await connected(core);
    ask(client, 0, 'prompts/get', 'server:a', { name: 'p' });
    await core.settle();
    ask(client, 1, 'tools/list', 'server:a');
    await core.settle();
    core.server('a').crash();
    await core.pass(20_000);
    ask(client, 2, 'tools/list', 'server:a');
    await core.pass(50_000);
    ask(client, 3, 'tools/list', 'server:a');
    await core.settle();
    expect(client.answersTo(1)[0]?.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' });
    expect(client.answersTo(2)[0]?.result).toMatchObject({ ttlMs: 40_000, cacheScope: 'public' });
    expect(client.answersTo(3)[0]?.result).toMatchObject({ ttlMs: 0, cacheScope: 'public' });
  });

  test.each(['1e999', '-1', '"60000"', 'null', '-0.5'])(
    'with the term %s counts as one without, even from the cache',
    async (ttl) => {
      const core = makeNewer(['a']);
      const { answers } = core.server('a');
      core.server('a').answers = (request, instance) => {
        if (request.method !== 'tools/list') return answers(request, instance);
        const result = `{"resultType":"complete","ttlMs":${ttl},"cacheScope":"public","tools":[]}`;
        instance.say(`{"jsonrpc":"2.0","id":${request.id},"result":${result}}`);
        return undefined;
      };
      const client = await connected(core);
      ask(client, 0, 'prompts/get', 'server:a', { name: 'p' });
      await core.settle();
      core.server('a').crash();
      for (const view of ['server:a', 'all']) {
        ask(client, view, 'tools/list', view);
        await core.pass(6000);
        expect(client.answersTo(view)[0]?.result).toMatchObject({ ttlMs: 0, cacheScope: 'private', tools: [] });
      }
    },
  );

  test('is kept for its user alone where a tool is forbidden (E5)', async () => {
    const core = makeNewer(['a']);
    const refusal = new BridgeError('TOOL_DISABLED', 'No');
    core.server('a').server.gate = { ...OPEN_GATE, isOpen: false, refusalOf: () => refusal };
    const client = await connected(core);
    for (const id of [1, 2]) {
      ask(client, id, 'tools/list', 'server:a');
      await core.settle();
      core.server('a').crash();
      expect(client.answersTo(id)[0]?.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private', tools: [] });
    }
    expect(core.server('a').starts).toBe(1);
  });

  test('is kept in a joined list for as long as the shortest of them, and for its user alone (G1)', async () => {
    const core = makeNewer(['a', 'b'], { a: 50_000, b: 30_000 });
    const client = await connected(core);
    ask(client, 1, 'tools/list', 'all');
    await core.settle();
    await core.pass(10_000);
    ask(client, 2, 'tools/list', 'all');
    await core.settle();
    expect(client.answersTo(1)[0]?.result).toMatchObject({ ttlMs: 30_000, cacheScope: 'private' });
    expect(client.answersTo(2)[0]?.result).toMatchObject({ ttlMs: 20_000, cacheScope: 'private' });
  });

  test('has its schemas as the server wrote them, also where clients of the era before get others', async () => {
    const core = makeNewer(['a']);
    const outputSchema = { type: 'array', items: { $ref: '#/$defs/one' }, $defs: { one: { type: 'number' } } };
    const { answers } = core.server('a');
    core.server('a').answers = (request, instance) =>
      request.method === 'tools/list'
        ? { result: { ...terms, tools: [{ name: 'one', inputSchema: { type: 'object' }, outputSchema }] } }
        : answers(request, instance);
    const details = { name: 'get_tool_details', arguments: { server: 'a', tool: 'one' } };
    const old = await core.ready({ _meta: { 'mcp-bridge/view': 'discover' } });
    old.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: details });
    const client = await connected(core);
    ask(client, 1, 'tools/call', 'discover', details);
    for (const view of ['all', 'server:a']) ask(client, view, 'tools/list', view);
    await core.pass(6000);
    const schemaTo = (one: TestClient): unknown => {
      const content = one.answersTo(1)[0]?.result?.content as { text: string }[] | undefined;
      return (JSON.parse(content?.[0]?.text ?? '{}') as { outputSchema: unknown }).outputSchema;
    };
    expect(schemaTo(client)).toEqual(outputSchema);
    expect(schemaTo(old)).toMatchObject({ type: 'object', required: ['result'] });
    for (const view of ['all', 'server:a'])
      expect(client.answersTo(view)[0]?.result?.tools).toMatchObject([{ outputSchema }]);
  });
});

describe('a list', () => {
  const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const;
  const views = ['server:a', 'all', 'discover'] as const;
  type Has = Readonly<Record<string, readonly object[]>>;
  const has = (name: string): Has => ({
    tools: ['z', 'a', 'm'].map((tool) => ({ name: `${name}-${tool}`, inputSchema: { type: 'object' } })),
    prompts: ['y', 'b'].map((prompt) => ({ name: `${name}-${prompt}` })),
    resources: ['x:2', 'x:1'].map((uri) => ({ uri: `${uri}/${name}`, name: uri })),
    resourceTemplates: [{ uriTemplate: `t:${name}/{x}`, name }],
  });

  /** The items that a connection is given of everything, in their order, and what else the result says but for who answers. */
  async function seenBy(core: CoreInMemory, client: TestClient, meta: object = {}): Promise<string[]> {
    const seen: string[] = [];
    for (const view of views)
      for (const method of lists) {
        const _meta = { ...WHO, 'mcp-bridge/view': view, ...meta };
        client.say({ jsonrpc: '2.0', id: `${view} ${method}`, method, params: { _meta } });
        await core.pass(6000);
        const { _meta: __, ...result } = client.received.at(-1)?.result ?? {};
        seen.push(JSON.stringify(Object.entries(result).toSorted(([one], [other]) => (one < other ? -1 : 1))));
      }
    return seen;
  }

  test.each([['2025-11-25'], ['2026-07-28']])(
    'is the same for all connections of a user, whatever they have done, and in one order; servers of %s (G6)',
    async (version) => {
      const core = new CoreInMemory({ servers: ['b', 'a'], ttlMs: 1e9 });
      for (const name of ['b', 'a']) {
        if (version === ERA_2026.versions[0]) core.server(name).era = ERA_2026;
        core.server(name).has(has(name));
        if (version === ERA_2026.versions[0]) {
          const { answers } = core.server(name);
          core.server(name).answers = (request, instance) => {
            const { result } = (answers(request, instance) ?? {}) as { result?: object };
            return result && { result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } };
          };
        }
      }
      const first = await connected(core);
      const seen = await seenBy(core, first);
      const joined = Object.fromEntries(JSON.parse(seen[lists.length] ?? '') as [string, unknown][]);
      expect(joined).toMatchObject({
        tools: ['b__b-z', 'b__b-a', 'b__b-m', 'a__a-z', 'a__a-a', 'a__a-m'].map((name) => ({ name })),
      });
      const busy = await connected(core);
      for (const [id, name] of ['a__a-z', 'b__b-m'].entries())
        ask(busy, id, 'tools/call', 'all', { name, arguments: {} });
      ask(busy, 'x', 'subscriptions/listen', 'all', { notifications: { toolsListChanged: true } });
      await core.settle();
      expect(await seenBy(core, busy, { 'mcp-bridge/clientId': 'busy' })).toEqual(seen);
      expect(
        await seenBy(core, await connected(core), { [`${PREFIX}clientInfo`]: { name: 'o', version: '2' } }),
      ).toEqual(seen);
      for (const name of ['a', 'b']) core.server(name).crash();
      expect(await seenBy(core, first)).toEqual(seen); // also while no server runs
    },
  );
});
