// The splitter is compared with a split of the whole stream at once, for random streams cut into random chunks.

import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FrameEnds } from '../../../src/wire/frame-ends.ts';
import { type FrameSink, FrameSplitter } from '../../../src/wire/frame-splitter.ts';

type Seen = string | { readonly bad: 'not-utf8' | 'too-long' };

/** Keeps each frame where it is, and a copy of it as it was. */
class Collector implements FrameSink {
  readonly seen: Seen[] = [];
  readonly ends: (readonly [string, string])[] = [];
  overflows = 0;
  readonly #frames: { readonly view: Buffer; readonly copy: Buffer }[] = [];

  frame(b: Buffer, start: number, end: number): void {
    const behind = b[end];
    expect(behind === 0x0a || (behind === 0x0d && b[end + 1] === 0x0a)).toBe(true);
    const view = b.subarray(start, end);
    this.#frames.push({ view, copy: Buffer.from(view) });
    this.seen.push(view.toString('latin1'));
  }
  overflowed(): void {
    this.overflows++;
  }
  badFrame(reason: 'not-utf8' | 'too-long', { head, tail }: FrameEnds): void {
    this.seen.push({ bad: reason });
    this.ends.push([head.toString('latin1'), tail.toString('latin1')]);
  }
  get isIntact(): boolean {
    return this.#frames.every(({ view, copy }) => view.equals(copy));
  }
}

function slowSplit(stream: Buffer, most: number): Seen[] {
  const lines = stream.toString('latin1').split('\n').slice(0, -1);
  return lines.flatMap<Seen>((line) => {
    const frame = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (frame === '') return [];
    if (frame.length > most) return [{ bad: 'too-long' }];
    return [isUtf8(Buffer.from(frame, 'latin1')) ? frame : { bad: 'not-utf8' }];
  });
}

/** Cuts at the places given, each chunk in memory of its own, as a socket gives them. */
function chunksOf(stream: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...[...cuts].sort((a, b) => a - b), stream.length];
  return places.slice(1).map((to, i) => Buffer.from(stream.subarray(places[i] ?? 0, to)));
}

function split(chunks: readonly Buffer[], most: number): { collector: Collector; splitter: FrameSplitter } {
  const collector = new Collector();
  const splitter = new FrameSplitter(most, collector);
  for (const chunk of chunks) splitter.push(chunk);
  return { collector, splitter };
}

/** The two ends of each frame that is not handed on. */
function slowEnds(stream: Buffer, most: number): [string, string][] {
  const frames = stream.toString('latin1').split('\n').slice(0, -1).map(withoutReturn);
  const bad = frames.filter((frame) => frame.length > most || !isUtf8(Buffer.from(frame, 'latin1')));
  return bad.map((frame) => [frame.slice(0, 512), frame.slice(-500)]);
}
const withoutReturn = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text);
const withoutReturns = (text: string): string => text.replace(/\r+$/, '');

function expectSameFrames(stream: Buffer, cuts: readonly number[], most: number): void {
  const { collector } = split(chunksOf(stream, cuts), most);
  const expected = slowSplit(stream, most);
  expect(collector.seen).toEqual(expected);
  // Of an overlong frame the CR before the newline is kept too, which nobody minds.
  expect(collector.ends.map(([head, tail]) => [withoutReturns(head), withoutReturns(tail).slice(-490)])).toEqual(
    slowEnds(stream, most).map(([head, tail]) => [withoutReturns(head), withoutReturns(tail).slice(-490)]),
  );
  const tooLong = expected.filter((seen) => typeof seen === 'object' && seen.bad === 'too-long').length;
  expect([tooLong, tooLong + 1]).toContain(collector.overflows); // the last one may not have ended
  expect(collector.isIntact).toBe(true);
}

const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => Buffer.from(text.replaceAll('\n', ''))),
  },
  { weight: 2, arbitrary: fc.constantFrom('', '\r', '\r\r', '{}\r', '日本', '😀😀').map((text) => Buffer.from(text)) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a))),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 9000 }).map((length) => Buffer.alloc(length, 'é')) },
);
const stream = fc
  .array(line, { maxLength: 12 })
  .map((lines) => Buffer.concat(lines.flatMap((bytes) => [bytes, Buffer.from('\n')])));

