// What a run of the bench takes from the machine: two temporary directories and processes. It gives all of it back,
// however the run ends; a process is only ever ended by the pid that this run got when it started it.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PATIENCE_MS = 3000;
const BENCH = dirname(fileURLToPath(import.meta.url));
const { bin } = JSON.parse(readFileSync(join(BENCH, '../package.json'), 'utf8'));
const isOver = (child) => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;

/** The path of one of the programs beside this file. */
export const program = (name) => join(BENCH, name);

export class Workspace {
  /** For sockets, whose paths must be short, and configurations. */
  #dir = mkdtempSync(join(tmpdir(), 'mcp-bench-'));
  /** The build that is measured, copied, so that a new one may be made meanwhile. It finds node_modules from there. */
  #buildDir;
  #copies = [];
  #children = new Set();
  #names = 0;
  #isClosing = false;
  /** What each process starts with: none of the user's own settings. */
  environment;

  constructor(dist) {
    const results = join(BENCH, 'results');
    mkdirSync(results, { recursive: true });
    this.#buildDir = mkdtempSync(join(results, 'build-'));
    cpSync(dist, this.#buildDir, { recursive: true });
    const { MCP_BRIDGE_SOCKET, MCP_CLIENT_ID, NODE_OPTIONS, ...environment } = process.env;
    this.environment = { ...environment, HOME: this.#dir, XDG_CONFIG_HOME: this.#dir, XDG_STATE_HOME: this.#dir };
  }

  get bridge() {
    return join(this.#buildDir, basename(bin['mcp-bridge']));
  }

  /** Another copy of the build, to be changed. */
  copyOfBuild() {
    const dir = mkdtempSync(join(BENCH, 'results', 'build-'));
    this.#copies.push(dir);
    cpSync(this.#buildDir, dir, { recursive: true });
    return dir;
  }

  newPath(suffix) {
    return join(this.#dir, `${++this.#names}.${suffix}`);
  }

  /** A configuration file. */
  write(config) {
    const file = this.newPath('json');
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  /** Starts a process that ends with the run at the latest. */
  spawn(command, args, options = {}) {
    if (this.#isClosing) throw new Error('the run is being ended');
    const child = spawn(command, args, { cwd: this.#dir, env: this.environment, ...options });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    child.on('error', () => this.#children.delete(child));
    return child;
  }

  async end(child) {
    if (isOver(child)) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const patience = new AbortController();
    const late = delay(PATIENCE_MS, true, { signal: patience.signal }).catch(() => false);
    if ((await Promise.race([exited, late])) === true) child.kill('SIGKILL');
    await exited;
    patience.abort();
  }

  async close() {
    this.#isClosing = true;
    await Promise.all([...this.#children].map((child) => this.end(child)));
    for (const dir of [this.#dir, this.#buildDir, ...this.#copies]) rmSync(dir, { recursive: true, force: true });
  }
}

/** Runs a bench in a workspace that ends with it, also when it is interrupted. It measures `dist`, or what `--build` names. */
export async function inWorkspace(measure) {
  const at = process.argv.indexOf('--build');
  const workspace = new Workspace(at === -1 ? program('../dist') : process.argv[at + 1]);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => workspace.close().then(() => process.exit(1)));
  try {
    await measure(workspace);
  } finally {
    await workspace.close();
  }
}
