// Programs that turn against the daemon, its other clients, or the next program: what they get, and what everybody else has of it.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Message, RawClient } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';
import { FORGED_WORDS, faultAfter, faultOf, HONEST, HOSTILE_PROGRAMS } from '../torture/hostile-programs.mjs';

const MIB = 1024 * 1024;

let daemon: TestDaemon;
let by: RawClient;
beforeAll(async () => {
  daemon = await TestDaemon.start({
    client: { view: 'discover' },
    codeMode: { enabled: true, timeoutMs: 20_000, maxCalls: 500 },
    mcpServers: { fixture: fixtureServer() },
  });
  by = await RawClient.connect(daemon.path);
  await by.initialize({}, 'init', { elicitation: {} });
});
afterAll(async () => {
  by.destroy();
  await daemon.stop();
  expect(cleanUp()).toEqual([]);
});

let calls = 0;
function textsIn({ result, error }: Message): string[] {
  if (result === undefined) throw new Error(JSON.stringify(error));
  return (result.content as { text: string }[]).map(({ text }) => text);
}

async function run(code: string, more: object = {}): Promise<string> {
  return textsIn(await by.callTool(++calls, 'run_code', { code, ...more })).join('\n');
}

/** The most memory that the daemon had since the last time that this was asked. */
function peakMib(): number {
  const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

const programs = [
  'a beginning that is said again and again',
  'types of one server a thousand times',
  'searches of many wishes',
  'arguments of 1 MB without end',
  'timers without end',
].map((title) => ({ title, program: HOSTILE_PROGRAMS.find(([name]) => name === title) }));

test.each(programs)('$title: a limit ends it, and the next program is left alone', async ({ program }) => {
  if (program === undefined) throw new Error('there is no such program');
  const answer = await by.callTool(++calls, 'run_code', { code: program[1], timeout: 2 });
  expect(faultOf(program, answer)).toBeUndefined();
  expect(faultAfter(program, await by.callTool(++calls, 'run_code', { code: HONEST }))).toBeUndefined();
});

test('leftovers of a program cannot speak during the next one', async () => {
  const left = `
    ${FORGED_WORDS}
    setInterval(() => console.log('x'), 1);
    return 'mine'`;
  expect(await run(left)).toBe('mine\nPrinted:\na\nb');
  // It is still there when the timers of the one before would have run.
  expect(await run(`await new Promise((resolve) => setTimeout(resolve, 50)); return 'honest'`)).toBe('honest');
});

test('answers that a program does not read take a bounded part of the memory of the daemon', async () => {
  await run('return 1');
  const before = peakMib();
  const code = `
    for (let i = 0; i < 400; i++) servers.fixture.blob({ mib: 1 }).catch(() => 0);
    await servers.fixture.echo({ text: 'x' });
    for (;;);`;
  expect(await run(code, { timeout: 3 })).toMatch(/limit of time/);
  expect(peakMib() - before).toBeLessThan(150);
});

test('many large answers at once reach a program that reads them', async () => {
  const code = `
    const all = await Promise.all(Array.from({ length: 60 }, async () => (await servers.fixture.blob({ mib: 1 })).length));
    return [all.length, Math.min(...all)]`;
  expect(await run(code)).toBe(JSON.stringify([60, MIB]));
});

test('large arguments of many calls at once reach their tool', async () => {
  const code = `
    const text = 'y'.repeat(900_000);
    const all = await Promise.all(Array.from({ length: 20 }, async (_, i) => (await servers.fixture.echo({ text: text + i })).length));
    return [...new Set(all)]`;
  expect(await run(code)).toBe('[900001,900002]');
});

test('arguments that are too long are refused, and the program goes on', async () => {
  const code = `
    const errors = [];
    for (const args of [{ text: 'y'.repeat(5e6) }, ['y'.repeat(5e6)], 7, null, '{}'])
      try { await servers.fixture.echo(args) } catch (error) { errors.push(error.code) }
    return [...new Set(errors), errors.length, await servers.fixture.echo({ text: 'after it' })]`;
  expect(await run(code)).toBe('["TOOL_ARGUMENTS_INVALID",5,"after it"]');
});

test('arguments that nest too deep are refused as those of a client are; a result may nest, and nothing is logged', async () => {
  const nested = (levels: number): string =>
    `let o = {}, r = o; for (let i = 0; i < ${levels}; i++) { o.a = {}; o = o.a }
     try { return await servers.fixture.echo(r) } catch (error) { return [error.code, error.message] }`;
  expect(await run(nested(200))).toMatch(/^\["TOOL_ARGUMENTS_INVALID","Invalid request: nested deeper than \d+"\]$/);
  expect(await run(nested(900))).toMatch(/^\["TOOL_ARGUMENTS_INVALID",/);
  expect(await run('let o = []; for (let i = 0; i < 900; i++) o = [o]; return o')).toMatch(/^\[{901}\]{901}$/);
  expect(await run('let o = []; for (let i = 0; i < 5000; i++) o = [o]; return o')).not.toContain('bridge has failed');
  expect(daemon.log).not.toContain('could not be served');
});

test('lookups count as calls, and are limited', async () => {
  expect(await run(`for (;;) await search('echo')`)).toMatch(/limit of calls: 500 calls/);
  const code = `
    const codes = [];
    for (const one of [
      () => describe(...Array.from({ length: 300 }, (_, i) => 'fixture.t' + i)),
      () => describe('x'.repeat(20_000)),
      () => search('x'.repeat(20_000)),
    ]) try { await one() } catch (error) { codes.push(error.code) }
    return [...codes, (await describe(...Array(1000).fill('fixture.echo'))).split('echo').length]`;
  expect(await run(code)).toBe('["TOOL_ARGUMENTS_INVALID","TOOL_ARGUMENTS_INVALID","TOOL_ARGUMENTS_INVALID",2]');
});

test('a question that is open for another call gives a program no time', async () => {
  by.send({
    ...{ jsonrpc: '2.0', id: 'asks', method: 'tools/call' },
    params: { name: 'execute_tool', arguments: { server: 'fixture', tool: 'ask', arguments: FORM } },
  });
  expect(await by.next()).toMatchObject({ method: 'elicitation/create' }); // it stays open
  expect(await run('for (;;);', { timeout: 1 })).toMatch(/limit of time: 1000 ms/);
  by.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'asks' } });
});

