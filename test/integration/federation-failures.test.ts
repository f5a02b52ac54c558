// Failures between hosts, with real nats-servers: what stands still, dies, is cut off, or is slow. Each call has one answer, and local work goes on.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import { NatsBus } from '../../src/federation/nats-bus.ts';
import { ReadPacer } from '../../src/wire/read-pacer.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { standStill } from '../support/still-process.ts';
import { cleanUp, fixtureServer } from '../support/test-daemon.ts';
import {
  endHosts,
  expectEcho,
  hosts,
  hostsOf,
  newId,
  startHost,
  startOwner,
  until,
  untilFault,
  untilTool,
} from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

const LOCAL = { servers: { local: fixtureServer() }, offer: [] };

/** Sends a call, and leaves it to the test when its answer is waited for. */
function begin(client: RawClient, name: string, args: object = {}): number {
  const id = newId();
  client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
  return id;
}

const answersTo = (client: RawClient, id: number): number =>
  client.lines.filter((line) => (JSON.parse(line) as { id?: unknown }).id === id).length;

natsTest(
  'a nats-server that stands still for a while holds up calls of other hosts alone, and loses none',
  async () => {
    const nats = await NatsServer.start();
    await startOwner(nats, 'builder');
    const laptop = await startHost(nats, 'laptop', LOCAL);
    const client = await laptop.client();
    for (const tool of ['fixture_builder__echo', 'local__echo']) await untilTool(client, tool);
    await expectEcho(client, 'fixture_builder__echo', 'before');
    await standStill(nats.pid);
    const id = begin(client, 'fixture_builder__echo', { text: 'held up' });
    const other = await laptop.client();
    for (let i = 0; i < 5; i++) await expectEcho(other, 'local__echo', `${i}`);
    expect(answersTo(client, id)).toBe(0);
    nats.kill('SIGCONT');
    expect(textOf(await client.answerTo(id))).toBe('held up');
    await expectEcho(client, 'fixture_builder__echo', 'after');
    expect(answersTo(client, id)).toBe(1);
  },
);

natsTest('an owner that stands still for a while holds up its own calls alone, and answers each once', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder');
  await startOwner(nats, 'lab');
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.client();
  for (const tool of ['fixture_builder__echo', 'fixture_lab__echo']) await untilTool(client, tool);
  await expectEcho(client, 'fixture_builder__echo', 'before');
  await standStill(builder.pid);
  const ids = [1, 2, 3].map((i) => begin(client, 'fixture_builder__echo', { text: `${i}` }));
  const other = await laptop.client();
  for (let i = 0; i < 5; i++) await expectEcho(other, 'fixture_lab__echo', `${i}`);
  await delay(2500); // long enough to be asked again
  process.kill(builder.pid, 'SIGCONT');
  for (const [i, id] of ids.entries()) expect(textOf(await client.answerTo(id))).toBe(`${i + 1}`);
  await expectEcho(client, 'fixture_builder__echo', 'after');
  expect(ids.map((id) => answersTo(client, id))).toEqual([1, 1, 1]);
});

natsTest('a home that is killed under load leaves nothing at its owner, and others go on', async () => {
  const nats = await NatsServer.start();
  // It may have been cut off only, and would get its answers for so long.
  const builder = await startOwner(nats, 'builder', { more: { limits: { resumeGraceMs: 1000 } } });
  const [laptop, desk] = [await startHost(nats, 'laptop'), await startHost(nats, 'desk')];
  const [client, other] = [await laptop.client(), await desk.client()];
  for (const one of [client, other]) await untilTool(one, 'fixture_builder__echo');
  for (let i = 0; i < 5; i++) begin(client, 'fixture_builder__hold');
  await until(async () => (await hostsOf(builder)).callsOfOthers >= 5);
  laptop.kill('SIGKILL');
  hosts.delete(laptop);
  for (let i = 0; i < 20; i++) await expectEcho(other, 'fixture_builder__echo', `${i}`);
  await until(async () => (await hostsOf(builder)).callsOfOthers === 0);
  await until(async () => (await hostsOf(builder)).listensOfOthers <= 1); // desk
  await expectEcho(other, 'fixture_builder__echo', 'after');
});

