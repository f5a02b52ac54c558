// The command as a person or a script uses it.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand, runProgram } from '../support/command.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

let dir: string;
let env: Record<string, string>;
let path: string;
beforeEach(() => {
  dir = tempDir();
  path = join(dir, 'b.sock');
  env = { XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, MCP_BRIDGE_SOCKET: path, HOME: dir };
});
afterEach(async () => {
  await runCommand(['stop'], { env, cwd: dir });
  rmSync(dir, { recursive: true, force: true });
});

const run = (args: string[], input?: string) =>
  runCommand(args, { env, cwd: dir, ...(input === undefined ? {} : { input }) });
const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"3"}}}\n';

describe('start, status, clients, stop', () => {
  test('a daemon comes, tells about itself, and goes', async () => {
    const started = await run(['start']);
    expect(started).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`runs at ${path}`) });
    expect((await run(['start'])).stdout).toMatch(/runs already .*\(pid \d+\)/);

    const client = await RawClient.connect(path);
    await client.initialize({ 'mcp-bridge/clientId': 'me', 'mcp-bridge/view': 'server:example' });
    expect(textOf(await client.callTool(1, 'add', { a: 2, b: 40 }))).toBe('42');
    // What `describe` tells to type has all that the tool needs.
    expect((await run(['describe', 'example', 'add'])).stdout).toContain('mcp-bridge call example add a=1 b=1\n');

    const status = JSON.parse((await run(['status', '--json'])).stdout) as Record<string, unknown>;
    expect(Object.keys(status)).toEqual([
      'pid',
      'version',
      'build',
      'autostarted',
      'activated',
      'socketPath',
      'uptimeMs',
      'clients',
      'protocolVersions',
      'parked',
      'parkedBytes',
      'suspended',
      'waitingPrograms',
      'memory',
      'instances',
      'latencies',
      'latencyBoundsMs',
      'answers',
      'keptResults',
      'dialledIn',
      'counters',
      'errors',
      'configFile',
      'configNamed',
      'configDir',
      'httpFlag',
      'httpOrigin',
      'serversConfig',
      'configFaults',
      'definitionFaults',
      'missingInputs',
      'pendingApprovals',
      'audit',
      'telemetry',
    ]);
    expect(status).toMatchObject({ socketPath: path, clients: 1 });
    expect(status.instances).toEqual([
      {
        server: 'example',
        pid: expect.any(Number),
        state: 'ready',
        protocolVersion: '2025-11-25',
        sessions: 1,
        restarts: 0,
        calls: 1,
        requests: 1,
        inFlight: 0,
        leftOut: false,
        lastError: null,
        errorCode: null,
      },
    ]);
    expect(JSON.parse((await run(['clients', '--json'])).stdout)).toEqual([
      {
        clientId: 'me',
        name: 'raw',
        version: '1',
        protocolVersion: '2025-06-18',
        view: 'server:example',
        state: 'ready',
        connectedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        inFlight: 0,
        listening: 0,
        uid: process.getuid?.(),
        pid: null,
        cwd: null,
        token: null,
        from: null,
        servers: ['example'],
        accepts: [],
        mailbox: false,
      },
    ]);
    expect((await run(['status'])).stdout).toMatch(/example +ready +\d+ +1 +1 +0/);
    expect((await run(['clients'])).stdout).toMatch(/me +raw 1 +server:example +ready/);

    expect(await run(['stop'])).toMatchObject({
      code: 0,
      stdout: `mcp-bridge at ${path} has stopped (pid ${status.pid}); ended with it: example\n`,
    });
    expect(existsSync(path)).toBe(false);
    client.destroy();
  });

  test('a script is told which daemon was started and stopped', async () => {
    const started = JSON.parse((await run(['start', '--json'])).stdout) as { pid: number };
    const logFile = expect.stringContaining('daemon.log') as string;
    expect(started).toEqual({ socketPath: path, pid: expect.any(Number), logFile, ranAlready: false });
    const { pid } = started;
    expect((await run(['start'])).stdout).toBe(`mcp-bridge runs already at ${path} (pid ${pid})\n`);
    expect(JSON.parse((await run(['start', '--json'])).stdout)).toMatchObject({ pid, ranAlready: true });
    const stopped = { socketPath: path, stopped: true, pid, clients: 0, servers: [] };
    expect(JSON.parse((await run(['stop', '--json'])).stdout)).toEqual(stopped);
    expect(JSON.parse((await run(['stop', '--json'])).stdout)).toEqual({ ...stopped, stopped: false, pid: null });
    expect((await run(['start'])).stdout).toMatch(
      new RegExp(`^mcp-bridge runs at ${path} \\(pid \\d+\\); its log is .+\n$`),
    );
  });

  test.each(['stop', 'restart', 'connect', 'serve'])(
    '%s takes no daemon where the socket has no name',
    async (command) => {
      const { pid } = JSON.parse((await run(['start', '--json'])).stdout) as { pid: number };
      for (const socket of [['--mcp-bridge-socket', ''], ['--mcp-bridge-socket='], ['--mcp-bridge-socket']])
        expect(await run([command, ...socket])).toEqual({
          code: 2,
          stdout: '',
          stderr: `mcp-bridge: --mcp-bridge-socket needs a value. Give it one, or leave it out. See: mcp-bridge ${command} --help\n`,
        });
      expect(JSON.parse((await run(['status', '--json'])).stdout)).toMatchObject({ pid });
    },
  );

  test('if two sockets are given, the command does not guess; a repeated flag is accepted', async () => {
    const two = ['--mcp-bridge-socket', '/nowhere', '--mcp-bridge-socket', path];
    expect(await run(['stop', ...two])).toMatchObject({
      code: 2,
      stderr: 'mcp-bridge: --mcp-bridge-socket has several values. Give it one. See: mcp-bridge stop --help\n',
    });
    expect(JSON.parse((await run(['stop', '--json', '--json'])).stdout)).toMatchObject({ stopped: false });
  });

  test('empty lists say that there is nothing, and what to do', async () => {
    const config = join(dir, 'empty.json');
    writeFileSync(config, JSON.stringify({ discovery: { enabled: false } }));
    await run(['start', '--config', config]);
    expect((await run(['clients'])).stdout).toBe(
      'No client is connected. To put the bridge into one: mcp-bridge install\n',
    );
    expect(JSON.parse((await run(['clients', '--json'])).stdout)).toEqual([]);
    const none = /\nNo server is known\. What was found, and why it is not used: mcp-bridge discover --all\n$/;
    expect((await run(['status'])).stdout).toMatch(none);
    for (const command of ['servers', 'tools', 'refresh'])
      expect((await run([command])).stdout).toMatch(/^The bridge has no server here\. .* mcp-bridge discover --all\n$/);
  });

  test('where no daemon runs, status says how to start one and stop has nothing to do', async () => {
    for (const command of ['status', 'clients']) {
      expect(await run([command])).toEqual({
        code: 1,
        stdout: '',
        stderr: `mcp-bridge: No mcp-bridge runs at ${path}. Start it with: mcp-bridge start\n`,
      });
    }
    expect(await run(['stop'])).toMatchObject({ code: 0, stdout: `No mcp-bridge runs at ${path}\n` });
  });

  test('a config that breaks while a daemon runs does not prevent asking or stopping it', async () => {
    const config = join(dir, 'mcp-bridge.config.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { fixture: fixtureServer(), bad: {} } }));
    await run(['start']);
    expect((await run(['status'])).stdout).toMatch(
      /config: .*mcp-bridge\.config\.json\n[\s\S]*! .*mcp-bridge\.config\.json: mcpServers\.bad needs a command/,
    );
    writeFileSync(config, '{ "mcpServers": {');
    expect((await run(['status'])).code).toBe(0);
    expect(await run(['start'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('runs already'),
      stderr: expect.stringContaining(':1:18: a closing brace is expected here'),
    });
    expect((await run(['connect', '--server', 'fixture'], INITIALIZE)).stdout).toContain('"serverInfo"');
    expect((await run(['stop'])).code).toBe(0);
    // The next one begins with what the file said when it was last good.
    expect(await run(['start'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(':1:18: a closing brace is expected here'),
    });
    expect((await run(['status'])).stdout).toContain(' is still used.');
    expect((await run(['stop'])).code).toBe(0);
    const withoutPath = await runCommand(['status'], { env: { ...env, MCP_BRIDGE_SOCKET: '' }, cwd: dir });
    expect(withoutPath.stderr).toContain('a closing brace is expected here');
  });

  test('a server that failed to start is remembered with the reason', async () => {
    writeFileSync(
      join(dir, 'mcp-bridge.config.json'),
      JSON.stringify({ mcpServers: { gone: { command: '/no/such', cwd: 'nowhere' } } }),
    );
    const { stdout } = await run(['connect', '--server', 'gone'], INITIALIZE);
    expect(stdout).toContain(`its directory does not exist: ${join(dir, 'nowhere')}`);
    expect((await run(['status'])).stdout).toMatch(
      /gone +failed[\s\S]*\n! Server gone could not be started: its directory does not exist: \/.*\n$/,
    );
  });

  test('start in a command substitution does not hold the shell', async () => {
    const shell = spawn('/bin/sh', ['-c', `out=$("${process.execPath}" "${PROGRAM}" start); echo "got: $out"`], {
      env: { ...process.env, ...env },
      cwd: dir,
    });
    let output = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await new Promise((resolve) => shell.once('close', resolve));
    expect(output).toContain('got: mcp-bridge runs at');
  });

  test('a start that fails says why', async () => {
    writeFileSync(join(dir, 'broken.json'), '{ "mcpServers": {,} }');
    const { code, stderr } = await run(['start', '--config', join(dir, 'broken.json')]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${join(dir, 'broken.json')}:1:18: a value is expected here`);
  });
});

describe('serve', () => {
  test('SIGTERM lets open requests be answered, then exits with 0', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
    const client = await daemon.client();
    for (let id = 0; id < 20; id++) {
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'slow', arguments: { ms: 300 } } });
    }
    await daemon.until(({ instances }) => instances[0]?.calls === 20);
    daemon.kill('SIGTERM');
    for (let id = 0; id < 20; id++) expect(textOf(await client.answerTo(id))).toBe('done');
    await client.untilClosed();
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    await daemon.stop();
  });

  test('a request that is unanswered after the drain time gets an error', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() }, limits: { drainTimeoutMs: 50 } });
    const client = await daemon.client();
    client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
    await daemon.until(({ instances }) => instances[0]?.calls === 1);
    daemon.kill('SIGINT');
    expect((await client.answerTo(1)).error).toMatchObject({ code: -32603, data: { code: 'SHUTTING_DOWN' } });
    expect((await daemon.exited).code).toBe(0);
    await daemon.stop();
  });

  test('one bad server in the config is said and left out; the others are served', async () => {
    const config = { mcpServers: { bad: { command: 7 }, good: fixtureServer() } };
    const daemon = await TestDaemon.start(config, { isFaulty: true });
    await daemon.untilLogged('mcpServers.bad.command must be a string');
    expect((await daemon.status()).instances.map(({ server }) => server)).toEqual(['good']);
    await daemon.stop();
  });

  test('logs JSON lines to a file if asked to, and nothing to stdout', async () => {
    const file = join(dir, 'log');
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } }, { args: ['--log-file', file] });
    await daemon.client();
    await daemon.stop();
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toContainEqual(
      expect.objectContaining({ time: expect.any(String), level: 'info', message: 'server ready', server: 'fixture' }),
    );
  });
});

describe('connect', () => {
  test('starts the daemon if none runs, answers all that was asked, and ends with its input', async () => {
    const { code, stdout } = await run(
      ['connect'],
      `${INITIALIZE}{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}\n`,
    );
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: number }).id),
    ).toEqual([1, 2]);
    expect((await run(['status'])).code).toBe(0);
  });

  test('with --no-autostart it waits for the daemon that somebody else starts', async () => {
    const shim = spawn(process.execPath, [PROGRAM, 'connect', '--no-autostart'], {
      env: { ...process.env, ...env },
      cwd: dir,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const waits = new Promise<void>((resolve) => {
      shim.stderr.setEncoding('utf8').on('data', (text: string) => {
        if (text === `mcp-bridge: no mcp-bridge runs at ${path}; waiting for one\n`) resolve();
      });
    });
    const client = new RawClient(shim.stdout, shim.stdin);
    const answered = client.initialize();
    await waits;
    await run(['start']);
    expect(await answered).toMatchObject({ result: { serverInfo: {} } });
    shim.stdin.end();
    expect(await new Promise((resolve) => shim.once('exit', resolve))).toBe(0);
  });

  test('its wait ends when its client goes', async () => {
    const shim = spawn(process.execPath, [PROGRAM, 'connect', '--no-autostart'], {
      env: { ...process.env, ...env },
      cwd: dir,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    shim.stdout.destroy();
    shim.stdin.end();
    expect(await new Promise((resolve) => shim.once('exit', resolve))).toBe(1);
  });

  test('with --no-autostart and no daemon it answers initialize with an error and ends with 1', async () => {
    writeFileSync(join(dir, 'few.json'), JSON.stringify({ mcpBridge: { reconnect: { maxAttempts: 2 } } }));
    const args = ['connect', '--no-autostart', '--config', join(dir, 'few.json')];
    const { code, stdout, stderr } = await run(args, INITIALIZE);
    expect(code).toBe(1);
    expect(stderr).toContain('Start it with: mcp-bridge start');
    expect(JSON.parse(stdout)).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, data: { code: 'DAEMON_NOT_RUNNING' } },
    });
  });

  test('passes on the server, the client id, and the working directory', async () => {
    writeFileSync(
      join(dir, 'mcp-bridge.config.json'),
      JSON.stringify({ mcpServers: { one: fixtureServer(), two: fixtureServer() } }),
    );
    await run(['start']);
    const shim = spawn(process.execPath, [PROGRAM, 'connect', '--server', 'two', '--mcp-client-id', 'editor'], {
      env: { ...process.env, ...env },
      cwd: dir,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const client = new RawClient(shim.stdout, shim.stdin);
    await client.initialize();
    expect(JSON.parse((await run(['clients', '--json'])).stdout)).toMatchObject([
      { clientId: 'editor', view: 'server:two', uid: process.getuid?.(), pid: shim.pid },
    ]);
    client.end();
    await client.untilClosed();
    expect(await run(['connect', '--server', 'two', '--view', 'x'])).toMatchObject({ code: 2 });
  });

  test('ends with 1 when the daemon is killed, if it is not to come back, and says so', async () => {
    const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
    writeFileSync(join(dir, 'once.json'), JSON.stringify({ mcpBridge: { reconnect: { enabled: false } } }));
    const args = ['connect', '--mcp-bridge-socket', daemon.path, '--config', join(dir, 'once.json')];
    const shim = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    shim.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const client = new RawClient(shim.stdout, shim.stdin);
    await client.initialize();
    daemon.kill('SIGKILL');
    client.send({ jsonrpc: '2.0', id: 9, method: 'ping' });
    expect(await new Promise((resolve) => shim.once('close', resolve))).toBe(1);
    expect(said).toMatch(
      /The connection to the bridge at \S+ was lost \(.+\), and reconnect\.enabled is false\. Connect again/,
    );
    await daemon.stop();
  });

  test('twelve at once with no daemon get one daemon, and all are answered', async () => {
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => run(['connect'], INITIALIZE)));
    expect(outcomes.map(({ code }) => code)).toEqual(Array(12).fill(0));
    for (const { stdout } of outcomes) expect(stdout).toContain('"serverInfo"');
    const { instances } = JSON.parse((await run(['status', '--json'])).stdout) as {
      instances: { restarts: number; pid: number }[];
    };
    expect(instances).toMatchObject([{ restarts: 0 }]);
  });
});

test('clients says of each which process it is, where it works, and which servers it uses', async () => {
  await run(['start']);
  const client = await RawClient.connect(path);
  await client.request(0, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    processId: 4711,
    clientInfo: { name: 'raw', version: '1' },
    _meta: { 'mcp-bridge/clientId': 'me', 'mcp-bridge/view': 'all', 'mcp-bridge/cwd': `${dir}/work` },
  });
  client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const before = (await run(['clients'])).stdout;
  expect(before).toMatch(/^CLIENT +PROGRAM +VIEW +STATE +CALLS +PID +MCP +SINCE +SERVERS +DIRECTORY\n/);
  expect(before).toMatch(/^me +raw 1 +all +ready +0 +4711 +2025-06-18 +\d+ s +- +~\/work$/m);
  await client.callTool(1, 'example__add', { a: 1, b: 2 });
  expect((await run(['clients'])).stdout).toMatch(
    /^me +raw 1 +all +ready +0 +4711 +2025-06-18 +\d+ s +example +~\/work$/m,
  );
  client.destroy();
});

describe('options before the command', () => {
  test('connect takes them in either place', async () => {
    const at = join(dir, 'elsewhere.sock');
    for (const args of [
      [`--mcp-bridge-socket=${at}`, 'connect'],
      ['--mcp-bridge-socket', at, '--server', 'example', 'connect'],
    ]) {
      const { code, stdout } = await run(args, INITIALIZE);
      expect([code, stdout]).toEqual([0, expect.stringContaining('"serverInfo"')]);
    }
    expect((await run(['--mcp-bridge-socket', at, 'stop'])).stdout).toContain(`mcp-bridge at ${at} has stopped`);
    expect(existsSync(path)).toBe(false);
  });

  test('and so does every other command', async () => {
    for (const [before, after] of [
      [
        ['--json', 'status'],
        ['status', '--json'],
      ],
      [
        ['-n', '3', '--json', 'logs'],
        ['logs', '-n', '3', '--json'],
      ],
      [
        ['--json', 'config', 'path'],
        ['config', 'path', '--json'],
      ],
      [
        ['--log-level', 'loud', 'serve'],
        ['serve', '--log-level', 'loud'],
      ],
      [
        ['--help', 'call'],
        ['call', '--help'],
      ],
      [
        ['--version', 'connect'],
        ['connect', '--version'],
      ],
    ] as const)
      expect(await run([...before]), before.join(' ')).toEqual(await run([...after]));
  });
});

test('a command line that is none is wrong usage: one line, and 2', async () => {
  expect(await run(['stauts'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'mcp-bridge: There is no command stauts. Did you mean status? See: mcp-bridge --help\n',
  });
});

test('wrong guesses of a command lead to help', async () => {
  const { code, stdout } = await run(['--help']);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^mcp-bridge COMMAND/)]);
  for (const args of [[], ['-h'], ['help']]) expect((await run(args)).stdout).toBe(stdout);
  expect((await run(['connect', '--help'])).stdout).toBe((await run(['help', 'connect'])).stdout);
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('the example server goes with its daemon', async () => {
  await run(['start']);
  const client = await RawClient.connect(path);
  await client.initialize({ 'mcp-bridge/view': 'server:example' });
  const pid = Number(/\d+/.exec(textOf(await client.callTool(1, 'visitors')))?.[0]);
  await run(['stop']);
  await untilGone(pid);
  client.destroy();
});

test('no arguments, help and -v show help or the version', async () => {
  const { stdout } = await run(['--help']);
  for (const args of [[], ['help']]) expect(await run(args)).toEqual({ code: 0, stdout, stderr: '' });
  expect((await run(['attach', '--help'])).stdout).toMatch(/^mcp-bridge attach NAME -- COMMAND…$/m);
  expect((await run(['help', 'call'])).stdout).toBe((await run(['call', '--help'])).stdout);
  expect((await run(['-v'])).stdout).toBe((await run(['--version'])).stdout);
});

test('messages about wrong words are in English, whatever the user’s language', async () => {
  const { stderr } = await runProgram(['call'], { env: { ...env, LC_ALL: 'de_DE.UTF-8' }, cwd: dir });
  expect(stderr).toContain('Name a server and one of its tools');
});
