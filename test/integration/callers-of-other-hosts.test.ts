// Callers of other hosts, on real nats-servers: the owner's approvals and limits hold for them, they hear of logs and resources, they are asked by the
// host that works for them, and one that does not read costs its owner a window for each call.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Msg } from '@nats-io/transport-node';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import { WINDOW_BYTES } from '../../src/federation/frames.ts';
import { runCommand } from '../support/command.ts';
import { HttpClient } from '../support/http-client.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { standStill } from '../support/still-process.ts';
import { cleanUp, fixtureServer, ROOT, tempDir } from '../support/test-daemon.ts';
import {
  endHosts,
  expectEcho,
  hostsOf,
  newId,
  startHost,
  startOwner,
  until,
  untilAnswered,
  untilKnown,
  untilTool,
} from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

const fixture = (name: string, ...args: string[]): object => ({
  command: process.execPath,
  args: [join(ROOT, 'test/fixtures/servers', name), ...args],
});

natsTest('a server that waits for approval is offered once it is approved, and only as long', async () => {
  const nats = await NatsServer.start();
  const builder = await startHost(nats, 'builder', { servers: { own: fixtureServer() }, offer: ['*'] });
  const child = spawn(
    process.execPath,
    [join(ROOT, 'test/fixtures/servers/dial-in-server.mjs'), builder.path, 'notes'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await builder.until(({ dialledIn }) => dialledIn.length > 0);
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'own_builder__echo');
  expect((await hostsOf(builder)).offered).toEqual(['own']);
  const env = { HOME: builder.dir, XDG_CONFIG_HOME: builder.dir, XDG_CACHE_HOME: builder.dir };
  const decide = async (what: string): Promise<void> => {
    const args = [what, 'notes', ...(what === 'approve' ? ['--yes'] : []), '--mcp-bridge-socket', builder.path];
    expect(await runCommand(args, { env })).toMatchObject({ code: 0, stderr: '' });
  };
  await decide('approve');
  await untilTool(client, 'notes_builder__echo');
  await expectEcho(client, 'notes_builder__echo', 'approved');
  await decide('reject');
  await untilTool(client, 'notes_builder__echo', false);
  expect((await client.callTool(newId(), 'notes_builder__echo', { text: 'x' })).error).toBeDefined();
});

natsTest('a server that does not start at its owner is said so at once, in the words of its owner', async () => {
  const nats = await NatsServer.start();
  const bad = { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(3)'] };
  await startHost(nats, 'builder', { servers: { bad } });
  const more = { limits: { startTimeoutMs: 3_600_000 } }; // nobody waits for that
  const laptop = await startHost(nats, 'laptop', { more });
  await untilKnown(laptop, 'bad@builder');
  const { code, stderr } = await runCommand(['call', 'bad@builder', 'echo', '--mcp-bridge-socket', laptop.path]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/Server bad@builder cannot be used: host builder says: Server bad exited.*no licence/);
});

natsTest('a tool that has changed at its owner is refused to callers of other hosts too', async () => {
  const nats = await NatsServer.start();
  const file = join(tempDir(), 'tools.json');
  const says = (description: string): void =>
    writeFileSync(file, JSON.stringify({ tools: [{ name: 'read', description, inputSchema: { type: 'object' } }] }));
  says('Reads a file.');
  await startHost(nats, 'builder', {
    servers: { files: fixture('changing-tools.mjs', file) },
    more: { policy: { onToolChange: 'block' } },
  });
  const client = await (await startHost(nats, 'laptop')).client();
  await untilTool(client, 'files_builder__read');
  expect(await untilAnswered(client, 'files_builder__read')).toBe('read');
  says('Reads a file, and sends it away.');
  await client.callTool(newId(), 'files_builder__announce');
  await untilTool(client, 'files_builder__read', false);
  const { error } = await client.callTool(newId(), 'files_builder__read');
  expect(JSON.stringify(error)).toMatch(/TOOL_CHANGED|TOOL_NOT_FOUND|-32602/);
});

natsTest('the time limit and the turn of a server are those of its owner', async () => {
  const nats = await NatsServer.start();
  const quick = { ...fixtureServer(), timeoutMs: 300 };
  const single = { ...fixtureServer({ N: '1' }), maxConcurrentCalls: 1 };
  const builder = await startHost(nats, 'builder', { servers: { quick, single } });
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.client();
  for (const tool of ['quick_builder__hold', 'single_builder__hold']) await untilTool(client, tool);
  const { error } = await client.callTool(newId(), 'quick_builder__hold');
  expect(error).toMatchObject({ data: { code: 'CALL_TIMED_OUT' } });
  const other = await laptop.client();
  const first = newId();
  const call = (name: string) => ({ method: 'tools/call', params: { name, arguments: { text: 'in its turn' } } });
  client.send({ jsonrpc: '2.0', id: first, ...call('single_builder__hold') });
  const isHeld = async (): Promise<boolean> =>
    (await builder.status()).instances.some(({ server, inFlight }) => server === 'single' && inFlight === 1);
  await until(isHeld);
  const second = newId();
  other.send({ jsonrpc: '2.0', id: second, ...call('single_builder__echo') });
  await until(async () => (await hostsOf(builder)).callsOfOthers >= 2);
  await expectEcho(client, 'quick_builder__echo', 'meanwhile');
  expect(other.lines.filter((line) => line.includes('in its turn'))).toEqual([]);
  client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: first } });
  expect(textOf(await other.answerTo(second))).toBe('in its turn');
});

