// Users of one account of NATS with exactly the permissions of docs/federation.md: hosts work with them, and a user who means harm does not get past them.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kvm } from '@nats-io/kv';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, expect } from 'vitest';
import { PROTOCOL_VERSION } from '../../src/federation/frames.ts';
import { runProgram } from '../support/command.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, type TestDaemon, tempDir } from '../support/test-daemon.ts';
import { endHosts, hostsOf, startHost, until, untilAnswered, untilKnown } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

const PASSWORD = 'p';

/** The permissions that the documentation gives to `bob` on the host `desk`, who offers `fixture`, for another user. */
function permissionsOf(user: string, host: string, offers: readonly string[]): string {
  const page = readFileSync(new URL('../../docs/federation.md', import.meta.url), 'utf8');
  const [, block = ''] = /```\n(permissions \{\n[^`]*\n\})\n```/.exec(page) ?? [];
  expect(block).toContain('mcp.v1.req.acme.bob.>');
  return block
    .replace(/"[^"]*fixture[^"]*",? ?/g, (line) => offers.map((name) => line.replaceAll('fixture', name)).join(' '))
    .replaceAll('bob', user)
    .replaceAll('desk', host);
}

const USERS: Readonly<Record<string, readonly [host: string, offers: readonly string[]]>> = {
  ann: ['laptop', []],
  bob: ['desk', ['fixture']],
  carol: ['build', ['fixture', 'notes']],
};

async function startNats(): Promise<NatsServer> {
  const users = Object.entries(USERS).map(
    ([user, [host, offers]]) => `{ user: ${user}, password: ${PASSWORD}, ${permissionsOf(user, host, offers)} }`,
  );
  const administrator = `{ user: administrator, password: ${PASSWORD} }`;
  return NatsServer.start({ more: `authorization { users: [\n${[...users, administrator].join(',\n')}\n] }` });
}

/** Has the command make the buckets, as the documentation says. */
async function makeBuckets(nats: NatsServer): Promise<string> {
  const file = join(tempDir(), 'administrator.json');
  const place = { servers: [nats.url], user: 'administrator', password: PASSWORD };
  writeFileSync(file, JSON.stringify({ federation: { nats: place, host: 'administrator' } }));
  const { code, stdout, stderr } = await runProgram(['hosts', '--make-buckets', '--config', file]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

const serversOf = (...names: string[]): Record<string, object> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      name === 'notes' ? { ...fixtureServer(), sharing: 'dedicated' } : fixtureServer({ FIXTURE: name }),
    ]),
  );

function startAs(nats: NatsServer, user: string, more: object = {}): Promise<TestDaemon> {
  const [host = '', offers = []] = USERS[user] ?? [];
  const federation = { user, nats: { servers: [nats.url], user, password: PASSWORD }, agents: ['*'], ...more };
  return startHost(nats, host, { servers: serversOf(...offers), federation, more: { agents: { enabled: true } } });
}

const connectAs = (nats: NatsServer, user: string): Promise<NatsConnection> =>
  connect({
    servers: [nats.url],
    user,
    pass: PASSWORD,
    inboxPrefix: `_INBOX.${USERS[user]?.[0] ?? user}`,
    noAsyncTraces: true,
  });

natsTest('hosts whose users have the permissions of the documentation have all that they need', async () => {
  const nats = await startNats();
  expect(await makeBuckets(nats)).toMatch(/bridge_hosts is made\nbridge_alive is made\nbridge_leases is made/);
  const build = await startAs(nats, 'carol');
  const desk = await startAs(nats, 'bob');
  const laptop = await startAs(nats, 'ann');
  await untilKnown(laptop, 'fixture@build', 'notes@build', 'fixture@desk');

  const client = await laptop.client();
  for (const host of ['build', 'desk']) {
    expect(await untilAnswered(client, `fixture_${host}__echo`, { text: host })).toBe(host);
    const long = await client.callTool(host, `fixture_${host}__echo`, { text: 'y'.repeat(2 << 20) });
    expect(textOf(long)).toHaveLength(2 << 20);
  }
  const anywhere = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  expect(await untilAnswered(anywhere, 'echo', { text: 'any' })).toBe('any');
  const remembered = await laptop.client({ 'mcp-bridge/view': 'server:notes' });
  expect(await untilAnswered(remembered, 'echo', { text: 'held' })).toBe('held');

  const agent = await desk.client({ 'mcp-bridge/clientId': 'agent-of-bob' });
  const writer = await laptop.client({ 'mcp-bridge/view': 'discover' });
  await until(async () => JSON.stringify(await writer.callTool('l', 'list_agents', {})).includes('agent-of-bob@desk'));
  const letter = await writer.callTool('s', 'send_message', { to: 'agent-of-bob@desk', text: 'hello' });
  expect(letter.error).toBeUndefined();
  agent.destroy();

  for (const daemon of [build, desk, laptop]) expect((await hostsOf(daemon)).faults).toEqual([]);
  expect(nats.log).not.toContain('Violation');
  await build.stop();
  await until(async () => (await hostsOf(laptop)).hosts.every(({ host }) => host !== 'build'));
  expect(nats.log).not.toContain('Violation');
});

natsTest('a daemon that may make no buckets says so, and uses them as soon as they are there', async () => {
  const nats = await startNats();
  const build = await startAs(nats, 'carol');
  const faultsOf = async (): Promise<string> => (await hostsOf(build)).faults.join('\n');
  await until(async () => /no bucket bridge_hosts.*--make-buckets/.test(await faultsOf()));
  await makeBuckets(nats);
  const laptop = await startAs(nats, 'ann');
  await untilKnown(laptop, 'fixture@build');
  await until(async () => (await faultsOf()) === '');
  expect(await makeBuckets(nats)).toContain('bridge_leases was there already');
});

natsTest('a user who means harm takes no place, hears nothing and forges nothing', async () => {
  const nats = await startNats();
  await makeBuckets(nats);
  const build = await startAs(nats, 'carol');
  const laptop = await startAs(nats, 'ann');
  await untilKnown(laptop, 'fixture@build', 'notes@build');
  const bob = await connectAs(nats, 'bob');

  for (const subject of [
    '$KV.bridge_hosts.acme.build',
    '$KV.bridge_alive.acme.build',
    '$KV.bridge_leases.acme.notes',
    'mcp.v1.lease.acme.notes',
    'mcp.v1.req.acme.carol.fixture-at-build.tools.list._',
    'mcp.v1.host.acme.ann.build.call.laptop.x.y',
    'mcp.v1.mail.acme.bob.build.laptop',
    '$JS.API.STREAM.CREATE.EVIL',
    '$JS.API.STREAM.UPDATE.KV_bridge_leases',
    '$JS.API.STREAM.PURGE.KV_bridge_hosts',
    '$JS.API.STREAM.DELETE.KV_bridge_alive',
    '$JS.API.STREAM.MSG.DELETE.KV_bridge_hosts',
    '$JS.API.CONSUMER.CREATE.KV_bridge_hosts',
    '$JS.API.CONSUMER.CREATE.KV_bridge_hosts.evil.$KV.bridge_hosts.acme.desk',
    '$JS.API.CONSUMER.DURABLE.CREATE.KV_bridge_hosts.evil',
    '$JS.API.CONSUMER.DELETE.KV_bridge_leases.x',
  ])
    await expect(bob.request(subject, '{}', { timeout: 10_000 }), subject).rejects.toThrow('Permissions Violation');

  // With this header a stream forgets all else, where it is allowed.
  const rollup = headers();
  rollup.set('Nats-Rollup', 'all');
  for (const subject of [
    '$KV.bridge_hosts.acme.desk',
    '$KV.bridge_alive.acme.desk',
    '$KV.bridge_leases.acme.fixture',
  ]) {
    const stored = await bob.request(subject, '{}', { headers: rollup, timeout: 10_000 });
    expect(stored.json(), subject).toMatchObject({ error: { description: expect.stringContaining('rollup') } });
  }

  for (const [subject, queue] of [
    ['_INBOX.>'],
    ['_INBOX.laptop.>'],
    ['mcp.v1.req.acme.*.fixture-at-build.>'],
    ['mcp.v1.req.acme.*.fixture-at-build.>', 'fixture-at-build'],
    ['mcp.v1.req.acme.*.fixture.>'],
    ['mcp.v1.req.acme.*.fixture.>', 'own'],
    ['mcp.v1.host.acme.*.build.>'],
    ['mcp.v1.host.>'],
    ['$KV.bridge_hosts.>'],
    ['$JS.>'],
  ] as const) {
    const error = await new Promise<Error | null>((resolve) =>
      bob.subscribe(subject, { callback: resolve, ...(queue !== undefined && { queue }) }),
    );
    expect(error?.message, `${subject} ${queue}`).toContain('Permissions Violation');
  }

  // A daemon of his that takes the name of another.
  const thief = await startAs(nats, 'bob', { host: 'build' });
  await until(async () => (await hostsOf(thief)).faults.some((fault) => fault.includes('does not let this daemon')));
  expect((await hostsOf(build)).faults).toEqual([]);
  const client = await laptop.client();
  expect(await untilAnswered(client, 'fixture_build__echo', { text: 'still' })).toBe('still');
  await bob.close();
});

natsTest(
  'what NATS itself is made to write over an entry or a lease is written again at once, and believed by nobody',
  async () => {
    const nats = await startNats();
    await makeBuckets(nats);
    const build = await startAs(nats, 'carol');
    const laptop = await startAs(nats, 'ann');
    await untilKnown(laptop, 'fixture@build', 'notes@build');
    const remembered = await laptop.client({ 'mcp-bridge/view': 'server:notes' });
    expect(await untilAnswered(remembered, 'echo', { text: 'before' })).toBe('before');

    const administrator = await connectAs(nats, 'administrator');
    const kvm = new Kvm(administrator);
    const [hosts, leases] = [await kvm.open('bridge_hosts'), await kvm.open('bridge_leases')];
    const textAt = async (bucket: typeof hosts, key: string): Promise<string> =>
      (await bucket.get(key))?.string() ?? '';
    const runOf = async (): Promise<unknown> => /"run":"([^"]*)"/.exec(await textAt(hosts, 'acme.build'))?.[1];
    const run = await runOf();
    const lease = await textAt(leases, 'acme.notes');
    const bob = await connectAs(nats, 'bob');
    const say = async (subject: string, data: string, reply: string): Promise<void> => {
      bob.publish(subject, data, { reply });
      await bob.flush();
    };
    /** Waits until NATS has stored something there, and its owner has stored its own again. */
    const untilRepaired = async (before: number): Promise<void> => {
      const seq = async (): Promise<number> => (await hosts.get('acme.build'))?.revision ?? 0;
      await until(async () => (await seq()) > before && (await runOf()) === run);
    };

    const junk = (await hosts.get('acme.build'))?.revision ?? 0;
    await say('$JS.API.STREAM.INFO.KV_bridge_alive', '', '$KV.bridge_hosts.acme.build');
    await untilRepaired(junk + 1);

    const forged = { v: 1, host: 'build', run: '-', version: '1', era: PROTOCOL_VERSION, servers: [] };
    const wellFormed = (await hosts.get('acme.build'))?.revision ?? 0;
    await say('$KV.bridge_hosts.acme.desk', JSON.stringify(forged), '_INBOX.desk.x');
    await say('$JS.API.DIRECT.GET.KV_bridge_hosts.$KV.bridge_hosts.acme.desk', '', '$KV.bridge_hosts.acme.build');
    await untilRepaired(wellFormed + 2);
    const { faults, offered } = await hostsOf(build);
    expect(faults.join('\n')).toContain(
      'somebody else has written over the entry of this host ($KV.bridge_hosts.acme.build)',
    );
    expect(offered).toEqual(['fixture', 'notes']);
    await untilKnown(laptop, 'fixture@build', 'notes@build');

    const held = (await leases.get('acme.notes'))?.revision ?? 0;
    await say('$JS.API.STREAM.INFO.KV_bridge_alive', '', '$KV.bridge_leases.acme.notes');
    await until(async () => ((await leases.get('acme.notes'))?.revision ?? 0) > held + 1);
    expect(await textAt(leases, 'acme.notes')).toBe(lease);
    expect(await untilAnswered(remembered, 'echo', { text: 'after' })).toBe('after');
    for (const connection of [bob, administrator]) await connection.close();
  },
);

natsTest('a bucket that was made in another way is corrected by whoever may, or named', async () => {
  const nats = await startNats();
  const administrator = await connectAs(nats, 'administrator');
  const kvm = new Kvm(administrator);
  await kvm.create('bridge_hosts');
  expect(await makeBuckets(nats)).toContain('bridge_hosts was there already\nbridge_alive is made');
  for (const bucket of ['bridge_hosts', 'bridge_alive', 'bridge_leases']) {
    const { config } = (await administrator.request(`$JS.API.STREAM.INFO.KV_${bucket}`)).json<{ config: object }>();
    expect(config).toMatchObject({ allow_rollup_hdrs: false, allow_direct: true });
    if (bucket === 'bridge_leases') expect(config).toMatchObject({ republish: { dest: 'mcp.v1.lease.>' } });
  }
  await administrator.request('$JS.API.STREAM.DELETE.KV_bridge_leases');
  await kvm.create('bridge_leases');
  const build = await startAs(nats, 'carol');
  await until(async () => /bucket bridge_leases was made in another way/.test((await hostsOf(build)).faults.join()));
  await administrator.close();
});

natsTest('a server whose calls NATS does not let a host hear is not announced', async () => {
  const nats = await startNats();
  await makeBuckets(nats);
  const federation = { user: 'bob', nats: { servers: [nats.url], user: 'bob', password: PASSWORD } };
  const desk = await startHost(nats, 'desk', { servers: serversOf('fixture', 'other'), federation });
  const laptop = await startAs(nats, 'ann');
  await untilKnown(laptop, 'fixture@desk');
  await until(async () => (await hostsOf(desk)).offered.join() === 'fixture');
  expect((await hostsOf(desk)).faults.join('\n')).toContain(
    'does not let this daemon subscribe to mcp.v1.req.acme.*.other-at-desk.>',
  );
  await until(async () => (await hostsOf(laptop)).hosts[0]?.servers.join() === 'fixture');
});
