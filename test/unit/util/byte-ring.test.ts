import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteRing } from '../../../src/util/byte-ring.ts';

test('a ring holds the last bytes of all that was pushed, however it came', () => {
  const chunk = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 24 }),
      fc.array(chunk, { maxLength: 30 }),
      fc.nat(900),
      (capacity, chunks, at) => {
        const ring = new ByteRing(capacity);
        let all = Buffer.alloc(0);
        for (const bytes of chunks) {
          ring.push(bytes);
          all = Buffer.concat([all, bytes]);
          const oldest = Math.max(0, all.length - capacity);
          expect(ring.text()).toBe(all.subarray(oldest).toString('utf8'));
          expect(ring.since(at)).toEqual(all.subarray(Math.max(oldest, at)));
          expect(ring.written).toBe(all.length);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test('a ring keeps no hold on what was pushed', () => {
  const ring = new ByteRing(8);
  const chunk = Buffer.from('abc');
  ring.push(chunk);
  chunk.fill('x');
  expect(ring.text()).toBe('abc');
});
