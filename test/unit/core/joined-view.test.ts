// The view `all`: the servers' lists as one, and calls that find their server.

import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ALL = { _meta: { 'mcp-bridge/view': 'all' } };
const TWO = ['one', 'two'];

const tool = (name: string): object => ({ name, inputSchema: { type: 'object' } });
const resource = (uri: string, name = uri): object => ({ uri, name });

function request(client: TestClient, id: number | string, method: string, params: object = {}): void {
  client.say({ jsonrpc: '2.0', id, method, params });
}

async function asked(core: CoreInMemory, client: TestClient, method: string, params: object = {}): Promise<Message> {
  const id = `${method}/${client.received.length}/${Math.random()}`;
  request(client, id, method, params);
  await core.settle();
  const [answer] = client.answersTo(id);
  if (answer === undefined) throw new Error(`${method} was not answered`);
  return answer;
}

/** All pages of a list, and how many there were. */
async function listed(
  core: CoreInMemory,
  client: TestClient,
  method: string,
  member: string,
): Promise<{ items: Record<string, unknown>[]; pages: number }> {
  const items: Record<string, unknown>[] = [];
  let cursor: unknown;
  for (let pages = 1; ; pages++) {
    const { result } = await asked(core, client, method, cursor === undefined ? {} : { cursor });
    items.push(...((result?.[member] ?? []) as Record<string, unknown>[]));
    cursor = result?.nextCursor;
    if (cursor === undefined) return { items, pages };
  }
}

const keysOf = ({ items }: { items: Record<string, unknown>[] }, key: string): unknown[] =>
  items.map((item) => item[key]);

/** A reading of whatever its URI is gets that URI back, from who has it. */
function readable(
  core: CoreInMemory,
  name: string,
  resources: readonly string[],
  templates: readonly string[] = [],
  tools: readonly object[] = [],
): void {
  const server = core.server(name);
  server.has({
    tools,
    resources: resources.map((uri) => resource(uri)),
    resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
  });
  const lists = server.answers;
  server.answers = (of, instance) => {
    if (of.method !== 'resources/read') return lists(of, instance);
    const { uri } = of.params ?? {};
    if (!resources.includes(String(uri)) && templates.length === 0)
      return { error: { code: -32002, message: 'No such resource' } };
    return { result: { contents: [{ uri, text: name }] } };
  };
}

const readBy = ({ result, error }: Message): unknown =>
  (result?.contents as { text: string }[] | undefined)?.[0]?.text ?? error?.code;

