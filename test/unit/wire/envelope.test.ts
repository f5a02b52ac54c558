// The scan is compared with JSON.parse and with a slow list of an object's members, which sees what JSON.parse hides:
// keys that are there twice, or that are spelled in another way.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bitsOf, Envelope, Field, type FrameFault, type FrameKind } from '../../../src/wire/envelope.ts';
import { DEEPEST } from '../../../src/wire/json-grammar.ts';
import {
  frameAt,
  jsonText,
  type Member,
  membersOf,
  mutate,
  mutations,
  type Place,
  parsed,
  place,
  stringText,
} from '../../support/json-text.ts';
import { runs } from '../../support/runs.ts';

type Words = Readonly<Record<string, Field>>;
const TOP: Words = {
  jsonrpc: Field.jsonrpc,
  id: Field.id,
  method: Field.method,
  params: Field.params,
  result: Field.result,
  error: Field.error,
};
const PARAMS: Words = {
  name: Field.name,
  uri: Field.uri,
  _meta: Field.meta,
  requestId: Field.requestId,
  progressToken: Field.progressToken,
  arguments: Field.arguments,
};
const META: Words = { progressToken: Field.metaProgressToken };
const RESULT: Words = { isError: Field.isError };

interface Reading {
  readonly fault: FrameFault | undefined;
  readonly kind: FrameKind | undefined;
  readonly ambiguous: number;
  readonly fields: ReadonlyMap<Field, unknown>;
}

/** Whether a reader that ignores case, as Go's does, takes the key for the word. */
const isLike = (key: string, word: string): boolean => new RegExp(`^${word}$`, 'iu').test(key);

/** What a router should read, found slowly. */
function slowReading(text: string): Reading {
  const json = parsed(text);
  const fields = new Map<Field, unknown>();
  let ambiguous = 0;
  const read = (members: readonly Member[], words: Words): void => {
    for (const [word, field] of Object.entries(words)) {
      const exact = members.filter((member) => member.rawKey === word);
      const alike = members.filter((member) => member.rawKey !== word && isLike(member.key, word));
      if (exact.length > 1 || alike.length > 0) ambiguous |= 1 << field;
      for (const member of exact) {
        fields.set(field, JSON.parse(member.text));
        if (!member.text.startsWith('{')) continue;
        if (field === Field.params) read(membersOf(member.text), PARAMS);
        if (field === Field.meta) read(membersOf(member.text), META);
        if (field === Field.result) read(membersOf(member.text), RESULT);
      }
    }
  };
  const answer = (fault: FrameFault | undefined, kind?: FrameKind): Reading => ({ fault, kind, ambiguous, fields });
  if (json === undefined) return answer('not-json');
  if (Array.isArray(json.value)) return answer('batch');
  if (typeof json.value !== 'object' || json.value === null) return answer('not-an-object');
  read(membersOf(text), TOP);
  if ((ambiguous & bitsOf(Object.values(TOP))) !== 0) return answer('ambiguous-key');
  const has = (field: Field): boolean => fields.has(field);
  const isAnswer = has(Field.result) || has(Field.error);
  if (!has(Field.method) && !isAnswer) return answer('no-method');
  if (has(Field.method) && isAnswer) return answer('request-and-answer');
  if (has(Field.method) && typeof fields.get(Field.method) !== 'string') return answer('method-not-a-string');
  const kind = !has(Field.method) ? 'response' : has(Field.id) ? 'request' : 'notification';
  return answer(fields.get(Field.jsonrpc) === '2.0' ? undefined : 'not-jsonrpc-2.0', kind);
}

const shared = new Envelope();
shared.readsResult = true;

/** Scans with one envelope for all, as a link does, so that what an earlier frame has left would show. */
function scan(frame: Buffer | string, where?: Place): { accepted: boolean; read: (field: Field) => unknown } {
  const { b, start, end } = frameAt(frame, where);
  const accepted = shared.scan(b, start, end, DEEPEST);
  const read = (field: Field): unknown => {
    const text = b.toString('utf8', shared.from(field), shared.to(field));
    return shared.has(field) ? (parsed(text) ?? { notJson: text }).value : undefined;
  };
  return { accepted, read };
}

