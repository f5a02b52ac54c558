// Daemons of several hosts on a real nats-server: each has a home, a socket and servers of its own.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import { runCommand } from '../support/command.ts';
import { freePort } from '../support/free-port.mjs';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, FIXTURE, fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';
import {
  endHosts,
  expectEcho,
  hosts,
  hostsOf,
  newId,
  startHost,
  startOwner,
  toolNames,
  until,
  untilFault,
  untilTool,
} from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

natsTest('calls a tool of another host, which knows who has asked', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder', { more: { audit: { enabled: true, file: 'audit.jsonl' } } });
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  const answer = await client.callTool(1, 'fixture_builder__echo', { text: 'over there' });
  expect(textOf(answer)).toBe('over there');
  const byName = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(textOf(await byName.callTool(1, 'echo', { text: 'by its name alone' }))).toBe('by its name alone');
  const report = await hostsOf(laptop);
  expect(report).toMatchObject({ faults: [], hosts: [{ host: 'builder', servers: ['fixture'] }] });
  expect(report.hosts[0]?.latencyMs).toBeGreaterThan(0);
  const { stdout } = await runCommand(['hosts', '--mcp-bridge-socket', laptop.path]);
  expect(stdout).toMatch(/^This host +laptop \(user ann, tenant acme\)\nNATS +127.*, version 2\..*\nOffers +nothing\n/);
  expect(stdout).toMatch(/^builder +[\d.]+ ms +\d+ s ago +\d+ +\S+ +fixture$/m);
  await until(() => Promise.resolve(readFileSync(join(builder.dir, 'audit.jsonl'), 'utf8').includes('"tool":"echo"')));
  const line = readFileSync(join(builder.dir, 'audit.jsonl'), 'utf8').split('\n')[0] ?? '';
  expect(JSON.parse(line)).toMatchObject({
    tenant: 'acme',
    user: 'ann',
    host: 'laptop',
    server: 'fixture',
    tool: 'echo',
  });
});

natsTest('a name without its host means whichever host offers it, also behind the meta-tools', async () => {
  const nats = await NatsServer.start();
  const owners = [await startOwner(nats, 'builder'), await startOwner(nats, 'lab')];
  const laptop = await startHost(nats, 'laptop');
  const all = await laptop.client();
  for (const host of ['builder', 'lab']) await untilTool(all, `fixture_${host}__echo`);

  const client = await laptop.client({ 'mcp-bridge/view': 'discover' });
  const echo = { server: 'fixture', tool: 'echo' };
  const say = (text: string): Promise<unknown> =>
    client.callTool(newId(), 'execute_tool', { ...echo, arguments: { text } }).then(textOf);
  expect(await say('of any')).toBe('of any');
  expect(JSON.stringify(await client.callTool(newId(), 'get_tool_details', echo))).toContain('inputSchema');
  expect(JSON.stringify(await client.callTool(newId(), 'list_tools', { server: 'fixture' }))).toContain('echo');
  const { stdout } = await runCommand(['call', 'fixture', 'echo', 'text=asked', '--mcp-bridge-socket', laptop.path]);
  expect(stdout.trim()).toBe('asked');

  // With one host left the name means the server in the lists.
  await owners[1]?.stop();
  await untilTool(all, 'fixture_lab__echo', false);
  expect(await say('of the one')).toBe('of the one');
  await owners[0]?.stop();
  await untilTool(all, 'fixture_builder__echo', false);
  expect(await say('of nobody')).toContain('There is no server');
});