describe('a joined list of tools', () => {
  test('has all servers’ tools under joined names, each otherwise as its server spells it', async () => {
    const core = new CoreInMemory({ servers: TWO });
    core.server('one').has({ tools: [tool('get'), { ...tool('a.b'), 'x-extra': [1.5, 'é'] }] });
    core.server('two').has({ tools: [tool('get')] });
    const client = await core.ready(ALL);
    const list = await listed(core, client, 'tools/list', 'tools');
    expect(keysOf(list, 'name')).toEqual(['one__get', expect.stringMatching(/^one__a_b_[0-9a-f]{8}$/), 'two__get']);
    expect(list.items[1]).toMatchObject({ 'x-extra': [1.5, 'é'], inputSchema: { type: 'object' } });
    expect(client.notifications('notifications/tools/list_changed')).toEqual([]);
  });

  test('leaves out tools without a name, and invalid lists', async () => {
    const core = new CoreInMemory({ servers: TWO });
    core.server('one').declare({ tools: {} });
    core.server('one').answers = () => ({ result: { tools: { get: tool('get') } } });
    core.server('two').declare({ tools: {} });
    core.server('two').answers = () => ({
      result: { tools: [null, 7, [], {}, { name: 7 }, tool('get'), { name: '' }] },
    });
    const client = await core.ready(ALL);
    expect(keysOf(await listed(core, client, 'tools/list', 'tools'), 'name')).toEqual(['two__get', 'two__']);
  });

  test('comes in pages that lose nothing and say nothing twice, also when servers give theirs in pages', async () => {
    const core = new CoreInMemory({ servers: TWO });
    const description = 'x'.repeat(200_000);
    for (const name of TWO) {
      const server = core.server(name);
      server.declare({ tools: {} });
      server.answers = ({ params }) => {
        const page = Number(params?.cursor ?? 0);
        const tools = [0, 1, 2].map((n) => ({ name: `t${page}${n}`, description }));
        return { result: { tools, ...(page < 3 && { nextCursor: String(page + 1) }) } };
      };
    }
    const client = await core.ready(ALL);
    const list = await listed(core, client, 'tools/list', 'tools');
    const own = [0, 1, 2, 3].flatMap((page) => [0, 1, 2].map((n) => `t${page}${n}`));
    expect(keysOf(list, 'name')).toEqual(TWO.flatMap((name) => own.map((t) => `${name}__${t}`)));
    expect(list.pages).toBeGreaterThan(3);
    for (const line of client.link.lines) expect(line.length).toBeLessThan(1.3 * 1024 * 1024);
  });

  test('has one tool to a page where each is larger than a page', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    const description = 'x'.repeat(1_100_000);
    core.server('one').has({ tools: ['a', 'b'].map((name) => ({ name, description })) });
    core.server('two').has({ tools: [tool('c')] });
    const client = await core.ready(ALL);
    const list = await listed(core, client, 'tools/list', 'tools');
    expect([list.pages, keysOf(list, 'name')]).toEqual([3, ['one__a', 'one__b', 'two__c']]);
  });

  test.each([
    '',
    'x',
    '!!',
    7,
    null,
    {},
    Buffer.from('nobody:3').toString('base64url'),
    Buffer.from('one:x').toString('base64url'),
  ])('has no page at the cursor %j, and says so', async (cursor) => {
    const core = new CoreInMemory({ servers: TWO });
    for (const name of TWO) core.server(name).has({ tools: [tool('get')] });
    const client = await core.ready(ALL);
    expect((await asked(core, client, 'tools/list', { cursor })).error?.code).toBe(-32602);
    expect(core.openCalls).toBe(0);
  });

  test('is empty without any servers', async () => {
    const core = new CoreInMemory({ servers: [] });
    const client = await core.ready(ALL);
    expect((await asked(core, client, 'tools/list')).result).toEqual({ tools: [] });
  });
});

