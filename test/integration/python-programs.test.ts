// Programs of models in Python, in Pyodide and inside bubblewrap. Where bubblewrap is missing there is nothing to show but that Python is
// not offered; the test says so.

import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Message, RawClient } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const hasWalls = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']).status === 0;
if (!hasWalls) process.stdout.write('Left out: programs in Python, for want of a bubblewrap that works\n');

let daemon: TestDaemon;
let by: RawClient;
beforeAll(async () => {
  daemon = await TestDaemon.start({
    client: { view: 'code' },
    codeMode: { enabled: true, python: true, timeoutMs: 60_000, maxPythonMemoryBytes: 400 * 1024 * 1024 },
    mcpServers: { fixture: fixtureServer(), 'My-Files': fixtureServer() },
    discovery: { toolRules: [{ pattern: ['fixture:crash'], enabled: false }] },
  });
  by = await RawClient.connect(daemon.path);
  await by.initialize({ 'mcp-bridge/view': 'code' });
});
afterAll(async () => {
  by.destroy();
  await daemon.stop();
  expect(cleanUp()).toEqual([]);
});

let calls = 0;
interface Outcome {
  readonly texts: readonly string[];
  readonly isError: boolean;
}

async function run(code: string, more: object = {}): Promise<Outcome> {
  const { result, error }: Message = await by.callTool(++calls, 'run_python', { code, ...more });
  if (result === undefined) throw new Error(JSON.stringify(error));
  const content = result.content as { text: string }[];
  return { texts: content.map(({ text }) => text), isError: result.isError === true };
}

test('run_python is offered where the process can be confined, and nowhere else', async () => {
  const { result } = await by.request(++calls, 'tools/list');
  const { tools = [] } = (result ?? {}) as { tools?: { name: string }[] };
  expect(tools.map(({ name }) => name)).toEqual(hasWalls ? ['run_code', 'run_python'] : ['run_code']);
});

describe.runIf(hasWalls)('a program in Python', () => {
  test('calls tools by its proxies, side by side, and has servers as the runtime knows them', async () => {
    const code = `
import asyncio
import mcp.runtime as runtime
one = await mcp_fixture.echo(text="one")
both = await asyncio.gather(mcp_fixture.hold(), mcp_fixture.release())
print("said", one)
found = await runtime.search("echo", limit=1)
[one, both[0], runtime.discovered_servers(), found["results"][0]["tool"], await mcp_my_files.echo({"text": "three"})]`;
    expect(await run(code)).toEqual({
      texts: ['["one","released",["fixture","My-Files"],"echo","three"]', 'Printed:\nsaid one'],
      isError: false,
    });
  });

  test('is told refusals as exceptions with their codes, and errors with their lines', async () => {
    const refused = `
try:
    await mcp_fixture.crash()
except ToolError as error:
    code = error.code
code`;
    expect((await run(refused)).texts).toEqual(['TOOL_DISABLED']);
    expect(await run('x = 1\nx.nothing')).toEqual({
      texts: ["AttributeError: 'int' object has no attribute 'nothing' (line 2)\n2 | x.nothing"],
      isError: true,
    });
    expect((await run('x = 1\ny = (')).texts[0]).toMatch(/^SyntaxError: '\(' was never closed \(line 2\)/);
    expect((await run('object()')).texts[0]).toMatch(/^TypeError: The value of the program is not JSON/);
  });

  test('may use the servers that it was given, and no others', async () => {
    const code = 'import mcp.runtime as runtime\n[list(runtime.discovered_servers()), "mcp_my_files" in globals()]';
    expect((await run(code, { servers: ['fixture'] })).texts).toEqual(['[["fixture"],false]']);
  });

  test('finds its own servers only, and is refused where one of them is not there', async () => {
    const code = `
import mcp.runtime as runtime
found = await runtime.search("echo")
try:
    await runtime.describe("fixture")
except ToolError as error:
    code = error.code
[list(set(one["server"] for one in found["results"])), code, (await runtime.describe("My-Files.echo")).count("echo")]`;
    expect((await run(code, { servers: ['My-Files'] })).texts).toEqual(['[["My-Files"],"SERVER_NOT_FOUND",1]']);
    for (const servers of [['nope'], [5]]) {
      const { error } = await by.callTool(++calls, 'run_python', { code: '1', servers });
      expect(error?.message).toMatch(/nope|servers must be a list of names/);
    }
  });

  test('has no input to wait for, and is told why its process has ended', async () => {
    expect((await run('input()')).texts[0]).toMatch(/^OSError: /);
    expect((await run('import os\nos.system("id")')).texts[0]).toMatch(/not allowed here/);
  });

  test.each([
    ['a loop', 'while True: pass', /limit of time: 1000 ms/],
    [
      'memory',
      'x = []\nwhile True: x.append(bytearray(1 << 22))',
      /limit of memory: \d+ bytes, \d+ bytes in use \(codeMode.maxPythonMemoryBytes\)|MemoryError/,
    ],
    ['printing', 'while True: print("x" * 1000)', /limit of output/],
  ])('%s without end is ended at its limit', async (name, code, expected) => {
    const { texts, isError } = await run(code, name === 'a loop' ? { timeout: 1 } : {});
    expect(texts[0]).toMatch(expected);
    expect(isError).toBe(true);
  });

  test('reaches nothing of the host, whatever it tries', async () => {
    const attempts = [
      'open("/etc/passwd").read()',
      '__import__("os").listdir("/etc")',
      '__import__("socket").create_connection(("127.0.0.1", 9), 1)',
      '__import__("js").process.env',
      '__import__("js").eval("process.env")',
      '__import__("pyodide.code").code.run_js("process.env")',
      '__import__("js").Object.constructor("return process")()',
      '__import__("pyodide_js").mountNodeFS("/mnt", "/etc")',
      '__import__("pyodide_js")._module.FS.mount(__import__("pyodide_js")._module.FS.filesystems.NODEFS, {}, "/mnt")',
      '__import__("urllib.request").request.urlopen("http://127.0.0.1:9/")',
      '__import__("ctypes").CDLL(None).system(b"id")',
    ];
    const code = `
seen = []
for attempt in ${JSON.stringify(attempts)}:
    try:
        seen.append([attempt, "reached", str(eval(attempt))[:200]])
    except BaseException as error:
        seen.append([attempt, type(error).__name__])
seen`;
    const { texts } = await run(code);
    expect(texts.join('\n')).not.toMatch(/root:[x*]:0|HOME=|passwd",|uid=/);
    expect((await run('import os\nos.system("id")')).texts.join('\n')).not.toContain('uid=');
    expect((await run('1 + 1')).texts).toEqual(['2']);
  });
});
