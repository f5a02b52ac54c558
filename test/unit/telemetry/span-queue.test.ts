// The queue of spans, with a collector that takes its time, and a clock whose hands the test turns.

import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { SpanQueue } from '../../../src/telemetry/span-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A collector that answers when the test says so. */
class SlowCollector {
  readonly batches: number[] = [];
  #answer: ((failure: string | undefined) => void) | undefined;

  send(spans: readonly ReadableSpan[]): Promise<string | undefined> {
    this.batches.push(spans.length);
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  async says(failure?: string): Promise<void> {
    this.#answer?.(failure);
    await new Promise(setImmediate);
  }
}

function queueOf(more: object = {}) {
  const clock = new FakeClock();
  const exporter = new SlowCollector();
  const told: unknown[] = [];
  const queue = new SpanQueue({
    ...{ maxQueued: 8, maxBatch: 3, delayMs: 5000, clock, exporter },
    sent: (failure, lost) => told.push([failure, lost]),
    ...more,
  });
  return {
    clock,
    exporter,
    queue,
    told,
    add: (count: number) => Array.from({ length: count }, () => queue.add({} as ReadableSpan)),
  };
}

test('few spans are sent after a while, many at once', () => {
  const { clock, exporter, add } = queueOf();
  add(2);
  clock.advance(4999);
  expect(exporter.batches).toEqual([]);
  clock.advance(1);
  expect(exporter.batches).toEqual([2]);
});

test('a full batch is sent in the next turn, and the rest behind it', async () => {
  const { clock, exporter, add } = queueOf();
  add(4);
  clock.advance(0);
  expect(exporter.batches).toEqual([3]);
  await exporter.says();
  clock.advance(5000);
  expect(exporter.batches).toEqual([3, 1]);
});

test('a collector that hangs costs what is beyond the queue, and is sent nothing more', () => {
  const { clock, exporter, queue, add } = queueOf();
  add(3);
  clock.advance(0);
  add(20);
  clock.advance(100_000);
  expect(exporter.batches).toEqual([3]);
  expect([queue.size, queue.lost]).toEqual([8, 12]);
});

test('a batch that does not arrive is lost and counted, and the next one is tried', async () => {
  const { clock, exporter, told, add } = queueOf();
  add(4);
  clock.advance(0);
  await exporter.says('ECONNREFUSED');
  clock.advance(5000);
  await exporter.says();
  expect(told).toEqual([
    ['ECONNREFUSED', 3],
    [undefined, 3],
  ]);
});

test('a flush sends all that waits, and ends when the last has arrived', async () => {
  const { exporter, queue, add } = queueOf();
  add(5);
  let isOver = false;
  const flushed = queue.flush().then(() => {
    isOver = true;
  });
  await exporter.says();
  expect([exporter.batches, isOver]).toEqual([[3, 2], false]);
  await exporter.says();
  await flushed;
  expect(isOver).toBe(true);
});