describe('a call by a joined name', () => {
  test('reaches its server under the tool’s own name, spelled as the server spells it', async () => {
    const core = new CoreInMemory({ servers: TWO });
    core.server('one').declare({ tools: {} });
    core.server('one').answers = ({ method }) =>
      method === 'tools/list' ? { result: { tools: [{ name: 'é.b' }, tool('x'.repeat(100))] } } : undefined;
    const client = await core.ready(ALL);
    const names = keysOf(await listed(core, client, 'tools/list', 'tools'), 'name');
    for (const [id, name] of names.entries()) request(client, id, 'tools/call', { name, arguments: { id } });
    await core.settle();
    const calls = core.server('one').requests.filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ params }) => params?.name)).toEqual(['é.b', 'x'.repeat(100)]);
    for (const call of calls) core.server('one').answer(call);
    await core.settle();
    expect(names.map((_, id) => client.answersTo(id).map(({ result }) => result?.echo))).toEqual([
      [{ id: 0 }],
      [{ id: 1 }],
    ]);
  });

  test('finds its server even if nobody has listed anything, and starts no other', async () => {
    const core = new CoreInMemory({ servers: TWO });
    for (const name of TWO) core.server(name).has({ tools: [tool('get')] });
    const client = await core.ready(ALL);
    request(client, 1, 'tools/call', { name: 'two__get', arguments: { x: 1 } });
    await core.settle();
    core.server('two').answer(core.server('two').requests.at(-1));
    await core.settle();
    expect(client.answersTo(1).map(({ result }) => result?.echo)).toEqual([{ x: 1 }]);
    expect([core.server('one').starts, core.server('two').starts]).toEqual([0, 1]);
  });

  test.each([
    ['two__gte', -32602, /two__get/],
    ['nobody__get', -32602, /two__get/],
    ['zzz', -32602, /tools\/list/],
    [7, -32602, undefined],
  ])('%j is refused, with similar names', async (name, code, hint) => {
    const core = new CoreInMemory({ servers: TWO });
    for (const server of TWO) core.server(server).has({ tools: [tool('get')] });
    const client = await core.ready(ALL);
    await listed(core, client, 'tools/list', 'tools');
    const { error } = await asked(core, client, 'tools/call', { name });
    expect(error?.code).toBe(code);
    if (hint !== undefined) expect(JSON.stringify(error)).toMatch(hint);
    expect(core.openCalls).toBe(0);
  });

  test('of a server that cannot be started gets an error that says so', async () => {
    const core = new CoreInMemory({ servers: TWO });
    core.server('two').opensByItself = false;
    const client = await core.ready(ALL);
    request(client, 1, 'tools/call', { name: 'two__get' });
    await core.settle();
    core.server('two').failToStart();
    await core.settle();
    expect(client.answersTo(1).map(({ error }) => error?.data?.code)).toEqual(['SERVER_START_FAILED']);
    expect(core.openCalls).toBe(0);
  });

  test('can be cancelled, abandoned and timed out while its server starts', async () => {
    const core = new CoreInMemory({ servers: TWO, limits: { callTimeoutMs: 30_000 } });
    core.server('two').opensByItself = false;
    const [client, leaver] = [await core.ready(ALL), await core.ready(ALL)];
    for (const id of [1, 2]) request(client, id, 'tools/call', { name: 'two__get' });
    request(leaver, 1, 'tools/call', { name: 'two__get' });
    await core.settle();
    client.cancel(1);
    leaver.link.destroy();
    await core.pass(40_000);
    expect([client.answersTo(1), client.answersTo(2).map(({ error }) => error?.data?.code)]).toEqual([
      [],
      ['CALL_TIMED_OUT'],
    ]);
    expect(core.openCalls).toBe(0);
    core.server('two').has({ tools: [tool('get')] });
    core.server('two').open();
    await core.settle();
    expect(core.server('two').requests.filter(({ method }) => method === 'tools/call')).toEqual([]);
  });
});

describe('the capacity of a client', () => {
  async function full(trustHints = false): Promise<{ core: CoreInMemory; client: TestClient }> {
    const core = new CoreInMemory({ servers: TWO, limits: { maxInFlightPerClient: 1 }, definition: { trustHints } });
    for (const name of TWO) core.server(name).has({ tools: [{ ...tool('get'), annotations: { readOnlyHint: true } }] });
    const client = await core.ready(ALL);
    await listed(core, client, 'tools/list', 'tools');
    request(client, 1, 'tools/call', { name: 'one__get', arguments: {} });
    request(client, 2, 'tools/call', { name: 'two__get', arguments: {} });
    await core.settle();
    expect(callsAt(core, 'two')).toEqual([]);
    return { core, client };
  }
  const callsAt = (core: CoreInMemory, name: string): Message[] =>
    core.server(name).requests.filter(({ method }) => method === 'tools/call');

  test('counts for all its servers together: an answer of one lets another one have its turn', async () => {
    const { core, client } = await full();
    core.server('one').answer(callsAt(core, 'one')[0]);
    await core.settle();
    core.server('two').answer(callsAt(core, 'two')[0]);
    await core.settle();
    expect([1, 2].map((id) => client.answersTo(id).length)).toEqual([1, 1]);
  });

  test('has room again when a call is cancelled, when its server dies, and when that does not come back', async () => {
    for (const how of ['cancel', 'crash', 'fail'] as const) {
      const { core, client } = await full(how === 'fail');
      core.server('one').opensByItself = false;
      if (how === 'cancel') client.cancel(1);
      else core.server('one').crash();
      if (how === 'fail') core.server('one').failToStart();
      await core.settle();
      expect([how, callsAt(core, 'two').length]).toEqual([how, 1]);
    }
  });
});