function expectSlowReading(frame: Buffer | string, where?: Place): void {
  const text = frame.toString('utf8');
  const slow = slowReading(text);
  const { accepted, read } = scan(frame, where);
  expect({ text, fault: shared.fault, accepted }).toEqual({
    text,
    fault: slow.fault,
    accepted: slow.fault === undefined,
  });
  if (slow.fault === 'not-json') return;
  if (slow.kind !== undefined) expect({ text, kind: shared.kind }).toEqual({ text, kind: slow.kind });
  if (slow.fault === 'batch' || slow.fault === 'not-an-object' || slow.fault === 'ambiguous-key') return;
  // What stands in one of two _meta is in doubt together with them; whether it is marked too does not matter.
  const inDoubt = (slow.ambiguous & (1 << Field.meta)) === 0 ? 0 : 1 << Field.metaProgressToken;
  expect({ text, ambiguous: shared.ambiguous | inDoubt }).toEqual({ text, ambiguous: slow.ambiguous | inDoubt });
  if (shared.ambiguous !== 0) return;
  for (const field of Object.values(Field))
    expect({ text, field, value: read(field) }).toEqual({ text, field, value: slow.fields.get(field) });
}

const space = fc.constantFrom('', '', '', ' ', '\t', '\r', '  ');

/** An object's text out of members, each with a place for white space. */
function objectText(members: fc.Arbitrary<readonly [string, string]>, maxLength: number): fc.Arbitrary<string> {
  const member = fc.tuple(space, members, space).map(([a, [key, value], b]) => `${a}"${key}"${b}:${a}${value}${b}`);
  return fc.array(member, { maxLength }).map((list) => `{${list.join(',')}}`);
}

