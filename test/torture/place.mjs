// What one scenario takes from the machine: a directory and processes, and gives back however it ends. A process is ended
// by the pid that it was started with, and what those have started is looked for by a mark in its environment.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { memoryKib } from '../../bench/process-figures.mjs';
import { Peer } from './peer.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = join(ROOT, 'dist/mcp-bridge.cjs');
export const FIXTURE = join(ROOT, 'test/fixtures/servers/fixture.mjs');
const PULSE = join(ROOT, 'test/torture/pulse.mjs');
const PATIENCE_MS = 20_000;
const MARK = 'MCP_BRIDGE_TORTURE';
/** How a pulse calls, after how many calls it is served, and how long what it shows then is its usual. */
export const STEADY = { pauseMs: 0, calls: 200, settlesMs: 500 };
const SEDATE = { pauseMs: 5, calls: 10, settlesMs: 100 };

/** What this machine has no means for, such as the right to mount a disk: neither passed nor failed. */
export class NotRun extends Error {}

/** Waits until something holds, and says what it was that never did. */
export async function until(what, holds, patienceMs = PATIENCE_MS) {
  for (const deadline = performance.now() + patienceMs; ; await delay(10)) {
    const value = await holds();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
  }
}

export function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return false; // Gone.
  }
}

export const commandOf = (pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');

/** All that is no directory. */
export function entriesBelow(dir) {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

export const rssMib = (pid) => memoryKib(pid).rss / 1024;
export const descriptorsOf = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** Follows the memory of a process until told to stop; how much it was beyond where it began, at its most. */
export function watchMemory(pid, fromMib = rssMib(pid)) {
  let most = fromMib;
  const look = () => {
    const now = rssMib(pid);
    if (now > most) most = now; // of one that has gone it is not a number
  };
  const timer = setInterval(look, 20);
  return () => {
    look();
    clearInterval(timer);
    return most - fromMib;
  };
}

class Daemon {
  #place;
  stderr = '';

  constructor(place, path, child) {
    this.#place = place;
    this.path = path;
    this.child = child;
    this.pid = child.pid;
    // Once its pipe has closed too: its last words may come after the exit.
    this.exited = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.stderr = (this.stderr + text).slice(-100_000);
    });
  }

  get isListening() {
    return this.stderr.includes('listening on');
  }

  peer(view = 'server:fixture', meta = {}) {
    return Peer.ready(this.path, { 'mcp-bridge/view': view, ...meta });
  }

  status() {
    return this.#control('bridge/status');
  }

  clients() {
    return this.#control('bridge/connections');
  }

  async #control(method) {
    const control = await Peer.ready(this.path, { 'mcp-bridge/role': 'control' });
    const { result } = await control.ask(method);
    control.close();
    return result;
  }

  kill(signal) {
    this.child.kill(signal);
  }

  async stop() {
    this.kill('SIGTERM');
    return this.#place.ended(this);
  }
}

export class Place {
  mark = `${process.pid}-${Math.random().toString(36).slice(2)}`;
  dir = mkdtempSync(join(tmpdir(), 'mcpt-'));
  #children = new Set();
  #names = 0;
  #isShort;

  /** In the short form a client that others are measured by leaves them the machine: it measures nothing then. */
  constructor({ isShort = false } = {}) {
    this.#isShort = isShort;
    mkdirSync(this.path('home'), { mode: 0o700 });
  }

  get environment() {
    const { MCP_BRIDGE_SOCKET, MCP_CLIENT_ID, NODE_OPTIONS, XDG_STATE_HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME, ...rest } =
      process.env;
    return { ...rest, HOME: this.path('home'), [MARK]: this.mark };
  }

  path(name) {
    return join(this.dir, name);
  }

  newPath(suffix) {
    return this.path(`${++this.#names}.${suffix}`);
  }

  newDir() {
    const dir = this.newPath('dir');
    mkdirSync(dir, { mode: 0o700 });
    return dir;
  }