natsTest('carries progress, cancellation, questions and long results', async () => {
  const nats = await NatsServer.start();
  await startOwner(nats, 'builder');
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.connect();
  await client.initialize(undefined, 'init', { elicitation: {} });
  await untilTool(client, 'fixture_builder__echo');

  client.send({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'fixture_builder__noted', arguments: { text: 'step', notes: 3 }, _meta: { progressToken: 'p' } },
  });
  const told = () => client.told('notifications/progress');
  const progress = [await told(), await told(), await told()];
  expect(progress.map(({ params }) => [params?.progressToken, params?.progress])).toEqual([
    ['p', 1],
    ['p', 2],
    ['p', 3],
  ]);
  expect(textOf(await client.answerTo(1))).toBe('step');

  client.answerQuestions(({ params }) => ({ result: { action: 'accept', content: { said: params?.message } } }));
  const asked = {
    method: 'elicitation/create',
    params: { message: 'May I?', requestedSchema: { type: 'object', properties: {} } },
  };
  expect(textOf(await client.callTool(2, 'fixture_builder__ask', asked))).toContain('"said":"May I?"');

  const blob = await client.callTool(3, 'fixture_builder__blob', { mib: 5 });
  expect(textOf(blob)).toHaveLength(5 << 20);

  const text = 'y'.repeat(3 << 20);
  expect(textOf(await client.callTool(4, 'fixture_builder__echo', { text })) === text).toBe(true);

  client.send({
    jsonrpc: '2.0',
    id: 5,
    method: 'tools/call',
    params: { name: 'fixture_builder__hold', arguments: {} },
  });
  client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
  await until(async () => textOf(await client.callTool(newId(), 'fixture_builder__seen')).includes('"cancelled":['));
  await until(async () => !textOf(await client.callTool(newId(), 'fixture_builder__seen')).includes('"cancelled":[]'));
});

natsTest('takes no more of others than its owner offers, and obeys the rules of both sides', async () => {
  const nats = await NatsServer.start();
  await startOwner(nats, 'builder', {
    servers: {
      fixture: fixtureServer(),
      secret: fixtureServer(),
      project: { command: 'node', args: [FIXTURE, `\${workspaceFolder}`] },
    },
    offer: ['fixture', 'project'],
    more: { discovery: { toolRules: [{ pattern: ['crash'], enabled: false }] } },
  });
  const laptop = await startHost(nats, 'laptop');
  const strict = await startHost(nats, 'strict', { federation: { use: ['other@*'] } });
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  const report = await hostsOf(laptop);
  expect(report.hosts.find(({ host }) => host === 'builder')?.servers).toEqual(['fixture']);
  const names = await toolNames(client, 1);
  expect(names).not.toContain('fixture_builder__crash');
  const refused = await client.callTool(2, 'fixture_builder__crash');
  expect(JSON.stringify(refused)).toMatch(/TOOL_DISABLED|TOOL_NOT_FOUND|disabled|no tool/i);
  expect(await toolNames(await strict.client(), 1)).toEqual([]);
});

natsTest('a host that says goodbye takes its servers from the lists, and clients hear of it', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder');
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  const before = client.lines.length;
  await builder.stop();
  hosts.delete(builder);
  await untilTool(client, 'fixture_builder__echo', false);
  expect(client.lines.slice(before).some((line) => line.includes('notifications/tools/list_changed'))).toBe(true);
});

natsTest('an owner that is killed during a call leaves its outcome unknown, and others go on', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder');
  await startOwner(nats, 'other');
  const laptop = await startHost(nats, 'laptop', { servers: { local: fixtureServer() }, offer: [] });
  const client = await laptop.client();
  for (const tool of ['fixture_builder__echo', 'fixture_other__echo', 'local__echo']) await untilTool(client, tool);
  client.send({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'fixture_builder__hold', arguments: {} },
  });
  const second = await laptop.client();
  await until(async () => (await builder.status()).instances.some(({ calls }) => calls > 0));
  builder.kill('SIGKILL');
  for (const name of ['local__echo', 'fixture_other__echo'])
    expect(textOf(await second.callTool(newId(), name, { text: 'goes on' }))).toBe('goes on');
  const { error } = await client.answerTo(1);
  expect(error?.message).toMatch(/outcome (of the call )?is unknown/);
  await untilTool(client, 'fixture_builder__echo', false);
  // On a busy machine the other one may take long to say that it is there.
  const why = async (of: string) => (await hostsOf(laptop)).hosts.find(({ host }) => host === of)?.unreachable;
  await until(async () => (await why('other')) === null);
  expect(await why('builder')).toMatch(/^it has been silent for \d+ s/);
  const { stdout } = await runCommand(['hosts', '--mcp-bridge-socket', laptop.path]);
  expect(stdout).toMatch(/^! builder cannot be reached: it has been silent for \d+ s/m);
});

