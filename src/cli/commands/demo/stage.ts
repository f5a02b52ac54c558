// The setting of the demonstration: a directory with its home, config and socket, and its own daemon. Everything that
// runs there is removed with it. If this process is killed, the clients end with it, and the daemon after a while
// without clients.

import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ControlClient, type StatusReport } from '../../../client/control-client.ts';
import { startDaemon } from '../../../client/start-daemon.ts';
import type { CliHost } from '../../host.ts';
import { endDaemon } from '../../running-daemon.ts';
import { DemoClient } from './demo-client.ts';
import { environmentIn, freshDir } from './demo-home.ts';

const IDLE_EXIT_MS = 10_000;
const LOOK_MS = 20;

export class Stage {
  readonly socketPath: string;
  readonly #dir: string;
  readonly #host: CliHost;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #clients: DemoClient[] = [];
  #started: Promise<unknown> | undefined;

  constructor(host: CliHost) {
    const dir = freshDir();
    this.#dir = dir;
    this.#host = host;
    this.socketPath = join(dir, 'bridge.sock');
    this.#environment = environmentIn(dir, host.environment);
    const example = { command: host.node, args: [join(dirname(host.program), 'example-server.js')] };
    const config = {
      mcpServers: { example: { ...example, description: 'An example' } },
      discovery: { enabled: false },
      agents: { enabled: true },
      daemon: { idleExitMs: IDLE_EXIT_MS },
    };
    writeFileSync(this.#configFile, JSON.stringify(config, undefined, 2));
  }

  get #configFile(): string {
    return join(this.#dir, 'mcp-bridge.config.json');
  }

  async open(): Promise<void> {
    this.#started = startDaemon({
      path: this.socketPath,
      program: this.#host.program,
      serveArgs: ['--autostarted', '--config', this.#configFile],
      environment: this.#environment,
      homedir: this.#dir,
    }).then(({ socket }) => socket.destroy());
    await this.#started;
  }

  async enter(name: string): Promise<DemoClient> {
    const { node, program, version } = this.#host;
    const args = ['--no-autostart', '--mcp-bridge-socket', this.socketPath, '--config', this.#configFile];
    const options = { node, program, version, args, environment: this.#environment, cwd: this.#dir };
    const client = new DemoClient(name, options);
    this.#clients.push(client);
    await client.connect();
    return client;
  }

  async status(): Promise<StatusReport> {
    const control = await ControlClient.open(this.socketPath, this.#host.version);
    try {
      return await control.call('bridge/status');
    } finally {
      control.close();
    }
  }

  /** Waits until the daemon has noticed the end of this process: anything sent to it before would be lost. */
  async untilGone(pid: number): Promise<void> {
    while ((await this.status()).instances.some((instance) => instance.pid === pid)) await pause(LOOK_MS);
  }

  /** Ends everything, at any point of the demonstration. */
  async close(): Promise<void> {
    const hasStarted = await this.#started?.then(
      () => true,
      () => false,
    );
    await Promise.allSettled(this.#clients.map((client) => client.close()));
    if (hasStarted === true)
      await endDaemon(this.socketPath, { ...this.#host, environment: this.#environment }, 'stop');
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
