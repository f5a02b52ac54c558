// The live stream to one page, over a real connection, with a clock that the test turns.

import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { LiveMessage } from '../../../src/ui/page-protocol.ts';
import { PageStream } from '../../../src/ui/page-stream.ts';
import { FakeClock } from '../../support/fake-clock.ts';

interface Opened {
  readonly clock: FakeClock;
  readonly stream: PageStream;
  /** All messages, once the stream has ended. */
  readonly messages: () => Promise<LiveMessage[]>;
}

async function open(hasBegun = true): Promise<Opened> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const asked = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false });
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const clock = new FakeClock();
  const stream = new PageStream(response, {}, clock);
  if (hasBegun) stream.begin({});
  const [incoming] = (await once(asked, 'response')) as [IncomingMessage];
  const messages = async (): Promise<LiveMessage[]> => {
    let text = '';
    stream.end();
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk;
    const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
    return events.map((event) => JSON.parse(event.slice(6)) as LiveMessage);
  };
  return { clock, stream, messages };
}

test('a page gets at most four updates a second, whatever happens meanwhile', async () => {
  const { clock, stream, messages } = await open();
  const SECONDS = 5;
  let told = 0;
  for (let ms = 0; ms < SECONDS * 1000; ms += 5) {
    stream.tell({ events: [told++], callsBegun: 1, parts: { status: told } });
    clock.advance(5);
  }
  clock.advance(250);
  const all = await messages();
  expect(all.length).toBeGreaterThan(SECONDS * 3);
  expect(all.length).toBeLessThanOrEqual(SECONDS * 4 + 1);
  expect(all.flatMap(({ events = [] }) => events)).toEqual(Array.from({ length: told }, (_, i) => i));
  expect(all.reduce((sum, { callsBegun = 0 }) => sum + callsBegun, 0)).toBe(told);
  expect(all.at(-1)?.parts).toEqual({ status: told });
});

test('nothing is said before the opening, which has what was told before it', async () => {
  const { clock, stream, messages } = await open(false);
  stream.tell({ events: ['early'], parts: { status: 1, clients: 2 } });
  clock.advance(1000);
  stream.begin({ hello: { canWrite: false, version: '1' }, parts: { status: 3 } });
  stream.begin({ hello: { canWrite: true, version: '2' } });
  clock.advance(0);
  expect(await messages()).toEqual([
    { events: ['early'], hello: { canWrite: false, version: '1' }, parts: { status: 3, clients: 2 } },
  ]);
});

test('of more events than fit into one update the last ones are kept, and it says how many are lost', async () => {
  const { clock, stream, messages } = await open();
  for (let i = 0; i < 2500; i++) stream.tell({ events: [i] });
  clock.advance(250);
  const [only] = await messages();
  expect([only?.events?.length, only?.events?.[0], only?.lost]).toEqual([2000, 500, 500]);
});

test('nothing is sent while nothing is new, but a sign of life', async () => {
  const { clock, messages } = await open();
  clock.advance(60_000);
  expect(await messages()).toEqual([]);
});
