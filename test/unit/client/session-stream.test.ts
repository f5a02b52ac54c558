import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SessionStream } from '../../../src/client/session-stream.ts';
import { eachFrame } from '../../../src/wire/frame-pieces.ts';

const text = (pieces: readonly Buffer[] | undefined): string | undefined =>
  pieces === undefined ? undefined : Buffer.concat([...pieces]).toString();

describe('the sent bytes', () => {
  test('are kept from any position that the peer has not confirmed', () => {
    const line = fc.string({ maxLength: 5 }).map((word) => `${word.replaceAll('\n', '')}\n`);
    fc.assert(
      fc.property(fc.array(line), fc.nat(60), fc.nat(80), (lines, acknowledged, from) => {
        const stream = new SessionStream();
        stream.begin();
        for (const one of lines) stream.sent(Buffer.from(one));
        const all = Buffer.from(lines.join(''));
        const had = Math.min(acknowledged, all.length);
        stream.acknowledged(had);
        expect(stream.sentBytes).toBe(all.length);
        const behind = text(stream.sentFrom(from));
        if (from > all.length) expect(behind).toBeUndefined();
        else if (from >= had) expect(behind).toBe(all.subarray(from).toString());
        else expect([undefined, all.subarray(from).toString()]).toContain(behind);
      }),
    );
  });

  test('is let go of beyond the bound, oldest first, but for the last', () => {
    const stream = new SessionStream();
    stream.begin();
    const mib = 1024 * 1024;
    for (const size of [mib, 4 * mib, 4 * mib]) stream.sent(Buffer.alloc(size));
    expect([stream.sentFrom(0), stream.sentFrom(mib)?.length]).toEqual([undefined, 2]);
    stream.sent(Buffer.alloc(20 * mib));
    expect([stream.sentFrom(9 * mib - 1), stream.sentFrom(9 * mib)?.length]).toEqual([undefined, 1]);
  });

  test('is counted and not kept without a session', () => {
    const stream = new SessionStream();
    const piece = Buffer.from('a\n');
    stream.sent(piece);
    expect([stream.sentBytes, stream.isIn(piece.buffer)]).toEqual([2, false]);
    stream.begin();
    stream.sent(piece);
    expect([stream.sentBytes, stream.isIn(piece.buffer)]).toEqual([2, true]);
    stream.agree(undefined);
    stream.sent(piece);
    expect([stream.sentBytes, stream.isIn(piece.buffer)]).toEqual([4, false]);
  });

  test('is forgotten with a new session', () => {
    const stream = new SessionStream();
    stream.begin();
    stream.sent(Buffer.from('a\n'));
    stream.begin();
    expect([stream.sentBytes, text(stream.sentFrom(0)), text(stream.sentFrom(2))]).toEqual([0, '', undefined]);
  });
});

test('the frames of a piece come one by one', () => {
  const frames: string[] = [];
  eachFrame(Buffer.from('.a\nbc\r\n\nd\n.'), 1, 9, (b, start, end) => frames.push(b.toString('utf8', start, end)));
  expect(frames).toEqual(['a', 'bc', 'd']);
});