natsTest(
  'while NATS is away calls fail at once, lists stay, local work goes on; a late answer comes when it is back',
  async () => {
    const nats = await NatsServer.start();
    await startOwner(nats, 'builder');
    const laptop = await startHost(nats, 'laptop', { servers: { local: fixtureServer() }, offer: [] });
    const client = await laptop.client();
    for (const tool of ['fixture_builder__echo', 'local__echo']) await untilTool(client, tool);
    expect(textOf(await client.callTool(1, 'fixture_builder__echo', { text: 'warm' }))).toBe('warm');
    client.send({
      ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
      params: { name: 'fixture_builder__slow', arguments: { ms: 1500 } },
    });
    expect(textOf(await client.callTool(3, 'fixture_builder__echo', { text: 'sent' }))).toBe('sent');
    const second = await laptop.client();
    await nats.stop();
    await until(async () => (await hostsOf(laptop)).nats === null);
    expect(await toolNames(second, 4)).toContain('fixture_builder__echo');
    const { error } = await second.callTool(5, 'fixture_builder__echo', { text: 'away' });
    expect(error?.message).toContain('NATS is away');
    expect(textOf(await second.callTool(6, 'local__echo', { text: 'here' }))).toBe('here');
    await NatsServer.start({ like: nats });
    expect(textOf(await client.answerTo(2))).toBe('done');
    expect(client.lines.filter((line) => line.includes('"id":2,') || line.endsWith('"id":2}'))).toHaveLength(1);
    await until(
      async () => (await second.callTool(newId(), 'fixture_builder__echo', { text: 'back' })).error === undefined,
    );
  },
);

natsTest('in a cluster a call survives the death of the server that it goes through', async () => {
  const [first, second, third] = await NatsServer.cluster();
  const all = [first.url, second.url, third.url];
  await startHost([first.url, ...all], 'builder', { servers: { fixture: fixtureServer() }, offer: ['fixture'] });
  const laptop = await startHost([second.url, ...all], 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  client.send({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'fixture_builder__slow', arguments: { ms: 2000 } },
  });
  expect(textOf(await client.callTool(2, 'fixture_builder__echo', { text: 'sent' }))).toBe('sent');
  second.kill('SIGKILL');
  expect(textOf(await client.answerTo(1))).toBe('done');
  await until(
    async () => (await client.callTool(newId(), 'fixture_builder__echo', { text: 'again' })).error === undefined,
  );
});

natsTest('says that credentials are refused, and goes on alone', async () => {
  const closed = await NatsServer.start({ more: 'authorization { token: "right" }' });
  const wrong = await startHost(closed.url, 'wrong', {
    nats: { token: 'wrong' },
    servers: { local: fixtureServer() },
    offer: [],
  });
  await untilFault(wrong, /has refused the credentials/);
  expect(JSON.stringify(await hostsOf(wrong))).not.toContain('"wrong"}');
  expect(textOf(await (await wrong.client()).callTool(1, 'local__echo', { text: 'goes on' }))).toBe('goes on');
});

natsTest('says that NATS has no JetStream', async () => {
  const plain = await NatsServer.start({ hasJetStream: false });
  const alone = await startHost(plain.url, 'alone');
  await untilFault(alone, /no JetStream/);
});

natsTest('a tool that NATS does not let this daemon call is refused at once', async () => {
  const strict = await NatsServer.start({
    more: `authorization { users: [
      { user: owner, password: p },
      { user: guest, password: p, permissions: { publish: { deny: ["mcp.v1.req.acme.*.fixture-at-builder.tools.call.crash"] } } },
    ] }`,
  });
  await startOwner(strict, 'builder', { nats: { user: 'owner', password: 'p' } });
  const guest = await startHost(strict.url, 'guest', { nats: { user: 'guest', password: 'p' } });
  const client = await guest.client();
  await untilTool(client, 'fixture_builder__echo');
  const { error } = await client.callTool(1, 'fixture_builder__crash');
  expect(error?.message).toContain('NATS does not let this daemon publish');
  expect(textOf(await client.callTool(2, 'fixture_builder__echo', { text: 'permitted' }))).toBe('permitted');
});

