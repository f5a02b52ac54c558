// Answers that nobody takes, on real connections whose clients do not read.

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { UnreadAnswers } from '../../../src/front/http/unread-answers.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MIB = 1 << 20;
/** More than the kernel takes for a client that does not read. */
const LARGE = Buffer.alloc(24 * MIB);

let server: Server;
let sockets: Socket[] = [];

beforeEach(async () => {
  server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await new Promise((resolve) => server.close(resolve));
});

/** An answer that was written to a client which does not read yet. */
async function answered(bytes = LARGE): Promise<{ response: ServerResponse; socket: Socket }> {
  const asked = once(server, 'request');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  sockets.push(socket);
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const [, response] = (await asked) as [unknown, ServerResponse];
  response.end(bytes);
  return { response, socket };
}

function unreadAnswers(most: number) {
  const clock = new FakeClock();
  let refused = 0;
  const unread = new UnreadAnswers({ clock, most, stallMs: 1000, refused: () => refused++ });
  return { clock, unread, refused: () => refused };
}

test('an answer that was taken at once is not kept in mind', async () => {
  const { unread } = unreadAnswers(MIB);
  const { response, socket } = await answered(Buffer.from('short'));
  socket.resume();
  await once(socket, 'close');
  unread.note(response, 'one');
  expect(unread.isEmpty).toBe(true);
});

test('who has the most that is not taken loses the oldest', async () => {
  const { unread, refused } = unreadAnswers(60 * MIB);
  const [modest, first, second] = [await answered(), await answered(), await answered()];
  unread.note(modest.response, 'modest');
  unread.note(first.response, 'greedy');
  expect(refused()).toBe(0);
  unread.note(second.response, 'greedy');
  expect(refused()).toBe(1);
  expect([modest, first, second].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
});

test('who takes nothing for the time of a stall is cut off', async () => {
  const { clock, unread, refused } = unreadAnswers(1024 * MIB);
  const [deaf, reading] = [await answered(), await answered()];
  unread.note(deaf.response, 'one');
  unread.note(reading.response, 'one');
  // What the kernel still takes by itself is over when nothing has changed between two looks.
  const before = reading.response.writableLength;
  reading.socket.resume();
  await expect.poll(() => reading.response.writableLength).toBeLessThan(before);
  unread.tick(clock.now());
  clock.advance(999);
  reading.socket.pause();
  unread.tick(clock.now());
  clock.advance(1);
  unread.tick(clock.now());
  expect(deaf.response.destroyed).toBe(true);
  expect(refused()).toBeGreaterThanOrEqual(1);
});

test('an answer that is taken in the end, or whose client goes, is forgotten', async () => {
  const { unread, refused } = unreadAnswers(1024 * MIB);
  const [taken, gone] = [await answered(), await answered()];
  unread.note(taken.response, 'one');
  unread.note(gone.response, 'one');
  taken.socket.resume();
  gone.socket.destroy();
  await expect.poll(() => unread.isEmpty).toBe(true);
  expect(refused()).toBe(0);
});
