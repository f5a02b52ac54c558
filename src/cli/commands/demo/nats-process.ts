// One nats-server of the demonstration, on loopback and with its own secret. A shell guards it: if this process is
// killed, the shell's input ends, and it ends the server.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { BridgeError } from '../../../util/bridge-error.ts';

/** The guard has its own session: Ctrl-C reaches only this process, which ends everything in order. */
const GUARD = '"$@" >/dev/null 2>&1 & echo $!; read -r _; kill -KILL $! 2>/dev/null; wait $! 2>/dev/null';
/** The usual install directories, which may be missing in a user's PATH. */
const USUAL_PLACES = ['/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];
const PATIENCE_MS = 15_000;
const LOOK_MS = 20;

export interface NatsProcessOptions {
  readonly name: string;
  readonly dir: string;
  /** The password for all connections. */
  readonly secret: string;
  readonly routePort: number;
  /** The ports by which the cluster's servers reach each other. */
  readonly routePorts: readonly number[];
}

export class NatsProcess {
  readonly name: string;
  readonly pid: number;
  port = 0;
  isKilled = false;
  readonly #guard: ChildProcess;
  readonly #log: string;

  private constructor(name: string, pid: number, guard: ChildProcess, log: string) {
    this.name = name;
    this.pid = pid;
    this.#guard = guard;
    this.#log = log;
  }

  /** Starts a server. It can be used once `ready` has resolved. */
  static async start(program: string, { name, dir, secret, ...routes }: NatsProcessOptions): Promise<NatsProcess> {
    const { routePort, routePorts } = routes;
    const log = join(dir, `${name}.log`);
    const file = join(dir, `${name}.conf`);
    const others = routePorts.map((port) => `"nats://demo:${secret}@127.0.0.1:${port}"`);
    const lines = [
      `server_name: ${name}`,
      'listen: "127.0.0.1:-1"',
      `authorization { token: "${secret}" }`,
      `jetstream { store_dir: "${join(dir, name)}" }`,
      `cluster { name: demo, listen: "127.0.0.1:${routePort}", routes: [${others.join()}]`,
      `  authorization { user: demo, password: "${secret}" } }`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    const guard = spawn('/bin/sh', ['-c', GUARD, 'sh', program, '-c', file, '-l', log], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    guard.stdin.on('error', () => undefined); // the guard has ended
    const [pid] = (await once(guard.stdout, 'data')) as [Buffer];
    return new NatsProcess(name, Number(pid), guard, log);
  }

  /** Resolves when the server accepts connections. */
  async ready(): Promise<void> {
    for (const deadline = performance.now() + PATIENCE_MS; ; await pause(LOOK_MS)) {
      const log = this.#said();
      if (log.includes('Server is ready')) {
        this.port = Number(/Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(log)?.[1] ?? 0);
        return;
      }
      if (performance.now() > deadline || this.#guard.exitCode !== null)
        throw new BridgeError('DEMO_FAILED', `The nats-server ${this.name} does not start`, {
          hint: `It has said: ${log.trim().split('\n').at(-1) ?? 'nothing'}`,
        });
    }
  }

  #said(): string {
    try {
      return readFileSync(this.#log, 'utf8');
    } catch {
      return ''; // it has printed nothing yet
    }
  }

  kill(): void {
    this.isKilled = true;
    process.kill(this.pid, 'SIGKILL');
  }

  /** Ends the server; resolves once it is gone. */
  async end(): Promise<void> {
    if (this.#guard.exitCode !== null || this.#guard.signalCode !== null) return;
    const gone = once(this.#guard, 'exit');
    this.#guard.stdin?.end();
    await gone;
  }
}

/** The path of nats-server on this machine. */
export function natsProgram(path: string | undefined, usual: readonly string[] = USUAL_PLACES): string {
  for (const dir of [...(path ?? '').split(delimiter), ...usual]) {
    const file = join(dir, 'nats-server');
    try {
      if (dir !== '') accessSync(file, constants.X_OK);
      else continue;
      return file;
    } catch {
      // not there: the next one
    }
  }
  throw new BridgeError('DEMO_FAILED', 'The demo of other hosts needs a nats-server, and this machine has none', {
    hint: 'Install it with apt install nats-server (Debian, Ubuntu) or brew install nats-server (macOS), or from https://nats.io/download',
  });
}

/** Finds ports that nobody uses at present. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  await Promise.all(servers.map((server) => once(server, 'close')));
  return ports;
}