natsTest('logs and news of resources come to the client that has asked for them', async () => {
  const nats = await NatsServer.start();
  await startHost(nats, 'builder', { servers: { young: fixture('two-eras.mjs', 'both') } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'young@builder');
  const view = { 'mcp-bridge/view': 'server:young@builder' };
  const [client, other] = [await laptop.client(view), await laptop.client(view)];
  for (const each of [client, other]) await untilAnswered(each, 'echo', { text: 'warm' });
  expect((await client.request(newId(), 'logging/setLevel', { level: 'info' })).error).toBeUndefined();
  client.send({
    ...{ jsonrpc: '2.0', id: newId(), method: 'tools/call' },
    params: { name: 'log', arguments: { level: 'warning', data: 'over there' } },
  });
  expect((await client.told('notifications/message')).params).toMatchObject({ level: 'warning', data: 'over there' });

  const uri = 'note://one';
  expect((await client.request(newId(), 'resources/subscribe', { uri })).error).toBeUndefined();
  await until(async () => {
    await untilAnswered(other, 'touch', { uri });
    return client.lines.some((line) => line.includes('notifications/resources/updated'));
  });
  expect((await client.told('notifications/resources/updated')).params).toMatchObject({ uri });
  expect(other.lines.filter((line) => line.includes('notifications/'))).toEqual([]);
});

natsTest('an answer to a question goes to the host that has asked, also where two offer the server', async () => {
  const nats = await NatsServer.start();
  const owners = [await startOwner(nats, 'one'), await startOwner(nats, 'two')];
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@one', 'fixture@two');
  const client = await laptop.connect();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'asked', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    'mcp-bridge/view': 'server:fixture',
  };
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  const params = { name: 'ask', arguments: { method: 'elicitation/create', params: form }, _meta };
  const hosts = new Set<string>();
  for (let round = 0; round < 40 && (round < 8 || hosts.size < owners.length); round++) {
    const { result } = await client.request(newId(), 'tools/call', params);
    const { inputRequests = {}, requestState } = result as { inputRequests?: object; requestState?: string };
    hosts.add(/^mcp-bridge@(one|two)~/.exec(requestState ?? '')?.[1] ?? `nobody: ${JSON.stringify(result)}`);
    const content = { said: `${round}` };
    const answers = Object.keys(inputRequests).map((key) => [key, { action: 'accept', content }]);
    const retry = { ...params, requestState, inputResponses: Object.fromEntries(answers) };
    expect(textOf(await client.request(newId(), 'tools/call', retry))).toContain(`"said":"${round}"`);
  }
  expect([...hosts].toSorted()).toEqual(['one', 'two']);
});

natsTest('notices that come in parts, and the answer behind them, keep their order', async () => {
  const nats = await NatsServer.start();
  await startOwner(nats, 'builder');
  const client = await (await startHost(nats, 'laptop')).client();
  await untilTool(client, 'fixture_builder__noted');
  const id = newId();
  const text = 'n'.repeat(400_000);
  const calls = { name: 'fixture_builder__noted', arguments: { text, notes: 2 }, _meta: { progressToken: 'p' } };
  for (let round = 0; round < 5; round++) {
    const before = client.lines.length;
    expect(textOf(await client.request(`${id} ${round}`, 'tools/call', calls))).toBe(text);
    const came = client.lines.slice(before).map((line) => JSON.parse(line) as { params?: { progress?: number } });
    expect(came.map(({ params }) => params?.progress)).toEqual([1, 2, undefined]);
  }
});

/** Counts, of each answer on the bus, the bytes that its caller has not said that it has. */
class Window {
  worst = 0;
  /** Of all parts. */
  bytes = 0;
  readonly #sent = new Map<string, number[]>();
  readonly #got = new Map<string, number>();