natsTest('meets others over TLS, and trusts no other certificate', async () => {
  const dir = tempDir();
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' });
  openssl(
    ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -keyout ca.key -out ca.pem'.split(
      ' ',
    ),
    '-subj',
    '/CN=ca',
  );
  openssl(
    ...'req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout s.key -out s.csr'.split(' '),
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
  );
  openssl(
    ...'x509 -req -in s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -copy_extensions copy -out s.pem'.split(
      ' ',
    ),
  );
  const secure = await NatsServer.start({ more: `tls { cert_file: "${dir}/s.pem", key_file: "${dir}/s.key" }` });
  const url = secure.url.replace('nats://127.0.0.1', 'tls://localhost');
  const doubtful = await startHost(url, 'doubtful');
  await untilFault(doubtful, /certificate that is not trusted/);
  const ca = { tls: { ca: join(dir, 'ca.pem') } };
  await startHost(url, 'far', { nats: ca, servers: { fixture: fixtureServer() }, offer: ['fixture'] });
  const near = await (await startHost(url, 'near', { nats: ca })).client();
  await untilTool(near, 'fixture_far__echo');
  expect(textOf(await near.callTool(1, 'fixture_far__echo', { text: 'sealed' }))).toBe('sealed');
});

natsTest('hosts at a leaf meet those at the hub, go on without it, and meet them again', async () => {
  const leafPort = await freePort();
  const hubTerms = {
    hasJetStream: true,
    more: `
      leafnodes { listen: "127.0.0.1:${leafPort}", authorization { user: "leaf", password: "p", account: HOSTS } }
      accounts { HOSTS { jetstream: enabled, users: [ { user: "hosts", password: "p" } ] } }
      default_js_domain { HOSTS: "" }`,
  };
  const hub = await NatsServer.start(hubTerms);
  const leaf = await NatsServer.start({
    name: 'leaf',
    hasJetStream: false,
    more: `
      leafnodes { reconnect: 1, remotes: [ { url: "nats://leaf:p@127.0.0.1:${leafPort}" } ] }
      default_js_domain { "$G": "" }`,
  });
  await startOwner(hub, 'build', { nats: { user: 'hosts', password: 'p' } });
  await startOwner(leaf, 'desk');
  const laptop = await startHost(leaf.url, 'laptop');
  const client = await laptop.client();
  for (const host of ['build', 'desk']) {
    await untilTool(client, `fixture_${host}__echo`);
    await expectEcho(client, `fixture_${host}__echo`, 'all there');
  }
  await hub.stop();
  await expectEcho(client, 'fixture_desk__echo', 'on its own');
  const { error } = await client.callTool(newId(), 'fixture_build__echo', { text: 'away' });
  expect(error?.message).toBeDefined();
  await expectEcho(client, 'fixture_desk__echo', 'still on its own');
  await NatsServer.start({ ...hubTerms, like: hub });
  await until(
    async () => (await client.callTool(newId(), 'fixture_build__echo', { text: 'again' })).error === undefined,
  );
  await expectEcho(client, 'fixture_desk__echo', 'all again');
});

natsTest('a host that stands still loses its own calls and slows down nobody', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder');
  const still = await startHost(nats, 'still');
  const laptop = await startHost(nats, 'laptop');
  const stopped = await still.client();
  const client = await laptop.client();
  for (const one of [stopped, client]) await untilTool(one, 'fixture_builder__echo');
  expect(textOf(await stopped.callTool(1, 'fixture_builder__echo', { text: 'warm' }))).toBe('warm');
  for (let id = 10; id < 20; id++)
    stopped.send({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'fixture_builder__blob', arguments: { mib: 4 } },
    });
  await until(async () => (await builder.status()).instances.some(({ calls }) => calls > 0));
  process.kill(still.pid, 'SIGSTOP');
  // NATS takes one that reads nothing for 10 s for a slow consumer.
  for (let id = 1; id <= 5; id++)
    expect(textOf(await client.callTool(id, 'fixture_builder__echo', { text: `${id}` }))).toBe(`${id}`);
  expect(nats.log).not.toContain('Slow Consumer');
  process.kill(still.pid, 'SIGCONT');
  for (let id = 10; id < 20; id++) expect(textOf(await stopped.answerTo(id))).toHaveLength(4 << 20);
});

