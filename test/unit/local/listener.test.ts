// The daemon's socket when the daemon goes: whoever has connected to it is handed over.

import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Listener } from '../../../src/local/listener.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const CLIENTS = 100;

/** Connected as far as the kernel goes; the listener's process has not looked at them yet. */
function connectAtOnce(path: string): { sockets: Socket[]; errors: unknown[] } {
  const errors: unknown[] = [];
  const sockets = Array.from({ length: CLIENTS }, () =>
    connect({ path }).on('error', (error) => void errors.push(error)),
  );
  return { sockets, errors };
}

test('a socket that is taken away hands over all who had connected, and can come back', async () => {
  const path = join(temporaryDir(), 's');
  const accepted: Socket[] = [];
  const listener = await Listener.open(path, (socket) => void accepted.push(socket));
  const { sockets, errors } = connectAtOnce(path);
  expect(accepted).toHaveLength(0);
  await listener.retreat();
  expect([accepted.length, existsSync(path)]).toEqual([CLIENTS, false]);
  expect(await listener.heal()).toBe(true);
  const late = connectAtOnce(path);
  await listener.retreat();
  listener.stopAccepting();
  expect(accepted).toHaveLength(2 * CLIENTS);
  for (const socket of accepted) socket.end('bye');
  await Promise.all(
    [...sockets, ...late.sockets].map((socket) => new Promise((resolve) => socket.resume().once('close', resolve))),
  );
  for (const socket of accepted) socket.destroy();
  expect([...errors, ...late.errors]).toEqual([]);
  listener.release();
});
