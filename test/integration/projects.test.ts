// Servers that depend on the directory that a client works in, and servers that are for one client alone.

import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { FIXTURE, fixtureServer, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

/** The variable for the client's directory, as a definition spells it. */
const PWD = ['$', '{PWD}'].join('');

/** Two projects, each with a program of its own by the same name. */
function projects(dir: string): [string, string] {
  const made = ['a', 'b c'].map((name) => {
    const project = join(realpathSync(dir), name);
    mkdirSync(join(project, 'bin'), { recursive: true });
    writeFileSync(join(project, 'bin', 'server'), `#!/bin/sh\nexec "${process.execPath}" "${FIXTURE}"\n`);
    chmodSync(join(project, 'bin', 'server'), 0o755);
    return project;
  });
  return made as [string, string];
}

const startsIn = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;

describe('two clients that work in different directories', () => {
  test.each<[string, (env: Record<string, string>) => object]>([
    ['a relative argument', (env) => ({ ...fixtureServer(env), args: [FIXTURE, '.'] })],
    ['the variable in its arguments', (env) => ({ ...fixtureServer(env), args: [FIXTURE, PWD] })],
    ['the variable in its environment', (env) => fixtureServer({ ...env, WHERE: PWD })],
    ['the variable as its directory', (env) => ({ ...fixtureServer(env), cwd: PWD })],
  ])(
    'have a process each of a server with %s; one that works in the same shares it, and only a cwd starts it there',
    async (title, definition) => {
      const dir = tempDir();
      const starts = join(dir, 'starts');
      writeFileSync(starts, '');
      const [a, b] = projects(dir);
      const daemon = await TestDaemon.start(
        { mcpServers: { fixture: definition({ FIXTURE_STARTS: starts }) } },
        { dir },
      );
      const clients = [];
      for (const cwd of [a, b, a]) clients.push(await daemon.client({ 'mcp-bridge/cwd': cwd }));
      const where = [];
      for (const client of clients) where.push(textOf(await client.callTool(1, 'cwd')));
      const own = realpathSync(dir);
      expect(where).toEqual(title.endsWith('as its directory') ? [a, b, a] : [own, own, own]);
      const env = JSON.parse(textOf(await (clients[1] as (typeof clients)[0]).callTool(2, 'env'))) as Record<
        string,
        string
      >;
      expect(env.WHERE ?? b).toBe(b);
      expect(startsIn(starts)).toBe(2);
      for (const client of clients) client.destroy();
      await daemon.stop();
    },
  );

  test('share a server that does not depend on it', async () => {
    const dir = tempDir();
    const starts = join(dir, 'starts');
    writeFileSync(starts, '');
    const [a, b] = projects(dir);
    const daemon = await TestDaemon.start(
      { mcpServers: { fixture: fixtureServer({ FIXTURE_STARTS: starts }) } },
      { dir },
    );
    const clients = [];
    for (const cwd of [a, b, undefined])
      clients.push(await daemon.client(cwd === undefined ? {} : { 'mcp-bridge/cwd': cwd }));
    const where = [];
    for (const client of clients) where.push(textOf(await client.callTool(1, 'cwd')));
    expect(new Set(where)).toEqual(new Set([realpathSync(dir)]));
    expect(startsIn(starts)).toBe(1);
    for (const client of clients) client.destroy();
    await daemon.stop();
  });

  test('see the same servers in the view of all, each its own', async () => {
    const dir = tempDir();
    const [a, b] = projects(dir);
    const daemon = await TestDaemon.start(
      { mcpServers: { local: { ...fixtureServer(), cwd: PWD }, other: fixtureServer() } },
      { dir },
    );
    const where = [];
    for (const cwd of [a, b]) {
      const client = await daemon.client({ 'mcp-bridge/cwd': cwd, 'mcp-bridge/view': 'all' });
      where.push(textOf(await client.callTool(1, 'local__cwd')), textOf(await client.callTool(2, 'other__cwd')));
      client.destroy();
    }
    expect(where).toEqual([a, realpathSync(dir), b, realpathSync(dir)]);
    await daemon.stop();
  });
});

describe('a definition of the user’s runs nothing that a repository brings', () => {
  /** A repository that has a program of each name, and what npm reads. */
  function repository(dir: string): string {
    const repo = join(realpathSync(dir), 'repo');
    const evil = `#!/bin/sh\ntouch "${join(realpathSync(dir), 'evil')}"\n`;
    for (const place of ['bin/server', 'server.sh', 'node_modules/.bin/planted-server']) {
      mkdirSync(dirname(join(repo, place)), { recursive: true });
      writeFileSync(join(repo, place), evil, { mode: 0o755 });
    }
    writeFileSync(join(repo, 'package.json'), '{"name": "planted-server", "version": "1.0.0", "bin": "./bin/server"}');
    writeFileSync(join(repo, '.npmrc'), 'script-shell=./bin/server\nnode-options=--require ./evil.js\n');
    writeFileSync(join(repo, 'evil.js'), `require('fs').writeFileSync(${JSON.stringify(join(dir, 'evil'))}, '')`);
    return repo;
  }

  test.each<[string, object]>([
    ['a relative command', { command: 'bin/server', args: ['.'] }],
    ['a script', { command: '/bin/sh', args: ['./server.sh', '.'] }],
    ['npx', { command: 'npx', args: ['-y', '--offline', 'planted-server', '.'] }],
    ['npm exec', { command: 'npm', args: ['exec', '--offline', '-y', '--', 'planted-server', '.'] }],
  ])('with %s', async (_, definition) => {
    const dir = tempDir();
    const repo = repository(dir);
    const daemon = await TestDaemon.start({ mcpServers: { fixture: definition } }, { dir });
    const client = await daemon.client({ 'mcp-bridge/cwd': repo, 'mcp-bridge/view': 'all' });
    const { result } = await client.request(9, 'tools/list', {});
    expect(result).toMatchObject({ tools: [] });
    expect(existsSync(join(dir, 'evil'))).toBe(false);
    client.destroy();
    await daemon.stop();
  });

  test('and its arguments refer to the client’s directory', async () => {
    const dir = tempDir();
    const repo = repository(dir);
    const program = join(dir, 'own.sh');
    writeFileSync(program, `#!/bin/sh\necho "$1" > "${join(dir, 'given')}"\nexec "${process.execPath}" "${FIXTURE}"\n`);
    chmodSync(program, 0o755);
    const daemon = await TestDaemon.start(
      { mcpServers: { fixture: { command: './own.sh', args: ['./data'] } } },
      { dir },
    );
    const client = await daemon.client({ 'mcp-bridge/cwd': repo });
    expect(textOf(await client.callTool(1, 'cwd'))).toBe(realpathSync(dir));
    expect(readFileSync(join(dir, 'given'), 'utf8')).toBe(`${join(repo, 'data')}\n`);
    client.destroy();
    await daemon.stop();
  });
});

test('a server that is dedicated has a process for each client, which ends with it', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: { ...fixtureServer(), sharing: 'dedicated' } } });
  const clients = [await daemon.client(), await daemon.client(), await daemon.client()];
  for (const [n, client] of clients.entries())
    expect(textOf(await client.callTool(1, 'echo', { text: `${n}` }))).toBe(`${n}`);
  const pids = (await daemon.status()).instances.map(({ pid }) => pid ?? 0);
  expect(new Set(pids).size).toBe(3);
  clients[1]?.destroy();
  const { instances } = await daemon.until((status) => status.instances.length === 2);
  const [gone] = pids.filter((pid) => !instances.some((instance) => instance.pid === pid));
  await untilGone(gone ?? 0);
  for (const client of [clients[0], clients[2]])
    expect(textOf((await client?.callTool(2, 'echo', { text: 'here' })) ?? {})).toBe('here');
  for (const client of clients) client.destroy();
  await daemon.until((status) => status.instances.every(({ pid }) => pid === null));
  await daemon.stop();
});

test('a server that nobody waits for any more is stopped, even if it starts late', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { fixture: { ...fixtureServer({ FIXTURE_SLOW_START: '600' }), idleMs: 50 } },
  });
  const client = await daemon.connect();
  client.send({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  });
  const { pid } = (await daemon.until(({ instances }) => instances[0]?.state === 'starting')).instances[0] ?? {};
  client.destroy();
  await daemon.untilLogged('nobody uses it');
  await untilGone(pid ?? 0);
  await daemon.stop();
});
