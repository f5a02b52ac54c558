// Secrets are planted wherever one may stand, everything that can be asked is asked, and none of them may come out.

import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

/** Each is found by what it begins with. */
const SECRETS = Array.from({ length: 25 }, (_, i) => `canary${i}x${(i * 7919 + 12_345).toString(36)}Zq9`);
let planted = 0;
const secret = (): string => SECRETS[planted++] as string;

/** Fails to start, and says all that it was given. */
const LOUD = "console.error(JSON.stringify(process.env), process.argv.join(' ')); process.exit(1)";

function configWith(home: string): object {
  const loud = (env: object, args: string[] = []): object => ({
    command: process.execPath,
    args: ['-e', LOUD, '--', ...args],
    env,
  });
  const closed = 'http://127.0.0.1:9';
  writeFileSync(join(home, 'helper'), `#!/bin/sh\necho '{"Authorization":"Bearer ${secret()}"}'\n`, { mode: 0o700 });
  return {
    client: { view: 'all' },
    audit: {},
    mcpServers: {
      fixture: fixtureServer({ API_KEY: secret(), NOTHING_SPECIAL: secret() }),
      loud: loud({ GITHUB_TOKEN: secret(), PLAIN: secret() }),
      flags: loud({}, ['--api-key', secret(), `--token=${secret()}`, '--password', secret()]),
      urls: loud({}, [`postgres://me:${secret()}@db.example/x`, `https://x.example/?api_key=${secret()}`]),
      remote: {
        url: `${closed}/mcp?token=${secret()}`,
        headers: { Authorization: `Bearer ${secret()}`, 'X-Odd': secret() },
      },
      user: { url: `http://me:${secret()}@127.0.0.1:9/mcp` },
      helped: { url: `${closed}/mcp`, headersHelper: join(home, 'helper') },
      signed: { url: `${closed}/mcp`, oauth: { clientId: 'me', clientSecret: secret() } },
      broken: { command: 7, env: { A: secret() } },
      odd: { url: `${closed}/mcp`, headers: { 'bad header': secret() } },
    },
  };
}

/** Other clients' files, and one of a project, which waits for approval. */
function clientFiles(home: string, project: string): void {
  const server = (env: object): object => ({ command: 'no-such-program', args: ['--api-key', secret()], env });
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ mcpServers: { claude: server({ KEY: secret() }) } }));
  writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { shared: server({ KEY: secret() }) } }));
  mkdirSync(join(home, '.cursor'));
  writeFileSync(join(home, '.cursor/mcp.json'), `{"mcpServers":{"torn":{"env":{"KEY":"${secret()}"}`);
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The one copy with secrets that the bridge makes: a daemon starts with it when the config itself is broken. */
const isConfigCopy = (file: string): boolean => basename(dirname(file)) === 'last-good-config';

test('logs, errors, lists, reports and kept files contain no secret', { timeout: 240_000 }, async () => {
  const dir = tempDir();
  const project = join(dir, 'project');
  mkdirSync(project);
  mkdirSync(join(project, '.git'));
  const config = { ...configWith(dir), discovery: { enabled: true } };
  clientFiles(dir, project);
  const daemon = await TestDaemon.start(config, { dir, isFaulty: true });
  const said: string[] = [];
  const env = { HOME: dir, XDG_CONFIG_HOME: dir, XDG_CACHE_HOME: dir, MCP_BRIDGE_SOCKET: daemon.path };
  const run = async (...args: string[]): Promise<void> => {
    const { stdout, stderr } = await runCommand([...args, '--config', join(dir, 'config.json')], { env, cwd: project });
    said.push(stdout, stderr);
  };

  const client = await daemon.client({ 'mcp-bridge/cwd': project });
  const names = ['loud', 'flags', 'urls', 'remote', 'user', 'helped', 'signed', 'claude'];
  said.push(JSON.stringify(await client.request('list', 'tools/list')));
  for (const name of names) {
    const answer = await client.callTool(name, `${name}__x`, { password: SECRETS.at(-1) });
    expect(answer.error, name).toBeDefined();
    said.push(JSON.stringify(answer));
  }
  const held = await client.callTool('slow', 'fixture__slow', { ms: 1, secret: SECRETS.at(-2) });
  expect(held.error).toBeUndefined();

  for (const json of [[], ['--json']]) {
    for (const command of ['status', 'clients', 'servers', 'tools', 'discover', 'reload']) await run(command, ...json);
    await run('discover', '--all', ...json);
    await run('call', 'loud', 'x', `password=${SECRETS.at(-3)}`, ...json);
  }
  for (const name of [...names, 'shared', 'broken', 'odd']) await run('discover', '--explain', name);
  for (const name of ['remote', 'flags']) await run('describe', name, 'x');
  for (const json of [[], ['--json']]) for (const name of names) await run('logs', name, ...json);
  await run('approve');
  await run('policy', 'explain', 'loud');
  for (const command of ['metrics', 'refresh']) await run(command);
  for (const json of [[], ['--json']]) {
    await run('config', 'check', ...json);
    await run('doctor', '--start', ...json);
  }
  await run('approve', 'shared', '--yes');
  await run('install', 'cursor', '--dry-run', '--replace');
  await run('import', 'claude-code', '--dry-run');
  client.destroy();
  daemon.kill('SIGTERM');
  await daemon.exited;

  expect(said.join('\n'), 'what servers have written is there').toMatch(/^loud \(pid \d+, ended\):\n\{/m);
  const planters = ['config.json', '.claude.json', '.mcp.json', 'mcp.json', 'helper'];
  const files = filesBelow(dir).filter((file) => !planters.includes(basename(file)));
  const copies = files.filter(isConfigCopy);
  expect(copies).toHaveLength(1);
  const modes = copies.flatMap((file) => [file, dirname(file)]).map((path) => lstatSync(path).mode & 0o777);
  expect(modes, 'nobody else can read the copy of the config').toEqual([0o600, 0o700]);
  const kept = files.filter((file) => !isConfigCopy(file)).map((file) => readFileSync(file, 'utf8'));
  expect(kept.join('\n'), 'calls are recorded').toContain('"tool":"slow"');
  const all = [...said, daemon.log, ...kept].join('\n');
  expect(all.length).toBeGreaterThan(10_000);
  expect(planted, 'three are in arguments of calls only').toBe(SECRETS.length - 3);
  const out = SECRETS.filter((each) => all.includes(each));
  expect(out.map((each) => all.slice(all.indexOf(each) - 80, all.indexOf(each) + 40))).toEqual([]);
});
