// The commands that find and run tools, as the real command in a home of its own; at a terminal, in memory.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../src/cli/commands/call.ts';
import { tools } from '../../src/cli/commands/tools.ts';
import { type FakeHost, fakeHost } from '../support/cli-host.ts';
import { type CommandResult, runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { RawClient } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, ROOT, tempDir } from '../support/test-daemon.ts';

const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const ODD = join(ROOT, 'test/fixtures/servers/odd-tools.mjs');

let home: string;
let env: Record<string, string>;
beforeAll(async () => {
  home = realpathSync(tempDir());
  const xdg = { XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '' };
  env = { ...xdg, HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  const node = process.execPath;
  writeFiles(home, {
    '.config/mcp-bridge/config.json': {
      mcpServers: {
        everything: { command: node, args: [EVERYTHING], description: 'All there is' },
        fixture: fixtureServer(),
        odd: { command: node, args: [ODD] },
      },
      discovery: {
        enabled: false,
        toolRules: [
          { pattern: ['fixture:crash'], enabled: false },
          { pattern: ['odd:careful'], tags: ['gentle'] },
        ],
      },
    },
    'p/.git/HEAD': '',
  });
  expect(await run('servers', '--no-autostart')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('Start it with: mcp-bridge start'),
  });
});
afterAll(async () => {
  const { stdout } = await run('stop');
  expect(stdout).toMatch(/has stopped/);
});

const run = (...args: string[]): Promise<CommandResult> => runCommand(args, { env, cwd: join(home, 'p') });
const given = (input: string, ...args: string[]): Promise<CommandResult> =>
  runCommand(args, { env, cwd: join(home, 'p'), input });
const atTerminal = (): FakeHost => fakeHost(home, join(home, 'p'), { columns: 60 }, env);

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('servers', () => {
  test('starts a daemon, and lists its servers', async () => {
    const { code, stdout, stderr } = await run('servers');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^SERVER +STATE +TOOLS +MCP +DESCRIPTION\n/);
    expect(stdout).toMatch(/^everything +idle +\? +- +All there is$/m);
    expect((await run('status')).code).toBe(0);
    await run('tools');
    const known = (await run('servers')).stdout;
    expect(known).toMatch(/^everything +ready +\d+ +2025-11-25 +All there is$/m);
    expect(known).toMatch(/^fixture +ready +19 of 20 +2025-11-25 +Fixture\.$/m);
    const { servers } = await json('servers');
    expect(servers).toContainEqual(expect.objectContaining({ name: 'fixture', toolCount: 20, enabledCount: 19 }));
  });
});

describe('tools', () => {
  test('shows those of a server, and the disabled ones only with --all', async () => {
    const { stdout } = await run('tools', 'fixture');
    expect(stdout).toMatch(/^fixture +echo$/m);
    expect(stdout).not.toContain('crash');
    expect((await run('tools', 'fixture', '--all')).stdout).toMatch(/^fixture +crash +no$/m);
    expect(await json('tools', 'fixture', '--all')).toMatchObject({
      server: 'fixture',
      tools: expect.arrayContaining([{ name: 'crash', summary: '', enabled: false, tags: [] }]),
    });
  });

  test('shows those of all servers', async () => {
    const { code, stdout } = await run('tools');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^SERVER +TOOL +NOTE +SUMMARY\n/);
    expect(stdout).toMatch(/^everything +get-sum +Returns the sum of two numbers$/m);
    expect(stdout).toMatch(/^fixture +echo$/m);
    const { servers } = await json('tools');
    expect(servers).toHaveLength(3);
  });

  test('at a terminal lines are cut, and nothing that a server says moves the cursor', async () => {
    const host = atTerminal();
    expect(await tools({}, host)).toBe(0);
    const said = host.said();
    expect(said).toContain('red\\u{1b}[31m\\u{202e}');
    for (const mover of ['\u001b', '\u202e']) expect(said).not.toContain(mover);
    for (const line of said.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  });

  test('a server that there is not is named with the nearest', async () => {
    expect(await run('tools', 'fixtures')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'mcp-bridge: There is no server "fixtures". Did you mean fixture?\n',
    });
  });
});

