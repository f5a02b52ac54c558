// Fixture servers at a URL: processes of their own that print their port.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { ROOT } from './test-daemon.ts';

const running: ChildProcess[] = [];

/** Ends those that are still there. */
export function endFixtures(): void {
  for (const child of running.splice(0)) child.kill();
}

/** Starts a program of test/fixtures/servers; its port. */
export async function startFixture(program: string, ...args: string[]): Promise<number> {
  const file = join(ROOT, 'test/fixtures/servers', program);
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(port.toString());
}

export async function httpServer(kind: 'http' | 'resumable' | 'sse', ...args: string[]): Promise<string> {
  return `http://127.0.0.1:${await startFixture('http-server.mjs', kind, ...args)}/mcp`;
}

export async function webSocketServer(...args: string[]): Promise<string> {
  return `ws://127.0.0.1:${await startFixture('ws-server.mjs', ...args)}/`;
}

/** The reference server over Streamable HTTP: at the same URL each time that it is started. */
export class ReferenceServer {
  readonly url: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.#port = port;
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  static async start(): Promise<ReferenceServer> {
    const server = new ReferenceServer(await freePort());
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    const env = { ...process.env, PORT: String(this.#port) };
    const args = [REFERENCE, 'streamableHttp'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    running.push(child);
    this.#child = child;
    await once(child.stderr, 'data'); // says that it listens
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

const REFERENCE = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
