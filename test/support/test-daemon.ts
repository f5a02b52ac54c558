// A real daemon in a process of its own, on a socket in a directory of its own. Ended with everything that it started.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RawClient } from './raw-client.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const PROGRAM = join(ROOT, 'dist/mcp-bridge.cjs');
export const FIXTURE = join(ROOT, 'test/fixtures/servers/fixture.mjs');

const running = new Set<ChildProcess>();
const made = new Set<string>();

/** Ends what the tests of a file have left behind; the names of daemons that a test should have ended. */
export function cleanUp(): string[] {
  const left = [...running].map((child) => child.spawnargs.join(' '));
  for (const child of running) child.kill('SIGKILL');
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
  return left;
}

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'mcpb-'));
  made.add(dir);
  return dir;
}

export function fixtureServer(env: Record<string, string> = {}): object {
  return { command: process.execPath, args: [FIXTURE], env };
}

/** Clients that do not say what they want to see see the one server that there is, or all. */
export function withView(config: object): object {
  const { client = {}, mcpServers = {} } = config as { client?: object; mcpServers?: object };
  const names = typeof mcpServers === 'object' ? Object.keys(mcpServers) : [];
  const view = names.length === 1 ? `server:${names[0]}` : 'all';
  return typeof client === 'object' ? { ...config, client: { view, ...client } } : config;
}

/** Most homes of tests are empty, and a process that looks for servers there costs as much as the daemon. */
function withoutDiscovery(config: object): object {
  const { discovery = {} } = config as { discovery?: object };
  return { ...config, discovery: { enabled: false, ...discovery } };
}

export interface TestStatus {
  readonly pid: number;
  readonly clients: number;
  readonly parked: number;
  readonly parkedBytes: number;
  readonly suspended: number;
  readonly waitingPrograms: number;
  readonly protocolVersions: Readonly<Record<string, number>>;
  readonly instances: {
    server: string;
    pid: number | null;
    state: string;
    protocolVersion: string | null;
    sessions: number;
    restarts: number;
    calls: number;
    inFlight: number;
    leftOut: boolean;
    lastError: string | null;
  }[];
  readonly dialledIn: readonly { readonly name: string; readonly state: string }[];
  readonly counters: Record<string, number>;
  readonly configFaults: readonly string[];
  readonly definitionFaults: readonly string[];
  readonly telemetry: object | null;
}

export class TestDaemon {
  readonly dir: string;
  readonly path: string;
  readonly #child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  log = '';

  private constructor(dir: string, path: string, child: ChildProcess) {
    this.dir = dir;
    this.path = path;
    this.#child = child;
    running.add(child);
    // Once its pipe has closed too: the last lines of the log may come after the exit.
    this.exited = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
    void this.exited.then(() => running.delete(child));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.log += chunk;
    });
  }

  /**
   * Starts one and waits until it accepts. Without a config the bridge runs on its defaults. With one, it looks for servers of
   * other clients only if the config enables that, or if the test gives it a home. Rejects if the daemon finds a fault in
   * the config, unless `isFaulty` says that there is one.
   */
  static async start(
    config?: object,
    options: {
      env?: object;
      args?: string[];
      dir?: string;
      descriptors?: number;
      under?: readonly string[];
      logLevel?: 'info' | 'debug';
      isFaulty?: true;
    } = {},
  ): Promise<TestDaemon> {
    const dir = options.dir ?? tempDir();
    const path = join(dir, 'b.sock');
    const { logLevel = 'info' } = options;
    const args = [PROGRAM, 'serve', '--mcp-bridge-socket', path, '--log-level', logLevel, ...(options.args ?? [])];
    if (config !== undefined) {
      const whole = 'HOME' in (options.env ?? {}) ? withView(config) : withoutDiscovery(withView(config));
      writeFileSync(join(dir, 'config.json'), JSON.stringify(whole));
      args.push('--config', join(dir, 'config.json'));
    }
    const [program, ...programArgs] =
      options.descriptors === undefined
        ? [...(options.under ?? []), process.execPath, ...args]
        : ['/bin/sh', '-c', `ulimit -n ${options.descriptors}; exec "$0" "$@"`, process.execPath, ...args];
    const child = spawn(program as string, programArgs, {
      cwd: dir,
      env: { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir, XDG_CACHE_HOME: dir, ...options.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const daemon = new TestDaemon(dir, path, child);
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (daemon.log.includes('listening on')) resolve();
      };
      child.stderr?.on('data', look);
      child.once('close', (code) => reject(new Error(`The daemon exited with ${code}: ${daemon.log}`)));
    });
    const faults = daemon.#configFaults();
    if (faults.length === 0 || options.isFaulty) return daemon;
    await daemon.stop();
    throw new Error(`The config of the test has faults: ${faults.join('; ')}`);
  }

  /** Faults of the config, which the daemon logs before it listens. */
  #configFaults(): string[] {
    const entries = this.log.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
    return entries
      .map((line) => JSON.parse(line) as { message: string; fault?: string })
      .flatMap(({ message, fault }) => (message === 'config' && fault !== undefined ? [fault] : []));
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  connect(): Promise<RawClient> {
    return RawClient.connect(this.path);
  }

  /** A client that is ready. */
  async client(meta?: object): Promise<RawClient> {
    const client = await this.connect();
    await client.initialize(meta);
    return client;
  }

  async status(): Promise<TestStatus> {
    const control = await this.client({ 'mcp-bridge/role': 'control' });
    const { result } = await control.request(1, 'bridge/status');
    control.destroy();
    return result as unknown as TestStatus;
  }

  /** Waits until the daemon says so of itself. */
  async until(holds: (status: TestStatus) => boolean): Promise<TestStatus> {
    for (;;) {
      const status = await this.status();
      if (holds(status)) return status;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Nobody reads what it logs any more. */
  closeLog(): void {
    this.#child.stderr?.destroy();
  }

  /** Waits until its log has this text. */
  async untilLogged(text: string): Promise<void> {
    while (!this.log.includes(text)) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM');
    await this.exited;
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Whether a process is there and no zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}