describe('a missing server or tool', () => {
  test('is told with the commands that help, not with the tools of agents', async () => {
    expect((await run('tools', 'zzz')).stderr).toBe(
      'mcp-bridge: There is no server "zzz". There are: everything, fixture, odd.\n',
    );
    for (const command of ['describe', 'call'])
      expect(await run(command, 'odd', 'qqq', ...(command === 'call' ? ['--args', '{}'] : []))).toEqual({
        code: 1,
        stdout: '',
        stderr: 'mcp-bridge: Server odd has no tool "qqq". See: mcp-bridge tools odd\n',
      });
    expect((await run('call', 'odd', 'typed', '--args', '{}')).stderr).toMatch(/See: mcp-bridge describe odd typed\n$/);
  });
});

describe('search', () => {
  test('finds tools by words', async () => {
    const { code, stdout } = await run('search', 'sum', 'of', 'numbers');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^SERVER +TOOL +RELEVANCE +SUMMARY\neverything +get-sum +[01]\.\d\d +Returns the sum/);
    const { results } = await json('search', 'sum', '--server', 'everything', '--limit', '1');
    expect(results).toEqual([expect.objectContaining({ server: 'everything', tool: 'get-sum' })]);
  });

  test('says when nothing was found, and how it is used', async () => {
    expect(await run('search', 'zzqqxx')).toMatchObject({
      code: 0,
      stdout: 'No tool was found for: zzqqxx\nTo see all tools: mcp-bridge tools\n',
    });
    expect(await run('search', '--', '-x')).toMatchObject({ code: 0 });
    expect(await run('search')).toMatchObject({ code: 2 });
    expect(await run('search', 'a', '--limit', 'many')).toMatchObject({ code: 2 });
    expect(await run('search', 'a', '--server', 'nope')).toMatchObject({ code: 1 });
  });
});

