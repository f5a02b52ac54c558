// The SDK's `Server` on BridgeServerTransport, with real daemons: it is offered, decided about, comes back, and starts one.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, test } from 'vitest';
import type { BridgeServerOptions, BridgeServerTransport as Built } from '../../src/client/server-transport.ts';
import { BridgeServerTransport } from '../../src/client/server-transport.ts';
import { runCommand } from '../support/command.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const IDE = { dialIn: { ide: { description: 'An editor' } }, client: { view: 'all' } };

function anIde(): McpServer {
  const server = new McpServer({ name: 'ide', version: '2' });
  server.registerTool('where', {}, () => ({ content: [{ type: 'text', text: `pid ${process.pid}` }] }));
  return server;
}

/** What its transport was told, and a way to wait for it. */
function told() {
  const states: string[] = [];
  const waiting = new Set<() => void>();
  const onState: BridgeServerOptions['onState'] = (state) => {
    states.push(state);
    for (const look of waiting) look();
  };
  const until = (...wanted: string[]): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (states.length >= wanted.length) resolve();
      };
      waiting.add(look);
      look();
    });
  return { states, onState, until };
}

async function toolNames(client: RawClient, id: unknown): Promise<string[]> {
  const { result } = await client.request(id, 'tools/list');
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
}

describe('BridgeServerTransport', () => {
  test('offers a server of the SDK, also to a daemon that was started again', async () => {
    const daemon = await TestDaemon.start(IDE);
    const states: string[] = [];
    const server = new McpServer({ name: 'ide', version: '2' });
    server.registerTool('where', {}, () => ({ content: [{ type: 'text', text: `pid ${process.pid}` }] }));
    let release: () => void = () => undefined;
    let begun: () => void = () => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    server.registerTool('slow', {}, async () => {
      begun();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { content: [{ type: 'text', text: 'too late' }] };
    });
    const transport = new BridgeServerTransport({
      name: 'ide',
      socketPath: daemon.path,
      autostart: false,
      onState: (state) => void states.push(state),
    });
    await server.connect(transport as unknown as Transport);
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'ide__where'))).toBe(`pid ${process.pid}`);
    client.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ide__slow', arguments: {} } });
    await hasBegun;
    daemon.kill('SIGKILL');
    await daemon.exited;
    const next = await TestDaemon.start(IDE, { dir: daemon.dir });
    await next.until((status) => (status as unknown as { dialledIn: unknown[] }).dialledIn.length === 1);
    release(); // what was asked over the old connection is nobody's
    const other = await next.client();
    expect(textOf(await other.callTool(1, 'ide__where'))).toBe(`pid ${process.pid}`);
    expect(other.lines.join()).not.toContain('too late');
    expect((await next.status()).counters).toMatchObject({ strayResponses: 0 });
    expect(states).toEqual(['offered', 'lost', 'offered']);
    await server.close();
    other.destroy();
    client.destroy();
    await next.stop();
  });

  test('says why it is not accepted, and gives up when the bridge has gone', async () => {
    const daemon = await TestDaemon.start(IDE);
    const make = (name: string) =>
      new BridgeServerTransport({
        name,
        socketPath: daemon.path,
        autostart: false,
        reconnect: { maxAttempts: 3, initialDelayMs: 5 },
      });
    const first = make('ide');
    await first.start();
    await expect(make('ide').start()).rejects.toMatchObject({
      code: 'SERVER_EXISTS',
      message: 'A server ide is connected already (ide)',
      hint: 'Choose another name: the option `name` of BridgeServerTransport. Those that there are: mcp-bridge servers',
    });
    await expect(make('two words').start()).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('"two words" is no server'),
      hint: expect.stringContaining('the option `name`'),
    });
    const errors: Error[] = [];
    first.onerror = (error) => void errors.push(error);
    const closed = new Promise<void>((resolve) => {
      first.onclose = resolve;
    });
    await daemon.stop();
    await closed;
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('by 3 attempts in')]);
  });

  test('is told when it is approved, rejected or blocked while it is connected', async () => {
    const home = process.env.HOME as string;
    const config = { client: { view: 'all' }, mcpServers: {} };
    const daemon = await TestDaemon.start(config, { env: { HOME: home, XDG_CONFIG_HOME: undefined } });
    const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path]);
    const { states, onState, until } = told();
    const server = anIde();
    const transport = new BridgeServerTransport({ name: 'pad', socketPath: daemon.path, autostart: false, onState });
    await server.connect(transport as unknown as Transport);
    expect(states).toEqual(['waiting']);
    expect(await run('reject', 'pad')).toMatchObject({ code: 0 });
    await until('waiting', 'rejected');
    expect(await run('approve', 'pad', '--yes')).toMatchObject({ code: 0 });
    await until('waiting', 'rejected', 'offered');
    expect(states).toEqual(['waiting', 'rejected', 'offered']);
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'pad__where'))).toBe(`pid ${process.pid}`);
    await server.close();
    client.destroy();
    await daemon.stop();
  });

  test('that is in use gets the reason before the bridge hangs up, and is back once it is allowed', async () => {
    const home = process.env.HOME as string;
    const daemon = await TestDaemon.start(IDE, { env: { HOME: home, XDG_CONFIG_HOME: undefined } });
    const { states, onState, until } = told();
    const server = anIde();
    const transport = new BridgeServerTransport({ name: 'ide', socketPath: daemon.path, autostart: false, onState });
    await server.connect(transport as unknown as Transport);
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'ide__where'))).toBe(`pid ${process.pid}`);
    const configFile = join(daemon.dir, 'config.json');
    const reload = () => runCommand(['reload', '--mcp-bridge-socket', daemon.path]);
    writeFileSync(configFile, JSON.stringify({ ...IDE, policy: { deniedMcpServers: [{ serverName: 'ide' }] } }));
    await reload();
    await until('offered', 'blocked', 'lost', 'blocked');
    writeFileSync(configFile, JSON.stringify(IDE));
    await reload();
    await until('offered', 'blocked', 'lost', 'blocked', 'offered');
    expect(states).toEqual(['offered', 'blocked', 'lost', 'blocked', 'offered']);
    expect(await toolNames(client, 2)).toContain('ide__where');
    expect(textOf(await client.callTool(3, 'ide__where'))).toBe(`pid ${process.pid}`);
    await server.close();
    client.destroy();
    await daemon.stop();
  });

  test('can be closed while it connects, and is started once', async () => {
    const daemon = await TestDaemon.start(IDE);
    const make = () => new BridgeServerTransport({ name: 'ide', socketPath: daemon.path, autostart: false });
    const hasty = make();
    const starting = hasty.start();
    await hasty.close();
    await expect(starting).rejects.toMatchObject({ message: 'This transport was closed while it connected' });
    const transport = make();
    await transport.start();
    await expect(transport.start()).rejects.toMatchObject({ code: 'USAGE' });
    expect((await daemon.status()).dialledIn).toMatchObject([{ name: 'ide' }]);
    await transport.close();
    await daemon.stop();
  });
});