describe('the capabilities that a joined view declares', () => {
  test('has the extensions of all servers', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two', 'three'], ttlMs: 1_000_000 });
    core.server('one').declare({ extensions: { 'a/x': { of: 'one' }, 'b/y': {} } });
    core.server('two').declare({ extensions: { 'a/x': { of: 'two' }, 'c/z': {} } });
    core.server('three').declare({ extensions: 7 });
    for (const name of ['one', 'two', 'three']) await core.ready({ _meta: { 'mcp-bridge/view': `server:${name}` } });
    const client = core.connect();
    client.initialize('init', ALL);
    await core.settle();
    const extensions = { 'a/x': { of: 'one' }, 'b/y': {}, 'c/z': {} };
    expect(client.answersTo('init')[0]?.result).toMatchObject({ capabilities: { extensions } });
  });
});

describe('joined resources', () => {
  test('of apps name their server, in lists and in tools, even if another server has the same page', async () => {
    const core = new CoreInMemory({ servers: ['one', 'three', 'two'] });
    const page = 'ui://app/main';
    const inputSchema = { type: 'object' };
    const _meta = { other: 1, 'ui/resourceUri': page, ui: { visibility: ['app'], resourceUri: page } };
    readable(core, 'one', [page, 'a:1'], [], [{ name: 'show', inputSchema, _meta }]);
    // The order of members, and pages that no list has, make no difference.
    const uri = 'ui://app/other';
    readable(core, 'two', [page, uri, 'a:1'], ['ui://app/{page}.html'], [{ _meta, inputSchema, name: 'show' }]);
    core.server('three').has({
      tools: [
        { name: 'unlisted', _meta: { ui: { resourceUri: page } } },
        { name: 'plain', _meta: { ui: { resourceUri: 'https://x' } } },
      ],
    });
    const client = await core.ready(ALL);
    const uris = keysOf(await listed(core, client, 'resources/list', 'resources'), 'uri');
    const pages = ['one', 'two'].map((name) => `ui://mcp-bridge/${name}/${page}`);
    expect(uris).toEqual([pages[0], 'a:1', pages[1], 'ui://mcp-bridge/two/ui://app/other', 'mcp-bridge://two/a:1']);
    const templates = await listed(core, client, 'resources/templates/list', 'resourceTemplates');
    expect(keysOf(templates, 'uriTemplate')).toEqual(['ui://mcp-bridge/two/ui://app/{page}.html']);
    const tools = await listed(core, client, 'tools/list', 'tools');
    const metaOf = (uri: unknown): object => ({
      ..._meta,
      'ui/resourceUri': uri,
      ui: { ..._meta.ui, resourceUri: uri },
    });
    expect(tools.items).toEqual([
      { name: 'one__show', inputSchema, _meta: metaOf(pages[0]) },
      { name: 'three__unlisted', _meta: { ui: { resourceUri: `ui://mcp-bridge/three/${page}` } } },
      { name: 'three__plain', _meta: { ui: { resourceUri: 'https://x' } } },
      { name: 'two__show', inputSchema, _meta: metaOf(pages[1]) },
    ]);
    const by = [];
    for (const uri of [...pages, 'ui://mcp-bridge/two/ui://app/a.html'])
      by.push(readBy(await asked(core, client, 'resources/read', { uri })));
    expect(by).toEqual(['one', 'two', 'two']);
  });

  test('of apps are read without their server only if no other server may have them', async () => {
    const core = new CoreInMemory({ servers: ['none', ...TWO] });
    core.server('none').has({ tools: [] });
    readable(core, 'one', ['ui://app/main'], ['ui://{anything}']);
    readable(core, 'two', ['ui://app/main', 'ui://app/other', 'ui:mine']);
    const client = await core.ready(ALL);
    await listed(core, client, 'resources/list', 'resources');
    for (const uri of ['ui://app/main', 'ui://app/other', 'ui:nobody'])
      expect(JSON.stringify((await asked(core, client, 'resources/read', { uri })).error)).toMatch(
        /not clear which server.*ui:\/\/mcp-bridge\/ALIAS\/ui:/,
      );
    expect(readBy(await asked(core, client, 'resources/read', { uri: 'ui:mine' }))).toBe('two');
    const told = core.server('one').requests.filter(({ method }) => method === 'resources/read');
    expect(told).toEqual([]);
  });

  test('go by their own URIs, but for those that an earlier server has too', async () => {
    const core = new CoreInMemory({ servers: TWO });
    readable(core, 'one', ['a:1', 'a:both']);
    readable(core, 'two', ['a:both', 'a:2']);
    const client = await core.ready(ALL);
    const uris = keysOf(await listed(core, client, 'resources/list', 'resources'), 'uri');
    expect(uris).toEqual(['a:1', 'a:both', 'mcp-bridge://two/a:both', 'a:2']);
    const by = [];
    for (const uri of uris) by.push(readBy(await asked(core, client, 'resources/read', { uri })));
    expect(by).toEqual(['one', 'one', 'two', 'two']);
    const read = core.server('two').requests.filter(({ method }) => method === 'resources/read');
    expect(read.map(({ params }) => params?.uri)).toEqual(['a:both', 'a:2']);
  });

  test('that match a template are read there; unlisted ones at the server that has them', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two', 'three'] });
    readable(core, 'one', ['a:hidden']);
    core.server('one').answers = (
      (answers) => (of, instance) =>
        of.method === 'resources/list' ? { result: { resources: [] } } : answers(of, instance)
    )(core.server('one').answers);
    readable(core, 'two', [], ['db://{table}/{id}']);
    readable(core, 'three', []);
    const client = await core.ready(ALL);
    expect(readBy(await asked(core, client, 'resources/read', { uri: 'db://users/7' }))).toBe('two');
    expect(readBy(await asked(core, client, 'resources/read', { uri: 'a:hidden' }))).toBe('one');
    expect(readBy(await asked(core, client, 'resources/read', { uri: 'mcp-bridge://three/a:hidden' }))).toBe(-32002);
    expect(core.openCalls).toBe(0);
    expect(core.sessionOf(client)?.sentCount).toBe(0);
  });

  test('that no server has are refused after all were asked', async () => {
    const core = new CoreInMemory({ servers: TWO });
    for (const name of TWO) readable(core, name, []);
    const client = await core.ready(ALL);
    expect(readBy(await asked(core, client, 'resources/read', { uri: 'x:y' }))).toBe(-32002);
    expect((await asked(core, client, 'resources/read', { uri: 7 })).error?.code).toBe(-32602);
    const none = new CoreInMemory({ servers: [] });
    expect(readBy(await asked(none, await none.ready(ALL), 'resources/read', { uri: 'x:y' }))).toBe(-32002);
    expect(core.openCalls).toBe(0);
  });

  test('that change are reported under the client’s URI', async () => {
    const core = new CoreInMemory({ servers: TWO });
    for (const name of TWO) {
      readable(core, name, ['a:both']);
      const { answers } = core.server(name);
      core.server(name).answers = (of, instance) =>
        of.method === 'resources/subscribe' ? { result: {} } : answers(of, instance);
    }
    const client = await core.ready(ALL);
    await listed(core, client, 'resources/list', 'resources');
    await asked(core, client, 'resources/subscribe', { uri: 'mcp-bridge://two/a:both' });
    for (const name of TWO)
      core.server(name).say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:both' } });
    await core.settle();
    expect(client.notifications('notifications/resources/updated').map(({ params }) => params?.uri)).toEqual([
      'mcp-bridge://two/a:both',
    ]);
  });
});