describe('types', () => {
  test('prints declarations of the tools of a server, which are all that stands on stdout', async () => {
    const { code, stdout } = await run('types', 'odd');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^declare const servers: \{\n {2}odd: \{\n/);
    expect(stdout).toMatch(/^ {4}typed\(args/m);
    expect(stdout).not.toContain('everything');
    expect(Object.keys(await json('types', 'odd'))).toEqual(['declarations']);
    expect((await run('types', 'nowhere')).code).toBe(1);
  });
});

describe('describe', () => {
  test('shows all of a tool', async () => {
    const { code, stdout } = await run('describe', 'odd', 'typed');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^text +string +yes +Any text$/m);
    expect(stdout).toMatch(/^mode +string +yes +How\. One of: fast, slow$/m);
    expect(stdout).toMatch(/^ratio +number +no +0\.5$/m);
    expect(stdout).toMatch(/^ids +array of integer +no$/m);
    expect(stdout).toMatch(/^maybe +integer or null +no +A number, if any$/m);
    expect(stdout).toMatch(/\nFor example:\n {2}mcp-bridge call odd typed text=text mode=fast\n$/);
    expect(await json('describe', 'odd', 'typed')).toMatchObject({ server: 'odd', tool: 'typed', tags: [] });
  });

  test('shows members of objects, of lists of objects, and of variants, below them', async () => {
    const { stdout } = await run('describe', 'odd', 'nested');
    expect(stdout).toContain(
      [
        'NAME          TYPE             NEEDED  DEFAULT  DESCRIPTION',
        'trip          object           yes              Where to go',
        '  stops       array of object  yes',
        '    name      string           no               What it is called',
        '    at        object           no',
        '      lat     number           yes',
        '      unit    string           no               Of its angles. One of: deg, rad',
        'labels        object           no',
        '  (any name)  string           no               A label',
        'by            null or object   no',
        '  bus         integer          no',
        '',
      ].join('\n'),
    );
    const [, example = ''] = /For example:\n {2}mcp-bridge (.*)\n$/.exec(stdout) ?? [];
    expect(example).toBe(`call odd nested 'trip:={"stops":[{}]}'`);
  });

  test('describes the server’s claims about a tool, and its answer', async () => {
    const { stdout } = await run('describe', 'odd', 'careful');
    expect(stdout).toBe(
      'careful, of odd\n\nReads.\n\nAnd more.\n\nThe server says: it only reads; it stays in its own world.\n\n' +
        'Tags: gentle\n\nIts schema names no parameters.\n\nFor example:\n  mcp-bridge call odd careful\n',
    );
    expect((await run('describe', 'odd', 'careless')).stdout).toContain('it may destroy things');
    expect((await run('describe', 'everything', 'get-tiny-image')).stdout).toContain('It has no parameters.');
    expect((await run('describe', 'odd', 'structured')).stdout).toMatch(/^sum +number +All of it$/m);
  });

  test('survives a schema that refers to itself, and a name that would move the cursor', async () => {
    expect(await run('describe', 'odd', 'cyclic')).toMatchObject({ code: 0 });
    const { stdout } = await run('describe', 'odd', 'red\u001b[31m\u202e');
    expect(stdout).toContain('Turns \\u{1b}[31m\\u{202e} around');
    for (const mover of ['\u001b', '\u202e']) expect(stdout).not.toContain(mover);
  });
});

describe('call', () => {
  test('types arguments by the schema', async () => {
    const pairs = ['text=5', 'count=7', 'ratio=1e3', 'on=true', 'tags=a,b', 'ids=1', 'ids=2', 'mode=slow'];
    const { code, stdout, stderr } = await run('call', 'odd', 'typed', ...pairs, 'where={"x": 1}', 'maybe=null');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      ...{ text: '5', count: 7, ratio: 1000, on: true, tags: ['a,b'], ids: [1, 2], mode: 'slow' },
      ...{ where: { x: 1 }, maybe: null },
    });
  });

  test.each([
    ['a number that is none', ['count=x'], 'count must be integer, and is "x"'],
    ['a value that is not among those', ['mode=fasst'], 'mode must be one of fast, slow. Did you mean fast?'],
    ['a parameter that there is not', ['txet=a'], 'typed has no parameter "txet". Did you mean text?'],
    ['one that is missing', ['text=a'], 'mode must be given. See: mcp-bridge describe odd typed'],
    ['JSON that is none', ['tags:=[a'], 'tags:= must be followed by JSON'],
    ['one given twice', ['text=a', 'text=b'], 'text is given more than once'],
    ['a value out of its range', ['text=a', 'mode=fast', 'count=1'], 'do not fit odd:typed'],
    ['JSON that does not fit', ['--args', '{"text":1}'], 'do not fit odd:typed'],
    ['what is no argument', ['text'], '"text" is no argument'],
  ])('%s is wrong usage, and named', async (_, args, said) => {
    const { code, stdout, stderr } = await run('call', 'odd', 'typed', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
    expect(stderr).toMatch(/See: mcp-bridge describe odd typed\n$/);
  });

  test('takes JSON from an option, a file and stdin, and keeps every digit', async () => {
    const args = '{\n"n": 12345678901234567890,\r\n"m": 1.10}';
    writeFiles(home, { 'p/args.json': args });
    for (const { code, stdout } of [
      await run('call', 'odd', 'exact', '--args', args),
      await run('call', 'odd', 'exact', '--args-file', 'args.json'),
      await given(args, 'call', 'odd', 'exact', '-'),
      await given(args, 'call', 'odd', 'exact', '--args-file', '-'),
      await given(args, 'call', 'odd', 'exact', '--args-file=-'),
      await run('call', 'odd', 'exact', 'n=12345678901234567890', 'm:=1.10'),
    ]) {
      expect(code).toBe(0);
      expect(stdout).toMatch(/"n": ?12345678901234567890, *"m": ?1\.10/);
    }
  });

  test.each([
    ['two ways at once', ['a=1', '--args', '{}']],
    ['a list', ['--args', '[1]']],
    ['no JSON', ['--args', '{']],
    ['a file that is not there', ['--args-file', 'nowhere.json']],
    ['a strange time', ['--timeout', 'soon']],
    ['a time given twice', ['--timeout', '2s', '--timeout', '3s']],
    ['no time at all', ['--timeout', '0s']],
    ['no directory to save in', ['--out', 'nowhere/x.png']],
  ])('%s is wrong usage', async (_, args) => {
    expect(await run('call', 'odd', 'exact', ...args)).toMatchObject({ code: 2, stdout: '' });
  });

  test('arguments over the daemon’s limit get an error', async () => {
    const text = 'x'.repeat(17 * 1024 * 1024);
    const { code, stderr } = await given(JSON.stringify({ text }), 'call', 'fixture', 'echo', '-');
    expect(code).toBe(1);
    // The daemon closes the connection behind its answer, and may be done with that while we still write.
    expect(stderr).toMatch(
      /^mcp-bridge: (?:A message may have at most \d+ bytes|The daemon has closed the connection)\./,
    );
  });

  test('words behind -- are arguments too', async () => {
    const { stdout } = await run('call', 'fixture', 'echo', '--', 'text=--x');
    expect(stdout).toBe('--x\n');
  });

  test('text goes into a pipe as it is, and to a terminal escaped', async () => {
    expect((await run('call', 'odd', 'paints')).stdout).toBe('a\u001b[31mb\tc\u202e\r\nd\n');
    const host = atTerminal();
    expect(await call({ server: 'odd', tool: 'paints' }, host)).toBe(0);
    expect(host.said()).toBe('a\\u{1b}[31mb\tc\\u{202e}\nd\n');
  });

  test('--json prints the result as it came', async () => {
    expect((await run('call', 'odd', 'structured', '--json')).stdout).toBe(
      '{"content":[],"structuredContent":{"sum":3}}\n',
    );
    expect((await run('call', 'odd', 'structured')).stdout).toBe('{\n  "sum": 3\n}\n');
  });

  test('images, audio and files are told of, and saved', async () => {
    expect((await run('call', 'odd', 'pictures')).stdout.split('\n')).toEqual([
      'Look:',
      'image/png, 70 bytes; --out FILE saves it',
      'audio/wav, 3 bytes; --out FILE saves it',
      'application/octet-stream, 4 bytes; --out FILE saves it',
      'a text',
      'x://link  n\\u{1b}[31m  (text/plain, 5 bytes)  D',
      '',
    ]);
    expect(await run('call', 'odd', 'picture', '--out', 'one.png')).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(home, 'p/one.png')).subarray(1, 4).toString()).toBe('PNG');
    const { stderr } = await run('call', 'odd', 'pictures', '--out', 'several');
    expect(stderr).toContain(`image/png, 70 bytes, is now ${home}/p/several/1.png\n`);
    expect(readdirSync(join(home, 'p/several')).sort()).toEqual(['1.png', '2.wav', '3.bin']);
    mkdirSync(join(home, 'p/dir'));
    await run('call', 'everything', 'get-tiny-image', '--out', 'dir');
    expect(readdirSync(join(home, 'p/dir'))).toEqual(['1.png']);
  });

  test('text is saved as it came, where there is nothing else', async () => {
    expect(await run('call', 'odd', 'paints', '--out', 'paint.txt')).toEqual({
      code: 0,
      stdout: '',
      stderr: `text, 15 bytes, is now ${home}/p/paint.txt\n`,
    });
    expect(readFileSync(join(home, 'p/paint.txt'), 'utf8')).toBe('a\u001b[31mb\tc\u202e\r\nd');
    await run('call', 'odd', 'structured', '--out', 'texts/');
    expect(readFileSync(join(home, 'p/texts/1.txt'), 'utf8')).toBe('{\n  "sum": 3\n}');
    expect(await run('call', 'odd', 'fails', '--out', 'failed')).toMatchObject({ code: 1, stderr: /It went wrong/ });
    expect(existsSync(join(home, 'p/failed'))).toBe(false);
  });

  test('a result that is longer than a model should get is printed and saved whole', async () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `line ${i} é`).join('\n');
    const echo = (...more: string[]): Promise<CommandResult> =>
      given(JSON.stringify({ text }), 'call', 'fixture', 'echo', '-', ...more);
    expect((await echo()).stdout).toBe(`${text}\n`);
    await echo('--out', 'long.txt');
    expect(readFileSync(join(home, 'p/long.txt'), 'utf8')).toBe(text);
    expect(JSON.parse((await echo('--json')).stdout)).toEqual({ content: [{ type: 'text', text }] });
    // A client that does not ask for it whole gets the beginning.
    const model = await RawClient.connect(join(home, 'b.sock'));
    await model.initialize({ 'mcp-bridge/view': 'discover' });
    const args = { server: 'fixture', tool: 'echo', arguments: { text } };
    expect(JSON.stringify(await model.callTool(1, 'execute_tool', args))).toContain('This result was cut');
    model.destroy();
  });

  test('a dash sends it to stdout, alone', async () => {
    expect(await run('call', 'odd', 'paints', '--out', '-')).toEqual({
      code: 0,
      stdout: 'a\u001b[31mb\tc\u202e\r\nd',
      stderr: '',
    });
    const { code, stdout, stderr } = await run('call', 'odd', 'picture', '--out=-');
    expect([code, stdout.slice(1, 4), stderr]).toEqual([0, 'PNG', '']);
    expect(await run('call', 'odd', 'pictures', '--out', '-')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Nothing was written: there are several. --out FILE saves it.'),
    });
    const host = atTerminal();
    await expect(call({ server: 'odd', tool: 'picture', out: '-' }, host)).rejects.toThrow('this is a terminal');
    expect(await given('{"text":"x"}', 'call', 'fixture', 'echo', '-', '--out', '-')).toMatchObject({ stdout: 'x' });
  });

  test('output that cannot be saved is a failure, and the text is not lost', async () => {
    expect(await run('call', 'odd', 'careful', '--out', 'nothing')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was saved: the answer is empty'),
    });
    expect(existsSync(join(home, 'p/nothing'))).toBe(false);
    writeFiles(home, { 'p/taken': 'x' });
    expect(await run('call', 'odd', 'pictures', '--out', 'taken')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Look:'),
      stderr: expect.stringContaining('--out must be a directory'),
    });
  });

  test('an error of a tool goes to stderr, and the exit code is 1', async () => {
    expect(await run('call', 'odd', 'fails')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'It went wrong\nfor a reason\n',
    });
    const { code, stdout } = await run('call', 'odd', 'fails', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ isError: true })]);
  });

  test.each([
    ['disabled', ['fixture', 'crash'], /The tool "crash" of fixture is disabled\. It is switched off by/],
    ['not there', ['fixture', 'ehco'], /Server fixture has no tool "ehco"\. Did you mean echo\?/],
    ['of no server', ['fxture', 'echo'], /There is no server "fxture"\. Did you mean fixture\?/],
    ['refused by its server', ['odd', 'refuses'], /I will not\\u\{1b\}\[31m/],
  ])('a tool that is %s is a failure in one line', async (_, args, said) => {
    const { code, stdout, stderr } = await run('call', ...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^mcp-bridge: [^\n]*\n$/);
    expect(stderr).toMatch(said);
  });

  test('a question of the server gets an error, because nobody can answer', async () => {
    expect((await run('call', 'fixture', 'ask')).stdout).toContain('elicitation');
    expect((await run('call', 'fixture', 'ask', 'method=roots/list')).stdout).toContain('"code":-32601');
  });
});

