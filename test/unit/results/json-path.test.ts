import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EACH, PathReader, type PathStep, parsedPath } from '../../../src/results/json-path.ts';
import { runs } from '../../support/runs.ts';

/** The same by decoding all of it. */
function valuesAt(value: unknown, [step, ...steps]: readonly PathStep[]): unknown[] {
  if (step === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (step === EACH) return Object.values(value).flatMap((one) => valuesAt(one, steps));
  if (Array.isArray(value)) return Number(step) in value ? valuesAt(value[Number(step)], steps) : [];
  return Object.hasOwn(value, step) ? valuesAt((value as Record<string, unknown>)[step], steps) : [];
}

function read(path: string | readonly PathStep[], pieces: readonly string[]): { text: string; reader: PathReader } {
  const steps = typeof path === 'string' ? (parsedPath(path) ?? []) : path;
  const reader = new PathReader(steps);
  let text = '';
  for (const piece of pieces) text += reader.read(piece);
  return { text: steps.includes(EACH) && reader.found > 0 ? `${text}]` : text, reader };
}

const key = fc.constantFrom('a', 'b', 'a.b', '"', '\\', 'é', '0', '');
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(0, -1.5e3, true, false, null, '', 'x', '{"a":1}', '[]\\"', '😀', ','),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const step: fc.Arbitrary<PathStep> = fc.oneof(key, fc.nat({ max: 2 }), fc.constant(EACH));

describe('a path', () => {
  test.each<[string, readonly PathStep[] | undefined]>([
    ['items[3].name', ['items', 3, 'name']],
    ['$.items[*].id', ['items', EACH, 'id']],
    ['$', []],
    ['', []],
    ['[0]', [0]],
    ['$["a.b"][\'c d\'].e', ['a.b', 'c d', 'e']],
    ['["\\u00e9"]', ['é']],
    ['a.*.b', ['a', EACH, 'b']],
    ['a b', ['a b']],
    ['a[', undefined],
    ['a]', undefined],
    ['a..b', undefined],
    ['a[1', undefined],
    ['a[-1]', undefined],
    ['["a', undefined],
    ['.'.repeat(999), undefined],
    ['.a'.repeat(65), undefined],
  ])('%s is read', (text, steps) => {
    expect(parsedPath(text)).toEqual(steps);
  });

  test('takes what decoding all of it takes, however the JSON is cut into pieces', () => {
    fc.assert(
      fc.property(
        json,
        fc.array(step, { maxLength: 4 }),
        fc.infiniteStream(fc.nat({ max: 7 })),
        fc.boolean(),
        (value, steps, cuts, isWide) => {
          const text = isWide ? JSON.stringify(value, undefined, 2) : JSON.stringify(value);
          const pieces: string[] = [];
          for (let at = 0; at < text.length; ) {
            const length = 1 + (cuts.next().value as number);
            pieces.push(text.slice(at, at + length));
            at += length;
          }
          const wanted = valuesAt(value, steps);
          const { text: taken, reader } = read(steps, [...pieces, '\n']);
          expect(reader.found > 0).toBe(wanted.length > 0);
          if (wanted.length > 0) expect(JSON.parse(taken)).toEqual(steps.includes(EACH) ? wanted : wanted[0]);
        },
      ),
      { numRuns: runs(5000) },
    );
  });

  test('that leads nowhere says how far it has led, and what is there', () => {
    const text = '{"items":[{"id":1,"name":"x"},2],"total":2}';
    expect(read('items[5].id', [text]).reader.deadEnd).toEqual({ steps: 1, names: [], length: 2 });
    expect(read('items[0].nmae', [text]).reader.deadEnd).toEqual({
      steps: 2,
      names: ['id', 'name'],
      length: undefined,
    });
    expect(read('itmes', [text]).reader.deadEnd).toEqual({ steps: 0, names: ['items', 'total'], length: undefined });
    expect(read('total.x', [text]).reader.deadEnd).toEqual({ steps: 1, names: [], length: undefined });
  });

  test('finds nothing in what is no JSON, and ends', () => {
    for (const text of ['}}}]]]', '{{{{', '"', '\\', ',,,,', ':', '{"a"', '[1,', 'nothing', '{"a":}'])
      expect(read('a.b', [text]).reader.found).toBe(0);
  });
});
