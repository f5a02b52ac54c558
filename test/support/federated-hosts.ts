// Daemons of several hosts on a real nats-server: each has a home, a socket and servers of its own. Ended with all that they run.

import { endNats, type NatsServer } from './nats-server.ts';
import { type RawClient, textOf } from './raw-client.ts';
import { TestDaemon } from './test-daemon.ts';

const hosts = new Set<TestDaemon>();

export async function endHosts(): Promise<void> {
  for (const host of hosts) {
    host.kill('SIGCONT'); // it may stand still
    await host.stop();
  }
  hosts.clear();
  await endNats();
}

interface HostOptions {
  readonly servers?: Record<string, object>;
  readonly federation?: object;
  readonly more?: object;
}

/** A daemon that offers all its servers. */
export async function startHost(
  nats: NatsServer,
  host: string,
  { servers = {}, federation = {}, more }: HostOptions = {},
): Promise<TestDaemon> {
  const place = { nats: { servers: [nats.url] }, host, tenant: 'acme', user: 'ann', offer: Object.keys(servers) };
  const config = { mcpServers: servers, federation: { ...place, ...federation }, client: { view: 'all' }, ...more };
  const daemon = await TestDaemon.start(config);
  hosts.add(daemon);
  return daemon;
}

export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

let nextId = 1000;

/** Calls a tool until it answers, and gives its text. */
export async function untilAnswered(client: RawClient, tool: string, args: object = {}): Promise<string> {
  for (;;) {
    const answer = await client.callTool(nextId++, tool, args);
    if (answer.error === undefined) return textOf(answer);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Waits until a daemon knows these servers of other hosts. */
export async function untilKnown(daemon: TestDaemon, ...servers: string[]): Promise<void> {
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  await until(async () => {
    const { result } = (await control.request(nextId++, 'bridge/hosts')) as {
      result?: { hosts: { host: string; used: string[] }[] };
    };
    const known = result?.hosts.flatMap(({ host, used }) => used.map((server) => `${server}@${host}`)) ?? [];
    return servers.every((server) => known.includes(server));
  });
  control.destroy();
}
