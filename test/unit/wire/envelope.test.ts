// The scan is compared with JSON.parse and with a slow list of an object's members, which sees what JSON.parse hides:
// keys that are there twice, or that are spelled in another way.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { Envelope, Field, type FrameFault, type FrameKind, type KeyTable } from '../../../src/wire/envelope.ts';
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

/** The keys of one kind of object; `inside` has those of the values of some of them. */
interface Words {
  readonly keys: Readonly<Record<string, Field>>;
  readonly inside?: Readonly<Partial<Record<Field, Words>>>;
}

interface EraWords {
  readonly era: string;
  readonly table: KeyTable;
  readonly top: Words;
  /** Each kind of object, with a frame that has one. */
  readonly places: readonly (readonly [string, Words, (members: string) => string])[];
}

const inParams = (members: string): string => `{"jsonrpc":"2.0","id":1,"method":"m","params":{${members}}}`;
const inResult = (members: string): string => `{"jsonrpc":"2.0","id":1,"result":{${members}}}`;

function eraWords(era: string, table: KeyTable, { params, meta, result, resultMeta }: Record<string, Words>): EraWords {
  const { jsonrpc, id, method, error } = Field;
  const withMeta = { ...params, inside: { [Field.meta]: meta } } as Words;
  const resultWithMeta = { ...result, inside: { [Field.resultMeta]: resultMeta } } as Words;
  const keys = { jsonrpc, id, method, params: Field.params, result: Field.result, error };
  const top: Words = { keys, inside: { [Field.params]: withMeta, [Field.result]: resultWithMeta } };
  const metaPlaces = [['in params._meta', meta, (members: string) => inParams(`"_meta":{${members}}`)]] as const;
  const places = [
    ['at the top', top, (members: string) => `{${members}}`],
    ['in params', withMeta, inParams],
    ['in result', resultWithMeta, inResult],
    ...metaPlaces,
    ...(resultMeta === undefined
      ? []
      : [['in result._meta', resultMeta, (members: string) => inResult(`"_meta":{${members}}`)] as const]),
  ];
  return { era, table, top, places } as EraWords;
}

const MCP = 'io.modelcontextprotocol';
const ERAS: readonly EraWords[] = [
  eraWords('2025', ERA_2025.keysWithOutcome, {
    params: {
      keys: {
        name: Field.name,
        uri: Field.uri,
        _meta: Field.meta,
        requestId: Field.requestId,
        progressToken: Field.progressToken,
        arguments: Field.arguments,
        task: Field.task,
        taskId: Field.taskId,
      },
    },
    meta: { keys: { progressToken: Field.metaProgressToken } },
    result: {
      keys: { isError: Field.isError, content: Field.content, structuredContent: Field.structuredContent },
    },
  }),
  eraWords('2026', ERA_2026.keys, {
    params: {
      keys: {
        name: Field.name,
        uri: Field.uri,
        _meta: Field.meta,
        requestId: Field.requestId,
        progressToken: Field.progressToken,
        arguments: Field.arguments,
        taskId: Field.taskId,
        requestState: Field.requestState,
        inputResponses: Field.inputResponses,
      },
    },
    meta: {
      keys: {
        progressToken: Field.metaProgressToken,
        traceparent: Field.traceparent,
        tracestate: Field.tracestate,
        baggage: Field.baggage,
        [`${MCP}/protocolVersion`]: Field.protocolVersion,
        [`${MCP}/clientInfo`]: Field.clientInfo,
        [`${MCP}/clientCapabilities`]: Field.clientCapabilities,
        [`${MCP}/logLevel`]: Field.logLevel,
        [`${MCP}/subscriptionId`]: Field.subscriptionId,
        'mcp-bridge/view': Field.bridgeView,
        'mcp-bridge/clientId': Field.bridgeClientId,
        'mcp-bridge/cwd': Field.bridgeCwd,
      },
    },
    result: {
      keys: {
        _meta: Field.resultMeta,
        isError: Field.isError,
        content: Field.content,
        structuredContent: Field.structuredContent,
        resultType: Field.resultType,
        inputRequests: Field.inputRequests,
        requestState: Field.resultState,
        ttlMs: Field.ttlMs,
        cacheScope: Field.cacheScope,
      },
    },
    resultMeta: {
      keys: { [`${MCP}/serverInfo`]: Field.serverInfo, [`${MCP}/subscriptionId`]: Field.resultSubscriptionId },
    },
  }),
];

