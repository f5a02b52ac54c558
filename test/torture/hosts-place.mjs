// Hosts of a scenario: nats-servers and daemons that meet there, and a stranger who speaks on the bus without being a daemon.
import { mkdirSync, writeFileSync } from 'node:fs';
import { Kvm } from '@nats-io/kv';
import { connect, headers } from '@nats-io/transport-node';
import { freePort } from '../support/free-port.mjs';
import { Peer } from './peer.mjs';
import { NotRun, until } from './place.mjs';

export const TENANT = 'acme';
const VERSION = '2026-07-28';
const META = { 'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientCapabilities': {} };
const SIGN_MS = 3000;

/** A nats-server of its own, or one of a cluster; `like` is one that has ended, whose place it takes. */
export async function startNats(place, { name = 'nats', routes, routePort, like } = {}) {
  const dir = like?.dir ?? place.newDir();
  const file = `${dir}/nats.conf`;
  const cluster =
    routes === undefined
      ? ''
      : `cluster { name: c, listen: "127.0.0.1:${routePort}", routes: [${routes.map((port) => `"nats://127.0.0.1:${port}"`)}] }\n`;
  mkdirSync(`${dir}/store`, { recursive: true });
  const ownPort = like?.port ?? (await freePort());
  const terms = `server_name: ${name}\nlisten: "127.0.0.1:${ownPort}"\njetstream { store_dir: "${dir}/store" }\n`;
  writeFileSync(file, terms + cluster);
  const child = place.spawn('nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  let isMissing = false;
  child.on('error', () => {
    isMissing = true;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    log = (log + chunk).slice(-100_000);
  });
  await until(
    `the nats-server is ready: ${log}`,
    () => isMissing || log.includes('Server is ready') || child.exitCode !== null,
  );
  if (isMissing && process.env.NEEDS_NATS === undefined) throw new NotRun('there is no nats-server');
  const [, port] = /client connections on 127\.0\.0\.1:(\d+)/.exec(log) ?? [];
  if (port === undefined) throw new Error(`the nats-server has not started: ${log}`);
  const exited = new Promise((resolve) => child.once('close', resolve));
  return {
    ...{ name, dir, routes, routePort, child, exited },
    port: Number(port),
    url: `nats://127.0.0.1:${port}`,
    pid: child.pid,
  };
}

export async function startCluster(place, count = 3) {
  const routes = await Promise.all(Array.from({ length: count }, freePort));
  return Promise.all(routes.map((routePort, i) => startNats(place, { name: `n${i + 1}`, routes, routePort })));
}

/** The config of a daemon of one host. */
export function hostConfig(place, urls, host, { offer = [], mcpServers = {}, ...more } = {}) {
  const federation = { nats: { servers: [urls].flat() }, tenant: TENANT, user: 'ann', host, offer };
  return place.config({ mcpServers, federation, ...more });
}

export async function startHost(place, urls, host, settings = {}) {
  return place.daemon({ config: hostConfig(place, urls, host, settings) });
}

/** The calls of other hosts that have no answer yet, with those that only listen. */
export function underWay({ callsOfOthers, listensOfOthers }) {
  return callsOfOthers + listensOfOthers;
}

export async function hostsOf(daemon) {
  const control = await Peer.ready(daemon.path, { 'mcp-bridge/role': 'control' });
  const { result } = await control.ask('bridge/hosts');
  control.close();
  return result;
}

/** Waits until a daemon can use a server of another host. */
export async function untilUsed(daemon, name) {
  const [server, host] = name.split('@');
  await until(`${name} can be used`, async () =>
    (await hostsOf(daemon)).hosts.some((one) => one.host === host && one.used.includes(server)),
  );
}

/** One who speaks on the bus and follows no rule of it. */
export class Stranger {
  #signs;
  #boards;
  nc;

  static async meet(url) {
    const stranger = new Stranger();
    stranger.nc = await connect({ servers: [url], noRandomize: true });
    stranger.nc.closed().then(() => clearInterval(stranger.#signs));
    return stranger;
  }

  async board(bucket = 'bridge_hosts') {
    this.#boards ??= new Map();
    if (!this.#boards.has(bucket)) this.#boards.set(bucket, await new Kvm(this.nc).open(bucket));
    return this.#boards.get(bucket);
  }

  /** Announces itself as a host, and goes on with signs of life. */
  async announce(host, servers) {
    const [entries, signs] = [await this.board(), await this.board('bridge_alive')];
    const sign = () => signs.put(`${TENANT}.${host}`, new Uint8Array(0)).catch(() => undefined);
    await sign();
    this.#signs = setInterval(sign, SIGN_MS);
    await entries.put(`${TENANT}.${host}`, entryOf(host, servers));
  }

  publish(subject, given, body, reply) {
    const made = headers();
    for (const [name, value] of Object.entries(given)) made.set(name, value);
    this.nc.publish(subject, body, { headers: made, ...(reply !== undefined && { reply }) });
  }

  /** Sends a request and resolves to the frames of the answer, up to the first that ends it. */
  async request({ subject, headers: given, body }, patienceMs = 10_000) {
    const reply = `_INBOX.stranger.${Math.random().toString(36).slice(2)}`;
    const frames = [];
    const subscription = this.nc.subscribe(reply);
    this.publish(subject, given, body, reply);
    const timer = setTimeout(() => subscription.unsubscribe(), patienceMs);
    for await (const message of subscription) {
      const kind = message.headers?.get('Mcp-Frame') ?? '';
      frames.push({ kind, text: message.string() });
      if (kind === 'end' || kind === 'err' || kind === '') break;
    }
    clearTimeout(timer);
    return frames;
  }

  async leave() {
    clearInterval(this.#signs);
    await this.nc.close();
  }
}

export function entryOf(host, servers, more = {}) {
  const offered = servers.map((name) => ({ name, description: 'x', mark: 'm' }));
  return JSON.stringify({ v: 1, host, run: 'strange', version: '9', era: VERSION, servers: offered, ...more });
}

/** A right request of a tool; each part of it can be replaced. */
export function callOf(
  server,
  { tool = 'echo', id = 1, args = { text: 'x' }, stream = 's', number = 1, host = 'stranger' } = {},
) {
  return {
    subject: `mcp.v1.req.${TENANT}.ann.${server}.tools.call.${tool}`,
    headers: {
      ...{ 'Mcp-Wire': '1', 'Mcp-Method': 'tools/call', 'Mcp-Name': tool, 'MCP-Protocol-Version': VERSION },
      ...{ 'Mcp-Host': host, 'Mcp-Accept-Part': '1', 'Mcp-Call': `${stream} ${number} ${number}` },
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: tool, arguments: args, _meta: META },
    }),
  };
}
