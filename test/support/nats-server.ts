// Real nats-servers on ports of their own, alone, as a cluster, or as leaves. Ended with everything that they keep.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { freePort } from './free-port.mjs';

const running = new Set<NatsServer>();

/** True if there is a nats-server. Where all tests have to run, its absence is a failure. */
const hasNats: boolean = (() => {
  try {
    execFileSync('nats-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    if (process.env.NEEDS_NATS !== undefined)
      throw new Error('nats-server is missing: apt-get install nats-server', { cause: error });
    process.stderr.write('There is no nats-server: tests with real hosts are left out\n');
    return false;
  }
})();

/** A test that needs nats-servers. */
export const natsTest = test.skipIf(!hasNats);

export interface NatsOptions {
  /** More of the config. */
  readonly more?: string;
  readonly hasJetStream?: boolean;
  /** The address that it listens at; else that of this machine alone. */
  readonly address?: string;
  readonly name?: string;
  /** Addresses of the other servers of its cluster; undefined for none. */
  readonly routes?: readonly string[];
  /** Its own port for them. */
  readonly routePort?: number | undefined;
  /** Listens on this port and keeps its files there: it is one that has run before. */
  readonly like?: NatsServer;
}

export class NatsServer {
  readonly dir: string;
  readonly name: string;
  readonly address: string;
  port = 0;
  routePort = 0;
  leafPort = 0;
  log = '';
  readonly #child: ChildProcess;
  readonly exited: Promise<void>;

  private constructor({ dir, name, address }: Pick<NatsServer, 'dir' | 'name' | 'address'>, child: ChildProcess) {
    this.dir = dir;
    this.name = name;
    this.address = address;
    this.#child = child;
    this.exited = new Promise((resolve) => child.once('close', () => resolve()));
    running.add(this);
    void this.exited.then(() => running.delete(this));
  }

  static async start({
    more = '',
    hasJetStream = true,
    name = 'nats',
    routes,
    routePort,
    like,
    address = '127.0.0.1',
  }: NatsOptions = {}): Promise<NatsServer> {
    const dir = like?.dir ?? mkdtempSync(join(tmpdir(), 'mcpb-nats-'));
    const store = hasJetStream ? `jetstream { store_dir: "${join(dir, 'store')}" }` : '';
    const cluster =
      routes === undefined
        ? ''
        : `cluster { name: c, listen: "127.0.0.1:${like?.routePort ?? routePort ?? -1}", routes: [${routes.map((route) => `"${route}"`).join()}] }`;
    const file = join(dir, 'nats.conf');
    const port = like?.port ?? (await freePort());
    writeFileSync(file, `server_name: ${name}\nlisten: "${address}:${port}"\n${store}\n${cluster}\n${more}\n`);
    const child = spawn('nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    const server = new NatsServer({ dir, name, address }, child);
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        server.log += chunk;
        if (server.log.includes('Server is ready')) resolve();
      });
      child.once('close', () => reject(new Error(`nats-server has ended: ${server.log}`)));
    });
    server.port = port;
    server.routePort = portIn(server.log, 'route connections');
    server.leafPort = portIn(server.log, 'leafnode connections');
    return server;
  }

  /** Three of them in one cluster with JetStream, once it can be used. */
  static async cluster(): Promise<readonly [NatsServer, NatsServer, NatsServer]> {
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`);
    const start = (name: string, routePort: number | undefined) => NatsServer.start({ name, routes, routePort });
    return Promise.all([start('n1', ports[0]), start('n2', ports[1]), start('n3', ports[2])]);
  }

  get url(): string {
    return `nats://${this.address}:${this.port}`;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}

/** Ends all that tests have left behind. */
export async function endNats(): Promise<void> {
  const left = [...running];
  for (const server of left) await server.stop();
  for (const { dir } of left) rmSync(dir, { recursive: true, force: true });
}

function portIn(log: string, what: string): number {
  return Number(new RegExp(`Listening for ${what} on [\\d.]+:(\\d+)`).exec(log)?.[1] ?? 0);
}
