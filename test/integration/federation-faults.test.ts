// What a daemon says where NATS cannot carry other hosts as it should, with real nats-servers. Local work goes on in each case.

import { createServer } from 'node:net';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import { runCommand } from '../support/command.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';
import {
  endHosts,
  hostsOf,
  newId,
  startHost,
  until,
  untilAnswered,
  untilFault,
  untilKnown,
} from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

async function expectLocalWork(daemon: TestDaemon): Promise<void> {
  const client = await daemon.client();
  expect(textOf(await client.callTool(1, 'fixture__echo', { text: 'goes on' }))).toBe('goes on');
  client.destroy();
}

/** The findings of the command on other hosts. */
async function doctor(daemon: TestDaemon): Promise<{ code: number; findings: { check: string }[] }> {
  const { code, stdout } = await runCommand(['doctor', '--json'], { env: { MCP_BRIDGE_SOCKET: daemon.path } });
  const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
  return { code, findings: findings.filter(({ check }) => /^(?:NATS|other hosts|hosts?\b.*)$/.test(check)) };
}

const OWN = { servers: { fixture: fixtureServer() } };

natsTest('a section with a fault is named by hosts and by doctor, and joins nobody', async () => {
  const nats = { servers: ['nats://127.0.0.1:1'] };
  const config = { mcpServers: OWN.servers, federation: { nats, host: '-desk' } };
  const daemon = await TestDaemon.start(config, { isFaulty: true });
  const rule = 'federation.host begins with a letter or a digit';
  const { stdout } = await runCommand(['hosts', '--mcp-bridge-socket', daemon.path]);
  expect(stdout).toContain(`the section federation of its config has a fault\n! ${rule}`);
  const { code, findings } = await doctor(daemon);
  expect(code).toBe(1);
  expect(findings).toMatchObject([{ level: 'wrong', message: expect.stringContaining(rule) }]);
  await daemon.stop();
});

natsTest('doctor says of other hosts what is well, and what is not', async () => {
  const nats = await NatsServer.start();
  const servers = { fixture: { ...fixtureServer(), sharing: 'dedicated' } };
  const desk = await startHost(nats, 'desk', { servers });
  const laptop = await startHost(nats, 'laptop', { servers: { local: fixtureServer() } });
  await untilKnown(laptop, 'fixture@desk');
  await until(async () => (await hostsOf(laptop)).leases.some(({ host }) => host === 'desk'));
  const { stdout } = await runCommand(['hosts', '--mcp-bridge-socket', laptop.path]);
  expect(stdout).toMatch(/REMEMBERS +BY ITS NAME ALONE SERVED BY\nfixture +desk\n/);
  expect((await doctor(laptop)).findings).toMatchObject([
    { level: 'ok', check: 'NATS', message: expect.stringContaining('version 2.') },
    { level: 'ok', check: 'other hosts' },
    { level: 'ok', check: 'hosts', message: '1 other host: desk' },
  ]);
  await nats.stop();
  await untilFault(laptop, /NATS is away/);
  const { code, findings } = await doctor(laptop);
  expect(code).toBe(1);
  expect(findings).toMatchObject([{ level: 'wrong', message: expect.stringContaining('NATS is away') }]);
  await desk.stop();
});

natsTest('a setting of NATS that is wrong is named', async () => {
  const nats = await NatsServer.start();
  const noFile = await startHost(nats, 'desk', { ...OWN, nats: { tls: { ca: '/there/is/no.pem' } } });
  await untilFault(noFile, /federation\.nats\.tls\.ca names \/there\/is\/no\.pem.*ENOENT.*correct the path/);
  const noTls = await startHost(nats, 'other', { ...OWN, nats: { tls: {} } });
  await untilFault(noTls, /speaks no TLS, which federation\.nats\.tls asks for.*remove federation\.nats\.tls/);
});

natsTest('a user who may not use the buckets is told so', async () => {
  const nats = await NatsServer.start({
    more: `authorization { users: [ { user: guest, password: p, permissions: {
      publish: ["mcp.v1.req.>", "_INBOX.>", "$SRV.>", "$JS.API.>"], subscribe: [">"] } } ] }`,
  });
  const federation = { nats: { servers: [nats.url], user: 'guest', password: 'p' } };
  const guest = await startHost(nats, 'guest', { ...OWN, federation });
  await untilFault(guest, /does not let this daemon.*docs\/federation\.md/);
  await expectLocalWork(guest);
});

natsTest(
  'of two daemons with one name, the later one offers nothing and says so, until the other is gone',
  async () => {
    const nats = await NatsServer.start();
    const first = await startHost(nats, 'desk', OWN);
    const laptop = await startHost(nats, 'laptop');
    await untilKnown(laptop, 'fixture@desk');
    const second = await startHost(nats, 'desk', { servers: { other: fixtureServer() } });
    await untilFault(second, /another daemon has the same name.*federation\.host/);
    expect((await hostsOf(second)).offered).toEqual([]);
    expect((await hostsOf(first)).faults).toEqual([]);
    expect((await hostsOf(laptop)).hosts).toMatchObject([{ host: 'desk', servers: ['fixture'] }]);
    const client = await second.client();
    expect(textOf(await client.callTool(1, 'other__echo', { text: 'goes on' }))).toBe('goes on');
  },
);