natsTest('a cluster without quorum says so, while calls through what is left of it go on', async () => {
  const [first, second, third] = await NatsServer.cluster();
  await startOwner(first, 'builder');
  const laptop = await startHost(first.url, 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  await Promise.all([second.stop(), third.stop()]);
  await expectEcho(client, 'fixture_builder__echo', 'two of three are gone');
  await untilFault(laptop, /has no quorum/);
  await expectEcho(client, 'fixture_builder__echo', 'still there');
});

/** A link to a server that is as slow as the test says, and can be cut. */
class SlowLink {
  readonly #server = createServer((socket) => this.#pipe(socket));
  readonly #to: number;
  readonly #open = new Set<Socket>();
  #dead = new Set<Socket>();
  delayMs = 0;

  private constructor(to: number) {
    this.#to = to;
  }

  static async to(port: number): Promise<SlowLink> {
    const link = new SlowLink(port);
    await once(link.#server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(async () => {
      link.#server.close();
      link.cut();
      await once(link.#server, 'close');
    });
    return link;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #pipe(near: Socket): void {
    const far = connect(this.#to, '127.0.0.1');
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(from);
      const pass = (chunk: Buffer): void => {
        if (!into.destroyed && !this.#dead.has(from)) into.write(chunk);
      };
      from.on('data', (chunk: Buffer) => void setTimeout(pass, this.delayMs, chunk));
      from.on('error', () => from.destroy());
      from.on('close', () => {
        this.#open.delete(from);
        into.destroy();
      });
    }
  }

  /** All that are open now carry nothing any more, and nobody is told. */
  die(): void {
    this.#dead = new Set(this.#open);
  }

  /** What is on the way is lost. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

natsTest('over a slow link that is cut again and again, each answer comes once and whole', async () => {
  const nats = await NatsServer.start();
  await startOwner(nats, 'builder');
  const link = await SlowLink.to(nats.port);
  link.delayMs = 40;
  const laptop = await startHost(link.url, 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  const blob = begin(client, 'fixture_builder__blob', { mib: 3 });
  const slow = begin(client, 'fixture_builder__slow', { ms: 1200 });
  await expectEcho(client, 'fixture_builder__echo', 'on the way');
  link.cut();
  expect(textOf(await client.answerTo(blob))).toHaveLength(3 << 20);
  expect(textOf(await client.answerTo(slow))).toBe('done');
  link.cut();
  await until(
    async () => (await client.callTool(newId(), 'fixture_builder__echo', { text: 'again' })).error === undefined,
  );
  expect([answersTo(client, blob), answersTo(client, slow)]).toEqual([1, 1]);
});

natsTest('after the machine has slept, connections that have died meanwhile are replaced at once', async () => {
  const nats = await NatsServer.start();
  const link = await SlowLink.to(nats.port);
  const clock = new FakeClock();
  let wallMs = 0;
  const faults: string[] = [];
  const failed = (error: unknown): void => void faults.push(String(error));
  const none = undefined;
  const keys = { credentials: none, user: none, password: none, token: none, nkey: none, tls: none };
  const settings = { servers: [link.url], ...keys };
  const place = { settings, name: 'laptop', inboxPrefix: '_INBOX.laptop' };
  const bus = new NatsBus({
    ...place,
    hasBulk: true,
    clock,
    pacer: new ReadPacer(),
    refused: () => undefined,
    wallMs: () => wallMs,
    failed,
  });
  onTestFinished(() => bus.close());
  const said: string[] = [];
  let isBroken = false;
  bus.watch(() => {
    if (isBroken) throw new Error('a listener fails');
  });
  isBroken = true;
  bus.watch(({ is }) => said.push(is));
  await until(() => Promise.resolve(said.at(-1) === 'up' && bus.isBulkUp));
  link.die();
  clock.advance(5000);
  wallMs += 3_600_000;
  clock.advance(1000); // it looks at the time of day
  clock.advance(1000); // nothing has answered
  await until(() => Promise.resolve(said.join() === 'down,up,down,up' && bus.isBulkUp));
  const heard = new Promise((resolve) => bus.subscribe('a.b', ({ data }) => resolve(Buffer.from(data).toString())));
  bus.publish({ subject: 'a.b', headers: {}, data: Buffer.from('there again') });
  expect(await heard).toBe('there again');
  expect([...new Set(faults)]).toEqual(['Error: a listener fails']); // and no other listener misses anything
});

/** Why there can be no network of its own for a host; undefined if there can. */
const noNetns = ((): string | undefined => {
  if (process.getuid?.() !== 0) return 'only root makes networks';
  try {
    execFileSync('ip', ['netns', 'list'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no command ip with netns';
  }
})();

natsTest('a call survives a network that is cut off and comes back, and local work never notices', async ({ skip }) => {
  skip(noNetns !== undefined, noNetns);
  const name = `mcpb${process.pid}`;
  const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' });
  const subnet = `10.231.${process.pid % 250}`;
  ip('netns', 'add', name);
  onTestFinished(() => ip('netns', 'delete', name));
  ip('link', 'add', `${name}a`, 'type', 'veth', 'peer', 'name', `${name}b`);
  ip('link', 'set', `${name}b`, 'netns', name);
  ip('address', 'add', `${subnet}.1/30`, 'dev', `${name}a`);
  ip('link', 'set', `${name}a`, 'up');
  const inside = ['netns', 'exec', name, 'ip'];
  ip(...inside, 'address', 'add', `${subnet}.2/30`, 'dev', `${name}b`);
  for (const device of ['lo', `${name}b`]) ip(...inside, 'link', 'set', device, 'up');

  const nats = await NatsServer.start({ address: `${subnet}.1` });
  await startOwner(nats, 'builder');
  const laptop = await startHost(nats, 'laptop', { ...LOCAL, under: ['ip', 'netns', 'exec', name] });
  const client = await laptop.client();
  for (const tool of ['fixture_builder__echo', 'local__echo']) await untilTool(client, tool);
  await expectEcho(client, 'fixture_builder__echo', 'before');
  ip('link', 'set', `${name}a`, 'down');
  const id = begin(client, 'fixture_builder__echo', { text: 'cut off' });
  const other = await laptop.client();
  for (let i = 0; i < 5; i++) await expectEcho(other, 'local__echo', `${i}`);
  expect(answersTo(client, id)).toBe(0);
  ip('link', 'set', `${name}a`, 'up');
  expect(textOf(await client.answerTo(id))).toBe('cut off');
  expect(answersTo(client, id)).toBe(1);
});
