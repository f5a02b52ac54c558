// A link over a real socket, whose other end is the test.

import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { StreamLink } from '../../../src/wire/stream-link.ts';
import { CountedPacer } from '../../support/counted-pacer.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

type Pair = { link: StreamLink; peer: Socket; events: string[] };

async function connect(): Promise<Pair> {
  const path = join(temporaryDir(), 's');
  const server = createServer({ allowHalfOpen: true }).listen(path);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  await once(server, 'listening');
  const peer = dial({ path, allowHalfOpen: true });
  const [ours] = await accepted;
  server.close();
  const link = new StreamLink(ours, ours, { maxFrameBytes: 1000, turn: new FlushTurn() });
  const events: string[] = [];
  link.start({
    frame: (b, start, end) => events.push(b.toString('utf8', start, end)),
    overflowed: () => events.push('overflowed'),
    badFrame: (reason) => events.push(reason),
    ended: () => events.push('ended'),
    closed: () => events.push('closed'),
    drained: () => events.push('drained'),
  });
  return { link, peer, events };
}

/** Everything that a peer reads up to the end. */
async function readAll(peer: Pair['peer']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of peer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 10_000 && !holds(); turns++) await new Promise(setImmediate);
  expect(holds()).toBe(true);
}

describe('a link over a stream', () => {
  test('hands on what arrives, then the end, then that it is closed, once', async () => {
    const { link, peer, events } = await connect();
    peer.write('one\ntw');
    peer.end('o\nrest');
    await until(() => events.includes('ended'));
    link.end();
    await readAll(peer);
    await until(() => events.includes('closed'));
    expect(events).toEqual(['one', 'two', 'ended', 'closed']);
  });

  test.each(['frame', 'ended', 'drained', 'closed'] as const)(
    'is closed when its handler fails over %s, and the handler hears of it',
    async (event) => {
      const { link, peer, events } = await connect();
      const fail = (): never => {
        throw new Error('injected');
      };
      link.start({
        frame: () => undefined,
        overflowed: () => undefined,
        badFrame: () => undefined,
        ended: () => undefined,
        drained: () => undefined,
        closed: () => events.push('closed'),
        [event]: fail,
        failed: (error) => events.push(String(error)),
      });
      peer.on('error', () => undefined).resume();
      link.outbox.latin1(' '.repeat(1 << 20));
      link.outbox.endFrame();
      peer.end('frame\n');
      if (event === 'closed') link.destroy();
      await until(() => events.includes(event === 'closed' ? 'Error: injected' : 'closed'));
      expect(events).toEqual(event === 'closed' ? ['Error: injected'] : ['Error: injected', 'closed']);
      peer.destroy();
    },
  );

  test('hands on to another one from the frame after which it was told so', async () => {
    const { link, peer, events } = await connect();
    const later: string[] = [];
    const first = events.push.bind(events);
    events.push = (event) => {
      if (event === 'turn')
        link.start({
          frame: (b, start, end) => later.push(b.toString('utf8', start, end)),
          overflowed: () => later.push('overflowed'),
          badFrame: (reason) => later.push(reason),
          ended: () => later.push('ended'),
          closed: () => later.push('closed'),
          drained: () => later.push('drained'),
        });
      return first(event);
    };
    peer.write('one\nturn\ntwo\nth');
    peer.end('ree\n');
    await until(() => later.includes('ended'));
    link.end();
    await until(() => later.includes('closed'));
    expect([...events]).toEqual(['one', 'turn']);
    expect(later).toEqual(['two', 'three', 'ended', 'closed']);
  });

  test('hands on a share of what arrives each turn once it is paced, in order and to the end', async () => {
    const { link, peer, events } = await connect();
    const pacer = new CountedPacer();
    link.pace(pacer);
    const lines = Array.from({ length: 50_000 }, (_, n) => `${n}`);
    peer.end(`${lines.join('\n')}\n`);
    await until(() => events.length >= 1000);
    link.pause();
    link.resume();
    await until(() => events.includes('ended'));
    expect(events).toEqual([...lines, 'ended']);
    expect(pacer.turns).toBeGreaterThan(9);
    link.destroy();
  });

  test('hands on what waits before the end of a peer that has hung up', async () => {
    const { link, peer, events } = await connect();
    link.pace(new ReadPacer({ now: () => performance.now() * 1000 }));
    const lines = Array.from({ length: 3000 }, (_, n) => `${n}`);
    peer.end(`${lines.join('\n')}\n`);
    await until(() => events.includes('ended'));
    expect(events).toEqual([...lines, 'ended']);
    link.destroy();
  });

  test('sends what is queued before it ends', async () => {
    const { link, peer } = await connect();
    link.outbox.latin1('last words');
    link.outbox.endFrame();
    link.end();
    expect(await readAll(peer)).toBe('last words\n');
  });

  test('is closed by destroy, never from within it, and sends nothing after that', async () => {
    const { link, peer, events } = await connect();
    link.destroy();
    expect(events).toEqual([]);
    link.outbox.latin1('x');
    link.outbox.endFrame();
    await until(() => events.includes('closed'));
    expect(events).toEqual(['closed']);
    peer.destroy();
  });

  test('hands on nothing while it is paused', async () => {
    const { link, peer, events } = await connect();
    link.pause();
    peer.write('one\n');
    await new Promise(setImmediate);
    expect(events).toEqual([]);
    link.resume();
    await until(() => events.length > 0);
    expect(events).toEqual(['one']);
    peer.destroy();
  });

  test('loses nothing of what was queued at its end when something comes behind it', async () => {
    const { link, peer } = await connect();
    link.outbox.bytes(Buffer.alloc(4_000_000, 'x'), 0, 4_000_000);
    link.outbox.endFrame();
    link.end();
    link.outbox.latin1('a notification');
    link.outbox.endFrame();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    const read = await readAll(peer).catch((error: Error) => error.message);
    expect(read.length).toBe(4_000_001);
  });
});