describe('a daemon', () => {
  /** The library as it is built, with the command beside it. */
  const library = async () =>
    (await import(join(ROOT, 'dist/client.js'))) as {
      BridgeServerTransport: new (options: BridgeServerOptions) => Built;
    };

  function place() {
    const dir = tempDir();
    const configFile = join(dir, 'config.json');
    const socketPath = join(dir, 'b.sock');
    writeFileSync(configFile, JSON.stringify(IDE));
    const stop = () => runCommand(['stop', '--mcp-bridge-socket', socketPath]);
    return { configFile, socketPath, stop };
  }

  test('is started where none runs, and again when it has died, but not when it was stopped', async () => {
    const { configFile, socketPath, stop } = place();
    const { BridgeServerTransport } = await library();
    const { states, onState, until } = told();
    const reconnect = { maxAttempts: 3, initialDelayMs: 10 };
    const transport = new BridgeServerTransport({ name: 'ide', socketPath, configFile, reconnect, onState });
    const closed = new Promise<string>((resolve) => {
      transport.onerror = (error) => resolve(error.message);
    });
    await anIde().connect(transport as unknown as Transport);
    const statusOf = async () => {
      const { stdout } = await runCommand(['status', '--json', '--mcp-bridge-socket', socketPath]);
      return JSON.parse(stdout) as { pid: number; autostarted: boolean; dialledIn: object[] };
    };
    const first = await statusOf();
    expect(first).toMatchObject({ autostarted: true, dialledIn: [{ name: 'ide', state: 'offered' }] });
    process.kill(first.pid, 'SIGKILL');
    await until('offered', 'lost', 'offered');
    const second = await statusOf();
    expect(second).toMatchObject({ autostarted: true, dialledIn: [{ name: 'ide', state: 'offered' }] });
    expect(second.pid).not.toBe(first.pid);
    await stop();
    expect(await closed).toContain(`No mcp-bridge runs at ${socketPath}`);
    expect(states).toEqual(['offered', 'lost', 'offered', 'lost']);
    expect(await stop()).toMatchObject({ stdout: expect.stringContaining('No mcp-bridge runs') as string });
  });

  test.each([
    ['the option', {}, { autostart: false }],
    ['the config', { mcpBridge: { autoConnect: false } }, {}],
  ])('is not started if %s says so', async (_, config, options) => {
    const { configFile, socketPath } = place();
    writeFileSync(configFile, JSON.stringify({ ...IDE, ...config }));
    const { BridgeServerTransport } = await library();
    const reconnect = { maxAttempts: 2 };
    const transport = new BridgeServerTransport({ name: 'ide', socketPath, configFile, reconnect, ...options });
    await expect(transport.start()).rejects.toMatchObject({ code: 'DAEMON_NOT_RUNNING' });
  });
});
