// The scanner with SIMD is compared with a loop over the bytes, above all where its blocks (64 bytes) and its windows
// (1024 bytes, then four times as many up to 65536) meet.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { skipString } from '../../../src/wire/json-grammar.ts';
import { skipLongString } from '../../../src/wire/long-string.ts';
import { parsed } from '../../support/json-text.ts';

/** Ends of windows, counted from where the scanner begins. */
const WINDOW_ENDS = [1024, 1024 + 4096, 1024 + 4096 + 16384, 1024 + 4096 + 16384 + 65536];
const LAST_WINDOW_END = 1024 + 4096 + 16384 + 2 * 65536;

/** The index behind the closing quote, or -1. */
function slowEnd(b: Buffer, p: number): number {
  for (;;) {
    const c = b[p] ?? 0;
    if (c < 0x20) return -1;
    if (c === 0x22) return p + 1;
    if (c !== 0x5c) p++;
    else if (/^["\\/bfnrt]/.test(b.toString('latin1', p + 1, p + 2))) p += 2;
    else if (/^u[0-9a-fA-F]{4}$/.test(b.toString('latin1', p + 1, p + 6))) p += 6;
    else return -1;
  }
}

function lineOf(body: string | Buffer, offset = 0): Buffer {
  return Buffer.concat([Buffer.alloc(offset, 0x22), Buffer.from(body), Buffer.from('\n')]);
}

/** `body` is what comes behind an opening quote. */
function expectSameEnd(body: string | Buffer, offset = 0): void {
  const b = lineOf(body, offset);
  const expected = slowEnd(b, offset);
  const found = { long: skipLongString(b, offset), any: skipString(b, offset) };
  if (Math.max(found.long, -1) !== expected || Math.max(found.any, -1) !== expected)
    expect.fail(`expected ${expected}, found ${JSON.stringify(found)} in ${b.length} bytes`);
}

const plain = 'The quick brown fox, jumps over; the lazy dog: 0123456789 [] {} ~ é 日本 😀 ';
function filler(bytes: number): Buffer {
  return Buffer.from('abcdefghijklmnopqrstuvwxyz0123456789'.repeat(Math.ceil(bytes / 36))).subarray(0, bytes);
}

describe('a long string', () => {
  test('ends at its quote, for every length up to 5300 and around the end of each window', () => {
    const lengths = [...Array(5300).keys()];
    for (const end of [...WINDOW_ENDS, LAST_WINDOW_END]) for (let d = -70; d <= 70; d++) lengths.push(end + d);
    const body = filler(600_000);
    for (const length of [...lengths, 300_000, 500_000, 600_000]) {
      const b = Buffer.concat([body.subarray(0, length), Buffer.from('",7\n')]);
      if (skipLongString(b, 0) !== length + 1 || skipString(b, 0) !== length + 1) expect.fail(`length ${length}`);
    }
  });

  test('that lacks its quote is refused, for every length, also where an earlier one has left a quote behind', () => {
    const body = filler(22_000);
    const stale = lineOf(`${'\\u0041'.repeat(300)}${'"'.repeat(20_000)}`);
    const quotes = lineOf(`x${'"'.repeat(5200)}`);
    for (let length = 0; length < 5300; length++) {
      if (length % 7 === 0) skipLongString(stale, 0);
      skipLongString(quotes, 0);
      const b = Buffer.concat([body.subarray(0, length), Buffer.from('\n')]);
      if (skipLongString(b, 0) >= 0 || skipString(b, 0) >= 0) expect.fail(`length ${length}`);
      // Bytes may end without a newline: those of a message that comes from another host, for example.
      const bare = body.subarray(0, length);
      const cut = Buffer.from(bare.buffer.slice(bare.byteOffset, bare.byteOffset + length));
      if (skipLongString(cut, 0) >= 0) expect.fail(`length ${length}, without a newline`);
    }
  });

  test('agrees with JSON.parse on lengths 100 to 5000 with escapes in them', () => {
    for (let length = 100; length <= 5000; length++) {
      const body = `${plain}\\n\\u00e9\\\\`.repeat(Math.ceil(length / 80)).slice(0, length);
      const text = `"${body}"`;
      const b = Buffer.from(`${text}\n`);
      const isWhole = skipString(b, 1) === b.length - 1;
      if (isWhole !== (parsed(text) !== undefined)) expect.fail(`length ${length}`);
    }
  });
});

describe('where blocks and windows meet', () => {
  const edges = [64, 128, 960, ...WINDOW_ENDS, LAST_WINDOW_END, 1024 + 64, 1024 + 4096 + 128];
  const oddities = [
    ...['"', '\\"', '\\\\', '\\\\"', '\\\\\\"', '\\/', '\\n', '\\u0041', '\\uD83D\\uDE00', '\\uabcd"', 'é', '日', '😀'],
    ...[
      '\\',
      '\\x',
      '\\u',
      '\\u1',
      '\\u12',
      '\\u123',
      '\\u123g',
      '\\ug123',
      '\\U0041',
      '\\0',
      '\\ ',
      '\0',
      '\x01',
      '\t',
      '\r',
      '\x1f',
      '\x7f',
    ],
  ];

  test('an escape, a control character or a quote is seen at each place', () => {
    for (const edge of edges) {
      const body = filler(edge + 80);
      for (let at = edge - 9; at <= edge + 3; at++) {
        for (const oddity of oddities) {
          const odd = Buffer.from(oddity);
          const rest = body.subarray(at + odd.length);
          expectSameEnd(Buffer.concat([body.subarray(0, at), odd, rest, Buffer.from('"')]));
          expectSameEnd(Buffer.concat([body.subarray(0, at), odd, Buffer.from('"')]));
          expectSameEnd(Buffer.concat([body.subarray(0, at), odd]));
        }
      }
    }
  });

  test('a control character or a wrong escape is seen at every place of the first two windows', () => {
    const body = filler(5300);
    for (let at = 0; at < 5200; at++) {
      for (const bad of ['\x1f', '\\q', '\\u00g0']) {
        const b = Buffer.concat([body.subarray(0, at), Buffer.from(bad), body.subarray(at), Buffer.from('"\n')]);
        if (skipLongString(b, 0) >= 0 || skipString(b, 0) >= 0) expect.fail(`${JSON.stringify(bad)} at ${at}`);
      }
      const good = Buffer.concat([body.subarray(0, at), Buffer.from('\\u00e0'), body.subarray(at), Buffer.from('"\n')]);
      if (skipLongString(good, 0) !== good.length - 1) expect.fail(`\\u00e0 at ${at}`);
    }
  });

  test('a run of backslashes across an edge escapes the quote behind it exactly when it is odd', () => {
    for (const edge of edges) {
      for (let before = 0; before <= 5; before++) {
        for (let run = 1; run <= 10; run++) {
          const body = Buffer.concat([filler(edge - before), Buffer.alloc(run, 0x5c)]);
          expectSameEnd(Buffer.concat([body, Buffer.from('"')]));
          expectSameEnd(Buffer.concat([body, Buffer.from('"'), filler(70), Buffer.from('"')]));
          expectSameEnd(Buffer.concat([body, Buffer.from('u0041"')]));
        }
      }
    }
  });

  test('a run of backslashes as long as whole blocks and windows is paired right', () => {
    for (const start of [0, 1, 63, 64, 1000, 1023])
      for (const run of [62, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 4095, 4096, 5120, 5121])
        for (const behind of ['"', 'n"', 'q"', '""', ''])
          expectSameEnd(Buffer.concat([filler(start), Buffer.alloc(run, 0x5c), Buffer.from(behind)]));
  });

  test('what one string leaves in the window does not change the next', () => {
    const earlier = fc.constantFrom('"', '\\', '\x01', '\\u', 'a');
    fc.assert(
      fc.property(
        earlier,
        fc.nat({ max: 6000 }),
        fc.nat({ max: 1500 }),
        fc.constantFrom(...oddities),
        (left, long, short, odd) => {
          skipLongString(lineOf(`${filler(long)}${left.repeat(3000)}`), 0);
          expectSameEnd(`${filler(short)}${odd}"`);
          expectSameEnd(`${filler(short)}${odd}`);
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('random long strings', () => {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 90 }).map((n) => filler(n).toString()) },
    { weight: 3, arbitrary: fc.constantFrom('\\"', '\\\\', '\\n', '\\u0041', '\\ud83d', 'é', '😀', plain) },
    { weight: 1, arbitrary: fc.constantFrom('"', '\\', '\\q', '\\u12', '\x07', '\\\\\\', '\\\\\\\\') },
  );
  const body = fc.array(piece, { minLength: 1, maxLength: 150, size: 'max' }).map((pieces) => pieces.join(''));

  test('end where a loop over their bytes says, at any offset', () => {
    fc.assert(
      fc.property(body, fc.nat({ max: 130 }), (text, offset) => {
        expectSameEnd(`${text}"`, offset);
        expectSameEnd(text, offset);
      }),
      { numRuns: 1500 },
    );
  });

  test('are valid exactly when JSON.parse says so', () => {
    fc.assert(
      fc.property(body, (text) => {
        const b = Buffer.from(`"${text}"\n`);
        expect(skipString(b, 1) === b.length - 1).toBe(parsed(`"${text}"`) !== undefined);
      }),
      { numRuns: 800 },
    );
  });
});
