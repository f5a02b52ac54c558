// Daemons of several hosts for a test, each with a home, a socket and servers of its own. They end with the test.

import { expect } from 'vitest';
import { endNats, type NatsServer } from './nats-server.ts';
import { type RawClient, textOf } from './raw-client.ts';
import { fixtureServer, TestDaemon } from './test-daemon.ts';

/** The daemons that run. */
export const hosts = new Set<TestDaemon>();

/** For `afterEach`. */
export async function endHosts(): Promise<void> {
  for (const host of hosts) await host.stop();
  hosts.clear();
  await endNats();
}

export interface HostOptions {
  readonly servers?: Record<string, object>;
  readonly offer?: readonly string[];
  readonly use?: readonly string[];
  readonly user?: string;
  readonly tenant?: string;
  readonly nats?: object;
  readonly more?: object;
  /** A command that runs the daemon, such as one that puts it elsewhere. */
  readonly under?: readonly string[];
}

export async function startHost(
  url: string | readonly string[],
  host: string,
  { servers = {}, offer = [], use, user = 'ann', tenant = 'acme', nats, more, under = [] }: HostOptions = {},
): Promise<TestDaemon> {
  const federation = {
    nats: { servers: [url].flat(), ...nats },
    ...{ host, offer, tenant, user },
    ...(use !== undefined && { use }),
  };
  const config = { mcpServers: servers, federation, client: { view: 'all' }, ...more };
  const daemon = await TestDaemon.start(config, { under });
  hosts.add(daemon);
  return daemon;
}

/** A host that offers the fixture. */
export const startOwner = (nats: NatsServer, host: string, more: HostOptions = {}): Promise<TestDaemon> =>
  startHost(nats.url, host, { servers: { fixture: fixtureServer() }, offer: ['fixture'], ...more });

export async function toolNames(client: RawClient, id: unknown): Promise<string[]> {
  const { result } = (await client.request(id, 'tools/list')) as { result?: { tools: { name: string }[] } };
  return result?.tools.map(({ name }) => name) ?? [];
}

let lastId = 1000;

/** An id that no other request of the test has. */
export const newId = (): number => ++lastId;

export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Waits until a client of the view `all` sees a tool, or sees it no more. */
export async function untilTool(client: RawClient, name: string, isThere = true): Promise<void> {
  await until(async () => (await toolNames(client, newId())).includes(name) === isThere);
}

interface HostsReport {
  readonly faults: readonly string[];
  readonly offered: readonly string[];
  readonly nats: object | null;
  readonly callsOfOthers: number;
  readonly hosts: readonly {
    readonly host: string;
    readonly servers: readonly string[];
    readonly latencyMs: number | null;
    readonly unreachable: string | null;
  }[];
}

export async function hostsOf(daemon: TestDaemon): Promise<HostsReport> {
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  const { result } = await control.request(1, 'bridge/hosts');
  control.destroy();
  return result as unknown as HostsReport;
}

export async function untilFault(daemon: TestDaemon, words: RegExp): Promise<void> {
  await until(async () => (await hostsOf(daemon)).faults.some((fault) => words.test(fault)));
}

/** Calls a tool that says its text, and expects it. */
export async function expectEcho(client: RawClient, tool: string, text: string): Promise<void> {
  expect(textOf(await client.callTool(newId(), tool, { text }))).toBe(text);
}
