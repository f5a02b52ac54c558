// Servers that connect to a real daemon by themselves: processes that know no more than its protocol.

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type Message, RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, ROOT, TestDaemon } from '../support/test-daemon.ts';

const DIAL_IN = join(ROOT, 'test/fixtures/servers/dial-in-server.mjs');
const IDE = { dialIn: { ide: { description: 'An editor' } }, client: { view: 'all' } };
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Dialled {
  readonly child: ChildProcess;
  /** What the bridge has said to it. */
  readonly said: Message['result'] & { readonly code?: number; readonly message?: string; readonly data?: object };
}

/** A process that dials in; resolves when the bridge has answered it. */
async function dialIn(daemon: TestDaemon, name: string): Promise<Dialled> {
  const child = spawn(process.execPath, [DIAL_IN, daemon.path, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const line = await new Promise<string>((resolve) => child.stdout.setEncoding('utf8').once('data', resolve));
  return { child, said: JSON.parse(line) as Dialled['said'] };
}

async function toolNames(client: RawClient, id: unknown): Promise<string[]> {
  const { result } = await client.request(id, 'tools/list');
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
}

async function untilTold(client: RawClient, method: string): Promise<void> {
  while ((await client.next()).method !== method);
}

describe('a server that dials in', () => {
  test('appears in the views of all clients, is called, and goes', async () => {
    const daemon = await TestDaemon.start({ ...IDE, mcpServers: { fixture: fixtureServer() } });
    const all = await daemon.client();
    expect(await toolNames(all, 1)).not.toContain('ide__echo');
    const { child, said } = await dialIn(daemon, 'ide');
    expect(said).toMatchObject({ 'mcp-bridge/serverName': 'ide', 'mcp-bridge/serverState': 'offered' });
    await untilTold(all, 'notifications/tools/list_changed');
    expect(await toolNames(all, 2)).toEqual(expect.arrayContaining(['ide__echo', 'ide__pid']));
    expect(textOf(await all.callTool(3, 'ide__echo', { text: 'from all' }))).toBe('from all');

    const one = await daemon.client({ 'mcp-bridge/view': 'server:ide' });
    expect(textOf(await one.callTool(1, 'pid'))).toBe(`${child.pid}`);
    const discover = await daemon.client({ 'mcp-bridge/view': 'discover' });
    const args = { server: 'ide', tool: 'echo', arguments: { text: 'found' } };
    expect(textOf(await discover.callTool(1, 'execute_tool', args))).toBe('found');
    const { instances, counters } = await daemon.status();
    expect(instances.filter(({ server }) => server === 'ide')).toMatchObject([{ state: 'ready', calls: 3 }]);
    expect(counters).toMatchObject({ serversDialledIn: 1 });

    child.kill('SIGTERM');
    await untilTold(all, 'notifications/tools/list_changed');
    expect(await toolNames(all, 4)).not.toContain('ide__echo');
    expect((await all.callTool(5, 'ide__echo')).error).toMatchObject({ data: { code: 'TOOL_NOT_FOUND' } });
    expect((await one.callTool(2, 'pid')).error).toMatchObject({ data: { code: 'SERVER_NOT_FOUND' } });

    // Under the same name it is the same server, also for those who see nothing else.
    const again = await dialIn(daemon, 'ide');
    expect(textOf(await one.callTool(3, 'pid'))).toBe(`${again.child.pid}`);
    expect(textOf(await all.callTool(6, 'ide__echo', { text: 'again' }))).toBe('again');
    for (const client of [all, one, discover]) client.destroy();
    await daemon.stop();
  });

  test('gets an error when it asks while no instance uses it, even for a second registration', async () => {
    const daemon = await TestDaemon.start({ mcpServers: {} });
    const server = await RawClient.connect(daemon.path);
    const params = { capabilities: {}, _meta: { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' } };
    expect((await server.request(1, 'initialize', params)).error).toBeUndefined();
    server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const again = await server.request('again', 'initialize', params);
    expect(again.error).toMatchObject({
      code: -32600,
      message: 'This connection is registered as a server already',
      data: { code: 'REQUEST_REFUSED', hint: expect.stringContaining('open another one') },
    });
    const asked = await server.request('asked', 'tools/list');
    expect(asked.error).toMatchObject({ code: -32600, message: expect.stringContaining('belongs to a server') });
    expect((await server.request(2, 'ping')).result).toEqual({});
    expect((await daemon.status()).dialledIn).toMatchObject([{ name: 'ide', state: 'waiting' }]);
    server.destroy();
    await daemon.stop();
  });

  test('that is killed during calls of 50 clients fails each call once, and nothing else', async () => {
    const daemon = await TestDaemon.start({ ...IDE, mcpServers: { fixture: fixtureServer() } });
    const { child } = await dialIn(daemon, 'ide');
    const clients = await Promise.all(Array.from({ length: 50 }, () => daemon.client()));
    const echoed = await Promise.all(clients.map((client, n) => client.callTool('e', 'ide__echo', { text: `${n}` })));
    expect(echoed.map(textOf)).toEqual(clients.map((_, n) => `${n}`));
    const hanging = clients.map((client) => client.callTool('h', 'ide__hang'));
    await daemon.until(({ instances }) => instances.some(({ server, calls }) => server === 'ide' && calls >= 100));
    child.kill('SIGKILL');
    for (const answer of await Promise.all(hanging)) {
      expect(answer.error).toMatchObject({ code: -32603, data: { code: 'SERVER_CRASHED', server: 'ide' } });
      expect(answer.error?.message).toBe('Server ide has hung up during the call; its outcome is unknown');
    }
    const others = await Promise.all(clients.map((client) => client.callTool('f', 'fixture__echo', { text: 'x' })));
    expect(others.map(textOf)).toEqual(clients.map(() => 'x'));
    for (const client of clients) expect(client.lines.filter((line) => line.includes('"id":"h"'))).toHaveLength(1);
    for (const client of clients) client.destroy();
    await daemon.stop();
  });

  test('asks the client of the call', async () => {
    const daemon = await TestDaemon.start(IDE);
    await dialIn(daemon, 'ide');
    const client = await daemon.connect();
    await client.initialize({ 'mcp-bridge/view': 'server:ide' }, 'init', { sampling: {} });
    client.answerQuestions(({ method }) =>
      method === 'sampling/createMessage' ? { result: { content: { type: 'text', text: 'sampled' } } } : undefined,
    );
    expect(textOf(await client.callTool(1, 'ask'))).toBe('sampled');
    client.destroy();
    await daemon.stop();
  });

  test('is invisible until it is approved, and again after it is rejected', async () => {
    const home = process.env.HOME as string;
    const daemon = await TestDaemon.start(
      { mcpServers: { fixture: fixtureServer() }, client: { view: 'all' } },
      { env: { HOME: home, XDG_CONFIG_HOME: undefined } },
    );
    const run = (...args: string[]) => runCommand([...args, '--mcp-bridge-socket', daemon.path]);
    const client = await daemon.client();
    const { said } = await dialIn(daemon, 'notes');
    expect(said).toMatchObject({ 'mcp-bridge/serverState': 'waiting' });
    expect(await toolNames(client, 1)).not.toContain('notes__echo');
    expect(
      (await daemon.client({ 'mcp-bridge/view': 'discover' }).then((one) => one.callTool(1, 'list_mcp_servers')))
        .result,
    ).not.toMatchObject({ content: [{ text: expect.stringContaining('notes') as string }] });
    for (const command of ['status', 'servers', 'approve'])
      expect((await run(command)).stdout).toContain(
        'notes (dial-in-fixture 1) has connected as a server, and waits for: mcp-bridge approve notes',
      );
    expect(await run('approve', 'notes')).toMatchObject({ code: 1 }); // nobody is there to ask
    expect(await run('reload')).toMatchObject({ code: 0 });
    expect(await toolNames(client, 'waiting')).not.toContain('notes__echo');
    expect(await run('approve', 'notes', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Approved: notes') as string,
    });
    await untilTold(client, 'notifications/tools/list_changed');
    expect(await toolNames(client, 'approved')).toContain('notes__echo');
    expect(textOf(await client.callTool(2, 'notes__echo', { text: 'approved' }))).toBe('approved');
    expect(await run('approve', 'notes')).toMatchObject({ code: 0, stdout: 'notes is offered already.\n' });

    expect(await run('reject', 'notes')).toMatchObject({ code: 0 });
    await untilTold(client, 'notifications/tools/list_changed');
    expect(await toolNames(client, 3)).not.toContain('notes__echo');
    await daemon.until((status) => (status as unknown as { dialledIn: unknown[] }).dialledIn.length === 0);
    expect((await dialIn(daemon, 'notes')).said).toMatchObject({ 'mcp-bridge/serverState': 'rejected' });
    client.destroy();
    await daemon.stop();
  });

  test('stands under the rules for tools and the policy of the config', async () => {
    const rules = [{ pattern: ['ide:hang'], enabled: false }];
    const daemon = await TestDaemon.start({
      client: { view: 'all' },
      dialIn: { ide: {}, forbidden: {} },
      discovery: { toolRules: rules },
      policy: { deniedMcpServers: [{ serverName: 'forbidden' }] },
    });
    expect((await dialIn(daemon, 'forbidden')).said).toMatchObject({ 'mcp-bridge/serverState': 'blocked' });
    expect((await dialIn(daemon, 'ide')).said).toMatchObject({ 'mcp-bridge/serverState': 'offered' });
    const client = await daemon.client();
    expect((await toolNames(client, 1)).sort()).toEqual(['ide__ask', 'ide__echo', 'ide__pid']);
    expect((await client.callTool(2, 'ide__hang')).error?.data).toMatchObject({ code: 'TOOL_DISABLED' });
    client.destroy();
    await daemon.stop();
  });

  test.each([
    ['fixture', 'A server fixture is defined already'],
    ['ide', 'A server ide is connected already'],
    ['a name', 'is the server'],
    ['x'.repeat(65), 'is the server'],
  ])('cannot be called %s', async (name, problem) => {
    const daemon = await TestDaemon.start({ ...IDE, mcpServers: { fixture: fixtureServer() } });
    await dialIn(daemon, 'ide');
    const { said } = await dialIn(daemon, name);
    expect(said.message).toContain(problem);
    const client = await daemon.client();
    expect(textOf(await client.callTool(1, 'ide__echo', { text: 'still' }))).toBe('still');
    client.destroy();
    await daemon.stop();
  });

  test('that registers twice on one connection, or asks the bridge something, gets an error', async () => {
    const daemon = await TestDaemon.start(IDE);
    const server = await daemon.connect();
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'ide', version: '1' },
      _meta: { 'mcp-bridge/role': 'server' },
    };
    const lines = [1, 2, 3].map((id) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: id === 3 ? 'tools/list' : 'initialize',
        params: id === 3 ? {} : hello,
      }),
    );
    await server.write(Buffer.from(`${lines.join('\n')}\n`));
    const answers = [await server.next(), await server.next(), await server.next()];
    expect(answers.find(({ id }) => id === 1)?.result?._meta).toMatchObject({ 'mcp-bridge/serverName': 'ide' });
    const errorTo = (id: number) => answers.find((answer) => answer.id === id)?.error;
    expect(errorTo(2)).toMatchObject({ code: -32600, message: 'This connection is registered as a server already' });
    expect(errorTo(3)).toMatchObject({ code: -32600, message: expect.stringContaining('is asked from here on') });
    server.destroy();
    await daemon.stop();
  });

  test('needs its own connection: a client’s connection stays a client’s', async () => {
    const daemon = await TestDaemon.start(IDE);
    const client = await daemon.client();
    const params = { capabilities: {}, _meta: { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' } };
    expect((await client.request(1, 'initialize', params)).error).toMatchObject({
      code: -32600,
      message: 'This connection is initialized already, as that of a client',
      data: { hint: 'Another client, or a server, needs a connection of its own.' },
    });
    expect((await daemon.status()).dialledIn).toEqual([]);
    client.destroy();
    await daemon.stop();
  });

  test('that never answers initialize fails its callers, and blocks nobody else', async () => {
    const daemon = await TestDaemon.start({
      ...IDE,
      mcpServers: { fixture: fixtureServer() },
      limits: { startTimeoutMs: 200 },
    });
    const server = await daemon.connect();
    await server.initialize({ 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' });
    const client = await daemon.client({ 'mcp-bridge/view': 'discover' });
    const args = { server: 'ide', tool: 'echo', arguments: {} };
    expect((await client.callTool(1, 'execute_tool', args)).error?.message).toContain('did not answer initialize');
    await server.untilClosed();
    client.destroy();
    await daemon.stop();
  });
});