  /** The fixture as a server of a config. */
  fixture(env = {}) {
    return { command: process.execPath, args: [FIXTURE], env: { ...env, [MARK]: this.mark } };
  }

  /** A config file: with discovery off, so that the machine's own servers play no part. */
  config({ mcpServers = { fixture: this.fixture() }, ...rest } = {}) {
    const file = this.newPath('json');
    writeFileSync(file, JSON.stringify({ discovery: { enabled: false }, ...rest, mcpServers }));
    return file;
  }

  spawn(command, args, options = {}) {
    const child = spawn(command, args, { cwd: this.dir, env: this.environment, ...options });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    child.on('error', () => this.#children.delete(child));
    return child;
  }

  /** A daemon, as soon as it listens; with `waits: false` as soon as it was started. */
  async daemon({ config = this.config(), path = this.newPath('sock'), args = [], env = {}, shell, waits = true } = {}) {
    const serve = [PROGRAM, 'serve', '--mcp-bridge-socket', path, '--config', config, ...args];
    const [command, ...rest] =
      shell === undefined
        ? [process.execPath, ...serve]
        : ['/bin/sh', '-c', `${shell}; exec "$0" "$@"`, process.execPath, ...serve];
    const child = this.spawn(command, rest, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...this.environment, ...env },
    });
    const daemon = new Daemon(this, path, child);
    if (!waits) return daemon;
    await until(`the daemon listens: ${daemon.stderr}`, () => daemon.isListening || child.exitCode !== null);
    if (!daemon.isListening) throw new Error(`the daemon ended: ${daemon.stderr}`);
    return daemon;
  }

  /** An ordinary client; `look` says how it has fared since the last look, which must not be wrong anywhere. */
  async pulse(daemon, view = 'server:fixture', way = this.#isShort ? SEDATE : STEADY) {
    const { pauseMs, calls: most, settlesMs } = way;
    const child = this.spawn(process.execPath, [PULSE, daemon.path, view, `${pauseMs}`], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const look = () =>
      new Promise((resolve, reject) => {
        child.once('message', (report) => {
          if (report.wrong === 0 && report.faults.length === 0) resolve(report);
          else reject(new Error(`another client: ${JSON.stringify(report)}`));
        });
        child.send('look');
      });
    let calls = 0; // each look counts anew
    await until('it is served', async () => {
      calls += (await look()).calls;
      return calls > most;
    });
    await look();
    await delay(settlesMs);
    return { look, leave: () => child.disconnect() };
  }

  /** Runs the command to its end. */
  run(args, { input = '', env = {} } = {}) {
    const child = this.spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...this.environment, ...env },
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', (text) => {
        said[name] += text;
      });
    }
    child.stdin.on('error', () => undefined).end(input);
    return new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal, ...said })));
  }

  async ended(daemon) {
    const result = await Promise.race([daemon.exited, delay(PATIENCE_MS, undefined, { ref: false })]);
    if (result === undefined) throw new Error(`the daemon ${daemon.pid} did not end`);
    return result;
  }

  /** Processes that this scenario has begun, whoever has started them; or those with this in their environment. */
  running(mark = `${MARK}=${this.mark}`) {
    return readdirSync('/proc')
      .map(Number)
      .filter(
        (pid) => Number.isInteger(pid) && pid !== process.pid && isAlive(pid) && environmentOf(pid).includes(mark),
      );
  }

  /** Ends what still runs; the processes that should not have been left. */
  async close() {
    for (const child of this.#children) child.kill('SIGTERM');
    await until('all children ended', () => this.#children.size === 0, PATIENCE_MS).catch(() => {
      for (const child of this.#children) child.kill('SIGKILL');
    });
    await until('nothing is left', () => this.running().length === 0, 6000).catch(() => undefined);
    const left = this.running();
    const names = left.map(commandOf);
    for (const pid of left) process.kill(pid, 'SIGKILL');
    rmSync(this.dir, { recursive: true, force: true });
    return names;
  }
}

function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return []; // Gone, or another user's.
  }
}
