// The view `discover`: five tools that find those of all servers, and run them in their own bytes.

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { RuledGate } from '../../../src/daemon/ruled-gate.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { CoreInMemory, type Message, type TestClient, type TestServer } from '../../support/core-in-memory.ts';

const DISCOVER = { _meta: { 'mcp-bridge/view': 'discover' } };
const CREATE = {
  name: 'create_issue',
  description: 'Open a new issue in a repository\nwith a title.',
  inputSchema: {
    type: 'object',
    properties: { title: { type: 'string', maxLength: 100 }, count: { type: 'integer' } },
    required: ['title'],
    additionalProperties: false,
  },
  outputSchema: { type: 'object' },
  annotations: { readOnlyHint: false },
};
const CLOSE = { name: 'close_issue', description: 'Close an issue', inputSchema: { type: 'object' } };
const READ = { name: 'read_file', description: 'Read a file of the disk', inputSchema: { type: 'object' } };

// They are loaded when they are first needed, which takes longer than a test lets things happen.
beforeAll(async () => {
  await Promise.all([
    import('../../../src/meta-tools/schema-compiler.ts'),
    import('../../../src/search/tool-search.ts'),
  ]);
});

interface Setting {
  readonly core: CoreInMemory;
  readonly client: TestClient;
  readonly github: TestServer;
  readonly files: TestServer;
}

async function setting(): Promise<Setting> {
  const core = new CoreInMemory({ servers: ['github', 'files'] });
  const [github, files] = [core.server('github'), core.server('files')];
  github.has({ tools: [CREATE, { name: 'odd "name"' }] });
  files.has({ tools: [READ] });
  const client = await core.ready(DISCOVER);
  return { core, client, github, files };
}

let calls = 0;

async function asked({ core, client }: Setting, name: string, args: unknown): Promise<Message> {
  const id = `call-${++calls}`;
  client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
  for (let n = 0; n < 10 && client.answersTo(id).length === 0; n++) await core.settle();
  return client.answersTo(id)[0] ?? {};
}

function read(answer: Message): Record<string, unknown> {
  const [content] = (answer.result?.content ?? []) as { text?: string }[];
  return JSON.parse(content?.text ?? 'null') as Record<string, unknown>;
}

const callsOf = (server: TestServer): Message[] => server.requests.filter(({ method }) => method === 'tools/call');
/** What the server was sent, as it came. */
const linesOf = (server: TestServer): string[] =>
  (server.link?.lines ?? []).filter((line) => line.includes('"tools/call"'));

