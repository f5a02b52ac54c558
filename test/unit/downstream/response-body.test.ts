// Bodies that a server streams have their share of each turn, and no more.

import { expect, test } from 'vitest';
import { readEvents } from '../../../src/downstream/response-body.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';

/** A body in these pieces. */
function bodyOf(pieces: readonly string[]): Response {
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const next = left.shift();
    if (next === undefined) controller.close();
    else controller.enqueue(next);
  };
  return new Response(new ReadableStream({ pull }));
}

/** Reads events while each look at the clock takes 0.1 ms; the turns that it took, and the events. */
async function read(pieces: readonly string[]): Promise<{ turns: number; events: string[] }> {
  let nowMs = 0;
  let turns = 0;
  const events: string[] = [];
  const pacer = new ReadPacer({
    now: () => {
      nowMs += 0.1;
      return nowMs;
    },
    defer: (task) => {
      setImmediate(() => {
        turns++;
        task();
      });
    },
  });
  await readEvents(bodyOf(pieces), {
    pacer,
    mostBytes: 1 << 20,
    event: ({ data }) => events.push(data === undefined ? '' : data.b.toString('utf8', data.start, data.end)),
    retry: () => undefined,
  });
  return { turns, events };
}

test('a piece of many comments is read over several turns, and events between them arrive', async () => {
  const comments = ':\n'.repeat(200_000);
  const { turns, events } = await read([`data: 1\n\n${comments}data: 2\n\n${comments}data: 3\n\n`]);
  expect(events).toEqual(['1', '2', '3']);
  expect(turns).toBeGreaterThan(9);
});

test('a stream in very many very small pieces is read over several turns', async () => {
  const text = 'data: 1\n\n'.repeat(100);
  const { turns, events } = await read([...text]);
  expect(events).toEqual(Array(100).fill('1'));
  expect(turns).toBeGreaterThan(9);
});