interface Reading {
  readonly fault: FrameFault | undefined;
  readonly kind: FrameKind | undefined;
  readonly ambiguous: ReadonlySet<Field>;
  /** Fields of an object that is there twice: whether they are marked too does not matter. */
  readonly inDoubt: ReadonlySet<Field>;
  readonly fields: ReadonlyMap<Field, unknown>;
}

const escaped = (word: string): string => word.replace(/[.]/g, '\\.');

/** True if a reader that ignores case, as Go's does, takes the key for the word. */
const isLike = (key: string, word: string): boolean => new RegExp(`^${escaped(word)}$`, 'iu').test(key);

/** Everything that a router should read, found slowly. */
function slowReading(text: string, top: Words): Reading {
  const json = parsed(text);
  const fields = new Map<Field, unknown>();
  const ambiguous = new Set<Field>();
  const inDoubt = new Set<Field>();
  const read = (members: readonly Member[], { keys, inside = {} }: Words): void => {
    for (const [word, field] of Object.entries(keys)) {
      const exact = members.filter((member) => member.rawKey === word);
      const alike = members.filter((member) => member.rawKey !== word && isLike(member.key, word));
      if (exact.length > 1 || alike.length > 0) {
        ambiguous.add(field);
        for (const inner of Object.values(inside[field]?.keys ?? {})) inDoubt.add(inner);
      }
      for (const member of exact) {
        fields.set(field, JSON.parse(member.text));
        const words = inside[field];
        if (words !== undefined && member.text.startsWith('{')) read(membersOf(member.text), words);
      }
    }
  };
  const answer = (fault: FrameFault | undefined, kind?: FrameKind): Reading => ({
    ...{ fault, kind, ambiguous, inDoubt, fields },
  });
  if (json === undefined) return answer('not-json');
  if (Array.isArray(json.value)) return answer('batch');
  if (typeof json.value !== 'object' || json.value === null) return answer('not-an-object');
  read(membersOf(text), top);
  if (Object.values(top.keys).some((field) => ambiguous.has(field))) return answer('ambiguous-key');
  const has = (field: Field): boolean => fields.has(field);
  const isAnswer = has(Field.result) || has(Field.error);
  if (!has(Field.method) && !isAnswer) return answer('no-method');
  if (has(Field.method) && isAnswer) return answer('request-and-answer');
  if (has(Field.method) && typeof fields.get(Field.method) !== 'string') return answer('method-not-a-string');
  const kind = !has(Field.method) ? 'response' : has(Field.id) ? 'request' : 'notification';
  return answer(fields.get(Field.jsonrpc) === '2.0' ? undefined : 'not-jsonrpc-2.0', kind);
}

const shared = new Envelope(ERA_2025.keys);

/** Scans with one envelope for all, as a link does, so that what an earlier frame has left would show. */
function scan(
  frame: Buffer | string,
  table: KeyTable,
  where?: Place,
): { accepted: boolean; read: (field: Field) => unknown } {
  const { b, start, end } = frameAt(frame, where);
  shared.keys = table;
  const accepted = shared.scan(b, start, end, DEEPEST);
  const read = (field: Field): unknown => {
    const text = b.toString('utf8', shared.from(field), shared.to(field));
    return shared.has(field) ? (parsed(text) ?? { notJson: text }).value : undefined;
  };
  return { accepted, read };
}

const sorted = (fields: Iterable<Field>, but: ReadonlySet<Field>): Field[] =>
  [...fields].filter((field) => !but.has(field)).sort((one, other) => one - other);