describe('a completion', () => {
  test('reaches the server of its prompt or resource under their own names', async () => {
    const core = new CoreInMemory({ servers: TWO });
    core.server('one').has({ prompts: [{ name: 'p.1' }], resources: [resource('a:1')] });
    core.server('two').has({ prompts: [{ name: 'p' }], resources: [resource('a:1')] });
    const client = await core.ready(ALL);
    const [first] = keysOf(await listed(core, client, 'prompts/list', 'prompts'), 'name');
    await listed(core, client, 'resources/list', 'resources');
    const argument = { name: 'x', value: 'y' };
    request(client, 1, 'completion/complete', { ref: { type: 'ref/prompt', name: first }, argument });
    request(client, 2, 'completion/complete', { argument, ref: { uri: 'mcp-bridge://two/a:1', type: 'ref/resource' } });
    await core.settle();
    const refs = (name: string) =>
      core
        .server(name)
        .requests.filter(({ method }) => method === 'completion/complete')
        .map(({ params }) => params);
    expect(refs('one')).toEqual([{ ref: { type: 'ref/prompt', name: 'p.1' }, argument }]);
    expect(refs('two')).toEqual([{ ref: { type: 'ref/resource', uri: 'a:1' }, argument }]);
    for (const ref of [undefined, 7, {}, { type: 'ref/prompt', name: 'one__none' }, { type: 'ref/prompt', name: 7 }])
      expect((await asked(core, client, 'completion/complete', { ref })).error?.code).toBe(-32602);
  });
});