/** The blocks of code of the quick start in docs/federation.md, without their indent. */
function quickStart(): readonly [string, string, string] {
  const page = readFileSync(join(ROOT, 'docs/federation.md'), 'utf8');
  const [, section = ''] = page.split('## A laptop and a build server in five minutes');
  const [, ...blocks] = (section.split('\n## ')[0] ?? '').split(/^ {3}```(?:sh|jsonc)$/m);
  const [shell = '', owner = '', home = ''] = blocks.map((block) =>
    (block.split(/^ {3}```$/m)[0] ?? '').replace(/^ {3}/gm, ''),
  );
  return [shell, owner, home];
}

/** The configs of a hub and of a leaf in docs/federation.md. */
function leafConfigs(): readonly [string, string] {
  const page = readFileSync(join(ROOT, 'docs/federation.md'), 'utf8');
  const [, section = ''] = page.split('## A laptop that works offline');
  const [, atHub = '', , atLeaf = ''] = (section.split('\n## ')[0] ?? '').split(/^```\n/m);
  return [atHub, atLeaf];
}

natsTest('the quick start of docs/federation.md works as it stands there, and so does its leaf', async () => {
  const [shell, owner, home] = quickStart();
  const [atHub, atLeaf] = leafConfigs();
  const dir = tempDir();
  const [port, leafPort, ownPort] = [await freePort(), await freePort(), await freePort()];
  const here = (text: string): string =>
    text
      .replaceAll('hub.example', 'localhost')
      .replace(/0\.0\.0\.0|127\.0\.0\.1/g, '127.0.0.1')
      .replaceAll(':7422', `:${leafPort}`)
      .replaceAll(':4222', `:${port}`);
  const lines = here(shell)
    .replace(/^(?:apt|systemctl) .*\n/gm, '')
    .replace(
      /^nats-server -c nats\.conf\n/m,
      () => `cat >> nats.conf <<'END'\n${here(atHub)}END\nexec nats-server -c nats.conf\n`,
    );
  expect(lines).not.toBe(here(shell));
  const child = spawn('bash', ['-ec', lines], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
  await until(() => Promise.resolve(said.includes('Server is ready') || child.exitCode !== null));
  expect(said).toContain('Server is ready');
  const [, password = ''] = /the password is (\w{48})/.exec(said) ?? [];
  const start = async (text: string, more: object): Promise<TestDaemon> => {
    const place = tempDir();
    copyFileSync(join(dir, 'nats/ca.pem'), join(place, 'ca.pem'));
    const config = JSON.parse(here(text).replace('THE PASSWORD', password)) as object;
    const daemon = await TestDaemon.start({ ...config, ...more, client: { view: 'all' } }, { dir: place });
    hosts.add(daemon);
    return daemon;
  };
  await start(owner, { mcpServers: { compiler: fixtureServer() } });
  const client = await (await start(home, {})).client();
  await untilTool(client, 'compiler_build__echo');
  expect(textOf(await client.callTool(1, 'compiler_build__echo', { text: 'as it stands' }))).toBe('as it stands');
  const beside = tempDir();
  copyFileSync(join(dir, 'nats/ca.pem'), join(beside, 'ca.pem'));
  writeFileSync(
    join(beside, 'nats.conf'),
    atLeaf.replace(':4222', `:${ownPort}`).replace('hub.example:7422', `localhost:${leafPort}`),
  );
  const leaf = spawn('nats-server', ['-c', 'nats.conf'], { cwd: beside, stdio: 'ignore' });
  onTestFinished(async () => {
    leaf.kill('SIGKILL');
    await once(leaf, 'close');
  });
  const atTheLeaf = await (
    await startHost(`nats://127.0.0.1:${ownPort}`, 'leaf', { federation: { tenant: 'default' } })
  ).client();
  await untilTool(atTheLeaf, 'compiler_build__echo');
  await expectEcho(atTheLeaf, 'compiler_build__echo', 'from the leaf');
  const stranger = await startHost(`tls://localhost:${port}`, 'stranger', {
    nats: { tls: { ca: join(dir, 'nats/ca.pem') } },
  });
  await untilFault(stranger, /has refused the credentials/);
});
