// The same bridge reached in three ways, so that one body of a scenario runs over each: in memory, over the socket,
// and through `connect`. The servers behind it are real processes every time.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { NO_CONFIG } from '../../src/config/load.ts';
import { validate } from '../../src/config/schema.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { jsonLogger } from '../../src/local/log-sink.ts';
import { RawClient } from './raw-client.ts';
import { PROGRAM, TestDaemon, type TestStatus, withView } from './test-daemon.ts';

export interface Bridge {
  /** A connection that has said nothing yet. */
  connect(): Promise<RawClient>;
  status(): Promise<TestStatus>;
  stop(): Promise<void>;
}

export type OpenBridge = (config: object) => Promise<Bridge>;

const inMemory: OpenBridge = (file) => {
  const { config } = validate(withView(file), (path) => path);
  // It goes with the bridge: of tests that run side by side Vitest cannot tell which one would have to remove it.
  const dir = mkdtempSync(join(tmpdir(), 'mcp-'));
  const daemon = new Daemon({
    socketPath: 'none',
    config,
    configDir: '/',
    limits: config.limits,
    finder: {
      config: { ...NO_CONFIG, config },
      configFaults: [],
      refresh: () => Promise.resolve(),
      leave: () => undefined,
      watch: () => undefined,
      refusalOfDialIn: () => undefined,
      close: () => undefined,
      find: () =>
        Promise.resolve({
          servers: new Map(config.servers.map((server) => [server.name, server])),
          pending: 0,
          faults: [],
        }),
    },
    homedir: '/',
    environment: process.env,
    cwd: process.cwd(),
    catalogDir: undefined,
    seenToolsDir: undefined,
    auditFile: join(dir, 'audit.jsonl'),
    logger: jsonLogger('silent', () => undefined),
    logsCalls: false,
    version: '0.0.0-test',
    build: '0.0.0-test+1',
    isAutostarted: false,
    memory: () => ({ residentBytes: 0, heapBytes: 0 }),
    pid: process.pid,
    onStopRequested: () => undefined,
  });
  const connect = (): RawClient => {
    const [ours, theirs] = duplexPair({ allowHalfOpen: true });
    ours.on('close', () => theirs.destroy()); // which a kernel would see to
    daemon.accept(theirs);
    return new RawClient(ours, ours);
  };
  return Promise.resolve({
    connect: () => Promise.resolve(connect()),
    status: () => daemon.status() as unknown as Promise<TestStatus>,
    stop: async () => {
      await daemon.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  });
};

const overSocket: OpenBridge = (config) => TestDaemon.start(config);

const throughConnect: OpenBridge = async (config) => {
  const daemon = await TestDaemon.start(config);
  const shims: ChildProcess[] = [];
  return {
    connect: () => {
      const shim = spawn(process.execPath, [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path], {
        stdio: ['pipe', 'pipe', 'ignore'],
        env: { ...process.env, XDG_CONFIG_HOME: daemon.dir },
      });
      shims.push(shim);
      return Promise.resolve(new RawClient(shim.stdout, shim.stdin));
    },
    status: () => daemon.status(),
    stop: async () => {
      // They would come back, and bring a daemon with them.
      const left = shims.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      await Promise.all(left.map((shim) => new Promise((resolve) => shim.once('exit', resolve).kill())));
      await daemon.stop();
    },
  };
};

export const BRIDGES: readonly (readonly [string, OpenBridge])[] = [
  ['in memory', inMemory],
  ['over the socket', overSocket],
  ['through connect', throughConnect],
];

/** Asks until the bridge says so. */
export async function untilStatus(bridge: Bridge, holds: (status: TestStatus) => boolean): Promise<TestStatus> {
  for (;;) {
    const status = await bridge.status();
    if (holds(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