describe('a client that looks for tools', () => {
  test('has five of them, and one for results that were cut', async () => {
    const { core, client } = await setting();
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    await core.settle();
    const tools = client.answersTo(1)[0]?.result?.tools as { name: string }[];
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'execute_tool',
      'get_tool_details',
      'list_mcp_servers',
      'list_tools',
      'read_result',
      'search_tools',
    ]);
  });

  test('sees which servers there are without one being started, and which are not known yet', async () => {
    const all = await setting();
    expect(read(await asked(all, 'list_mcp_servers', {}))).toEqual({
      servers: [
        { name: 'github', description: '', toolCount: null, enabledCount: null, status: 'idle' },
        { name: 'files', description: '', toolCount: null, enabledCount: null, status: 'idle' },
      ],
      note: 'Where toolCount is null, the tools are not known yet. list_tools starts the server and lists them.',
    });
    await asked(all, 'list_tools', { server: 'files' });
    expect(read(await asked(all, 'list_mcp_servers', {}))).toMatchObject({
      servers: [
        { name: 'github', toolCount: null, status: 'idle' },
        { name: 'files', toolCount: 1, status: 'connected' },
      ],
    });
    expect([all.github.link, all.files.link === undefined]).toEqual([undefined, false]);
  });

  test('is told which servers a search could not look into', async () => {
    const core = new CoreInMemory({ servers: ['github', 'files'] });
    core.server('github').has({ tools: [CREATE] });
    core.server('files').opensByItself = false;
    const [github, files] = [core.server('github'), core.server('files')];
    const all = { core, client: await core.ready(DISCOVER), github, files };
    const id = 'search';
    const params = { name: 'search_tools', arguments: { query: 'create an issue' } };
    all.client.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
    for (let n = 0; n < 10; n++) await core.settle();
    core.clock.advance(20_000);
    for (let n = 0; n < 10; n++) await core.settle();
    expect(read(all.client.answersTo(id)[0] ?? {})).toMatchObject({
      results: [{ server: 'github', tool: 'create_issue' }],
      notKnownYet: ['files'],
    });
  });

  test('sees how many tools the servers have, and whether they run', async () => {
    const all = await setting();
    const found = read(await asked(all, 'search_tools', { query: 'file' }));
    expect(Object.keys(found)).toEqual(['results']);
    expect(read(await asked(all, 'list_mcp_servers', {}))).toEqual({
      servers: [
        { name: 'github', description: '', toolCount: 2, enabledCount: 2, status: 'connected' },
        { name: 'files', description: '', toolCount: 1, enabledCount: 1, status: 'connected' },
      ],
    });
  });

  test('finds a tool by what it does, of all servers or of one', async () => {
    const all = await setting();
    const found = read(await asked(all, 'search_tools', { query: 'file a bug report as an issue' }))
      .results as object[];
    expect(found[0]).toEqual({
      server: 'github',
      tool: 'create_issue',
      summary: 'Open a new issue in a repository',
      relevance: expect.any(Number),
      tags: [],
    });
    const ofFiles = read(await asked(all, 'search_tools', { query: 'issue read', server: 'files', limit: 1 }));
    expect(ofFiles.results).toMatchObject([{ server: 'files', tool: 'read_file' }]);
  });

  test('is told what the servers are that have the same tool, and only then', async () => {
    const core = new CoreInMemory({ servers: ['work', 'home', 'plain'] });
    const offer = (name: string, description: string, tools: object[]): void => {
      const server = core.server(name);
      server.has({ tools });
      const hello = { serverInfo: { name, version: '1', description } };
      server.hello = JSON.stringify({ ...(JSON.parse(server.hello) as object), ...hello });
    };
    offer('work', 'The company.', [CREATE, CLOSE]);
    offer('home', 'My own things.', [CREATE]);
    offer('plain', '', [CREATE]);
    const [work, home] = [core.server('work'), core.server('home')];
    const all = { core, client: await core.ready(DISCOVER), github: work, files: home };
    const found = async (args: object): Promise<unknown> =>
      (read(await asked(all, 'search_tools', args)).results as Record<string, unknown>[])
        .map(({ server, tool, serverDescription }) => [server, tool, serverDescription])
        .sort();
    expect(await found({ query: 'issue' })).toEqual([
      ['home', 'create_issue', 'My own things.'],
      ['plain', 'create_issue', undefined],
      ['work', 'close_issue', undefined],
      ['work', 'create_issue', 'The company.'],
    ]);
    expect(await found({ query: 'open', server: 'work' })).toEqual([['work', 'create_issue', undefined]]);
  });

  test('pays for no description that two servers share', async () => {
    const core = new CoreInMemory({ servers: ['work', 'home'], definition: { description: 'Issues.' } });
    const [work, home] = [core.server('work'), core.server('home')];
    for (const server of [work, home]) server.has({ tools: [CREATE] });
    const all = { core, client: await core.ready(DISCOVER), github: work, files: home };
    const { results } = read(await asked(all, 'search_tools', { query: 'issue' }));
    expect((results as object[]).map((result) => Object.keys(result))).toEqual(
      Array.from({ length: 2 }, () => ['server', 'tool', 'summary', 'relevance', 'tags']),
    );
  });

  test.each(['', ' ', '🎉', '.*+?^$()|[]{}\\', 'x'.repeat(1_000_000), '\u202e\u001b[31m'])(
    'gets an answer to an odd question',
    async (query) => {
      const { results } = read(await asked(await setting(), 'search_tools', { query }));
      expect(Array.isArray(results)).toBe(true);
    },
  );

  test('lists the tools of a server, and reads all about one', async () => {
    const all = await setting();
    expect(read(await asked(all, 'list_tools', { server: 'files' }))).toEqual({
      server: 'files',
      tools: [{ name: 'read_file', summary: 'Read a file of the disk', enabled: true, tags: [] }],
    });
    const { name: tool, description, inputSchema, outputSchema, annotations } = CREATE;
    expect(read(await asked(all, 'get_tool_details', { server: 'github', tool }))).toEqual({
      ...{ server: 'github', tool, description, inputSchema, outputSchema, annotations, tags: [] },
    });
  });

  test('has the prompts and resources of all servers besides', async () => {
    const { core, client, files } = await setting();
    files.has({ resources: [{ uri: 'x:1', name: 'x' }] });
    client.say({ jsonrpc: '2.0', id: 1, method: 'resources/list' });
    await core.settle();
    expect(client.answersTo(1)[0]?.result?.resources).toMatchObject([{ uri: 'x:1' }]);
  });

  test('is told what is wrong with its arguments', async () => {
    const all = await setting();
    const told = async (name: string, args: unknown) => (await asked(all, name, args)).error;
    expect(await told('search_tools', {})).toMatchObject({ code: -32602, message: 'search_tools: query is missing' });
    expect(await told('search_tools', { query: 7, limit: 'x', more: 1 })).toMatchObject({
      message: 'search_tools: query must be a string; limit must be a number; "more" is not known',
    });
    expect(await told('list_tools', [])).toMatchObject({ code: -32602 });
    expect(await told('execute_tool', { server: 'github', tool: 7, arguments: [], other: 1 })).toMatchObject({
      code: -32602,
      message: 'execute_tool: tool must be a string; arguments must be an object; "other" is not known',
      data: { error: { code: 'TOOL_ARGUMENTS_INVALID', server: 'github' } },
    });
    for (const nothing of [undefined, {}])
      expect(await told('execute_tool', nothing)).toMatchObject({
        code: -32602,
        message: 'execute_tool: server is missing; tool is missing',
      });
    expect(await told('create_issue', {})).toMatchObject({ code: -32602, data: { code: 'TOOL_NOT_FOUND' } });
  });

  test('is told of the names that are most like one that does not exist', async () => {
    const all = await setting();
    const server = (await asked(all, 'execute_tool', { server: 'gitub', tool: 'x', arguments: {} })).error;
    expect(server).toMatchObject({
      code: -32601,
      data: {
        code: 'SERVER_NOT_FOUND',
        hint: 'Did you mean github?',
        success: false,
        error: {
          code: 'SERVER_NOT_FOUND',
          message: 'There is no server "gitub". Did you mean github?',
          server: 'gitub',
          tool: 'x',
        },
      },
    });
    const strange = (await asked(all, 'execute_tool', { server: 'zzzzzz', tool: 'x', arguments: {} })).error;
    expect(strange).toMatchObject({ data: { hint: expect.stringMatching(/^There are: .*\bgithub\b.*\.$/) as string } });
    const tool = (await asked(all, 'get_tool_details', { server: 'github', tool: 'creat_issue' })).error;
    expect(tool).toMatchObject({ code: -32601, data: { hint: 'Did you mean create_issue?', success: false } });
  });
});

