// What a run takes from the machine: a temporary directory and processes. It gives all of it back, however the run ends;
// a process is only ever ended by the handle that the run got when it started it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE_MS = 5000;
const isOver = (child) => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;

export class Workspace {
  dir = mkdtempSync(join(tmpdir(), 'mcp-conf-'));
  /** What each process starts with: none of the user's own settings. */
  environment = environmentIn(this.dir);
  #children = new Set();
  #isClosing = false;

  newDir(name) {
    return mkdtempSync(join(this.dir, `${name}-`));
  }

  /** Starts a process that ends with the run at the latest. */
  start(command, args, options = {}) {
    if (this.#isClosing) throw new Error('The run is being ended.');
    const child = spawn(command, args, { cwd: this.dir, env: this.environment, ...options });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** Runs a program to its end, or to that of its time. Resolves to its exit code and what it has said. */
  async run(command, args, timeoutMs, options = {}) {
    const child = this.start(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'])
      child[stream].setEncoding('utf8').on('data', (chunk) => {
        said[stream] += chunk;
      });
    const late = setTimeout(() => this.end(child), timeoutMs);
    const [code] = await once(child, 'close');
    clearTimeout(late);
    return { code, ...said };
  }

  /** Asks a process to go, and makes it. */
  end(child) {
    if (!isOver(child)) child.kill('SIGTERM');
    return this.ended(child);
  }

  /** Waits for a process that has been asked to go, and makes it go if it takes too long. */
  async ended(child) {
    if (isOver(child)) return;
    const force = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    await once(child, 'exit');
    clearTimeout(force);
  }

  async close() {
    this.#isClosing = true;
    await Promise.all([...this.#children].map((child) => this.end(child)));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function environmentIn(dir) {
  const { MCP_BRIDGE_SOCKET, MCP_CLIENT_ID, NODE_OPTIONS, ...environment } = process.env;
  return { ...environment, HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir };
}
