// Programs of models, with real servers behind them: what they can call, what comes back, and what ends them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as Client2026 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Message, RawClient } from '../support/raw-client.ts';
import { SocketTransport } from '../support/socket-transport.ts';
import { cleanUp, fixtureServer, PROGRAM, TestDaemon } from '../support/test-daemon.ts';

import { faultAfter, faultOf, HONEST, QUICK } from '../torture/hostile-programs.mjs';

const CONFIG = {
  client: { view: 'code' },
  codeMode: { enabled: true, timeoutMs: 20_000, maxOutputBytes: 2000, maxCalls: 50 },
  mcpServers: { fixture: fixtureServer(), 'my-files': fixtureServer() },
  audit: { file: 'audit.jsonl' },
  discovery: { toolRules: [{ pattern: ['fixture:crash'], enabled: false }] },
};

let daemon: TestDaemon;
const clients: RawClient[] = [];
beforeAll(async () => {
  daemon = await TestDaemon.start(CONFIG);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(async () => {
  await daemon.stop();
  expect(cleanUp()).toEqual([]);
});

async function client(view = 'code', capabilities: object = {}): Promise<RawClient> {
  const connected = await RawClient.connect(daemon.path);
  clients.push(connected);
  await connected.initialize({ 'mcp-bridge/view': view }, 'init', capabilities);
  return connected;
}

interface Outcome {
  readonly texts: readonly string[];
  readonly isError: boolean;
}

function outcomeOf({ result, error }: Message): Outcome {
  if (result === undefined) throw new Error(JSON.stringify(error));
  const content = result.content as { text: string }[];
  return { texts: content.map(({ text }) => text), isError: result.isError === true };
}

const PATIENCE = { timeout: 20_000 };
let calls = 0;
async function run(by: RawClient, code: string, more: object = {}): Promise<Outcome> {
  return outcomeOf(await by.callTool(++calls, 'run_code', { code, ...more }));
}

/** The returned value of a program that must not fail. */
async function returnedBy(by: RawClient, code: string): Promise<unknown> {
  const { texts, isError } = await run(by, code);
  expect(isError, texts.join('\n')).toBe(false);
  const [text = ''] = texts;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

test('a program calls tools of several servers, and only its returned and printed values come back', async () => {
  const by = await client();
  const code = `
    const words: string[] = [];
    for (const text of ['one', 'two']) words.push(await servers.fixture.echo({ text }));
    const more = await servers.my_files.echo({ text: 'three' });
    console.log('said', words.length, { more });
    return { words, more };`;
  expect(await run(by, code)).toEqual({
    texts: ['{"words":["one","two"],"more":"three"}', 'Printed:\nsaid 2 {"more":"three"}'],
    isError: false,
  });
});

test('the view code has one tool, and says which servers there are; discover has it too', async () => {
  const connected = await RawClient.connect(daemon.path);
  clients.push(connected);
  const { result } = await connected.initialize({ 'mcp-bridge/view': 'code' });
  expect(result?.instructions).toContain('Servers: fixture, my-files.');
  const names = async (by: RawClient): Promise<string[]> => {
    const { result: list } = await by.request(++calls, 'tools/list');
    const { tools = [] } = (list ?? {}) as { tools?: { name: string }[] };
    return tools.map(({ name }) => name);
  };
  expect(await names(connected)).toEqual(['run_code']);
  expect(await names(await client('discover'))).toContain('run_code');
  expect((await connected.callTool(++calls, 'execute_tool', {})).error?.message).toContain('There is no tool');
});

test('a program is ended by the control method, and so are its calls; its client gets one error', async () => {
  const by = await client();
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  clients.push(control);
  const running = by.callTool(++calls, 'run_code', { code: 'return await servers.fixture.hold({})' });
  const open = async (): Promise<{ call: string; server: string | null }[]> => {
    const { result } = await control.request(++calls, 'bridge/calls', {});
    return (result as { open: { call: string; server: string | null }[] }).open;
  };
  await expect.poll(async () => (await open()).length, { timeout: 20_000 }).toBe(2);
  const program = (await open()).find(({ server }) => server === null);
  const ended = await control.request(++calls, 'bridge/cancel', { call: program?.call });
  expect(ended.result).toEqual({ cancelled: true, reason: null });
  expect(await running).toMatchObject({ error: { data: { code: 'CALL_STOPPED' } } });
  await expect.poll(open, { timeout: 20_000 }).toEqual([]);
  const again = await control.request(++calls, 'bridge/cancel', { call: program?.call });
  expect(again.result).toMatchObject({ cancelled: false });
  expect(await returnedBy(by, 'return 7')).toBe(7);
});

test('calls that are started together run side by side', async () => {
  const by = await client();
  // The first one ends only when the second one is made.
  const code = `const [held] = await Promise.all([servers.fixture.hold({}), servers.fixture.release({})]); return held;`;
  expect(await returnedBy(by, code)).toBe('released');
});

test('JSON and structured content of a tool become values, and raw() is the whole result', async () => {
  const by = await client();
  expect(await returnedBy(by, `return (await servers.fixture.echo({ text: '{"a":[1,2]}' })).a`)).toEqual([1, 2]);
  expect(await returnedBy(by, `return await servers.fixture.echo.raw({ text: 'x' })`)).toEqual({
    content: [{ type: 'text', text: 'x' }],
  });
});

test('a program finds tools, and sees their types', async () => {
  const by = await client();
  await returnedBy(
    by,
    `await servers.fixture.echo({ text: '' }); await servers['my-files'].echo({ text: '' }); return 1`,
  );
  expect(await returnedBy(by, `return discovered_servers()`)).toEqual(['fixture', 'my-files']);
  expect(await returnedBy(by, `return discovered_servers({ detailed: true })`)).toEqual([
    { name: 'fixture', description: 'Fixture.' },
    { name: 'my-files', description: 'Fixture.' },
  ]);
  const { results } = (await returnedBy(by, `return await search('echo', { limit: 1 })`)) as {
    results: { tool: string }[];
  };
  expect(results.map(({ tool }) => tool)).toEqual(['echo']);
  expect(await returnedBy(by, `return await describe('fixture.echo')`)).toBe(
    'declare const servers: {\n  fixture: {\n    echo(args?: Record<string, unknown>): Promise<unknown>;\n  };\n};\n',
  );
});

test('a program gets a result whole that a model would get cut', async () => {
  const by = await client('discover');
  expect(await returnedBy(by, 'return (await servers.fixture.blob({ mib: 1 })).length')).toBe(1024 * 1024);
});

test('a refusal is the same as anywhere, thrown with its code', async () => {
  const by = await client();
  const codeOf = (call: string): Promise<unknown> =>
    returnedBy(by, `try { await ${call} } catch (error) { return [error.name, error.code, error.message] }`);
  const direct = await (await client('discover')).callTool(++calls, 'execute_tool', {
    ...{ server: 'fixture', tool: 'crash', arguments: {} },
  });
  expect(await codeOf('servers.fixture.crash({})')).toEqual(['ToolError', 'TOOL_DISABLED', direct.error?.message]);
  expect(await codeOf('servers.fixture.nothing({})')).toMatchObject([
    'ToolError',
    'TOOL_NOT_FOUND',
    expect.any(String),
  ]);
  expect(await codeOf('servers.nowhere.echo({})')).toMatchObject(['ToolError', 'SERVER_NOT_FOUND', expect.any(String)]);
  expect(await codeOf('servers.fixture.echo(7)')).toMatchObject([
    'ToolError',
    'TOOL_ARGUMENTS_INVALID',
    expect.any(String),
  ]);
});

test('an uncaught error names its line, and follows the output so far', async () => {
  const by = await client();
  const outcome = await run(by, `console.log('before');\nconst nothing = undefined;\nreturn nothing.at(0);`);
  expect(outcome).toEqual({
    texts: [
      "TypeError: cannot read property 'at' of undefined (line 3)\n3 | return nothing.at(0);",
      'Printed:\nbefore',
    ],
    isError: true,
  });
});

test('a syntax error names the line and what was expected', async () => {
  const by = await client();
  const { texts, isError } = await run(by, 'const a = 1;\nconst b = [1, 2;\nreturn b;');
  expect(isError).toBe(true);
  expect(texts[0]).toMatch(/^SyntaxError: Unexpected token, expected "?,?.*\(line 2\)\n2 \| const b = \[1, 2;$/);
});

test.each([
  ['a loop', 'for (;;);', /limit of time: 1000 ms \(codeMode.timeoutMs\)/],
  ['printing without end', "for (;;) console.log('x'.repeat(99))", /limit of output: more than 2000 bytes/],
  ['memory of arrays', 'const all = []; for (;;) all.push(new ArrayBuffer(1 << 20));', /limit of memory: \d+ bytes/],
  ['memory of objects', 'const all = []; for (;;) all.push({});', /limit of memory: \d+ bytes/],
  ['calls', "for (;;) await servers.fixture.echo({ text: '' });", /limit of calls: 50 calls .* made 51 calls/],
  ['a large result', "return 'x'.repeat(3000)", /limit of output: 3006 bytes/],
  ['a regular expression', "return /^(a+)+$/.test('a'.repeat(40) + 'b')", /limit of time/],
])('%s ends at its limit, and the next program runs', async (_, code, expected) => {
  const by = await client();
  const isQuick = String(expected).includes('time');
  const { texts, isError } = await run(by, `console.log('begun'); ${code}`, isQuick ? { timeout: 1 } : {});
  expect(texts[0]).toMatch(expected);
  expect(texts[1]).toMatch(/^Printed:\nbegun/);
  expect(isError).toBe(true);
  expect(await returnedBy(by, 'return 1')).toBe(1);
});

test.each([
  ['a function', 'return () => 1', /not JSON: it is a function/],
  ['a circle', 'const a = {}; a.a = a; return a', /not JSON: circular/],
  ['a bigint', 'return 1n', /not JSON/],
  ['nothing', '', /returned nothing and printed nothing/],
  ['a wait for nothing', 'await new Promise(() => {})', /waits for something that never comes/],
  ['a thrown null', 'throw null', /^Error: null/],
])('%s as the result is told', async (_, code, expected) => {
  expect((await run(await client(), code)).texts[0]).toMatch(expected);
});

test('each program starts with nothing of the one before', async () => {
  const by = await client();
  await returnedBy(by, 'globalThis.left = 1; Array.prototype.map = undefined; JSON.parse = undefined; return 1');
  expect(await returnedBy(by, 'return [typeof left, [1].map((n) => n + 1)]')).toEqual(['undefined', [2]]);
});

test('a program has neither files nor network nor modules', async () => {
  const by = await client();
  const names = ['process', 'require', 'fetch', 'XMLHttpRequest', 'WebSocket', 'Deno', 'std', 'os', 'WebAssembly'];
  const typeOf = names.map((name) => `typeof ${name}`).join();
  expect(await returnedBy(by, `return [...new Set([${typeOf}])]`)).toEqual(['undefined']);
  const { texts } = await run(by, `return await import('node:fs')`);
  expect(texts[0]).toMatch(/Error/);
});

test('timers run by the clock of the bridge', async () => {
  const by = await client();
  const code = `
    const order = [];
    setTimeout(() => order.push('late'), 30);
    const cleared = setTimeout(() => order.push('never'), 1);
    clearTimeout(cleared);
    await new Promise((resolve) => setTimeout(resolve, 60));
    return order;`;
  expect(await returnedBy(by, code)).toEqual(['late']);
});

test('a question of a server reaches the client, and the program goes on with the answer', async () => {
  const by = await client('code', { elicitation: {} });
  by.answerQuestions(({ params }) => ({ result: { action: 'accept', content: { said: params?.message } } }));
  const code = `return await servers.fixture.ask({ params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } } })`;
  expect(await returnedBy(by, code)).toEqual({ action: 'accept', content: { said: 'Which?' } });
});

test('progress of a tool reaches the client under the token of the program', async () => {
  const by = await client();
  const code = `return await servers.fixture.noted({ text: 'half way', notes: 2 })`;
  by.send({
    ...{ jsonrpc: '2.0', id: 'p', method: 'tools/call' },
    params: { name: 'run_code', arguments: { code }, _meta: { progressToken: 'mine' } },
  });
  const notices = [await by.next(), await by.next()];
  expect(notices.map(({ params }) => params)).toEqual([
    { progressToken: 'mine', progress: 1, message: 'half way' },
    { progressToken: 'mine', progress: 2, message: 'half way' },
  ]);
  expect(outcomeOf(await by.answerTo('p')).texts).toEqual(['half way']);
});

test('a cancelled program ends, and its calls are cancelled at their servers', async () => {
  const by = await client();
  const other = await client();
  by.send({
    ...{ jsonrpc: '2.0', id: 'c', method: 'tools/call' },
    params: {
      name: 'run_code',
      arguments: {
        code: `await servers.fixture.noted({ text: 'begun', notes: 1 }); await servers.fixture.hold({ steps: 1 })`,
      },
      _meta: { progressToken: 't' },
    },
  });
  await by.next(); // the first call
  await by.next(); // the second one is held
  by.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
  // A line of the server that tells of the cancellation.
  for (;;) {
    const seen = (await returnedBy(other, 'return await servers.fixture.seen({})')) as { cancelled: unknown[] };
    if (seen.cancelled.length > 0) break;
  }
  expect((await by.request('ping', 'ping')).result).toEqual({});
});

test('a wrong call of run_code is refused with the reason', async () => {
  const by = await client();
  const { error } = await by.callTool(++calls, 'run_code', { source: 'return 1' });
  expect(error).toMatchObject({ code: -32602, data: { code: 'TOOL_ARGUMENTS_INVALID' } });
  expect(error?.message).toContain('code is missing');
});

test('a client of the SDK gets questions and results through connect', async () => {
  const sdk = new Client({ name: 'agent', version: '1' }, { capabilities: { elicitation: {} } });
  sdk.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' as const }));
  const args = [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path, '--view', 'code'];
  await sdk.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  const code = `return await servers.fixture.ask({ params: { message: '?', requestedSchema: { type: 'object', properties: {} } } })`;
  const { content } = await sdk.callTool({ name: 'run_code', arguments: { code } });
  expect(content).toEqual([{ type: 'text', text: '{"action":"decline"}' }]);
  await sdk.close();
});

describe('hostile programs get nothing but an answer', () => {
  let attacker: RawClient;
  beforeAll(async () => {
    attacker = await RawClient.connect(daemon.path);
    await attacker.initialize({ 'mcp-bridge/view': 'code' });
  });
  afterAll(() => attacker.destroy());
  test.each(QUICK.map((program) => ({ title: program[0], program })))('$title', async ({ program }) => {
    const answer = await attacker.callTool(++calls, 'run_code', { code: program[1], timeout: 5 });
    expect(faultOf(program, answer)).toBeUndefined();
    expect(faultAfter(program, await attacker.callTool(++calls, 'run_code', { code: HONEST }))).toBeUndefined();
  });
});

test('the audit log has each call of a program under its client', async () => {
  const by = await RawClient.connect(daemon.path);
  clients.push(by);
  await by.initialize({ 'mcp-bridge/view': 'code', 'mcp-bridge/clientId': 'audited' });
  await returnedBy(
    by,
    `await servers.fixture.echo({ text: 'kept in the log' }); try { await servers.fixture.crash() } catch {} return 1`,
  );
  const lines = (): AuditLine[] =>
    readFileSync(join(daemon.dir, 'audit.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"audited"'))
      .map((line) => JSON.parse(line) as AuditLine);
  await vi.waitFor(() => expect(lines()).toHaveLength(3), { timeout: 10_000 });
  const [echo, crash, program] = lines();
  expect(echo).toMatchObject({ server: 'fixture', tool: 'echo', outcome: 'ok' });
  expect(crash).toMatchObject({ server: 'fixture', tool: 'crash', outcome: 'refused', code: 'TOOL_DISABLED' });
  expect(program).toMatchObject({ tool: 'run_code', outcome: 'ok', client: echo?.client });
});

test('a program ends with its client', async () => {
  const by = await client();
  by.send({
    ...{ jsonrpc: '2.0', id: 'gone', method: 'tools/call' },
    params: {
      name: 'run_code',
      arguments: { code: `await servers.fixture.noted({ text: '', notes: 1 }); for (;;);` },
      _meta: { progressToken: 1 },
    },
  });
  await by.next(); // it runs
  const processes = sandboxes();
  expect(processes.length).toBeGreaterThan(0);
  by.destroy();
  await vi.waitFor(() => expect(sandboxes().length).toBeLessThan(processes.length), { timeout: 10_000 });
});

/** The processes that the daemon runs programs in. */
function sandboxes(): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => isSandboxOf(pid));
}

function isSandboxOf(pid: string): boolean {
  try {
    const parent = / \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ' '))?.[1];
    return Number(parent) === daemon.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('runSandbox');
  } catch {
    return false; // it has ended meanwhile
  }
}