describe('a server that is slow', () => {
  const SERVERS = ['quick', 'slow'];
  async function leftOut(ttlMs = 0): Promise<{ core: CoreInMemory; client: TestClient }> {
    const core = new CoreInMemory({ servers: SERVERS, ttlMs });
    for (const name of SERVERS) core.server(name).has({ tools: [tool('get')] });
    core.server('slow').opensByItself = false;
    const client = await core.ready(ALL);
    request(client, 'list', 'tools/list');
    await core.pass(6000);
    return { core, client };
  }
  const toolsIn = (message: Message | undefined): unknown[] =>
    ((message?.result?.tools ?? []) as { name: string }[]).map(({ name }) => name);

  test('is left out of the list, and joins it when it comes', async () => {
    const { core, client } = await leftOut();
    expect(toolsIn(client.answersTo('list')[0])).toEqual(['quick__get']);
    expect(core.server('slow').server.isLeftOut).toBe(true);
    core.server('slow').open();
    await core.settle();
    expect(client.notifications('notifications/tools/list_changed')).toHaveLength(1);
    expect(core.server('slow').server.isLeftOut).toBe(false);
    expect(toolsIn(await asked(core, client, 'tools/list'))).toEqual(['quick__get', 'slow__get']);
    expect(client.notifications('notifications/tools/list_changed')).toHaveLength(1);
  });

  test('is not waited for a second time, by whomever', async () => {
    const { core, client } = await leftOut();
    const other = await core.ready(ALL);
    for (const who of [client, other]) expect(toolsIn(await asked(core, who, 'tools/list'))).toEqual(['quick__get']);
    expect(core.server('slow').server.isLeftOut).toBe(true);
  });

  test('cannot be started and then can: the list has it from then on', async () => {
    const { core, client } = await leftOut();
    core.server('slow').failToStart();
    await core.settle();
    expect(toolsIn(await asked(core, client, 'tools/list'))).toEqual(['quick__get']); // which tries it again
    core.server('slow').open();
    await core.settle();
    expect(client.notifications('notifications/tools/list_changed')).toHaveLength(1);
    expect(toolsIn(await asked(core, client, 'tools/list'))).toEqual(['quick__get', 'slow__get']);
  });

  test('joins the list also when it has the same tools as long ago', async () => {
    const core = new CoreInMemory({ servers: SERVERS, ttlMs: 1000 });
    for (const name of SERVERS) core.server(name).has({ tools: [tool('get')] });
    const before = await core.ready(ALL);
    expect(toolsIn(await asked(core, before, 'tools/list'))).toEqual(['quick__get', 'slow__get']);
    before.link.destroy();
    core.server('slow').crash();
    core.server('slow').opensByItself = false;
    await core.pass(3000);
    const client = await core.ready(ALL);
    request(client, 'list', 'tools/list');
    await core.pass(6000);
    expect(toolsIn(client.answersTo('list')[0])).toEqual(['quick__get']);
    core.server('slow').open();
    await core.settle();
    expect(client.notifications('notifications/tools/list_changed')).toHaveLength(1);
    expect(core.server('slow').server.isLeftOut).toBe(false);
  });
});

