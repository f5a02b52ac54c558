// `mcp-bridge events` and `bridge/watch`, on a real daemon: what happens is shown as it happens, and no watcher holds anybody up.

import { rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { ControlClient, type DaemonEvent, type EventBatch } from '../../src/client/control-client.ts';
import { runCommand } from '../support/command.ts';
import { program } from '../support/lasting-command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const CONFIG = { mcpServers: { fixture: fixtureServer() } };

const UNSEEN = ['\u001b', '\u202e'];

/** A watch of a daemon, and what has come so far. */
async function watched(daemon: TestDaemon, params: object = {}) {
  const client = await ControlClient.open(daemon.path, '0');
  const batches: EventBatch[] = [];
  let look = (): void => undefined;
  client.onEvents = (batch) => {
    batches.push(batch);
    look();
  };
  const report = await client.call('bridge/watch', params);
  const until = async (isEnough: (events: readonly DaemonEvent[]) => boolean): Promise<readonly DaemonEvent[]> => {
    for (;;) {
      const events = batches.flatMap((batch) => batch.events);
      if (isEnough(events)) return events;
      await new Promise<void>((resolve) => {
        look = resolve;
      });
    }
  };
  return { client, report, batches, until };
}

test('events report a client, its server and its call as they happen, without contents', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const watch = await watched(daemon);
  const client = await daemon.client({ 'mcp-bridge/clientId': 'me' });
  await client.callTool(1, 'echo', { text: 'quite-secret' });
  const events = await watch.until((all) => all.some(({ kind }) => kind === 'call.ended'));
  const kinds = events.map(({ kind }) => kind);
  for (const kind of [
    'client.ready',
    'instance.starting',
    'instance.ready',
    'call.begun',
    'call.sent',
    'call.answered',
  ])
    expect(kinds).toContain(kind);
  expect(events.find(({ kind }) => kind === 'call.ended')).toMatchObject({
    ...{ client: 'me', server: 'fixture', tool: 'echo', outcome: 'ok', request: '1', role: 'call' },
    requestBytes: expect.any(Number),
    answerBytes: expect.any(Number),
  });
  expect(JSON.stringify(watch.batches)).not.toContain('quite-secret');
  client.destroy();
  await watch.until((all) => all.some(({ kind }) => kind === 'client.left'));
  watch.client.close();
  await daemon.stop();
});

test('a watcher that reads nothing, and one that is killed, cost the calls of others nothing', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const deaf = createConnection(daemon.path);
  const say = (message: object): boolean => deaf.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'deaf', version: '1' };
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo,
    _meta: { 'mcp-bridge/role': 'control' },
  };
  say({ id: 0, method: 'initialize', params });
  for (let id = 1; id <= 8; id++) say({ id, method: 'bridge/watch', params: { callsPerSecond: 5000 } });
  await new Promise((resolve) => deaf.once('data', resolve));
  deaf.pause();
  const killed = await watched(daemon);
  const client = await daemon.client();
  for (let id = 1; id <= 1000; id++) {
    await client.callTool(id, 'echo', { text: 'x' });
    if (id === 500) killed.client.close();
  }
  const status = await daemon.status();
  expect(status.counters).toMatchObject({ internalErrors: 0, clientsCutOff: 0 });
  deaf.destroy();
  client.destroy();
  await daemon.stop();
  expect(daemon.log).not.toMatch(/"level":"(?:warn|error)"/);
});

test('the command prints past events, and with --follow new ones, also of the next daemon', async () => {
  const dir = tempDir();
  const daemon = await TestDaemon.start(CONFIG, { dir });
  const at = ['--mcp-bridge-socket', daemon.path];
  const followed = program('events', '--follow', ...at);
  const json = program('events', '-f', '--json', '--kind', 'call', '--client', 'me', ...at);
  // Both watch by the time that a call is made: until then, clients come and go.
  const probe = async (shown: RegExp, on: typeof followed, id: string): Promise<string> => {
    let n = 0;
    const client = await daemon.client({ 'mcp-bridge/clientId': id });
    const calls = setInterval(() => client.send({ jsonrpc: '2.0', id: ++n, method: 'ping/pong' }), 20);
    const text = await on.until(shown);
    clearInterval(calls);
    client.destroy();
    return text;
  };
  await probe(/call\.ended +\S+ you → fixture/, followed, 'you');
  const line = await probe(/\{"kind":"call\.ended".*\}\n/, json, 'me');
  expect(JSON.parse(line)).toMatchObject({ kind: 'call.ended', client: 'me', server: 'fixture', outcome: 'error' });
  expect(json.said()).not.toContain('"client":"you"');
  const { code, stdout } = await runCommand(['events', '--kind', 'instance', ...at]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^[\d:.]+ {2}instance\.starting +fixture #1\n.*instance\.ready/),
  ]);
  const none = await runCommand(['events', '--kind', 'call', ...at]);
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('--follow') });
  daemon.kill('SIGKILL');
  await daemon.exited;
  const next = await TestDaemon.start(CONFIG, { dir });
  const client = await next.client({ 'mcp-bridge/clientId': 'again' });
  await followed.until(/client\.ready +again/);
  client.destroy();
  followed.child.kill('SIGINT');
  expect(await followed.ended).toBe(0);
  json.child.stdout.destroy(); // whoever reads may go: it ends when there is something to write
  const last = await next.client({ 'mcp-bridge/clientId': 'me' });
  let id = 0;
  const calls = setInterval(() => last.send({ jsonrpc: '2.0', id: ++id, method: 'ping/pong' }), 20);
  expect(await json.ended).toBe(0);
  clearInterval(calls);
  last.destroy();
  await next.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('a wrong kind, number or option is told', async () => {
  const wrong = await runCommand(['events', '--kind', 'cal']);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/There is no kind "cal".*call/) });
  for (const args of [
    ['-n', 'x'],
    ['--follow', '--calls', '-1'],
    ['--calls', '5'],
  ])
    expect(await runCommand(['events', ...args])).toMatchObject({ code: 2 });
});