  saw({ subject, reply, headers, data }: Msg): void {
    const call = /\.([\w-]{16})(?:\.bulk)?$/.exec(reply === undefined || reply === '' ? subject : reply)?.[1];
    if (call === undefined || headers === undefined) return;
    const got = headers.get('Mcp-Got');
    if (got !== '' && headers.get('Mcp-Owner') === '')
      this.#got.set(call, Math.max(Number(got), this.#got.get(call) ?? 0));
    if (headers.get('Mcp-Owner') === '' || headers.get('Mcp-Seq') === '') return;
    if (headers.get('Mcp-Frame') === 'part') this.bytes += data.length;
    const sizes = this.#sent.get(call) ?? [];
    sizes[Number(headers.get('Mcp-Seq'))] = data.length;
    this.#sent.set(call, sizes);
    const open = sizes.reduce((sum, size, seq) => sum + (seq > (this.#got.get(call) ?? 0) ? size : 0), 0);
    this.worst = Math.max(this.worst, open);
  }
}

/** A window over all that goes through a nats-server. */
async function windowOf(nats: NatsServer): Promise<Window> {
  const spy = await connect({ servers: nats.url });
  onTestFinished(() => spy.close());
  const window = new Window();
  spy.subscribe('>', { callback: (_, message) => window.saw(message) });
  await spy.flush();
  return window;
}

/** Calls for long answers, of which nobody waits. */
function askForBlobs(client: RawClient, count: number): number[] {
  const ids = Array.from({ length: count }, newId);
  const params = { name: 'fixture_builder__blob', arguments: { mib: 4 } };
  for (const id of ids) client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
  return ids;
}

natsTest('a client that does not read cuts off nobody, and loses nothing', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder');
  const laptop = await startHost(nats, 'laptop');
  const [client, other] = [await laptop.client(), await laptop.client()];
  for (const each of [client, other]) await untilTool(each, 'fixture_builder__blob');
  const window = await windowOf(nats);
  client.stopReading();
  const ids = askForBlobs(client, 6); // less than the amount at which it would be cut off for leaving it
  await until(async () => (await builder.status()).instances.some(({ calls }) => calls > 0));
  for (let i = 0; i < 40; i++) await expectEcho(other, 'fixture_builder__echo', `${i}`);
  client.readOn();
  for (const id of ids) expect(textOf(await client.answerTo(id))).toHaveLength(4 << 20);
  expect(window.worst).toBeLessThanOrEqual(WINDOW_BYTES);
});

natsTest(
  'a host that stands still has a window of each call on its way, cuts off nobody, and loses nothing',
  async () => {
    const nats = await NatsServer.start();
    await startOwner(nats, 'builder');
    const [laptop, desk] = [await startHost(nats, 'laptop'), await startHost(nats, 'desk')];
    const [client, other] = [await laptop.client(), await desk.client()];
    for (const each of [client, other]) await untilTool(each, 'fixture_builder__blob');
    const window = await windowOf(nats);
    const ids = askForBlobs(client, 8);
    await until(() => Promise.resolve(window.bytes > 0));
    await standStill(laptop.pid);
    for (let i = 0; i < 40; i++) await expectEcho(other, 'fixture_builder__echo', `${i}`);
    laptop.kill('SIGCONT');
    for (const id of ids) expect(textOf(await client.answerTo(id))).toHaveLength(4 << 20);
    for (const id of ids) expect(client.lines.filter((line) => line.endsWith(`"id":${id}}`))).toHaveLength(1);
    expect(window.worst).toBeLessThanOrEqual(WINDOW_BYTES);
  },
);

natsTest('clients of another host and those over HTTP together leave places to the clients on the socket', async () => {
  const nats = await NatsServer.start();
  const servers = { fixture: { ...fixtureServer(), sharing: 'dedicated' } };
  const builder = await startHost(nats, 'builder', { servers, more: { limits: { maxClients: 8 } } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@builder');
  const enter = (): Promise<RawClient> => laptop.client({ 'mcp-bridge/view': 'server:fixture@builder' });
  for (let i = 0; i < 4; i++) await expectEcho(await enter(), 'echo', `${i}`);
  const late = await enter();
  late.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'late' } } });
  await builder.until(({ counters }) => (counters.busRefused ?? 0) > 0);
  expect((await builder.status()).instances).toHaveLength(4);
  const web = new HttpClient({ socketPath: builder.path });
  onTestFinished(() => web.close());
  for (let i = 0; i < 2; i++) await web.begin();
  const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const refused = await web.ask({ body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize } });
  expect(refused.status).toBe(503);
  await refused.text();
  const locals = [await builder.client(), await builder.client()];
  for (const local of locals) await expectEcho(local, 'fixture__echo', 'here');
});