describe('a tool that is run', () => {
  test('gets its arguments byte for byte, and its answer comes back as it is', async () => {
    const all = await setting();
    const { core, client, github } = all;
    const inner = '{ "title" : "h\\u00e4 漢" , "count": 1e2 }';
    const params = (id: number): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{ "arguments":{"tool":"create_issue","arguments":${inner},"server":"github"},"x":1,"name":"execute_tool","_meta":{"progressToken":"p${id}"}}}`;
    // The first waits for its server and is looked up, the second is not.
    for (const id of [1, 2]) {
      client.say(params(id));
      for (let n = 0; n < 10; n++) await core.settle();
      const line = linesOf(github).at(-1) ?? '';
      expect(line).toContain(`"params":{ "arguments":${inner},"x":1,"name":"create_issue","_meta":{"progressToken":`);
      const [request] = callsOf(github).slice(-1);
      const { progressToken } = (request?.params?._meta ?? {}) as { progressToken?: unknown };
      github.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
      github.say(`{"jsonrpc":"2.0","id":${request?.id},"result":{"content":[],"isError" : true,"n":1.0}}`);
      await core.settle();
      expect(client.notifications('notifications/progress').at(-1)?.params).toEqual({
        progressToken: `p${id}`,
        progress: 1,
      });
      expect(client.link.lines.at(-1)).toBe(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"isError" : true,"n":1.0}}`,
      );
    }
  });

  test('with the name of one of the five takes no call from that one', async () => {
    const all = await setting();
    all.github.has({ tools: [{ name: 'search_tools', description: 'Mine', inputSchema: { type: 'object' } }] });
    const found = read(await asked(all, 'search_tools', { query: 'mine' }));
    expect(found.results).toMatchObject([{ server: 'github', tool: 'search_tools' }]);
    expect(callsOf(all.github)).toEqual([]);
    await asked(all, 'execute_tool', { server: 'github', tool: 'search_tools', arguments: {} });
    expect(callsOf(all.github)).toMatchObject([{ params: { name: 'search_tools' } }]);
  });

  test('may have any name', async () => {
    const all = await setting();
    await asked(all, 'execute_tool', { server: 'github', tool: 'odd "name"', arguments: {} });
    expect(callsOf(all.github)[0]?.params).toEqual({ name: 'odd "name"', arguments: {} });
  });

  test('is cancelled by its client', async () => {
    const all = await setting();
    all.client.say({
      ...{ jsonrpc: '2.0', id: 9, method: 'tools/call' },
      params: { name: 'execute_tool', arguments: { server: 'files', tool: 'read_file', arguments: {} } },
    });
    for (let n = 0; n < 10; n++) await all.core.settle();
    all.client.cancel(9);
    await all.core.settle();
    expect(all.files.cancelled).toEqual([callsOf(all.files)[0]?.id]);
  });

  test('that its server dies over is told with its name', async () => {
    const all = await setting();
    await asked(all, 'execute_tool', { server: 'files', tool: 'read_file', arguments: {} });
    all.files.crash();
    await all.core.settle();
    expect(all.client.received.at(-1)?.error).toMatchObject({
      code: -32603,
      data: { code: 'SERVER_CRASHED', success: false, error: { server: 'files', tool: 'read_file' } },
    });
  });

  test('is not bothered with arguments that do not fit', async () => {
    const all = await setting();
    for (let n = 0; n < 2; n++) {
      const { error } = await asked(all, 'execute_tool', {
        ...{ server: 'github', tool: 'create_issue' },
        arguments: { count: 'x', more: 1 },
      });
      expect(error).toMatchObject({ code: -32602, data: { code: 'TOOL_ARGUMENTS_INVALID', success: false } });
      expect(error?.message).toMatch(
        /arguments\.title is missing.*arguments\.more is not known.*arguments\.count must be integer/,
      );
    }
    const long = { title: 'x'.repeat(50_000) };
    const { error } = await asked(all, 'execute_tool', { server: 'github', tool: 'create_issue', arguments: long });
    expect(error?.message).toContain('arguments.title must NOT have more than 100 characters');
    expect(callsOf(all.github)).toEqual([]);
  });

  test('gets whatever arguments a client sends, as if it were asked directly', async () => {
    const all = await setting();
    await asked(all, 'list_tools', { server: 'files' });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), async (args, isSpaced) => {
        const id = `random-${++calls}`;
        const inner = isSpaced ? JSON.stringify(args, undefined, 2).replaceAll('\n', ' ') : JSON.stringify(args);
        all.client.say(
          `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"execute_tool","arguments":{"arguments":${inner},"server":"files","tool":"read_file"}}}`,
        );
        await all.core.settle();
        const sent = linesOf(all.files).at(-1) ?? '';
        expect(sent).toContain(`"params":{"name":"read_file","arguments":${inner}}}`);
        all.files.answer(callsOf(all.files).at(-1));
        await all.core.settle();
        expect(all.client.answersTo(id)).toMatchObject([{ result: { echo: JSON.parse(inner) as object } }]);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a tool whose arguments are put in another way', () => {
  const execute = (all: Setting, tool: string, more: object): Promise<Message> =>
    asked(all, 'execute_tool', { server: tool === 'read_file' ? 'files' : 'github', tool, ...more });

  test.each([
    [{}, '{}'],
    [{ arguments: null }, '{}'],
    [{ arguments: '{ "path":"h\\u00e4",\n"n" : 1.0 }' }, '{ "path":"h\\u00e4", "n" : 1.0 }'],
    [{ arguments: '{}' }, '{}'],
  ])('is run: %j', async (more, inner) => {
    const all = await setting();
    // The first is looked up, the second is not, and neither is a common one after it.
    for (let n = 0; n < 2; n++) {
      await execute(all, 'read_file', more);
      expect(linesOf(all.files).at(-1)).toContain(`"params":{"name":"read_file","arguments":${inner}}}`);
    }
    await execute(all, 'read_file', { arguments: { plain: 1 } });
    expect(linesOf(all.files).at(-1)).toContain('"params":{"name":"read_file","arguments":{"plain":1}}}');
  });

  test('stands under its schema all the same', async () => {
    const all = await setting();
    for (const more of [{}, { arguments: null }, { arguments: '{"count":1}' }]) {
      const { error } = await execute(all, 'create_issue', more);
      expect(error).toMatchObject({ code: -32602, data: { code: 'TOOL_ARGUMENTS_INVALID', success: false } });
      expect(error?.message).toContain('arguments.title is missing');
    }
    expect(callsOf(all.github)).toEqual([]);
  });

  test.each(['x', '[1]', '{"a":1', '"{}"', '{} {}', '\ud800', ''])('is told that %j is no object', async (text) => {
    const all = await setting();
    expect((await execute(all, 'read_file', { arguments: text })).error).toMatchObject({
      code: -32602,
      message: 'execute_tool: arguments must be an object; the text is not the JSON of an object',
      data: { error: { server: 'files', tool: 'read_file' } },
    });
    expect(callsOf(all.files)).toEqual([]);
  });

  test('may nest no deeper in a text than elsewhere', async () => {
    const all = await setting();
    const { error } = await execute(all, 'read_file', { arguments: `{"a":${'['.repeat(500)}${']'.repeat(500)}}` });
    expect(error).toMatchObject({ code: -32602, message: 'execute_tool: arguments nest deeper than a message may' });
  });
});

describe('a tool that can be called only as a task', () => {
  async function withTasks(): Promise<Setting> {
    const all = await setting();
    all.files.has({
      tools: [
        { ...READ, name: 'index_disk', execution: { taskSupport: 'required' } },
        { ...READ, execution: { taskSupport: 'optional' } },
      ],
    });
    return all;
  }

  test('is marked wherever it is found', async () => {
    const all = await withTasks();
    const [found] = read(await asked(all, 'search_tools', { query: 'index disk' })).results as object[];
    expect(found).toMatchObject({ tool: 'index_disk', taskSupport: 'required' });
    const listed = read(await asked(all, 'list_tools', { server: 'files' })).tools as object[];
    expect(listed.map((tool) => 'taskSupport' in tool)).toEqual([true, false]);
    expect(read(await asked(all, 'get_tool_details', { server: 'files', tool: 'index_disk' }))).toMatchObject({
      taskSupport: 'required',
    });
  });

  test('is run for a client that makes it one, and for no other', async () => {
    const all = await withTasks();
    for (let n = 0; n < 2; n++) {
      const wanted = { server: 'files', tool: 'index_disk', arguments: {} };
      expect((await asked(all, 'execute_tool', wanted)).error).toMatchObject({
        code: -32601,
        message: expect.stringContaining('files:index_disk can be called only as a task.'),
        data: { code: 'TOOL_NEEDS_TASK', success: false, error: { server: 'files', tool: 'index_disk' } },
      });
      expect(callsOf(all.files)).toHaveLength(n);
      const params = { name: 'execute_tool', arguments: wanted, task: { ttl: 1 } };
      all.client.say({ jsonrpc: '2.0', id: `task-${n}`, method: 'tools/call', params });
      for (let i = 0; i < 5; i++) await all.core.settle();
      expect(callsOf(all.files).at(-1)?.params).toEqual({ name: 'index_disk', arguments: {}, task: { ttl: 1 } });
    }
  });
});

describe('what is said of servers', () => {
  const described = async (hello: object, description = ''): Promise<unknown> => {
    const core = new CoreInMemory({ servers: ['files'], definition: { description } });
    const files = core.server('files');
    files.has({ tools: [READ] });
    files.hello = JSON.stringify({ ...(JSON.parse(files.hello) as object), ...hello });
    const client = await core.ready(DISCOVER);
    await asked({ core, client, github: files, files }, 'search_tools', { query: 'x' });
    const { servers } = read(await asked({ core, client, github: files, files }, 'list_mcp_servers', {}));
    return (servers as { description: string }[])[0]?.description;
  };
  const info = (more: object): object => ({ serverInfo: { name: 'files', version: '1', ...more } });

  test.each<[string, object, string]>([
    ['its own description', info({ description: 'Files. And more.', title: 'Files!' }), 'Files.'],
    ['its title', { ...info({ title: 'All of the disk' }), instructions: 'Read first.' }, 'All of the disk'],
    ['its instructions', { ...info({}), instructions: '\n# **Disk** server\n\nIt reads.' }, 'Disk server'],
    [
      'their first sentence',
      { ...info({ title: 'files' }), instructions: 'Reads v1.2 files. Writes.' },
      'Reads v1.2 files.',
    ],
    ['no more of it than a line', { instructions: 'x'.repeat(1e6) }, `${'x'.repeat(119)}…`],
    ['nothing, if that is no text', { ...info({ title: 7 }), instructions: [] }, ''],
  ])('where nobody has described one: %s', async (_, hello, words) => {
    expect(await described(hello)).toBe(words);
  });

  test('is what somebody has written, before all else', async () => {
    expect(await described(info({ description: 'Files' }), 'My files')).toBe('My files');
  });

  test('begins with their names, of which there are at most twenty', async () => {
    const names = Array.from({ length: 23 }, (_, i) => `server-${i}`);
    const instructionsWith = async (servers: readonly string[]): Promise<string> => {
      const core = new CoreInMemory({ servers });
      const client = core.connect();
      client.initialize(1, DISCOVER);
      await core.settle();
      return String(client.answersTo(1)[0]?.result?.instructions);
    };
    expect(await instructionsWith(['a', `\u001b${'x'.repeat(100)}`])).toMatch(/ Servers: a, \\u\{1b\}x{46}…\.$/);
    const many = await instructionsWith(names);
    expect(many).toMatch(/ server-19 and 3 more, see list_mcp_servers\.$/);
    expect(many).not.toContain('server-20');
  });
});

describe('a tool that the rules switch off', () => {
  const rules = [
    { patterns: ['github'], isEnabled: undefined, tags: ['code'] },
    { patterns: ['github:*'], isEnabled: false, tags: [] },
    { patterns: ['odd*'], isEnabled: true, tags: ['odd'] },
  ];

  async function ruled(): Promise<Setting> {
    const all = await setting();
    all.github.server.gate = new RuledGate({ names: ['github'], where: 'by a test', rules, filter: NO_FILTER });
    return all;
  }

  test('is found by no search, and listed only if asked for', async () => {
    const all = await ruled();
    const { results } = read(await asked(all, 'search_tools', { query: 'create issue' }));
    expect((results as { tool: string }[]).map(({ tool }) => tool)).not.toContain('create_issue');
    const listed = read(await asked(all, 'list_tools', { server: 'github' })).tools;
    expect(listed).toEqual([{ name: 'odd "name"', summary: '', enabled: true, tags: ['code', 'odd'] }]);
    const whole = read(await asked(all, 'list_tools', { server: 'github', includeDisabled: true })).tools as object[];
    expect(whole[0]).toMatchObject({ name: 'create_issue', enabled: false });
    expect(read(await asked(all, 'list_mcp_servers', {})).servers).toMatchObject([
      { toolCount: 2, enabledCount: 1 },
      {},
    ]);
  });

  /** The paths by which a client may come to a tool. */
  const PATHS: [string, (tool: string) => { view: string; name: string; args: object }][] = [
    ['by its own name', (tool) => ({ view: 'server:github', name: tool, args: {} })],
    ['by its joined name', (tool) => ({ view: 'all', name: `github__${tool}`, args: {} })],
    [
      'through execute_tool',
      (tool) => ({ view: 'discover', name: 'execute_tool', args: { server: 'github', tool, arguments: {} } }),
    ],
  ];

  test.each(PATHS)(
    'is refused %s, with a code of its own; another name is not found, or the server’s to refuse',
    async (_, path) => {
      const all = await ruled();
      const call = async (tool: string): Promise<Message> => {
        const { view, name, args } = path(tool);
        const client = await all.core.ready({ _meta: { 'mcp-bridge/view': view } });
        client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
        await all.core.settle();
        await all.core.settle();
        return client.answersTo(1)[0] ?? {};
      };
      await asked(all, 'list_tools', { server: 'github' });
      expect((await call('create_issue')).error).toMatchObject({ code: -32602, data: { code: 'TOOL_DISABLED' } });
      expect(callsOf(all.github)).toEqual([]);
      const other = await call('nothing_like_it');
      expect(other.error?.data?.code ?? 'TOOL_DISABLED').not.toBe('SERVER_CRASHED');
    },
  );

  test('is in no list of its server', async () => {
    const all = await ruled();
    for (const [view, known] of [
      ['server:github', ['odd "name"']],
      ['all', ['files__read_file']],
    ] as const) {
      const client = await all.core.ready({ _meta: { 'mcp-bridge/view': view } });
      client.say({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      for (let n = 0; n < 10; n++) await all.core.settle();
      const tools = client.answersTo(1)[0]?.result?.tools as { name: string }[];
      const names = tools.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining([...known]));
      expect(names.join()).not.toContain('create_issue');
    }
  });
});

test('what a tool says of its app is in what is found and described, as in the list of all', async () => {
  const core = new CoreInMemory({ servers: ['one', 'two'] });
  const _meta = { ui: { resourceUri: 'ui://clock/main', visibility: ['model'] }, other: 1 };
  core.server('one').has({ tools: [{ name: 'show_clock', description: 'Show a clock', inputSchema: {}, _meta }] });
  core.server('two').has({ tools: [READ] });
  const client = await core.ready(DISCOVER);
  const setting = { core, client, github: core.server('one'), files: core.server('two') };
  const found = read(await asked(setting, 'search_tools', { query: 'show clock' })) as {
    results: { _meta?: unknown }[];
  };
  const ui = { ..._meta.ui, resourceUri: 'ui://mcp-bridge/one/ui://clock/main' };
  expect(found.results.map((tool) => tool._meta)).toEqual([{ ui }]);
  const described = read(await asked(setting, 'get_tool_details', { server: 'one', tool: 'show_clock' }));
  expect(described._meta).toEqual({ ..._meta, ui });
  const all = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  all.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  await core.settle();
  const listed = all.answersTo('list')[0]?.result?.tools as { name: string; _meta?: unknown }[];
  expect(listed.find(({ name }) => name === 'one__show_clock')?._meta).toEqual({ ..._meta, ui });
});

test('an argument that is null is one that is left out, for all tools of the bridge', async () => {
  const one = await setting();
  const found = read(await asked(one, 'search_tools', { query: 'issue', server: null, limit: null }));
  expect(found.results).toMatchObject([{ tool: 'create_issue' }]);
  const missing = (name: string, args: object): Promise<Message> => asked(one, name, args);
  expect(JSON.stringify((await missing('search_tools', { query: null })).error)).toContain('query is missing');
  const answer = await missing('read_result', { id: 'x', find: null, path: null, offset: null, limit: null });
  expect(JSON.stringify(answer.error)).toContain('There is no result');
});

test('the error for an unknown tool names all tools that the list has', async () => {
  const one = await setting();
  one.client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  await one.core.settle();
  const tools = one.client.answersTo('list')[0]?.result?.tools as { name: string }[];
  const names = tools.map(({ name }) => name).join(', ');
  expect(names).toContain('read_result');
  const { error } = await asked(one, 'nothing', {});
  expect(JSON.stringify(error)).toContain(`The tools here are: ${names}.`);
});

test('a tool that is for apps only is neither found nor listed nor run', async () => {
  const one = await setting();
  const ui = { resourceUri: 'ui://clock/main', visibility: ['app'] };
  one.files.has({ tools: [READ, { ...READ, name: 'read_for_app', _meta: { ui } }] });
  const found = read(await asked(one, 'search_tools', { query: 'read for app' }));
  expect(found.results).toMatchObject([{ tool: 'read_file' }]);
  expect(read(await asked(one, 'list_tools', { server: 'files' })).tools).toMatchObject([{ name: 'read_file' }]);
  for (const name of ['get_tool_details', 'execute_tool']) {
    const refused = await asked(one, name, { server: 'files', tool: 'read_for_app' });
    expect(JSON.stringify(refused.error)).toContain('is for the apps of its server only');
  }
  const called = one.files.requests.filter(({ method }) => method === 'tools/call');
  expect(called).toEqual([]);
});
