// What a program of a model cannot get: files that somebody has left open to the daemon, a tool that it has not named for certain, and
// the places of everybody else.

import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { HttpClient } from '../support/http-client.ts';
import type { Message, RawClient } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const PATIENCE = { timeout: 30_000 };

async function started(config: object, options: object = {}): Promise<TestDaemon> {
  const whole = { client: { view: 'discover' }, codeMode: { enabled: true }, ...config };
  const daemon = await TestDaemon.start(whole, options);
  onTestFinished(() => daemon.stop());
  return daemon;
}

async function connected(daemon: TestDaemon, meta: object = {}): Promise<RawClient> {
  const client = await daemon.client(meta);
  onTestFinished(() => client.destroy());
  return client;
}

const textsIn = ({ result }: Message): string[] =>
  ((result?.content ?? []) as { text: string }[]).map(({ text }) => text);

/** The places that the open files of a process lead to; none if it has ended. */
function filesOf(pid: number | string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return ''; // closed meanwhile
      }
    });
  } catch {
    return [];
  }
}

/** The processes that interpret programs of this daemon: the wall around each is the parent of one. */
function interpretersOf(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words[0] === process.execPath && words.includes(mark) && words.some((word) => word.includes('runSandbox'));
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

/** Ends all calls under way. */
async function endAll(control: RawClient): Promise<void> {
  const { result } = await control.request('calls', 'bridge/calls');
  for (const { call } of (result as { open: { call: string }[] }).open)
    await control.request(call, 'bridge/cancel', { call });
}

test.skipIf(!existsSync('/proc/self/fd') || !existsSync('/bin/bash'))(
  'a file that was left open to the daemon is closed where a program runs (needs Linux and bash)',
  async () => {
    const dir = tempDir();
    const secret = join(dir, 'secret.txt');
    writeFileSync(secret, 'CANARY');
    const under = ['/bin/bash', '-c', `exec 217<"${secret}"; exec "$@"`, 'bash'];
    const daemon = await started({ mcpServers: { fixture: fixtureServer() } }, { dir, under });
    const client = await connected(daemon);
    expect(filesOf(daemon.pid)).toContain(secret); // it is there to be inherited
    const over = client.callTool(1, 'run_code', { code: 'await servers.fixture.hold({}); return "over"' });
    await expect.poll(() => interpretersOf('217').length, PATIENCE).toBe(1);
    const control = await connected(daemon, { 'mcp-bridge/role': 'control' });
    const isCalled = async (): Promise<boolean> =>
      JSON.stringify((await control.request('calls', 'bridge/calls')).result).includes('"server":"fixture"');
    await expect.poll(isCalled, PATIENCE).toBe(true); // so it has begun to run the program
    const [pid = ''] = interpretersOf('217');
    expect(filesOf(pid).length).toBeGreaterThan(0);
    expect(filesOf(pid)).not.toContain(secret);
    await endAll(control);
    await over;
  },
);

test('an identifier that could mean several tools or servers is refused, and the error names each', async () => {
  const dir = tempDir();
  const tool = (name: string): string => JSON.stringify({ name, inputSchema: { type: 'object' } });
  writeFileSync(join(dir, 'tools.txt'), ['x-y', 'x.y', 'only-one'].map(tool).join('\n'));
  const odd = fixtureServer({ FIXTURE_TOOLS: join(dir, 'tools.txt') });
  const daemon = await started({ mcpServers: { odd, 'a-b': fixtureServer(), 'a.b': fixtureServer() } }, { dir });
  const client = await connected(daemon);
  const failure = async (call: string): Promise<string[]> => {
    const code = `try { await ${call}; return 'it was called' } catch (error) { return [error.code, error.message] }`;
    const [text = ''] = textsIn(await client.callTool(call, 'run_code', { code }));
    return JSON.parse(text.startsWith('[') ? text : JSON.stringify([text])) as string[];
  };
  const [code, message] = await failure('servers.odd.x_y({})');
  expect([code, message]).toEqual(['TOOL_NOT_FOUND', expect.stringContaining('"x_y" may be "x-y" or "x.y"')]);
  const [ofServers, says] = await failure("servers.a_b.echo({ text: 'x' })");
  expect([ofServers, says]).toEqual(['SERVER_NOT_FOUND', expect.stringContaining('"a_b" may be "a-b" or "a.b"')]);
  for (const certain of ["servers.odd['x-y']({})", 'servers.odd.only_one({})', "servers['a.b'].echo({ text: 'x' })"])
    expect((await failure(certain))[0], certain).not.toMatch(/NOT_FOUND$/);
});

test('all clients of one token have half of the places for programs, and others the rest', async () => {
  const dir = tempDir();
  const env = { HOME: dir, XDG_CONFIG_HOME: join(dir, '.config'), XDG_STATE_HOME: join(dir, 'state') };
  const config = {
    discovery: { enabled: false },
    codeMode: { enabled: true, maxPrograms: 4 },
    mcpServers: { fixture: fixtureServer() },
    http: { listen: '127.0.0.1:0' },
  };
  const daemon = await started(config, { dir, env });
  await daemon.untilLogged('listening for HTTP');
  const port = Number(/"listening for HTTP".*?"port":(\d+)/.exec(daemon.log)?.[1]);
  const create = { env: { ...env, MCP_BRIDGE_SOCKET: daemon.path }, cwd: dir };
  const token = (await runCommand(['token', 'create', 'ci'], create)).stdout.trim();
  const code = 'await servers.fixture.hold({}); return 1';
  const asking = async (id: number): Promise<Message> => {
    const http = new HttpClient({ host: '127.0.0.1', port }, { authorization: `Bearer ${token}` });
    onTestFinished(() => http.close());
    const session = await http.begin({}, '/mcp/discover'); // each one is a client of its own
    const params = { name: 'run_code', arguments: { code } };
    const reply = await session.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
    const body = await reply.text();
    return JSON.parse(body.startsWith('{') ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? '{}')) as Message;
  };
  const control = await connected(daemon, { 'mcp-bridge/role': 'control' });
  const underWay = async (): Promise<number> => {
    const { result } = await control.request('calls', 'bridge/calls');
    return (result as { open: { server: string | null }[] }).open.filter(({ server }) => server === 'fixture').length;
  };
  const first = [asking(1), asking(2)].map((answer) => answer.catch(() => undefined));
  await expect.poll(underWay, PATIENCE).toBe(2); // both programs have called a tool, so both run
  expect((await asking(3)).error?.data).toMatchObject({ code: 'CODE_BUSY' });
  const local = await connected(daemon);
  expect(textsIn(await local.callTool('local', 'run_code', { code: 'return "there is room"' }))).toEqual([
    'there is room',
  ]);
  await endAll(control);
  await Promise.all(first);
});