const FORM = { params: { message: '?', requestedSchema: { type: 'object', properties: {} } } };

test('a program that computes while its own question is open uses its time', async () => {
  const code = `servers.fixture.ask(${JSON.stringify(FORM)}).catch(() => 0);
    await new Promise((resolve) => setTimeout(resolve, 20)); for (;;);`;
  expect(await run(code, { timeout: 1 })).toMatch(/limit of time: 1000 ms/);
});

test('a program that waits for the answer to its question uses no time', async () => {
  const other = await RawClient.connect(daemon.path);
  await other.initialize({}, 'init', { elicitation: {} });
  const code = `return (await servers.fixture.ask(${JSON.stringify(FORM)})).action`;
  const params = { name: 'run_code', arguments: { code, timeout: 1 } };
  other.send({ jsonrpc: '2.0', id: 'waits', method: 'tools/call', params });
  const question = await other.next();
  expect(question).toMatchObject({ method: 'elicitation/create' });
  // In the meantime, another program uses as much time up, twice.
  for (let i = 0; i < 2; i++) expect(await run('for (;;);', { timeout: 1 })).toMatch(/limit of time/);
  other.send({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } });
  expect(textsIn(await other.answerTo('waits'))).toEqual(['decline']);
  other.destroy();
});

test.each([
  ['one text', `return 'x'.repeat(1e8).length`],
  ['one buffer', 'return new ArrayBuffer(2e9).byteLength'],
])('%s that is larger than the memory is told as the limit of memory', async (_, code) => {
  expect(await run(code)).toMatch(/limit of memory: 67108864 bytes, \d+ bytes in use \(codeMode.maxMemoryBytes\)/);
});

