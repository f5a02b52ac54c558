// The walk over JSON is compared with JSON.parse: the two must agree on every text that there is.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { Envelope } from '../../../src/wire/envelope.ts';
import { DEEPEST, NOT_JSON, skipSpace, skipString, skipValue, TOO_DEEP } from '../../../src/wire/json-grammar.ts';
import {
  AT_ZERO,
  depthOf,
  frameAt,
  jsonText,
  mutate,
  mutations,
  oddText,
  type Place,
  parsed,
  place,
  stringText,
} from '../../support/json-text.ts';
import { runs } from '../../support/runs.ts';

/** Whether the walk takes b[start, end) for JSON, to its last byte. */
function isTaken(frame: Buffer | string, where: Place = AT_ZERO): boolean {
  const { b, start, end } = frameAt(frame, where);
  const p = skipValue(b, skipSpace(b, start), 0, DEEPEST);
  return p >= 0 && skipSpace(b, p) >= end;
}

/** The same as the envelope sees it: for an object its own walk goes over the top levels. */
function isJsonForScan(frame: Buffer | string, where: Place = AT_ZERO): boolean {
  const { b, start, end } = frameAt(frame, where);
  const envelope = new Envelope(ERA_2025.keys);
  envelope.scan(b, start, end, DEEPEST);
  return envelope.fault !== 'not-json';
}

function expectAgreement(frame: Buffer | string, where?: Place): void {
  const isJson = parsed(frame) !== undefined;
  const seen = { walk: isTaken(frame, where), scan: isJsonForScan(frame, where) };
  if (seen.walk !== isJson || seen.scan !== isJson)
    expect.fail(`JSON.parse says ${isJson}, we ${JSON.stringify(seen)}: ${JSON.stringify(frame.toString('latin1'))}`);
}

describe('what is JSON', () => {
  test('every valid text is taken, wherever it stands in its chunk', () => {
    fc.assert(
      fc.property(jsonText, place, (text, where) => {
        expect(parsed(text)).toBeDefined();
        expectAgreement(text, where);
      }),
      { numRuns: runs(2000) },
    );
  });

  test("fast-check's own JSON is taken, also with a member around it", () => {
    fc.assert(
      fc.property(fc.json(), place, (text, where) => {
        expectAgreement(text, where);
        expectAgreement(`{"params":{"_meta":${text},"x":${text}}}`, where);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('mutated texts are taken exactly when JSON.parse takes them', () => {
    fc.assert(
      fc.property(jsonText, mutations, place, (text, steps, where) => {
        const bytes = mutate(text, steps);
        fc.pre(bytes !== undefined);
        expectAgreement(bytes, where);
      }),
      { numRuns: runs(20_000) },
    );
  });

  test('texts at the border of the grammar are taken exactly when JSON.parse takes them, at every level', () => {
    fc.assert(
      fc.property(oddText, mutations, place, (odd, steps, where) => {
        const bytes = mutate(odd, steps.slice(0, 1));
        fc.pre(bytes !== undefined);
        const text = bytes.toString('utf8');
        for (const wrapped of [
          text,
          `[${text}]`,
          `{"a":${text}}`,
          `{"params":${text}}`,
          `{"params":{"_meta":{"a":${text}}}}`,
          `{${text}:1}`,
        ])
          expectAgreement(wrapped, where);
      }),
      { numRuns: runs(2000) },
    );
  });

  test('every short line over the characters of JSON is judged as by JSON.parse', () => {
    const alphabet = ['"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', '-', '.', 'e', 'u', ' '];
    for (const a of alphabet)
      for (const b of alphabet)
        for (const c of alphabet) for (const d of ['', ...alphabet]) expectAgreement(a + b + c + d);
  });

  test('every single byte is judged as by JSON.parse in a string, behind a backslash and as white space', () => {
    for (let byte = 0; byte < 0x80; byte++) {
      if (byte === 0x0a) continue;
      const c = String.fromCharCode(byte);
      for (const text of [
        `"${c}"`,
        `"\\${c}"`,
        `"\\u00${c}0"`,
        `${c}1`,
        `[1${c}]`,
        `1${c}`,
        `-${c}`,
        `1.${c}`,
        `1e${c}`,
        `{${c}"a"${c}:${c}1${c}}`,
      ])
        expectAgreement(text);
    }
  });

  test('a value is walked to its last byte and no further', () => {
    fc.assert(
      fc.property(jsonText, fc.constantFrom(' ', ',', ']', '}', ':'), (text, behind) => {
        const { b } = frameAt(`${text}${behind}`);
        expect(skipValue(b, 0, 0, DEEPEST)).toBe(Buffer.byteLength(text));
      }),
      { numRuns: runs(1000) },
    );
  });

  test('a string is walked to its closing quote', () => {
    fc.assert(
      fc.property(stringText, fc.nat({ max: 300 }), (text, padding) => {
        const padded = `"${'x'.repeat(padding)}${text.slice(1)}`;
        const { b } = frameAt(`${padded},"more"`);
        expect(skipString(b, 1)).toBe(Buffer.byteLength(padded));
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('how deep it may nest', () => {
  const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
  const objects = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;

  test.each([1, 2, 8, 128, DEEPEST])('exactly %i levels are taken, and one more is too deep', (limit) => {
    for (const make of [
      (n: number) => nested(n, '[', ']'),
      objects,
      (n: number) => `${'[1,'.repeat(n - 1)}[]${']'.repeat(n - 1)}`,
    ]) {
      const atLimit = frameAt(make(limit));
      expect(skipValue(atLimit.b, 0, 0, limit)).toBe(atLimit.end);
      expect(skipValue(frameAt(make(limit + 1)).b, 0, 0, limit)).toBe(TOO_DEEP);
    }
  });

  test('levels that were closed again do not count', () => {
    const wide = frameAt(`[${Array(50).fill('[[]]').join(',')}]`);
    expect(skipValue(wide.b, 0, 0, 3)).toBe(wide.end);
    expect(skipValue(wide.b, 0, 0, 2)).toBe(TOO_DEEP);
  });

  test('any text is too deep exactly when it nests deeper than allowed', () => {
    fc.assert(
      fc.property(jsonText, fc.integer({ min: 0, max: 6 }), (text, limit) => {
        const { b, end } = frameAt(text);
        expect(skipValue(b, 0, 0, limit)).toBe(depthOf(text) > limit ? TOO_DEEP : end);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('a hostile million of brackets is refused without a deep stack', () => {
    expect(skipValue(frameAt('['.repeat(1_000_000)).b, 0, 0, 128)).toBe(TOO_DEEP);
    expect(skipValue(frameAt('['.repeat(4000)).b, 0, 0, DEEPEST)).toBe(NOT_JSON);
    expect(skipValue(frameAt(`${'['.repeat(3)}${'}'.repeat(3)}`).b, 0, 0, 128)).toBe(NOT_JSON);
  });
});
