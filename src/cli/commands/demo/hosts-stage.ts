// The setting of the demonstration with other hosts: a cluster of three nats-servers, and three daemons with separate
// homes, as if on separate machines. Everything is below one directory and removed with it. If this process is killed,
// guards end the nats-servers, and the daemons end after a while without clients.

import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ControlClient } from '../../../client/control-client.ts';
import { startDaemon } from '../../../client/start-daemon.ts';
import { BridgeError } from '../../../util/bridge-error.ts';
import type { CliHost } from '../../host.ts';
import { endDaemon } from '../../running-daemon.ts';
import { DemoClient } from './demo-client.ts';
import { environmentIn, freshDir } from './demo-home.ts';
import { freePorts, NatsProcess, natsProgram } from './nats-process.ts';

const IDLE_EXIT_MS = 3000;
const LOOK_MS = 50;
const PATIENCE_MS = 30_000;
const NAMES = ['laptop', 'build', 'lab'] as const;
export type HostName = (typeof NAMES)[number];

/** The present state of one host. */
export interface HostView {
  readonly name: HostName;
  /** Undefined once it was killed. */
  readonly daemon: number | undefined;
  /** The name of the nats-server that it is connected to. */
  readonly nats: string | undefined;
  /** The process of its example server, if one runs. */
  readonly server: number | undefined;
  /** The servers of other hosts that it can use. */
  readonly uses: readonly string[];
  /** The other hosts that answered just now. */
  readonly answering: readonly string[];
}

interface DemoHost {
  readonly name: HostName;
  readonly socketPath: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A connection that keeps the daemon from ending for lack of clients. */
  control: ControlClient | undefined;
  pid: number | undefined;
}