describe('a call that takes its time', () => {
  test('shows its progress in one line of a terminal, and none in a pipe', async () => {
    const host = atTerminal();
    expect(await call({ server: 'odd', tool: 'steps' }, host)).toBe(0);
    expect(host.said()).toBe('done\n');
    const clear = '\r\u001b[K';
    expect(host.remarks()).toBe(`${clear}steps: 1 of 2 (50 %) one\\u{1b}[31m${clear}steps: 2 of 2 (100 %)${clear}`);
    expect(await run('call', 'odd', 'steps')).toEqual({ code: 0, stdout: 'done\n', stderr: '' });
  });

  test('runs as a task where the tool wants that, with its progress, and is marked so', async () => {
    const host = atTerminal();
    expect(await call({ server: 'odd', tool: 'later' }, host)).toBe(0);
    expect([host.said(), host.remarks()]).toEqual(['at last\n', '\r\u001b[Klater: 1 soon\r\u001b[K']);
    expect((await run('call', 'odd', 'later', '--args', '{}')).stdout).toBe('at last\n');
    expect((await run('describe', 'odd', 'later')).stdout).toContain('\nIt runs as a task: ');
    expect((await run('tools', 'odd')).stdout).toMatch(/^odd +later +runs as a task +Answers later$/m);
    const { tools: listed } = await json('tools', 'odd');
    expect(listed).toContainEqual(expect.objectContaining({ name: 'later', taskSupport: 'required' }));
    expect(await json('describe', 'odd', 'later')).toMatchObject({ taskSupport: 'required' });
  });

  test('log messages of the server stay on the terminal', async () => {
    const host = atTerminal();
    const args = { method: 'notifications/message', params: { level: 'error', data: 'oo\u001bps' } };
    expect(await call({ server: 'fixture', tool: 'notify', args: JSON.stringify(args) }, host)).toBe(0);
    expect(host.remarks()).toBe('[error] oo\\u{1b}ps\n');
  });

  test('ends at Ctrl-C, and the server is told', async () => {
    const host = atTerminal();
    const said = untilSaid(host, 'hold: 1');
    const ended = call({ server: 'fixture', tool: 'hold', args: '{"steps":1}' }, host);
    await said;
    host.interrupt();
    expect(await ended).toBe(130);
    // Whoever can be asked something has an instance that knows it, so a terminal must ask that one too.
    const next = atTerminal();
    expect(await call({ server: 'fixture', tool: 'seen' }, next)).toBe(0);
    expect(JSON.parse(next.said())).toMatchObject({ cancelled: [expect.anything()] });
  });

  test('ends at the signal of a real terminal with 130', async () => {
    const before = await cancelledCalls();
    const child = spawn(process.execPath, [PROGRAM, 'call', 'fixture', 'hold', '--args', '{}'], {
      cwd: join(home, 'p'),
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    const exited = once(child, 'exit');
    while (!(await isInFlight())) expect(child.exitCode).toBe(null);
    child.kill('SIGINT');
    expect(await exited).toEqual([130, null]);
    expect(await cancelledCalls()).toBe(before + 1);
  });

  test('is cancelled when its time is up', async () => {
    const before = await cancelledCalls();
    expect(await run('call', 'fixture', 'hold', '--timeout', '50')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('There was no answer within 50 ms'),
    });
    expect(await cancelledCalls()).toBe(before + 1);
  });

  test('leaves it unknown whether it was done when the daemon goes', async () => {
    const other = { ...env, MCP_BRIDGE_SOCKET: join(home, 'other.sock') };
    const options = { env: other, cwd: join(home, 'p') };
    expect(await runCommand(['start'], options)).toMatchObject({ code: 0 });
    const host = fakeHost(home, join(home, 'p'), { columns: 60 }, other);
    const said = untilSaid(host, 'hold: 1');
    const ended = expect(call({ server: 'fixture', tool: 'hold', args: '{"steps":1}' }, host)).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: 'The daemon went away while this call was under way; whether it was done is not known',
    });
    await said;
    const { pid } = JSON.parse((await runCommand(['status', '--json'], options)).stdout) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await ended;
  });
});

/** Before that, the command may have said only what it waits for. */
function untilSaid(host: FakeHost, words: string): Promise<void> {
  let said = '';
  return new Promise((resolve) => {
    host.stderr.on('data', (chunk: Buffer) => {
      said += String(chunk);
      if (said.includes(words)) resolve();
    });
  });
}

async function cancelledCalls(): Promise<number> {
  const { stdout } = await run('call', 'fixture', 'seen');
  return (JSON.parse(stdout) as { cancelled: unknown[] }).cancelled.length;
}

async function isInFlight(): Promise<boolean> {
  const { instances } = JSON.parse((await run('status', '--json')).stdout) as {
    instances: { server: string; inFlight: number }[];
  };
  return instances.some(({ server, inFlight }) => server === 'fixture' && inFlight === 1);
}
