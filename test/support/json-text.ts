// Random JSON in every spelling that the grammar allows, ways to break it, and slow readers of it to compare with.
// No text made here holds a newline, because no frame does.

import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';

const space = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, fc.stringMatching(/^[ \t\r]{1,3}$/));

const numberText = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?$/),
  fc.constantFrom('0', '-0', '1e5', '1.0E+2', '-1.5e-7', '9007199254740993', '1e400'),
);

const stringPiece = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^[ !#-[\]-~]{1,12}$/) },
  fc.constantFrom('é', 'ſ', '\u212a', '日本', '😀', '\u007f', '\u2028', '\ufeff'),
  fc.constantFrom(
    '\\"',
    '\\\\',
    '\\/',
    '\\b',
    '\\f',
    '\\n',
    '\\r',
    '\\t',
    '\\u0041',
    '\\uD83D\\ude00',
    '\\ud800',
    '\\u0000',
  ),
);
export const stringText = fc.array(stringPiece, { maxLength: 8 }).map((pieces) => `"${pieces.join('')}"`);

const scalarText = fc.oneof(numberText, stringText, fc.constantFrom('true', 'false', 'null'));

/** Valid JSON, nested a little. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarText,
    fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
      .map((items) => `[${items.map((i) => i.join('')).join(',')}]`),
    fc
      .array(fc.tuple(space, stringText, space, tie('value'), space), { maxLength: 4 })
      .map((items) => `{${items.map(([a, key, b, value, c]) => `${a}${key}${b}:${value}${c}`).join(',')}}`),
  ),
})).value;

/** Texts at the border of the grammar, on either side of it. */
export const oddText = fc.constantFrom(
  ...[
    '01',
    '-01',
    '+1',
    '.5',
    '1.',
    '1.e5',
    '0x1',
    '-',
    '1e',
    '1e+',
    '--1',
    '1E5',
    '1.5E-3',
    '00',
    '-0.0',
    'NaN',
    'Infinity',
  ],
  ...[
    'tru',
    'True',
    'truee',
    'nul',
    'undefined',
    '',
    ' ',
    '"',
    '"\\',
    '"\\"',
    '"\\u12"',
    '"\\u12G4"',
    '"\\x41"',
    "'a'",
    '"\t"',
    '"\r"',
  ],
  ...[
    '[',
    ']',
    '[,]',
    '[1,]',
    '[1 2]',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{a:1}',
    '{"a":1]',
    '[1}',
    '{"a" 1}',
    '[]]',
    '{}{}',
    '1 1',
  ],
  ...['\ufeff1', '1\ufeff', '\u00a01', '[1\u00a0]', '\v1', '\f1', '\u20281', '/**/1', '"\\\ud83d\ude00"'],
);

export interface Mutation {
  readonly how: 'delete' | 'insert' | 'replace' | 'duplicate' | 'swap';
  readonly at: number;
  readonly byte: number;
  readonly length: number;
}

const anyByte = fc.oneof(
  fc.constantFrom(...Buffer.from('"\\{}[],:-+.eE01u tfn/ \r\t\0')),
  fc.integer({ min: 0, max: 255 }),
);
export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    how: fc.constantFrom('delete', 'insert', 'replace', 'duplicate', 'swap'),
    at: fc.nat(),
    byte: anyByte,
    length: fc.integer({ min: 1, max: 6 }),
  }),
  { maxLength: 4 },
);

/** The bytes with the mutations made; undefined when what comes out is no line of UTF-8. */
export function mutate(text: string, steps: readonly Mutation[]): Buffer | undefined {
  let bytes = [...Buffer.from(text)];
  for (const { how, at, byte, length } of steps) {
    const i = bytes.length === 0 ? 0 : at % bytes.length;
    if (how === 'delete') bytes.splice(i, length);
    else if (how === 'insert') bytes.splice(i, 0, byte);
    else if (how === 'replace') bytes[i] = byte;
    else if (how === 'duplicate') bytes.splice(i, 0, ...bytes.slice(i, i + length));
    else bytes = [...bytes.slice(0, i), ...bytes.slice(i, i + 2).reverse(), ...bytes.slice(i + 2)];
  }
  const mutated = Buffer.from(bytes);
  return isUtf8(mutated) && !mutated.includes(0x0a) ? mutated : undefined;
}

export interface Place {
  readonly before: Buffer;
  readonly ending: '\n' | '\r\n';
  readonly after: Buffer;
}

/** Where in a chunk a frame stands, and what is around it. */
export const place: fc.Arbitrary<Place> = fc.record({
  before: fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes)),
  ending: fc.constantFrom('\n', '\r\n'),
  after: fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes)),
});
export const AT_ZERO: Place = { before: Buffer.alloc(0), ending: '\n', after: Buffer.alloc(0) };

export interface Framed {
  readonly b: Buffer;
  readonly start: number;
  readonly end: number;
}

export function frameAt(frame: Buffer | string, { before, ending, after }: Place = AT_ZERO): Framed {
  const bytes = Buffer.from(frame);
  const b = Buffer.concat([before, bytes, Buffer.from(ending), after]);
  return { b, start: before.length, end: before.length + bytes.length };
}

/** What JSON.parse makes of it; undefined when it throws. */
export function parsed(bytes: Buffer | string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString('utf8')) as unknown };
  } catch {
    return undefined;
  }
}

/** How deep arrays and objects nest in a text that is JSON. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const c of text.replace(/"(?:[^"\\]|\\.)*"/gs, '')) {
    if (c === '[' || c === '{') deepest = Math.max(deepest, ++depth);
    else if (c === ']' || c === '}') depth--;
  }
  return deepest;
}

export interface Member {
  /** The key as it is spelled, between its quotes. */
  readonly rawKey: string;
  readonly key: string;
  /** The value as it is spelled. */
  readonly text: string;
}

/** The members of an object in a text that is JSON, twice if they are there twice. */
export function membersOf(objectText: string): Member[] {
  const tokens = objectText.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/gs) ?? [];
  const members: Member[] = [];
  for (let i = 1; i < tokens.length - 1; ) {
    const key = tokens[i] ?? '';
    const value: string[] = [];
    let depth = 0;
    for (i += 2; i < tokens.length - 1; i++) {
      const token = tokens[i] ?? '';
      if (depth === 0 && token === ',') break;
      if (token === '[' || token === '{') depth++;
      if (token === ']' || token === '}') depth--;
      value.push(token);
    }
    i++;
    members.push({ rawKey: key.slice(1, -1), key: JSON.parse(key) as string, text: value.join('') });
  }
  return members;
}
