// The sink over a stream that takes as much as it is told, compared with a plain list of what was written.

import { Writable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GradualSink } from '../../../src/wire/gradual-sink.ts';

/** Keeps what it was handed until it is told to take it. */
class Taker {
  readonly stream: Writable;
  readonly taken: Buffer[] = [];
  hasEnded = false;
  #pending: (() => void) | undefined;

  constructor() {
    const take = (chunks: readonly Buffer[], done: () => void): void => {
      this.#pending = () => {
        this.taken.push(...chunks);
        done();
      };
    };
    this.stream = new Writable({
      highWaterMark: 16_384,
      write: (chunk: Buffer, _, done) => take([chunk], done),
      writev: (chunks, done) =>
        take(
          chunks.map(({ chunk }) => chunk as Buffer),
          done,
        ),
      final: (done) => {
        this.hasEnded = true;
        done();
      },
    });
  }

  /** Takes what it has; whether it had anything. */
  async take(): Promise<boolean> {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.();
    await new Promise(setImmediate); // the stream says so behind this turn
    return pending !== undefined;
  }
}

const STEP = 262_144;
const sizes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3 * STEP }) },
  { weight: 1, arbitrary: fc.constantFrom(STEP - 1, STEP, STEP + 1, 2 * STEP) },
);
const steps = fc.array(
  fc.record({ does: fc.constantFrom('write', 'write', 'corked', 'take'), size: sizes, seed: fc.nat(255) }),
  { maxLength: 30 },
);

test('hands on the same bytes in the same order, a step at a time, and ends behind them', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const taker = new Taker();
      const sink = new GradualSink(taker.stream);
      taker.stream.on('drain', () => sink.drained());
      const written: Buffer[] = [];
      const write = (size: number, seed: number): void => {
        const bytes = Buffer.alloc(size, seed);
        written.push(bytes);
        sink.write(bytes);
      };
      for (const { does, size, seed } of schedule) {
        if (does === 'take') await taker.take();
        else if (does === 'write') write(size, seed);
        else {
          sink.cork();
          write(size, seed);
          write(1 + (size % 5000), seed ^ 1);
          sink.uncork();
        }
        const all = Buffer.concat(written).length;
        expect(sink.writableLength).toBe(all - Buffer.concat(taker.taken).length);
        expect(taker.stream.writableLength).toBeLessThanOrEqual(STEP);
      }
      sink.end();
      do {
        expect(taker.stream.writableLength).toBeLessThanOrEqual(STEP);
        expect(taker.hasEnded).toBe(sink.writableLength === 0);
      } while (await taker.take());
      expect(Buffer.concat(taker.taken).equals(Buffer.concat(written))).toBe(true);
      expect(taker.hasEnded).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test.each(['', ', also once it is to end'])('tells how much was taken before all of it is%s', async (ending) => {
  const taker = new Taker();
  const sink = new GradualSink(taker.stream);
  taker.stream.on('drain', () => sink.drained());
  sink.write(Buffer.alloc(10 * STEP));
  if (ending !== '') sink.end();
  expect(sink.writableLength).toBe(10 * STEP);
  await taker.take();
  expect(sink.writableLength).toBe(9 * STEP);
});
