// Fixture servers at a URL: processes of their own that print their port.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
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
