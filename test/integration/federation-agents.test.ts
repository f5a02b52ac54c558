// Agents of different hosts that write to each other: real daemons on a real nats-server.

import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, expect } from 'vitest';
import { runCommand } from '../support/command.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { cleanUp, type TestDaemon } from '../support/test-daemon.ts';
import { endHosts, startHost, until } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

const host = (nats: NatsServer, name: string, agents: readonly string[], more: object = {}): Promise<TestDaemon> =>
  startHost(nats, name, { federation: { agents }, more: { agents: { enabled: true, ...more } } });
const agent = (daemon: TestDaemon, id: string): Promise<RawClient> => daemon.client({ 'mcp-bridge/clientId': id });

let nextId = 1;

async function told(client: RawClient, tool: string, args: object = {}): Promise<Record<string, unknown>> {
  const answer = await client.callTool(nextId++, tool, args);
  return answer.error === undefined
    ? (JSON.parse(textOf(answer)) as Record<string, unknown>)
    : { error: answer.error.message };
}

async function untilSeen(client: RawClient, id: string): Promise<void> {
  await until(async () => JSON.stringify(await told(client, 'list_agents')).includes(`"${id}"`));
}

natsTest('agents of two hosts see each other and write to each other', async () => {
  const nats = await NatsServer.start();
  const laptop = await host(nats, 'laptop', ['build']);
  const build = await host(nats, 'build', ['lap*']);
  const ann = await agent(laptop, 'ann');
  const bob = await agent(build, 'bob');
  await untilSeen(ann, 'bob@build');
  const sent = await told(ann, 'send_message', { to: 'bob@build', text: 'are you there?' });
  expect(sent).toMatchObject({ to: 'bob@build', id: expect.any(String) as string });
  const { messages } = await told(bob, 'read_messages', { wait: 10 });
  expect(messages).toMatchObject([{ from: 'ann@laptop', host: 'laptop', text: 'are you there?' }]);
  const [{ id }] = messages as [{ id: string }];
  await told(bob, 'send_message', { to: 'ann@laptop', text: 'yes', inReplyTo: id });
  expect(await told(ann, 'read_messages', { wait: 10 })).toMatchObject({
    messages: [{ from: 'bob@build', text: 'yes', inReplyTo: id }],
  });
  const { code } = await runCommand(['send', 'bob@build', '--message', 'by hand', '--mcp-bridge-socket', laptop.path]);
  expect(code).toBe(0);
  expect(await told(bob, 'read_messages', { wait: 10 })).toMatchObject({
    messages: [{ text: 'by hand', host: 'laptop' }],
  });
});

natsTest(
  'nobody is written to whom the config of either side keeps out, and what is not there is said at once',
  async () => {
    const nats = await NatsServer.start();
    const laptop = await host(nats, 'laptop', ['build', 'shut', 'gone']);
    const build = await host(nats, 'build', ['laptop'], { policy: [{ from: '*@laptop', to: 'secret', allow: false }] });
    await host(nats, 'shut', []);
    const ann = await agent(laptop, 'ann');
    await agent(build, 'bob');
    await agent(build, 'secret');
    await untilSeen(ann, 'bob@build');
    expect(JSON.stringify(await told(ann, 'list_agents'))).not.toContain('secret');
    const refusals: unknown[] = [];
    for (const to of ['secret@build', 'nobody@build', 'x@shut', 'x@gone', 'x@elsewhere'])
      refusals.push((await told(ann, 'send_message', { to, text: 'x' })).error);
    expect(refusals[0]).toMatch(/no agent "secret"/);
    expect(refusals[1]).toMatch(/no agent "nobody"/);
    expect(refusals[2]).toMatch(/takes no messages|no such host/);
    expect(refusals[3]).toMatch(/no such host/);
    expect(refusals[4]).toMatch(/federation\.agents in the config file does not name the host elsewhere/);
    await nats.stop();
    await until(async () =>
      /NATS is away/.test(String((await told(ann, 'send_message', { to: 'bob@build', text: 'x' })).error)),
    );
  },
);

natsTest('a host that floods, forges or exaggerates fills no more than its share of a mailbox', async () => {
  const nats = await NatsServer.start();
  const laptop = await host(nats, 'laptop', ['build']);
  const build = await host(nats, 'build', ['*'], { mailbox: { maxMessages: 16 } });
  const ann = await agent(laptop, 'ann');
  const bob = await agent(build, 'bob');
  const local = await agent(build, 'local');
  await untilSeen(ann, 'bob@build');
  const forger = await connect({ servers: [nats.url] });
  const publish = (subject: string, body: unknown): void =>
    forger.publish(subject, Buffer.from(JSON.stringify(body)), { reply: '_INBOX.forger.1' });
  const letter = { v: 1, kind: 'letter', host: 'laptop', from: 'eve', to: 'bob', text: 'flood', hops: 0 };
  for (let i = 0; i < 500; i++) publish('mcp.v1.mail.acme.ann.laptop.build', { ...letter, id: `i${i}` });
  publish('mcp.v1.mail.acme.ann.other.build', { ...letter, id: 'forged' });
  publish('mcp.v1.mail.acme.ann.laptop.build', { ...letter, id: 'huge', text: 'y'.repeat(700_000) });
  await forger.flush();
  await forger.close();
  expect(await told(local, 'send_message', { to: 'bob', text: 'from here' })).toMatchObject({ to: 'bob' });
  const { messages, left } = (await told(bob, 'read_messages', { limit: 100, wait: 10 })) as {
    messages: { host?: string; text: string }[];
    left: number;
  };
  expect(left).toBe(0);
  expect(messages.filter(({ host: from }) => from === 'laptop').length).toBeLessThanOrEqual(4);
  expect(messages.filter(({ text }) => text === 'from here')).toHaveLength(1);
  expect(messages.some(({ text }) => text.startsWith('yyy'))).toBe(false);
});