function expectSlowReading(frame: Buffer | string, { top, table }: EraWords, where?: Place): void {
  const text = frame.toString('utf8');
  const slow = slowReading(text, top);
  const { accepted, read } = scan(frame, table, where);
  expect({ text, fault: shared.fault, accepted }).toEqual({
    text,
    fault: slow.fault,
    accepted: slow.fault === undefined,
  });
  if (slow.fault === 'not-json') return;
  if (slow.kind !== undefined) expect({ text, kind: shared.kind }).toEqual({ text, kind: slow.kind });
  if (slow.fault === 'batch' || slow.fault === 'not-an-object' || slow.fault === 'ambiguous-key') return;
  expect({ text, ambiguous: sorted(shared.ambiguous, slow.inDoubt) }).toEqual({
    text,
    ambiguous: sorted(slow.ambiguous, slow.inDoubt),
  });
  if (shared.ambiguous.length > 0) return;
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

function keyLike({ keys }: Words, exactWeight: number): fc.Arbitrary<string> {
  const names = Object.keys(keys);
  return fc.oneof(
    { weight: exactWeight, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constantFrom(...names.flatMap(spellings)) },
    { weight: 3, arbitrary: strangers },
  );
}

const value = fc.oneof(jsonText, stringText, fc.integer().map(String));

/** An object with keys of the words and others, some of whose values are such objects in turn. */
function objectOf(words: Words, exactWeight: number, pool: number): fc.Arbitrary<string> {
  const objects = Object.entries(words.keys).flatMap(([key, field]) => {
    const inner = words.inside?.[field];
    return inner === undefined ? [] : [objectOf(inner, exactWeight, pool).map((text) => [key, text] as const)];
  });
  const plain = fc.tuple(keyLike(words, exactWeight), value);
  return objectText(fc.oneof({ weight: 3, arbitrary: plain }, ...objects), pool);
}

function frameText({ top }: EraWords, exactWeight: number, pool: number): fc.Arbitrary<string> {
  const objects = (['params', 'result'] as const).map((key) => {
    const inner = top.inside?.[Field[key]];
    return objectOf(inner ?? { keys: {} }, exactWeight, pool).map((text) => [key, text] as const);
  });
  const topMember = fc.oneof(
    ...objects.map((arbitrary) => ({ weight: 2, arbitrary })),
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        ['jsonrpc', '"2.0"'] as const,
        ['jsonrpc', '"1.0"'] as const,
        ['jsonrpc', '2.0'] as const,
      ),
    },
    { weight: 2, arbitrary: stringText.map((text) => ['method', text] as const) },
    { weight: 3, arbitrary: fc.tuple(keyLike(top, exactWeight), value) },
  );
  return objectText(topMember, pool);
}

/** A frame as peers send it: everything that must be there is there, once, in any order. */
function soundFrame({ top }: EraWords): fc.Arbitrary<string> {
  const params = soundObject(top.inside?.[Field.params]);
  const result = soundObject(top.inside?.[Field.result]);
  return fc
    .record({
      head: fc.constantFrom(['"id":7', '"method":"tools/call"'], ['"method":"x"'], ['"id":"7"'], ['"id":8']),
      params: fc.option(params, { nil: undefined }),
      result,
      extra: value,
      gap: space,
    })
    .chain(({ head, params, result, extra, gap }) => {
      const isAnswer = !head.some((text) => text.startsWith('"method"'));
      const members = [
        '"jsonrpc":"2.0"',
        ...head,
        ...(params === undefined ? [] : [`"params":${params}`]),
        ...(isAnswer ? [`"result":${result}`] : []),
        `"extra":${extra}`,
      ];
      return fc
        .shuffledSubarray(members, { minLength: members.length })
        .map((list) => `{${gap}${list.join(`${gap},`)}}${gap}`);
    });
}

