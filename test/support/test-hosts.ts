// Daemons of several hosts for a test, each with a home, a socket and servers of its own. They end with the test.

import { expect } from 'vitest';
import type { FederationReport } from '../../src/model/federation-report.ts';
import { endNats, type NatsServer } from './nats-server.ts';
import { type RawClient, textOf } from './raw-client.ts';
import { fixtureServer, TestDaemon } from './test-daemon.ts';

/** The daemons that run. */
export const hosts = new Set<TestDaemon>();

/** For `afterEach`. */
export async function endHosts(): Promise<void> {
  for (const host of hosts) {
    host.kill('SIGCONT'); // it may stand still
    await host.stop();
  }
  hosts.clear();
  await endNats();
}

export interface HostOptions {
  readonly servers?: Record<string, object>;
  /** The servers that it offers; else all of them. */
  readonly offer?: readonly string[];
  /** More of the section `nats` of its config. */
  readonly nats?: object;
  /** More of its section `federation`. */
  readonly federation?: object;
  /** More of its config. */
  readonly more?: object;
  /** A command that runs the daemon, such as one that puts it elsewhere. */
  readonly under?: readonly string[];
  /** What it keeps stays there, and what another one has left there is known. */
  readonly dir?: string;
}

/** Starts a host in the network of a nats-server, or of those at some addresses. */
export async function startHost(
  at: NatsServer | string | readonly string[],
  host: string,
  { servers = {}, offer = Object.keys(servers), nats, federation, more, under = [], dir }: HostOptions = {},
): Promise<TestDaemon> {
  const addresses = typeof at === 'object' && 'url' in at ? at.url : at;
  const place = { tenant: 'acme', user: 'ann', host, offer, nats: { servers: [addresses].flat(), ...nats } };
  const config = { mcpServers: servers, federation: { ...place, ...federation }, client: { view: 'all' }, ...more };
  const daemon = await TestDaemon.start(config, { under, ...(dir !== undefined && { dir }) });
  hosts.add(daemon);
  return daemon;
}

/** A host that offers the fixture. */
export const startOwner = (nats: NatsServer, host: string, more: HostOptions = {}): Promise<TestDaemon> =>
  startHost(nats, host, { servers: { fixture: fixtureServer() }, offer: ['fixture'], ...more });

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

export async function hostsOf(daemon: TestDaemon): Promise<FederationReport> {
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  const { result } = await control.request(newId(), 'bridge/hosts');
  control.destroy();
  return result as unknown as FederationReport;
}

/** Waits until a daemon may use these servers of other hosts. */
export async function untilKnown(daemon: TestDaemon, ...servers: string[]): Promise<void> {
  await until(async () => {
    const known = (await hostsOf(daemon)).hosts.flatMap(({ host, used }) => used.map((server) => `${server}@${host}`));
    return servers.every((server) => known.includes(server));
  });
}

export async function untilFault(daemon: TestDaemon, words: RegExp): Promise<void> {
  await until(async () => (await hostsOf(daemon)).faults.some((fault) => words.test(fault)));
}

/** Calls a tool that says its text, and expects it. */
export async function expectEcho(client: RawClient, tool: string, text: string): Promise<void> {
  expect(textOf(await client.callTool(newId(), tool, { text }))).toBe(text);
}

/** Calls a tool until it answers, and gives its text. */
export async function untilAnswered(client: RawClient, tool: string, args: object = {}): Promise<string> {
  for (;;) {
    const answer = await client.callTool(newId(), tool, args);
    if (answer.error === undefined) return textOf(answer);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