test('names of others cannot write on a terminal', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const client = await daemon.connect();
  const clientInfo = { name: '\u001b[2J\u202eevil', version: '1' };
  await client.request('init', 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  const { stdout } = await runCommand(['events', '--mcp-bridge-socket', daemon.path]);
  expect(stdout).toContain('\\u{1b}[2J\\u{202e}evil');
  for (const unseen of UNSEEN) expect(stdout).not.toContain(unseen);
  const json = await runCommand(['events', '--json', '--mcp-bridge-socket', daemon.path]);
  for (const unseen of UNSEEN) expect(json.stdout).not.toContain(unseen);
  client.destroy();
  await daemon.stop();
});

test('a call is cancelled from outside: its client has one error, its server is told, and others see it end', async () => {
  const daemon = await TestDaemon.start(CONFIG);
  const watch = await watched(daemon, { kinds: ['call'] });
  const client = await daemon.client({ 'mcp-bridge/clientId': 'me' });
  const answered = client.request(1, 'tools/call', { name: 'hold', arguments: {} });
  await watch.until((all) => all.some(({ kind }) => kind === 'call.sent'));
  const { open, openTotal, recordedSince } = await watch.client.call('bridge/calls');
  expect([openTotal, recordedSince !== null]).toEqual([1, true]);
  expect(open).toMatchObject([{ client: 'me', server: 'fixture', tool: 'hold', state: 'sent', role: 'call' }]);
  const call = open[0]?.call ?? '';
  expect(await watch.client.call('bridge/cancel', { call: 'other-1' })).toMatchObject({ cancelled: false });
  expect(await watch.client.call('bridge/cancel', { call })).toEqual({ cancelled: true, reason: null });
  expect(await answered).toMatchObject({ error: { code: -32603, data: { code: 'CALL_STOPPED' } } });
  const events = await watch.until((all) => all.some(({ kind }) => kind === 'call.ended'));
  expect(events.at(-1)).toMatchObject({ call, outcome: 'cancelled', code: 'CALL_STOPPED' });
  const { recent } = await watch.client.call('bridge/calls', { limit: 1 });
  expect(recent).toMatchObject([{ call, outcome: 'cancelled' }]);
  expect(await watch.client.call('bridge/cancel', { call })).toMatchObject({ cancelled: false });
  watch.client.close();
  client.destroy();
  await daemon.stop();
});

test('servers are shown with their instances, tools and questions, and a search with its reasons', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { shared: fixtureServer(), own: { ...fixtureServer(), sharing: 'dedicated' }, unused: fixtureServer() },
  });
  const control = await ControlClient.open(daemon.path, '0');
  const clients = [await daemon.client(), await daemon.client()];
  for (const [i, client] of clients.entries())
    for (const server of ['shared', 'own']) await client.callTool(`${server}${i}`, `${server}__echo`, { text: 'x' });
  const { servers, unknown } = await control.call('bridge/instances');
  expect(unknown).toBeNull();
  expect(servers).toMatchObject([
    { server: 'shared', sharing: 'auto', reason: null, instances: [{ state: 'ready', clientCount: 2, calls: 2 }] },
    { server: 'own', sharing: 'dedicated', reason: expect.stringContaining('each client needs one of its own') },
    { server: 'unused' },
  ]);
  const own = servers[1]?.instances ?? [];
  expect(own.map(({ dedicatedTo }) => dedicatedTo).toSorted()).toEqual(
    own.map(({ clients: [only] }) => only).toSorted(),
  );
  expect(new Set(own.map(({ instance }) => instance)).size).toBe(2);
  const { servers: all } = await control.call('bridge/tools');
  expect(all.map(({ server, isKnown }) => [server, isKnown])).toEqual([
    ['shared', true],
    ['own', true],
    ['unused', false],
  ]);
  expect(all[0]?.tools.find(({ name }) => name === 'echo')).not.toHaveProperty('definition');
  const [whole] = (await control.call('bridge/tools', { server: 'shared' })).servers;
  const echo = whole?.tools.find(({ name }) => name === 'echo');
  expect(echo).toMatchObject({
    refusal: null,
    isChanged: false,
    definition: { name: 'echo', inputSchema: { type: 'object' } },
  });
  expect((await control.call('bridge/tools', { server: 'shard' })).unknown).toMatchObject({ near: ['shared'] });
  const search = await control.call('bridge/search', { query: 'echo zzqqxx', server: 'shared' });
  expect(search.hits[0]).toMatchObject({ server: 'shared', tool: 'echo' });
  expect(search.words).toEqual([
    { word: 'echo', meant: expect.arrayContaining(['echo']), findsAny: true },
    { word: 'zzqqxx', meant: [], findsAny: false },
  ]);
  const weight = expect.any(Number) as number;
  expect(search.hits[0]?.matches).toEqual([{ word: 'echo', matched: 'echo', field: 'name', how: 'exact', weight }]);
  expect((await control.call('bridge/search', { query: '' })).hits).toEqual([]);
  expect((await control.call('bridge/questions')).questions).toEqual([]);
  expect(await control.call('bridge/messages')).toEqual({ recent: [], isKept: false });
  control.close();
  for (const client of clients) client.destroy();
  await daemon.stop();
});