natsTest('a NATS server that is too old is named with its version', async () => {
  const old = createServer((socket) => {
    socket.on('error', () => undefined);
    const info = { server_id: 'x', version: '2.1.9', proto: 1, host: '127.0.0.1', port: 1, max_payload: 1048576 };
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on('data', (data) => {
      if (data.includes('PING')) socket.write('PONG\r\n');
    });
  });
  await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
  const address = old.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const nats = await NatsServer.start();
  const alone = await startHost(nats, 'alone', {
    ...OWN,
    federation: { nats: { servers: [`nats://127.0.0.1:${port}`] } },
  });
  await untilFault(alone, /version 2\.1\.9, and 2\.9 or newer is needed/);
  await expectLocalWork(alone);
  old.close();
});

natsTest('a single server that stands still is not called a cluster without quorum', async () => {
  const nats = await NatsServer.start();
  const desk = await startHost(nats, 'desk', OWN);
  await until(async () => (await hostsOf(desk)).nats !== null);
  nats.kill('SIGSTOP');
  onTestFinished(() => nats.kill('SIGCONT'));
  // On a busy machine the connection counts as lost before JetStream has been asked in vain for 5 s.
  await untilFault(
    desk,
    /the NATS server at 127\.0\.0\.1:\d+ is connected, and JetStream there has not answered for 5 s|NATS is away: .*(?:is lost|does not answer)/,
  );
  expect((await hostsOf(desk)).faults.join()).not.toContain('quorum');
  await expectLocalWork(desk);
});

natsTest(
  'servers and status say by which name alone a server of another host is reached too, and dashboards get it',
  async () => {
    const nats = await NatsServer.start();
    const laptop = await startHost(nats, 'laptop', { servers: { own: fixtureServer() }, offer: [] });
    const offered = {
      own: fixtureServer(),
      both: fixtureServer(),
      notes: { ...fixtureServer(), sharing: 'dedicated' },
    };
    const desk = await startHost(nats, 'desk', { servers: offered });
    await startHost(nats, 'lab', { servers: { both: fixtureServer(), notes: offered.notes } });
    await untilKnown(laptop, 'own@desk', 'both@desk', 'both@lab', 'notes@lab', 'notes@desk');
    await until(async () => (await hostsOf(laptop)).leases.some(({ host }) => host !== null));
    const holder = (await hostsOf(laptop)).leases.find(({ server }) => server === 'notes')?.host;
    const { instances } = await laptop.status();
    const also = Object.fromEntries(instances.map((one) => [one.server, (one as { alsoAs?: string }).alsoAs]));
    expect(also).toMatchObject({ 'both@desk': 'both', 'both@lab': 'both', [`notes@${holder}`]: 'notes' });
    // What is defined here wins, and of those that remember one serves.
    const other = holder === 'desk' ? 'notes@lab' : 'notes@desk';
    expect([also.own, also['own@desk'], also[other]]).toEqual([undefined, undefined, undefined]);
    for (const command of ['status', 'servers']) {
      const { stdout } = await runCommand([command, '--mcp-bridge-socket', laptop.path]);
      expect(stdout).toMatch(/^SERVER +ALSO AS +STATE/m);
      expect(stdout).toMatch(/^both@lab +both +/m);
      expect(stdout).toMatch(/^own +- +/m);
    }
    const { stdout: without } = await runCommand(['status', '--mcp-bridge-socket', desk.path]);
    expect(without).toContain('both@lab'); // both is defined there
    expect(without).not.toContain('ALSO AS');
  },
);

natsTest('a cluster without quorum is named, hosts stay known, and calls go on', async () => {
  const [first, second, third] = await NatsServer.cluster();
  const desk = await startHost(first, 'desk', OWN);
  const laptop = await startHost(first, 'laptop', { servers: { local: fixtureServer() } });
  await untilKnown(laptop, 'fixture@desk');
  const client = await laptop.client();
  expect(await untilAnswered(client, 'fixture_desk__echo', { text: 'before' })).toBe('before');
  await second.stop();
  await third.stop();
  await untilFault(laptop, /the NATS cluster "c" has no quorum for .*more than half of its servers have to run/);
  expect(textOf(await client.callTool(2, 'fixture_desk__echo', { text: 'without' }))).toBe('without');
  expect(textOf(await client.callTool(3, 'local__echo', { text: 'here' }))).toBe('here');
  expect((await hostsOf(laptop)).hosts).toMatchObject([{ host: 'desk', unreachable: null }]);
  await desk.stop();
});

natsTest(
  'a daemon that starts while NATS is away knows the servers and tools of before, and calls say why they fail',
  async () => {
    const nats = await NatsServer.start();
    const desk = await startHost(nats, 'desk', OWN);
    const config = {
      federation: { nats: { servers: [nats.url] }, host: 'laptop', tenant: 'acme', user: 'ann' },
      client: { view: 'all' },
    };
    const dir = tempDir();
    const before = await TestDaemon.start(config, { dir });
    await untilKnown(before, 'fixture@desk');
    expect(await untilAnswered(await before.client(), 'fixture_desk__echo', { text: 'here' })).toBe('here');
    before.kill('SIGTERM');
    await before.exited;
    await desk.stop();
    await nats.stop();
    const after = await TestDaemon.start(config, { dir });
    const client = await after.client();
    const names = async (): Promise<string> => JSON.stringify(await client.request(newId(), 'tools/list'));
    await until(async () => (await names()).includes('"fixture_desk__echo"'));
    const { error } = await client.callTool(1, 'fixture_desk__echo', { text: 'x' });
    expect(error?.message).toContain('NATS is away');
    expect((await hostsOf(after)).hosts).toMatchObject([{ host: 'desk', unreachable: 'NATS is away' }]);
    await NatsServer.start({ like: nats });
    await until(async () => !(await names()).includes('"fixture_desk__echo"'));
    await after.stop();
  },
);