describe('a server with an instance for each client, which starts more slowly than its clients leave', () => {
  const HOUR_MS = 3_600_000;
  function slow(ttlMs = HOUR_MS): CoreInMemory {
    const core = new CoreInMemory({ servers: ['slow', 'quick'], ttlMs, definition: { sharing: 'dedicated' } });
    for (const name of ['slow', 'quick']) core.server(name).has({ tools: [tool('get')] });
    core.server('slow').opensByItself = false;
    return core;
  }
  async function askAndLeave(core: CoreInMemory): Promise<void> {
    const client = await core.ready(ALL);
    request(client, 'list', 'tools/list');
    await core.pass(6000);
    expect(client.answersTo('list')).toHaveLength(1);
    client.link.destroy();
    await core.settle();
  }
  const states = (core: CoreInMemory): string[] =>
    core.server('slow').instances.map(({ state, isRetired }) => (isRetired ? 'retired' : state));
  async function namesFor(core: CoreInMemory): Promise<string[]> {
    const listed = await asked(core, await core.ready(ALL), 'tools/list');
    return ((listed.result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
  }

  test('goes on until it has listed its tools, though each client has left, and one instance alone', async () => {
    const core = slow();
    for (let n = 0; n < 3; n++) await askAndLeave(core);
    expect(states(core)).toEqual(['starting', 'retired', 'retired']);
    core.server('slow').open();
    await core.settle();
    expect(states(core)).toEqual(['retired', 'retired', 'retired']);
    expect([...core.server('slow').server.instances]).toEqual([]);
    expect(await namesFor(core)).toEqual(['slow__get', 'quick__get']);
    expect(core.server('slow').starts).toBe(3); // the list is known, so nobody starts it for that
  });

  test('is tried again by the next client after it could not be started', async () => {
    const core = slow();
    await askAndLeave(core);
    core.server('slow').failToStart();
    await core.settle();
    expect(states(core)).toEqual(['retired']);
    await askAndLeave(core);
    expect(states(core)).toEqual(['retired', 'starting']);
    core.server('slow').instances[1]?.open();
    await core.settle();
    expect(await namesFor(core)).toEqual(['slow__get', 'quick__get']);
  });

  test('ends with its client if it cannot list its tools, or they are known, or are not kept', async () => {
    const unable = slow();
    unable.server('slow').answers = () => ({ error: { code: -32000, message: 'not now' } });
    await askAndLeave(unable);
    unable.server('slow').open();
    await unable.settle();
    expect(states(unable)).toEqual(['retired']);

    const known = slow();
    await askAndLeave(known);
    known.server('slow').open();
    await known.settle();
    const client = await known.ready(ALL);
    request(client, 'call', 'tools/call', { name: 'slow__get' });
    await known.settle();
    expect(states(known)).toEqual(['retired', 'starting']);
    client.link.destroy();
    await known.settle();
    expect(states(known)).toEqual(['retired', 'retired']);

    const forgetful = slow(0);
    await askAndLeave(forgetful);
    expect(states(forgetful)).toEqual(['retired']);
  });
});

describe('a client of all servers that goes while they are asked', () => {
  test('leaves no trace, and all other clients keep their server', async () => {
    for (const sharing of ['auto', 'shared', 'dedicated'] as const) {
      const core = new CoreInMemory({ servers: TWO, definition: { sharing } });
      for (const name of TWO) {
        core.server(name).has({ tools: [tool('get')] });
        core.server(name).opensByItself = false;
      }
      const leaver = await core.ready(ALL);
      request(leaver, 1, 'tools/list');
      request(leaver, 2, 'tools/call', { name: 'one__get' });
      await core.settle();
      leaver.link.destroy();
      await core.settle();
      expect(core.openCalls).toBe(0);
      for (const name of TWO) {
        expect(core.server(name).server.bindings.size).toBe(0);
        expect(core.server(name).server.isLeftOut).toBe(false);
        core.server(name).opensByItself = true;
        for (const instance of core.server(name).instances) instance.open();
      }
      await core.settle();
      const client = await core.ready(ALL);
      request(client, 1, 'tools/list');
      await core.settle();
      expect(client.answersTo(1)[0]?.result?.tools).toHaveLength(2);
    }
  });
});
