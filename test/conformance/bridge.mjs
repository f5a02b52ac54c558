// A bridge of the run's own, as it was built. It ends with the run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../dist/mcp-bridge.cjs', import.meta.url));
const STATUS_TIMEOUT_MS = 10_000;

export class Bridge {
  #workspace;
  #config;
  #origin;
  socket;

  /** Two bridges of one run have different names. */
  constructor(workspace, name = 'b') {
    this.#workspace = workspace;
    this.#config = join(workspace.dir, `${name}.json`);
    this.socket = join(workspace.dir, `${name}.sock`);
  }

  /** The URL at which it shows a server to clients over HTTP. */
  url(server) {
    return `${this.#origin}/mcp/server/${server}`;
  }

  /** Resolves when it accepts clients, over its socket and over HTTP. */
  start(mcpServers) {
    const http = { listen: '127.0.0.1:0', tokens: false };
    writeFileSync(this.#config, JSON.stringify({ mcpServers, http }));
    const args = [PROGRAM, 'serve', '--config', this.#config, '--mcp-bridge-socket', this.socket];
    const daemon = this.#workspace.start(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    return new Promise((resolve, reject) => {
      let log = '';
      daemon.stderr.setEncoding('utf8').on('data', (chunk) => {
        log += chunk;
        this.#origin ??= /"url":"(http:[^"]*)"/.exec(log)?.[1];
        if (this.#origin !== undefined && log.includes('listening on')) resolve();
      });
      daemon.once('exit', (code) => reject(new Error(`The daemon exited with ${code}: ${log}`)));
    });
  }

  /** The arguments with which Node is a client of this bridge. */
  connectArgs(server) {
    return [PROGRAM, 'connect', '--server', server, '--mcp-bridge-socket', this.socket];
  }

  /** Starts a sign-in to a server, which prints its page and opens no browser. */
  startAuth(server) {
    const args = [PROGRAM, 'auth', server, '--no-browser', '--config', this.#config];
    return this.#workspace.start(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** What it says of itself. */
  async status() {
    const args = [PROGRAM, 'status', '--json', '--mcp-bridge-socket', this.socket];
    const { stdout } = await this.#workspace.run(process.execPath, args, STATUS_TIMEOUT_MS);
    return JSON.parse(stdout);
  }
}
