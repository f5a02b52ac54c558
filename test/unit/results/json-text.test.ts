import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundaryIn, decodedText, lineEndIn } from '../../../src/results/json-text.ts';
import { runs } from '../../support/runs.ts';

/** Texts with all that a cut may spoil, in JSON as several encoders spell it. */
const piece = fc.constantFrom(
  'a',
  ' ',
  ',',
  '\n',
  '\\',
  '\\\\',
  '"',
  'é',
  '漢',
  '😀',
  '\u0001',
  '\r\n',
  '/',
  'n',
  'u',
  'u0041',
);
const anyText = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
const encoded = fc.tuple(anyText, fc.boolean()).map(([text, isAscii]) => {
  const json = JSON.stringify(text).slice(1, -1);
  const spelled = isAscii
    ? json.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : json;
  return { text, b: Buffer.from(`"${spelled}"\n`) };
});

/** All places where the text may be cut, found by decoding each beginning. */
function boundariesOf(b: Buffer, text: string): number[] {
  const end = b.length - 2;
  const places: number[] = [];
  for (let p = 1; p <= end; p++) {
    let beginning: string;
    try {
      beginning = JSON.parse(`"${new TextDecoder('utf-8', { fatal: true }).decode(b.subarray(1, p))}"`) as string;
    } catch {
      continue;
    }
    if (text.startsWith(beginning) && !/[\ud800-\udbff]$/.test(beginning)) places.push(p);
  }
  return places;
}

describe('the place to cut a JSON text', () => {
  test('is the last one that splits neither an escape nor a character', () => {
    fc.assert(
      fc.property(encoded, ({ text, b }) => {
        const places = boundariesOf(b, text);
        for (let at = 1; at <= b.length - 2; at++)
          expect(boundaryIn(b, 1, at)).toBe(places.findLast((place) => place <= at));
      }),
      { numRuns: runs(2000) },
    );
  });

  test('is behind a line where there is one, and loses no more than half of what fits', () => {
    fc.assert(
      fc.property(encoded, ({ text, b }) => {
        const places = boundariesOf(b, text);
        for (let at = 1; at <= b.length - 2; at++) {
          const cut = lineEndIn(b, 1, at);
          expect(places).toContain(cut);
          expect(cut).toBeLessThanOrEqual(at);
          const most = boundaryIn(b, 1, at);
          const least = Math.floor(most - (most - 1) / 2);
          const lines = places.filter((p) => p > least + 1 && p <= most && /\n$/.test(decodedText(b, 1, p)));
          if (lines.length > 0) expect(cut).toBe(lines.at(-1));
        }
      }),
      { numRuns: runs(1000) },
    );
  });

  test('of a line that is too long is behind a word', () => {
    const b = Buffer.from(`"${'one two,three '.repeat(100)}"\n`);
    expect(decodedText(b, 1, lineEndIn(b, 1, 500))).toMatch(/[ ,]$/);
  });
});