export class HostsStage {
  readonly #host: CliHost;
  readonly #dir: string;
  readonly #program: string;
  readonly #hosts: DemoHost[] = [];
  readonly nats: NatsProcess[] = [];
  readonly #clients: DemoClient[] = [];
  #opening: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  constructor(host: CliHost) {
    this.#host = host;
    this.#program = natsProgram(host.environment.PATH);
    this.#dir = freshDir();
  }

  open(): Promise<void> {
    const opening = this.#open();
    this.#opening = opening.catch(() => undefined);
    return opening;
  }

  async #open(): Promise<void> {
    const secret = randomBytes(18).toString('base64url');
    const routePorts = await freePorts(NAMES.length);
    for (const [i, routePort] of routePorts.entries()) {
      if (this.#isClosing) return;
      const options = { name: `n${i + 1}`, dir: this.#dir, secret, routePort, routePorts };
      this.nats.push(await NatsProcess.start(this.#program, options));
    }
    await Promise.all(this.nats.map((server) => server.ready()));
    const started = await Promise.allSettled(NAMES.map((name, i) => this.#startHost(name, this.nats[i], secret)));
    for (const one of started) if (one.status === 'rejected') throw one.reason;
  }

  async #startHost(name: HostName, nats: NatsProcess | undefined, secret: string): Promise<void> {
    if (this.#isClosing) return;
    const { node, program, environment, version } = this.#host;
    const dir = join(this.#dir, name);
    mkdirSync(dir, { mode: 0o700 });
    const isOwner = name !== 'laptop';
    const example = { command: node, args: [join(dirname(program), 'example-server.js')], description: 'An example' };
    const config = {
      mcpServers: isOwner ? { example } : {},
      discovery: { enabled: false },
      daemon: { idleExitMs: IDLE_EXIT_MS },
      // One address is enough: NATS announces the others.
      federation: {
        nats: { servers: [`nats://127.0.0.1:${nats?.port}`], token: secret },
        ...{ tenant: 'demo', user: 'demo', host: name, offer: isOwner ? ['example'] : [] },
      },
    };
    const configFile = join(dir, 'mcp-bridge.config.json');
    writeFileSync(configFile, JSON.stringify(config, undefined, 2), { mode: 0o600 });
    const one: DemoHost = {
      ...{ name, socketPath: join(dir, 'bridge.sock'), environment: environmentIn(dir, environment) },
      ...{ control: undefined, pid: undefined },
    };
    const { socket } = await startDaemon({
      ...{ path: one.socketPath, program, environment: one.environment, homedir: dir },
      serveArgs: ['--autostarted', '--config', configFile],
    });
    this.#hosts.push(one);
    one.control = await ControlClient.open(one.socketPath, version);
    socket.destroy();
    one.pid = (await one.control.call('bridge/status')).pid;
  }

  /** Starts an agent on the laptop, on its own `mcp-bridge connect`. */
  async enter(name: string, more: readonly string[] = []): Promise<DemoClient> {
    const { socketPath, environment } = this.#of('laptop');
    const { node, program, version } = this.#host;
    const args = ['--no-autostart', '--mcp-bridge-socket', socketPath, ...more];
    const client = new DemoClient(name, { node, program, version, args, environment, cwd: dirname(socketPath) });
    this.#clients.push(client);
    await client.connect();
    return client;
  }

  #of(name: HostName): DemoHost {
    const found = this.#hosts.find((one) => one.name === name);
    if (found === undefined) throw new BridgeError('DEMO_FAILED', `The daemon of ${name} has not started`);
    return found;
  }

  /** All hosts as they are now, as reported by their daemons. */
  look(): Promise<HostView[]> {
    return Promise.all(NAMES.map((name) => this.lookAt(name)));
  }

  async lookAt(name: HostName): Promise<HostView> {
    const { control, pid: daemon } = this.#of(name);
    if (control === undefined)
      return { name, daemon: undefined, nats: undefined, server: undefined, uses: [], answering: [] };
    const [status, report] = await Promise.all([control.call('bridge/status'), control.call('bridge/hosts')]);
    const nats = this.nats.find(({ port, isKilled }) => !isKilled && report?.nats?.address.endsWith(`:${port}`));
    const server = status.instances.find((instance) => instance.pid !== null)?.pid ?? undefined;
    const uses = report?.hosts.flatMap(({ host, used }) => used.map((offered) => `${offered}@${host}`)) ?? [];
    const answering = report?.hosts.filter(({ latencyMs }) => latencyMs !== null).map(({ host }) => host) ?? [];
    return { name, daemon, nats: nats?.name, server, uses: uses.toSorted(), answering };
  }

  /** Waits until a host reaches a state. */
  async until(name: HostName, what: string, holds: (view: HostView) => boolean): Promise<HostView> {
    for (const deadline = performance.now() + PATIENCE_MS; ; await pause(LOOK_MS)) {
      const view = await this.lookAt(name);
      if (holds(view)) return view;
      if (performance.now() > deadline)
        throw new BridgeError('DEMO_FAILED', `The demo has failed. It should show that ${what}`, {
          hint: 'See: mcp-bridge doctor',
        });
    }
  }

  /** Kills the daemon of a host, as in a power failure. */
  killDaemon(name: HostName): void {
    const host = this.#of(name);
    if (host.pid !== undefined) process.kill(host.pid, 'SIGKILL');
    host.control?.close();
    host.control = undefined;
    host.pid = undefined;
  }

  /** Ends everything, at any point of the demonstration. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#opening;
    await Promise.allSettled(this.#clients.map((client) => client.close()));
    await Promise.allSettled(this.#hosts.map((one) => this.#end(one)));
    await Promise.allSettled(this.nats.map((server) => server.end()));
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #end({ control, pid, socketPath, environment }: DemoHost): Promise<void> {
    control?.close();
    if (control === undefined && pid === undefined) return;
    const ending = endDaemon(socketPath, { ...this.#host, environment }, 'stop');
    if (pid === undefined) return void (await ending);
    await ending.catch(() => signal(pid, 'SIGKILL'));
    // A daemon that has given its lock back may still write its files, and make their directory once more.
    for (const deadline = performance.now() + PATIENCE_MS; signal(pid, 0); await pause(LOOK_MS))
      if (performance.now() > deadline) signal(pid, 'SIGKILL');
  }
}

/** Sends a signal to a process. False if the process is gone. */
function signal(pid: number, name: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
