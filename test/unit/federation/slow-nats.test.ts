// A NATS server that stands still, at the other end of a real socket.

import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { NatsBus } from '../../../src/federation/nats-bus.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { freePort } from '../../support/free-port.mjs';

const INFO = { server_id: 'x', version: '2.10.0', proto: 1, headers: true, max_payload: 1024 * 1024 };
const none = undefined;

test('what waits for a server that does not read is bounded, and it gets what is said later', async () => {
  const port = await freePort();
  const sockets: Socket[] = [];
  let got = 0;
  let last = '';
  let heard: () => void = () => undefined;
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
    socket.on('data', (bytes: Buffer) => {
      got += bytes.length;
      last = (last + bytes.toString('latin1')).slice(-200);
      if (bytes.includes('PING\r\n')) socket.write('PONG\r\n');
      heard();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const faults: unknown[] = [];
  const bus = new NatsBus({
    settings: {
      ...{ servers: [`nats://127.0.0.1:${port}`], credentials: none, user: none, password: none },
      ...{ token: none, nkey: none, tls: none },
    },
    ...{ name: 'test', inboxPrefix: '_INBOX.test', hasBulk: false, clock: systemClock, pacer: new ReadPacer() },
    ...{ refused: () => undefined, failed: (error) => faults.push(error) },
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await bus.close();
    server.close();
  });
  await new Promise<void>((resolve) => bus.watch((event) => void (event.is === 'up' && resolve())));
  for (const socket of sockets) socket.pause();
  const data = Buffer.alloc(512 * 1024, 'x');
  for (let i = 0; i < 256; i++) bus.publish({ subject: 'a.b', headers: {}, data });
  for (const socket of sockets) socket.resume();
  const untilHeard = async (holds: () => boolean): Promise<void> => {
    while (!holds())
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
  };
  await untilHeard(() => got > 60 * 1024 * 1024);
  let says = 0;
  const again = setInterval(() => bus.publish({ subject: 'a.later', headers: {}, data: Buffer.from(`${++says}`) }), 5);
  onTestFinished(() => clearInterval(again));
  await untilHeard(() => last.includes('a.later'));
  expect(got).toBeLessThan(96 * 1024 * 1024);
  expect(faults).toEqual([]);
});