test('a client of 2026 is asked in an answer, and the program goes on with the retry', async () => {
  const capabilities = { elicitation: { form: {} } };
  const sdk = new Client2026(
    { name: 'asked', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const asked: unknown[] = [];
  sdk.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { name: `Ann ${asked.length}` } };
  });
  await sdk.connect(new SocketTransport(daemon.path) as unknown as Parameters<typeof sdk.connect>[0]);
  const form = (message: string): string =>
    `servers.fixture.ask({ params: { message: '${message}', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } })`;
  const code = `
    const first = await ${form('first')};
    const [a, b] = await Promise.all([${form('second')}, servers['my-files'].echo({ text: 'beside it' })]);
    return [first.content.name, a.content.name, b];`;
  const { content } = await sdk.callTool({ name: 'run_code', arguments: { code } });
  expect(content).toEqual([{ type: 'text', text: '["Ann 1","Ann 2","beside it"]' }]);
  expect(asked).toEqual(['first', 'second']);
  await sdk.close();
});

describe('a program whose client of 2026 must come back with an answer', () => {
  const who = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const ASK = `servers.fixture.ask({ params: { message: '?', requestedSchema: { type: 'object', properties: {} } } })`;

  /** Asks on a connection of its own each time. */
  const asking = async (code: string, more: object = {}): Promise<Message> => {
    const by = await RawClient.connect(daemon.path);
    const answer = await by.request(1, 'tools/call', { name: 'run_code', arguments: { code }, _meta: who, ...more });
    by.destroy();
    return answer;
  };

  /** The request that comes back with an answer. */
  function retryOf({ result }: Message): object {
    const { inputRequests, requestState } = result as { inputRequests: object; requestState: string };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: 'decline' }]));
    return { inputResponses, requestState };
  }

  const suspended = async (control: RawClient): Promise<{ call: string; server: string | null; tool: string }[]> => {
    const { result } = await control.request(++calls, 'bridge/calls', {});
    const { open } = result as { open: { call: string; server: string | null; tool: string; state: string }[] };
    return open.filter(({ state }) => state === 'suspended');
  };

  const cancelled = async (control: RawClient, call = ''): Promise<unknown> =>
    (await control.request(++calls, 'bridge/cancel', { call })).result;

  async function controlClient(): Promise<RawClient> {
    const control = await daemon.client({ 'mcp-bridge/role': 'control' });
    clients.push(control);
    return control;
  }

  test('goes on with the retry, on another connection', async () => {
    const code = `const said = await ${ASK}; return [said.action, await servers['my-files'].echo({ text: 'after it' })];`;
    const retry = retryOf(await asking(code));
    expect(outcomeOf(await asking(code, retry)).texts).toEqual(['["decline","after it"]']);
    expect((await asking(code, retry)).error?.data).toMatchObject({ code: 'RETRY_REFUSED' });
  });

  test('is among the calls under way, and ends by the control method: the retry gets the error', async () => {
    const control = await controlClient();
    const code = `return await ${ASK}`;
    const retry = retryOf(await asking(code));
    const waiting = await suspended(control);
    const program = waiting.find(({ server }) => server === null);
    expect(program).toMatchObject({ tool: 'run_code', clientName: 'raw', role: 'call', request: '1' });
    expect(waiting.filter((one) => one !== program)).toMatchObject([{ server: 'fixture', tool: 'ask' }]);
    expect(await daemon.status()).toMatchObject({ suspended: 1, waitingPrograms: 1 });
    expect(await cancelled(control, program?.call)).toEqual({ cancelled: true, reason: null });
    expect(await suspended(control)).toMatchObject([{ call: program?.call }]);
    expect(await cancelled(control, program?.call)).toMatchObject({ cancelled: false });
    expect((await asking(code, retry)).error?.data).toMatchObject({ code: 'CALL_STOPPED' });
    expect(await suspended(control)).toEqual([]);
    expect(await daemon.status()).toMatchObject({ suspended: 0, waitingPrograms: 0 });
  });

  test('cannot be ended once it has finished: the retry gets its result', async () => {
    const control = await controlClient();
    const code = `${ASK}.catch(() => 0); await new Promise((over) => setTimeout(over, 100)); return 'over'`;
    const retry = retryOf(await asking(code));
    await expect.poll(async () => (await suspended(control)).map(({ tool }) => tool), PATIENCE).toEqual(['run_code']);
    const [program] = await suspended(control);
    expect(await cancelled(control, program?.call)).toMatchObject({
      cancelled: false,
      reason: expect.stringContaining('has ended'),
    });
    expect(outcomeOf(await asking(code, retry)).texts).toEqual(['over']);
  });
});

interface AuditLine {
  readonly server?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly code?: string;
  readonly client?: unknown;
}
