// Clients that read slowly get all that they have asked for, also when they ask nothing more, or the daemon is told to end.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as passTime } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';

afterAll(() => expect(cleanUp()).toEqual([]));

const ANSWERS = 4;
const MIB = 4;
/** A quarter of a megabyte at a time: the whole takes several times what a client may take nothing. */
const SIP = 256 * 1024;

function asks(): string {
  const about = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'slow', version: '1' } };
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: about };
  const call = (id: number) => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: 'blob', arguments: { mib: MIB } },
  });
  const calls = Array.from({ length: ANSWERS }, (_, i) => call(i + 1));
  const said = [initialize, { jsonrpc: '2.0', method: 'notifications/initialized' }, ...calls];
  return said.map((message) => `${JSON.stringify(message)}\n`).join('');
}

/** Reads in sips until the other side has ended; resolves to the lengths of the lines. */
async function sipped(socket: Socket): Promise<number[]> {
  const lengths = [0];
  while (!socket.readableEnded && !socket.destroyed) {
    for (let left = SIP; left > 0; ) {
      const chunk = socket.read(Math.min(left, socket.readableLength) || undefined) as Buffer | null;
      if (chunk === null) break;
      left -= chunk.length;
      for (const [i, line] of chunk.toString('latin1').split('\n').entries()) {
        if (i > 0) lengths.push(0);
        lengths[lengths.length - 1] = (lengths.at(-1) ?? 0) + line.length;
      }
    }
    await passTime(60);
  }
  return lengths.filter((length) => length > 0);
}

test.each(['has ended its side', 'is connected while the daemon is told to end'])(
  'a client that reads slowly and %s gets every answer',
  { timeout: 60_000 },
  async (which) => {
    const daemon = await TestDaemon.start({
      mcpServers: { fixture: fixtureServer() },
      client: { view: 'server:fixture' },
      limits: { stallTimeoutMs: 1000 },
    });
    const socket = connect({ path: daemon.path, allowHalfOpen: true });
    await once(socket, 'connect');
    socket.on('readable', () => undefined); // paused: only what is asked for is read
    socket.write(asks());
    if (which.startsWith('has ended')) socket.end();
    else {
      await daemon.until(({ instances }) => instances.some(({ calls }) => calls >= ANSWERS));
      daemon.kill('SIGTERM');
    }
    const lengths = await sipped(socket);
    expect(lengths.filter((length) => length > MIB << 20)).toHaveLength(ANSWERS);
    socket.destroy();
    await daemon.stop();
  },
);