describe('frames', () => {
  test('are the same however the stream is cut into chunks', () => {
    fc.assert(
      fc.property(
        stream,
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.constantFrom(20, 61, 4096, 1 << 20),
        (bytes, cuts, most) => {
          expectSameFrames(
            bytes,
            cuts.map((cut) => cut % (bytes.length + 1)),
            most,
          );
        },
      ),
      { numRuns: 1500 },
    );
  });

  test('are the same in chunks of one byte', () => {
    fc.assert(
      fc.property(stream, fc.constantFrom(20, 1 << 20), (bytes, most) => {
        fc.pre(bytes.length < 10_000);
        expectSameFrames(bytes, [...bytes.keys()], most);
      }),
      { numRuns: 200 },
    );
  });

  test('are the same for each place, and each two places, where a short conversation can be cut', () => {
    const conversation = Buffer.from('{"id":1}\r\n\n{"a":"é😀"}\n\r\n\r\r\n日\n{}\n');
    for (let first = 0; first <= conversation.length; first++)
      for (let second = first; second <= conversation.length; second++)
        for (const most of [1, 2, 8, 13, 14, 100]) expectSameFrames(conversation, [first, second], most);
  });

  test('lose one CR before the newline and no other', () => {
    expect(split([Buffer.from('a\r\nb\r\r\n\rc\nd\re\n')], 100).collector.seen).toEqual(['a', 'b\r', '\rc', 'd\re']);
  });

  test('that are empty are passed over', () => {
    expect(
      split([Buffer.from('\n\r\n\n'), Buffer.from('\r'), Buffer.from('\n'), Buffer.from('a\n')], 100).collector.seen,
    ).toEqual(['a']);
  });

  test('are handed on without a copy when they came whole in one chunk', () => {
    const chunk = Buffer.from('abc\ndef\n');
    const memory: ArrayBufferLike[] = [];
    const splitter = new FrameSplitter(100, {
      frame: (b) => memory.push(b.buffer),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
    splitter.push(chunk);
    expect(memory).toEqual([chunk.buffer, chunk.buffer]);
  });

  test('wait for their newline', () => {
    const { collector, splitter } = split([Buffer.from('abc')], 100);
    expect([collector.seen, splitter.heldBytes]).toEqual([[], 3]);
    splitter.push(Buffer.from('def\ng'));
    expect([collector.seen, splitter.heldBytes]).toEqual([['abcdef'], 1]);
  });
});

describe('the limit of a frame', () => {
  const most = 10_000;
  const sizes = [1, 7, 100, 4095, 4096, 4097, 9_999, 10_000, 10_001, 10_002, 20_005];
  const inChunksOf = (text: string, size: number): Buffer[] => {
    const stream = Buffer.from(text);
    return chunksOf(
      stream,
      Array.from({ length: Math.ceil(stream.length / size) - 1 }, (_, i) => (i + 1) * size),
    );
  };

  test.each(['\n', '\r\n'])('lets exactly as many bytes pass, and not one more, before %j', (ending) => {
    for (const size of sizes) {
      const fits = `${'x'.repeat(most)}${ending}after${ending}`;
      expect(split(inChunksOf(fits, size), most).collector.seen).toEqual(['x'.repeat(most), 'after']);
      const tooLong = `${'x'.repeat(most + 1)}${ending}after${ending}`;
      expect(split(inChunksOf(tooLong, size), most).collector.seen).toEqual([{ bad: 'too-long' }, 'after']);
    }
  });

  test('is told once for an endless line, of which nothing is held', () => {
    const collector = new Collector();
    const splitter = new FrameSplitter(1 << 20, collector);
    const chunk = Buffer.alloc(65_536, 'x');
    let mostHeld = 0;
    for (let sent = 0; sent < 100_000_000; sent += chunk.length) {
      splitter.push(chunk);
      mostHeld = Math.max(mostHeld, splitter.heldBytes);
    }
    expect(mostHeld).toBeLessThanOrEqual((1 << 20) + 1);
    expect([collector.overflows, collector.seen, splitter.heldBytes]).toEqual([1, [], 0]);
    splitter.push(Buffer.from('xx\nafter\n'));
    expect(collector.seen).toEqual([{ bad: 'too-long' }, 'after']);
  });

  test('is told once for each line over it', () => {
    expect(
      split(inChunksOf(`${'x'.repeat(50)}\n${'y'.repeat(50)}\nok\n${'z'.repeat(50)}\n`, 3), 10).collector.seen,
    ).toEqual([{ bad: 'too-long' }, { bad: 'too-long' }, 'ok', { bad: 'too-long' }]);
  });
});

describe('a frame that is not UTF-8', () => {
  const bad = ['ff', 'c0af', 'e0a0', 'eda080', 'f4908080', '80', 'f09f98', 'c3'].map((hex) => Buffer.from(hex, 'hex'));

  test('is refused wherever it is cut, and those around it are not', () => {
    for (const bytes of bad) {
      const stream = Buffer.concat([Buffer.from('é\n"'), bytes, Buffer.from('"\n😀\n')]);
      for (let cut = 0; cut <= stream.length; cut++) {
        const { collector } = split(chunksOf(stream, [cut]), 100);
        expect(collector.seen).toEqual([
          Buffer.from('é').toString('latin1'),
          { bad: 'not-utf8' },
          Buffer.from('😀').toString('latin1'),
        ]);
      }
    }
  });

  test('does not spoil those before it in its chunk, when a character is cut off at the chunk’s end', () => {
    const { collector, splitter } = split(
      [Buffer.from('one\ntwo\n'), Buffer.concat([Buffer.from('three\n'), Buffer.from('f09f', 'hex')])],
      100,
    );
    splitter.push(Buffer.concat([Buffer.from('9880', 'hex'), Buffer.from('\n')]));
    expect(collector.seen).toEqual(['one', 'two', 'three', Buffer.from('😀').toString('latin1')]);
  });

  test('is refused when a newline stands in the middle of a character', () => {
    const { collector } = split([Buffer.from('f09f0a98800a', 'hex')], 100);
    expect(collector.seen).toEqual([{ bad: 'not-utf8' }, { bad: 'not-utf8' }]);
  });
});