/** An object that has some of the keys once each, and another one. */
function soundObject(words: Words | undefined): fc.Arbitrary<string> {
  const { keys, inside = {} } = words ?? { keys: {} };
  const members = Object.entries(keys).map(([key, field]) => {
    const inner = inside[field] === undefined ? value : soundObject(inside[field]);
    return fc.option(
      inner.map((text) => `"${key}" :${text}`),
      { nil: '' },
    );
  });
  const other = value.map((text) => `"other":{"name":${text},"_meta":{"id":1,"id":2}}`);
  return fc.tuple(other, ...members).map((list) => `{ ${list.filter((text) => text !== '').join(', ')} }`);
}

describe.each(ERAS)('the envelope of a frame of $era', (words) => {
  const sound = soundFrame(words);
  const like = (frame: Buffer | string, where?: Place): void => expectSlowReading(frame, words, where);

  test('that is sound is what JSON.parse sees in it', () => {
    fc.assert(fc.property(sound, place, like), { numRuns: runs(3000) });
  });

  test('with random members is what the slow reader sees in it', () => {
    fc.assert(fc.property(frameText(words, 8, 5), place, like), { numRuns: runs(3000) });
  });

  test('full of odd keys is what the slow reader sees in it', () => {
    fc.assert(fc.property(frameText(words, 2, 3), place, like), { numRuns: runs(3000) });
  });

  test('that was mutated is what the slow reader sees in it', () => {
    fc.assert(
      fc.property(fc.oneof(sound, frameText(words, 8, 5)), mutations, place, (text, steps, where) => {
        const bytes = mutate(text, steps);
        fc.pre(bytes !== undefined && !bytes.includes(0x7f));
        like(bytes, where);
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('that is any JSON at all is what the slow reader sees in it', () => {
    fc.assert(fc.property(fc.oneof(jsonText, fc.json()), place, like), { numRuns: runs(1000) });
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
    scan(text, words.table);
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

describe.each(ERAS)('a key that is read in $era', ({ places, table, ...words }) => {
  test.each(places)('is ambiguous %s when it is there twice', (_, { keys }, wrap) => {
    for (const [word, field] of Object.entries(keys)) {
      scan(wrap(`"${word}":1,"x":2,"${word}":1`), table);
      expect([word, shared.ambiguous, shared.doubts([field])]).toEqual([word, [field], true]);
    }
  });

  test.each(places)('is ambiguous %s in another spelling, beside the plain one or alone', (_, { keys }, wrap) => {
    for (const [word, field] of Object.entries(keys)) {
      for (const spelling of spellings(word).filter((text) => text !== word)) {
        for (const members of [`"${spelling}":1`, `"${word}":1,"${spelling}":2`, `"${spelling}":1,"${word}":2`]) {
          scan(wrap(members), table);
          expect([members, shared.ambiguous.includes(field)]).toEqual([members, true]);
        }
      }
    }
  });

  test.each(places)('is not ambiguous %s for a key that only looks a little like it', (_, { keys }, wrap) => {
    for (const word of Object.keys(keys)) {
      for (const other of [
        `${word}s`,
        word.slice(1),
        `${word}\\u0000`,
        `\\u0020${word}`,
        `é${word}`,
        `${word.replace('i', 'İ')}x`,
      ]) {
        scan(wrap(`"${word}":1,"${other}":2`), table);
        expect([other, shared.ambiguous, shared.doubts(Object.values(keys))]).toEqual([other, [], false]);
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
      expect(scan(`{"jsonrpc":"2.0","method":"m",${twin}}`, table).accepted).toBe(false);
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
      `{"jsonrpc":"2.0","id":1,"result":{"content":${inner}}}`,
      `{"jsonrpc":"2.0","id":1,"error":${inner},"name":1,"name":2}`,
    ];
    for (const text of elsewhere) {
      expect([text, scan(text, table).accepted, shared.ambiguous]).toEqual([text, true, []]);
      expectSlowReading(text, { places, table, ...words });
    }
  });

  test('is not confused with one that has a DEL where it has an underscore', () => {
    scan('{"jsonrpc":"2.0","id":1,"method":"m","params":{"\x7fmeta":{}}}', table);
    expect(shared.ambiguous).toEqual([]);
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
