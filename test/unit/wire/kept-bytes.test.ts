// Compared with one long buffer, from which slices are taken.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeptBytes } from '../../../src/wire/kept-bytes.ts';

const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), bytes: fc.oneof(fc.nat(40), fc.constantFrom(4000, 20_000)) }),
  fc.record({ do: fc.constant('release' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ do: fc.constant('compact' as const) }),
);

test('keeps the end of what was added, whatever was released meanwhile', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const kept = new KeptBytes(Number.POSITIVE_INFINITY);
      let all = Buffer.alloc(0);
      let from = 0;
      for (const [i, what] of steps.entries()) {
        if (what.do === 'compact') kept.compact();
        else if (what.do === 'add') {
          // As an outbox does: the memory that it comes from is used again.
          const bytes = Buffer.alloc(what.bytes, i + 1);
          kept.add(bytes);
          all = Buffer.concat([all, bytes]);
          if (what.bytes <= 16_384) bytes.fill(0);
        } else {
          from += Math.floor((all.length - from) * what.share);
          kept.release(from);
        }
        expect([kept.from, kept.to, kept.size]).toEqual([from, all.length, all.length - from]);
        expect(Buffer.concat(kept.pieces()).equals(all.subarray(from))).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

test('lets go of the oldest beyond its bound, but for one piece', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40_000 })), (sizes) => {
      const kept = new KeptBytes(50_000);
      for (const size of sizes) {
        kept.add(Buffer.alloc(size));
        expect(kept.size).toBeLessThanOrEqual(50_000 + Math.max(16_384, ...sizes));
        expect(kept.size).toBeGreaterThanOrEqual(Math.min(50_000, kept.to));
      }
    }),
  );
});

test('knows where messages end', () => {
  const kept = new KeptBytes(1000);
  kept.add(Buffer.from('one\ntwo\n'));
  kept.add(Buffer.from('three\n'));
  expect([0, 1, 4, 7, 8, 14, 15].map((place) => kept.isFrameEnd(place))).toEqual([
    true,
    false,
    true,
    false,
    true,
    true,
    false,
  ]);
});

test('small pieces take little more memory than they have bytes', () => {
  const kept = new KeptBytes(1 << 30);
  const block = Buffer.alloc(16_384, 'x');
  for (let i = 0; i < 10_000; i++) kept.add(block.subarray(0, 100));
  const memory = new Set(kept.pieces().map(({ buffer }) => buffer));
  expect(memory.has(block.buffer)).toBe(false);
  expect([...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(1.2 * kept.size);
});
