import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eachFrame, KeptFrames } from '../../../src/client/kept-frames.ts';

const text = (pieces: readonly Buffer[] | undefined): string | undefined =>
  pieces === undefined ? undefined : Buffer.concat([...pieces]).toString();

describe('what was sent', () => {
  test('is there from any place on that nobody has said to have', () => {
    const line = fc.string({ maxLength: 5 }).map((word) => `${word.replaceAll('\n', '')}\n`);
    fc.assert(
      fc.property(fc.array(line), fc.nat(60), fc.nat(80), (lines, acknowledged, from) => {
        const kept = new KeptFrames();
        for (const one of lines) kept.append(Buffer.from(one));
        const all = Buffer.from(lines.join(''));
        const had = Math.min(acknowledged, all.length);
        kept.acknowledge(had);
        expect(kept.sentBytes).toBe(all.length);
        const behind = text(kept.from(from));
        if (from > all.length) expect(behind).toBeUndefined();
        else if (from >= had) expect(behind).toBe(all.subarray(from).toString());
        else expect([undefined, all.subarray(from).toString()]).toContain(behind);
      }),
    );
  });

  test('is let go of beyond the bound, oldest first, but for the last', () => {
    const kept = new KeptFrames(10);
    for (const one of ['aaaaa\n', 'bbb\n', 'ccc\n']) kept.append(Buffer.from(one));
    expect([text(kept.from(0)), text(kept.from(6))]).toEqual([undefined, 'bbb\nccc\n']);
    kept.append(Buffer.from('a very long one\n'));
    expect([text(kept.from(10)), text(kept.from(14))]).toEqual([undefined, 'a very long one\n']);
  });

  test('is forgotten with a new session', () => {
    const kept = new KeptFrames();
    kept.append(Buffer.from('a\n'));
    kept.reset();
    expect([kept.sentBytes, text(kept.from(0)), text(kept.from(2))]).toEqual([0, '', undefined]);
  });
});

test('the frames of a piece come one by one', () => {
  const frames: string[] = [];
  eachFrame(Buffer.from('a\nbc\n\nd\n'), (b, start, end) => frames.push(b.toString('utf8', start, end)));
  expect(frames).toEqual(['a', 'bc', '', 'd']);
});
