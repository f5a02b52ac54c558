// Compared with a split of all bytes at their newlines, for all cuts into reads, and all times at which blocks are free.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameInput } from '../../../src/wire/frame-input.ts';
import { eachFrame, joined } from '../../../src/wire/frame-pieces.ts';

interface Read {
  readonly bytes: number;
  readonly isFree: boolean;
}

const frame = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 20_000, max: 150_000 }) },
);
const ending = fc.constantFrom('\n', '\n', '\n', '\r\n');
const stream = fc
  .array(fc.tuple(frame, ending), { maxLength: 40 })
  .map((frames) => frames.map(([length, end], i) => `${String(i % 10).repeat(length)}${end}`));
const reads = fc.array(
  fc.record({
    bytes: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.constantFrom(10_000, 70_000, 300_000)),
    isFree: fc.boolean(),
  }),
  { minLength: 1, maxLength: 60 },
);

function newInput(isTakenAtOnce: boolean): { input: FrameInput; frames: string[]; setFree: (isFree: boolean) => void } {
  const frames: string[] = [];
  /** Handed on, and looked at again when all else has come: nothing may have been written over it. */
  let isFree = false;
  const input = new FrameInput({ maxFrameBytes: 1 << 20, isTakenAtOnce });
  input.start({
    frames: (b, start, end) =>
      eachFrame(b, start, end, (one, from, to) => void frames.push(one.toString('latin1', from, to))),
    longFrame: (pieces, bytes) => void frames.push(joined(pieces, bytes).toString('latin1', 0, bytes - 1)),
    readEnded: () => undefined,
    overflowed: () => void frames.push('overflowed'),
    mayReuse: () => isFree,
  });
  return {
    input,
    frames,
    setFree: (free) => {
      isFree = free;
    },
  };
}

const expected = (lines: readonly string[]): string[] =>
  lines.map((line) => line.trimEnd()).filter((line) => line !== '');

describe('frames', () => {
  test('come whole, once and in order, however they are cut into chunks', () => {
    fc.assert(
      fc.property(stream, reads, (lines, cuts) => {
        const { input, frames } = newInput(false);
        const all = Buffer.from(lines.join(''));
        for (let at = 0, i = 0; at < all.length; i++) {
          const { bytes } = cuts[i % cuts.length] as Read;
          const chunk = Buffer.from(all.subarray(at, at + bytes));
          input.push(chunk, 0, chunk.length);
          at += chunk.length;
        }
        expect(frames).toEqual(expected(lines));
      }),
    );
  });

  test.each([true, false])(
    'are the same where a socket reads into blocks that are used again (at once: %s)',
    (atOnce) => {
      fc.assert(
        fc.property(stream, reads, (lines, cuts) => {
          const { input, frames, setFree } = newInput(atOnce);
          const { buffer, callback } = input.reader();
          const all = Buffer.from(lines.join(''));
          let room = buffer();
          for (let at = 0, i = 0; at < all.length; i++) {
            const { bytes, isFree } = cuts[i % cuts.length] as Read;
            const count = all.copy(room, 0, at, Math.min(at + bytes, at + room.length));
            callback(count);
            at += count;
            setFree(isFree);
            room = buffer();
          }
          expect(frames).toEqual(expected(lines));
        }),
      );
    },
  );

  test('nothing is written over while somebody refers to it', () => {
    const kept: Buffer[] = [];
    const input = new FrameInput({ maxFrameBytes: 1 << 20, isTakenAtOnce: true });
    input.start({
      frames: (b, start, end) => void kept.push(b.subarray(start, end)),
      longFrame: (pieces) => void kept.push(...pieces),
      readEnded: () => undefined,
      overflowed: () => undefined,
      mayReuse: (memory) => kept.every(({ buffer }) => buffer !== memory),
    });
    const { buffer, callback } = input.reader();
    const lines = Array.from({ length: 300 }, (_, i) => `${i} ${'x'.repeat((i * 997) % 9000)}\n`);
    for (const line of lines) {
      for (let at = 0; at < line.length; ) {
        const room = buffer();
        const count = room.write(line.slice(at), 'latin1');
        callback(count);
        at += count;
      }
    }
    expect(Buffer.concat(kept).toString()).toBe(lines.join(''));
    kept.length = 0;
    const before = buffer();
    before.write('a\n');
    callback(2);
    kept.length = 0;
    expect(buffer()).toBe(before);
  });

  test('one that is too long is told of', () => {
    const { input, frames } = newInput(false);
    const chunk = Buffer.alloc(600_000, 'x');
    input.push(chunk, 0, chunk.length);
    input.push(Buffer.from(chunk), 0, chunk.length);
    expect(frames).toEqual(['overflowed']);
  });
});
