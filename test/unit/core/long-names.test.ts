// What servers call things is theirs, and may be of any length. The bridge keeps, compares and shows names only up to a
// bound; the server's own view has its bytes as they are.

import { beforeAll, describe, expect, test } from 'vitest';
import { MOST_TEMPLATE_STEPS, TemplateSet } from '../../../src/core/joined-view.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ALL = { _meta: { 'mcp-bridge/view': 'all' } };
const DISCOVER = { _meta: { 'mcp-bridge/view': 'discover' } };

// They are loaded when they are first needed, which takes longer than a test lets things happen.
beforeAll(async () => {
  await Promise.all([
    import('../../../src/meta-tools/schema-compiler.ts'),
    import('../../../src/search/tool-search.ts'),
  ]);
});

async function asked(core: CoreInMemory, client: TestClient, method: string, params: object = {}): Promise<Message> {
  const id = `${method}/${client.received.length}`;
  client.say({ jsonrpc: '2.0', id, method, params });
  for (let n = 0; n < 10 && client.answersTo(id).length === 0; n++) await core.settle();
  const [answer] = client.answersTo(id);
  if (answer === undefined) throw new Error(`${method} was not answered`);
  return answer;
}

async function keysIn(core: CoreInMemory, client: TestClient, method: string, member: string, key: string) {
  const { result = {} } = await asked(core, client, method);
  return (result[member] as Record<string, unknown>[]).map((item) => item[key]);
}

const LONGEST = 'n'.repeat(256);
const TOO_LONG = 'n'.repeat(257);
const ESCAPED = '\u00e9'.repeat(256);
const HUGE = 'h'.repeat(600_000);

describe('a tool with a name beyond 256 characters', () => {
  test('is in no joined list, and neither is such a prompt', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    const named = [LONGEST, TOO_LONG, ESCAPED, HUGE, 'short'].map((name) => ({ name }));
    core.server('one').has({ tools: named, prompts: named });
    const client = await core.ready(ALL);
    expect(await keysIn(core, client, 'tools/list', 'tools', 'name')).toHaveLength(3);
    expect(await keysIn(core, client, 'prompts/list', 'prompts', 'name')).toHaveLength(3);
  });

  test('is not searched, listed or described', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    core.server('one').has({
      tools: [
        { name: HUGE, description: 'adds' },
        { name: 'add', description: 'adds' },
      ],
    });
    const client = await core.ready(DISCOVER);
    for (const [name, args] of [
      ['search_tools', { query: 'adds' }],
      ['list_tools', { server: 'one' }],
      ['get_tool_details', { server: 'one', tool: HUGE }],
    ] as const) {
      const answer = JSON.stringify(await asked(core, client, 'tools/call', { name, arguments: args }));
      expect(answer.length).toBeLessThan(5000);
    }
  });

  test('is counted once, and said once in the log', async () => {
    const warnings: [string, object | undefined][] = [];
    const core = new CoreInMemory({ servers: ['one'], warn: (text, about) => void warnings.push([text, about]) });
    core.server('one').has({ tools: [{ name: HUGE }, { name: TOO_LONG }, { name: 'short' }] });
    const first = await core.ready(ALL);
    await asked(core, first, 'tools/list');
    await asked(core, await core.ready(ALL), 'tools/list');
    await asked(core, await core.ready(DISCOVER), 'tools/call', { name: 'list_tools', arguments: { server: 'one' } });
    core.server('one').first.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    await core.settle();
    core.server('one').crash();
    await asked(core, await core.ready(ALL), 'tools/call', { name: 'one__short' }).catch(() => undefined);
    expect(core.server('one').starts).toBe(2);
    expect(core.counters.namesTooLong).toBe(2);
    expect(warnings).toEqual([
      [
        'items with too long names or URIs are left out of the views all and discover',
        { server: 'one', kind: 'tools', count: 2, first: 'h'.repeat(64) },
      ],
    ]);
  });

  test('is in the list of the view of its server, byte by byte, and can be called there', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    core.server('one').has({ tools: [{ name: HUGE }, { name: 'short' }] });
    const lists = core.server('one').answers;
    core.server('one').answers = (of, instance) =>
      of.method === 'tools/call' ? { result: { called: String(of.params?.name).length } } : lists(of, instance);
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'server:one' } });
    expect(await keysIn(core, client, 'tools/list', 'tools', 'name')).toEqual([HUGE, 'short']);
    expect((await asked(core, client, 'tools/call', { name: HUGE })).result).toEqual({ called: HUGE.length });
  });
});

describe('a resource with a URI beyond 64 KiB', () => {
  test('is in no joined list, and neither is such a template', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    const [longest, tooLong] = [64 * 1024, 64 * 1024 + 1].map((length) => 'u:'.padEnd(length, 'x'));
    core.server('one').has({
      resources: [longest, tooLong].map((uri) => ({ uri, name: 'r' })),
      resourceTemplates: [longest, tooLong].map((uriTemplate) => ({ uriTemplate, name: 't' })),
    });
    const client = await core.ready(ALL);
    expect(await keysIn(core, client, 'resources/list', 'resources', 'uri')).toEqual([longest]);
    const templates = await keysIn(core, client, 'resources/templates/list', 'resourceTemplates', 'uriTemplate');
    expect(templates).toEqual([longest]);
    expect(core.counters.namesTooLong).toBe(2);
  });
});

describe('many names', () => {
  test('that are all equal get a number each, in linear time', async () => {
    const core = new CoreInMemory({ servers: ['one'] });
    const count = 50_000;
    core.server('one').has({ tools: Array.from({ length: count }, () => ({ name: 'a' })) });
    const client = await core.ready(ALL);
    const names = new Set<unknown>();
    for (let cursor: unknown; ; ) {
      const { result = {} } = await asked(core, client, 'tools/list', cursor === undefined ? {} : { cursor });
      for (const { name } of result.tools as { name: string }[]) names.add(name);
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
    expect(names.size).toBe(count);
  });
});

describe('a set of templates', () => {
  test('knows which URI may have come from one of them', () => {
    const set = new TemplateSet(['file:///{path}', 'db://{table}/{id}/raw', 'plain:uri']);
    const fits = ['file:///a/b', 'db://users/7/raw', 'plain:uri'];
    expect(fits.map((uri) => set.fits(uri))).toEqual([true, true, true]);
    expect(['db://users/7', 'plain:uri/', ''].map((uri) => set.fits(uri))).toEqual([false, false, false]);
  });

  test('takes no more steps than it may, however many they are and whatever stands in them', () => {
    const costly = `{x}b${'a'.repeat(20_000)}{y}`;
    const uri = `u:${'a'.repeat(60_000)}`;
    const many = Array.from({ length: 2000 }, (_, i) => `{x}${i}${costly}`);
    const set = new TemplateSet([...many, 'u:{x}']);
    expect(set.fits(uri)).toBe(false); // the servers are asked in turn then
    expect(set.steps).toBeLessThanOrEqual(MOST_TEMPLATE_STEPS);
  });
});