test.each([
  ['const a = ;', /^SyntaxError: Unexpected token: expected an expression, and not ';' \(line 1\)\n1 \| const a = ;$/],
  ['const a = 1;\nconst b = [1, 2;', /^SyntaxError: Unexpected token, expected "," \(line 2\)/],
  ['echo(1 2);', /^SyntaxError: .*expected .*,.* \(line 1\)/],
  ['let 1x = 2;', /^SyntaxError: .+ \(line 1\)/],
])('the fault in %j is told with its line, and what was expected', async (code, told) => {
  expect(await run(code)).toMatch(told);
});

test.each([
  [{ timeout: -5 }, 'timeout must be at least 0.1'],
  [{ timeout: 1e-9 }, 'timeout must be at least 0.1'],
])('run_code with %j is refused', async (more, message) => {
  const { error } = await by.callTool(++calls, 'run_code', { code: 'return 1', ...more });
  expect(error?.message).toContain(message);
});

test('results are limited, whatever an error says about itself', async () => {
  const errors = [
    `throw Object.assign(new Error('m'), { code: 'c'.repeat(5e5) })`,
    `const e = new Error('m'); e.name = 'n'.repeat(5e5); e.stack = 's'.repeat(5e5); throw e`,
    `throw 'x'.repeat(5e5)`,
  ];
  for (const code of errors) expect((await run(code)).length).toBeLessThan(5000);
});

test('answers that went into programs are no tokens of models', async () => {
  const reported = async (): Promise<Answers['answers']> => {
    const { answers } = (await daemon.status()) as unknown as Answers;
    return answers.filter(({ tool }) => tool === 'blob');
  };
  const before = (await reported())[0];
  await run('return (await servers.fixture.blob({ mib: 2 })).length');
  const after = (await reported())[0];
  expect((after?.bytes ?? 0) - (before?.bytes ?? 0)).toBeGreaterThan(2 * MIB);
  expect([after?.passedBytes, after?.tokens]).toEqual([0, 0]);
});

/** Runs a program for a client of 2026 that then goes: what it is answered with. */
async function askedOnce(on: TestDaemon, name: string, code: string): Promise<Message> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const connected = await RawClient.connect(on.path);
  const answer = await connected.request(1, 'tools/call', { name: 'run_code', arguments: { code }, _meta });
  connected.destroy();
  return answer;
}

test('a program that waits for its client leaves its place to others, and its calls end with it', async () => {
  const small = await TestDaemon.start({
    client: { view: 'discover' },
    codeMode: { enabled: true, maxPrograms: 2 },
    mcpServers: { fixture: { ...fixtureServer(), sharing: 'dedicated' } },
  });
  const asks = `servers.fixture.ask(${JSON.stringify(FORM)})`;
  const ends = `${asks}.catch(() => 0); await new Promise((resolve) => setTimeout(resolve, 1500)); return 1`;
  expect((await askedOnce(small, 'ends', ends)).result).toMatchObject({ resultType: 'input_required' });
  // The question is good for ten minutes, but the program is over.
  expect((await small.until(({ suspended }) => suspended === 0)).suspended).toBe(0);
  for (const name of ['one', 'two'])
    expect((await askedOnce(small, name, `return await ${asks}`)).result).toMatchObject({
      resultType: 'input_required',
    });
  const other = await small.client();
  expect(textsIn(await other.callTool(1, 'run_code', { code: 'return 7' }))).toEqual(['7']);
  other.destroy();
  await small.stop();
});

interface Answers {
  readonly answers: readonly { tool: string; bytes: number; passedBytes: number; tokens: number }[];
}