/** Other ways to spell a word: some readers take each of them for the word. */
const spellings = (word: string): string[] => [
  word.toUpperCase(),
  `${word.charAt(0).toUpperCase()}${word.slice(1)}`,
  word.replace(/[a-z]/, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  word.replace('s', 'ſ').replace('k', '\u212a').replace('S', 'ſ'),
  word.replace('s', '\\u017f').replace('k', '\\u212A'),
];
const strangers = fc.constantFrom(
  'x',
  'arguments',
  'idd',
  'i',
  '_met',
  'na\\/me',
  'métho',
  'progresstokens',
  '',
  'İd',
  '\\u0130d',
);

function keyLike(words: Words, exactWeight: number): fc.Arbitrary<string> {
  const names = Object.keys(words);
  return fc.oneof(
    { weight: exactWeight, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constantFrom(...names.flatMap(spellings)) },
    { weight: 3, arbitrary: strangers },
  );
}

const value = fc.oneof(jsonText, stringText, fc.integer().map(String));

function frameText(exactWeight: number, pool: number): fc.Arbitrary<string> {
  const meta = objectText(fc.tuple(keyLike(META, exactWeight), value), pool);
  const paramsMember = fc.oneof(
    { weight: 2, arbitrary: meta.map((text) => ['_meta', text] as const) },
    { weight: 3, arbitrary: fc.tuple(keyLike(PARAMS, exactWeight), value) },
  );
  const params = objectText(paramsMember, pool);
  const topMember = fc.oneof(
    { weight: 3, arbitrary: params.map((text) => ['params', text] as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        ['jsonrpc', '"2.0"'] as const,
        ['jsonrpc', '"1.0"'] as const,
        ['jsonrpc', '2.0'] as const,
      ),
    },
    { weight: 2, arbitrary: stringText.map((text) => ['method', text] as const) },
    { weight: 3, arbitrary: fc.tuple(keyLike(TOP, exactWeight), value) },
  );
  return objectText(topMember, pool);
}

/** A frame as peers send it: what must be there is there, once, in any order. */
const soundFrame: fc.Arbitrary<string> = fc
  .record({
    head: fc.subarray(['"id":7', '"method":"tools/call"', '"result":{}', '"error":{"code":1}'], { minLength: 1 }),
    params: fc.option(frameParams(), { nil: undefined }),
    extra: value,
    gap: space,
  })
  .chain(({ head, params, extra, gap }) => {
    const members = [
      '"jsonrpc":"2.0"',
      ...head,
      ...(params === undefined ? [] : [`"params":${params}`]),
      `"extra":${extra}`,
    ];
    return fc
      .shuffledSubarray(members, { minLength: members.length })
      .map((list) => `{${gap}${list.join(`${gap},`)}}${gap}`);
  });

function frameParams(): fc.Arbitrary<string> {
  const members = fc.tuple(
    fc.option(
      stringText.map((text) => `"name":${text}`),
      { nil: '' },
    ),
    fc.option(
      stringText.map((text) => `"uri" : ${text}`),
      { nil: '' },
    ),
    fc.option(
      value.map((text) => `"requestId":${text}`),
      { nil: '' },
    ),
    fc.option(
      value.map((text) => `"progressToken":${text}`),
      { nil: '' },
    ),
    fc.option(
      value.map((text) => `"_meta": {"a":[1], "progressToken":${text} }`),
      { nil: '' },
    ),
    fc.option(
      value.map((text) => `"arguments":{"name":${text},"_meta":{"id":1,"id":2}}`),
      { nil: '' },
    ),
  );
  return members.map((list) => `{ ${list.filter((text) => text !== '').join(', ')} }`);
}

describe('the envelope of a frame', () => {
  test('of a sound frame is what JSON.parse sees in it', () => {
    fc.assert(fc.property(soundFrame, place, expectSlowReading), { numRuns: runs(3000) });
  });

  test('of a frame with random members is what the slow reader sees in it', () => {
    fc.assert(fc.property(frameText(8, 5), place, expectSlowReading), { numRuns: runs(3000) });
  });

  test('of a frame full of odd keys is what the slow reader sees in it', () => {
    fc.assert(fc.property(frameText(2, 3), place, expectSlowReading), { numRuns: runs(3000) });
  });

  test('of a mutated frame is what the slow reader sees in it', () => {
    fc.assert(
      fc.property(fc.oneof(soundFrame, frameText(8, 5)), mutations, place, (text, steps, where) => {
        const bytes = mutate(text, steps);
        fc.pre(bytes !== undefined && !bytes.includes(0x7f));
        expectSlowReading(bytes, where);
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('of any JSON at all is what the slow reader sees in it', () => {
    fc.assert(fc.property(fc.oneof(jsonText, fc.json()), place, expectSlowReading), { numRuns: runs(1000) });
  });

  test.each<[string, FrameFault | undefined]>([
    ['{"jsonrpc":"2.0","id":1,"method":"x"}', undefined],
    ['', 'not-json'],
    [' ', 'not-json'],
    ['nonsense', 'not-json'],
    ['{"jsonrpc":"2.0","id":1,"method":"x"}}', 'not-json'],
    ['{"jsonrpc":"2.0","id":1,"method":"x",}', 'not-json'],
    ['[{"jsonrpc":"2.0","id":1,"method":"x"}]', 'batch'],
    ['[]', 'batch'],
    ['"text"', 'not-an-object'],
    ['7', 'not-an-object'],
    ['null', 'not-an-object'],
    ['{}', 'no-method'],
    ['{"jsonrpc":"2.0","id":1}', 'no-method'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', 'request-and-answer'],
    ['{"jsonrpc":"2.0","id":1,"error":{},"method":"x"}', 'request-and-answer'],
    ['{"jsonrpc":"2.0","id":1,"method":7}', 'method-not-a-string'],
    ['{"jsonrpc":"2.0","id":1,"method":null}', 'method-not-a-string'],
    ['{"id":1,"method":"x"}', 'not-jsonrpc-2.0'],
    ['{"jsonrpc":2.0,"id":1,"method":"x"}', 'not-jsonrpc-2.0'],
    ['{"jsonrpc":"2.1","id":1,"method":"x"}', 'not-jsonrpc-2.0'],
    ['{"jsonrpc":"2.00","id":1,"method":"x"}', 'not-jsonrpc-2.0'],
  ])('of %s has the right fault', (text, fault) => {
    scan(text);
    expect(shared.fault).toBe(fault);
  });
});

test('an id is given back in its own spelling', () => {
  for (const spelling of ['7', '0', '-0', '-7', '1.0', '1e2', '100', '9007199254740991', '"7"', '"\\u0061"', '""']) {
    const { b } = frameAt(`{"jsonrpc":"2.0","method":"m","id" : ${spelling} }`);
    shared.scan(b, 0, b.length - 1, DEEPEST);
    const id = shared.id(b, Field.id);
    expect([spelling, id === undefined ? undefined : shared.rawId(b, Field.id, id)]).toEqual([spelling, spelling]);
  }
});

describe('a key that is read', () => {
  const places: readonly (readonly [string, Words, (members: string) => string])[] = [
    ['at the top', TOP, (members) => `{${members}}`],
    ['in params', PARAMS, (members) => `{"jsonrpc":"2.0","id":1,"method":"m","params":{${members}}}`],
    ['in result', RESULT, (members) => `{"jsonrpc":"2.0","id":1,"result":{${members}}}`],
    ['in params._meta', META, (members) => `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{${members}}}}`],
  ];

  test.each(places)('is ambiguous %s when it is there twice', (_, words, wrap) => {
    for (const [word, field] of Object.entries(words)) {
      scan(wrap(`"${word}":1,"x":2,"${word}":1`));
      expect([word, shared.ambiguous & (1 << field)]).toEqual([word, 1 << field]);
    }
  });

  test.each(places)('is ambiguous %s in another spelling, beside the plain one or alone', (_, words, wrap) => {
    for (const [word, field] of Object.entries(words)) {
      for (const spelling of spellings(word).filter((text) => text !== word)) {
        for (const members of [`"${spelling}":1`, `"${word}":1,"${spelling}":2`, `"${spelling}":1,"${word}":2`]) {
          scan(wrap(members));
          expect([members, shared.ambiguous & (1 << field)]).toEqual([members, 1 << field]);
        }
      }
    }
  });

  test.each(places)('is not ambiguous %s for a key that only looks a little like it', (_, words, wrap) => {
    for (const word of Object.keys(words)) {
      for (const other of [
        `${word}s`,
        word.slice(1),
        `${word}\\u0000`,
        `\\u0020${word}`,
        `é${word}`,
        `${word.replace('i', 'İ')}x`,
      ]) {
        scan(wrap(`"${word}":1,"${other}":2`));
        expect([other, shared.ambiguous]).toEqual([other, 0]);
      }
    }
  });

  test('at the top makes the whole frame refused', () => {
    const twins = [
      '"id":1,"id":1',
      '"id":1,"ID":2',
      '"id":1,"\\u0069d":2',
      '"jſonrpc":1,"id":1',
      '"params":{},"Params":{}',
    ];
    for (const twin of twins) {
      expect(scan(`{"jsonrpc":"2.0","method":"m",${twin}}`).accepted).toBe(false);
      expect(shared.fault).toBe('ambiguous-key');
    }
  });

  test('may be there twice, and in any spelling, deeper down or elsewhere', () => {
    const inner =
      '{"id":1,"id":2,"ID":3,"name":1,"name":2,"\\u006eame":3,"_meta":{},"_META":{},"progressToken":1,"progreſſToken":2}';
    const elsewhere = [
      `{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"n","arguments":${inner}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"other":${inner}},"list":[${inner}]}}`,
      `{"jsonrpc":"2.0","id":1,"method":"m","params":[${inner}]}`,
      `{"jsonrpc":"2.0","id":1,"result":${inner}}`,
      `{"jsonrpc":"2.0","id":1,"error":${inner},"name":1,"name":2}`,
    ];
    for (const text of elsewhere) {
      expect([text, scan(text).accepted, shared.ambiguous]).toEqual([text, true, 0]);
      expectSlowReading(text);
    }
  });

  test('is not confused with one that has a DEL where it has an underscore', () => {
    scan('{"jsonrpc":"2.0","id":1,"method":"m","params":{"\x7fmeta":{}}}');
    expect(shared.ambiguous).toBe(0);
  });
});

describe('the depth of a frame', () => {
  const wraps: readonly (readonly [string, number, (inner: string) => string])[] = [
    ['at the top', 1, (inner) => `{"jsonrpc":"2.0","method":"m","x":${inner}}`],
    ['as params', 1, (inner) => `{"jsonrpc":"2.0","method":"m","params":${inner}}`],
    ['in params', 2, (inner) => `{"jsonrpc":"2.0","method":"m","params":{"arguments":${inner}}}`],
    ['as _meta', 2, (inner) => `{"jsonrpc":"2.0","method":"m","params":{"_meta":${inner}}}`],
    ['in _meta', 3, (inner) => `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"x":1,"y":${inner}}}}`],
    ['as a token', 3, (inner) => `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"progressToken":${inner}}}}`],
  ];
  const arrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const objects = (levels: number): string =>
    levels === 0 ? '1' : `${'{"_meta":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

  test.each(wraps)('%s is taken at the limit and refused one beyond', (_, outer, wrap) => {
    for (const limit of [4, 8, 128, DEEPEST]) {
      for (const inner of [arrays, objects]) {
        const atLimit = frameAt(wrap(inner(limit - outer)));
        expect(shared.scan(atLimit.b, 0, atLimit.end, limit)).toBe(true);
        const beyond = frameAt(wrap(inner(limit - outer + 1)));
        expect(shared.scan(beyond.b, 0, beyond.end, limit)).toBe(false);
        expect(shared.fault).toBe('too-deep');
      }
    }
  });

  test('is no matter of the array that a message of a batch stands in', () => {
    for (const levels of [4, DEEPEST, DEEPEST + 1]) {
      const { b, end } = frameAt(`[{"jsonrpc":"2.0","method":"m"},${arrays(levels)}]`);
      expect(shared.scan(b, 0, end, 4)).toBe(false);
      expect(shared.fault).toBe(levels > DEEPEST ? 'too-deep' : 'batch');
    }
  });

  test('is counted in objects that are read as in those that are not', () => {
    const text = '{"jsonrpc":"2.0","method":"m","params":{"_meta":{}}}';
    const { b, end } = frameAt(text);
    expect([1, 2, 3].map((limit) => shared.scan(b, 0, end, limit))).toEqual([false, false, true]);
  });
});
