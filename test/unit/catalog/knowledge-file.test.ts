import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeKnown, encodeKnown } from '../../../src/catalog/knowledge-file.ts';
import { KnownServer, ServerProfile } from '../../../src/core/server-knowledge.ts';
import type { ListKind } from '../../../src/protocol/era.ts';
import { jsonText, mutate, mutations } from '../../support/json-text.ts';

const nothing = (): KnownServer => new KnownServer({ date: () => 0, ttlMs: 1000, changed: () => undefined });

interface Says {
  readonly asksBack: boolean;
  readonly asksForRoots: boolean;
  readonly habits: readonly (readonly [string, number])[];
  readonly profiles: readonly {
    readonly capabilities: object;
    readonly clientInfo: string | undefined;
    readonly learnedMs: number;
    readonly initializeResult: string;
    readonly lists: readonly (readonly [ListKind, readonly { cursor: string | undefined; result: string }[]])[];
  }[];
}

function knownThat({ profiles, ...rest }: Says): KnownServer {
  const known = nothing();
  const made = profiles.map(({ capabilities, clientInfo, learnedMs, initializeResult, lists }) => {
    const profile = new ServerProfile(capabilities, clientInfo, {
      initializeResult: Buffer.from(`${initializeResult}\n`),
      learnedMs,
    });
    for (const [kind, pages] of lists)
      profile.lists.set(
        kind,
        pages.map(({ cursor, result }) => ({ cursor, result: Buffer.from(`${result}\n`) })),
      );
    return profile;
  });
  known.restore({ ...rest, profiles: made });
  return known;
}

/** All that is known, to be compared. */
const saidBy = (known: KnownServer): unknown => ({
  asksBack: known.asksBack,
  asksForRoots: known.asksForRoots,
  habits: [...known.habits],
  profiles: known.profiles.map(({ capabilities, clientInfo, learnedMs, initializeResult, lists }) => ({
    capabilities,
    clientInfo,
    learnedMs,
    initializeResult: initializeResult.toString(),
    lists: [...lists].map(([kind, pages]) => [kind, pages.map(({ cursor, result }) => [cursor, result.toString()])]),
  })),
});

const objectText = fc
  .array(jsonText, { maxLength: 3 })
  .map((texts) => `{${texts.map((t, n) => `"k${n}" :${t}`).join(',')}}`);
const kinds = fc
  .uniqueArray(fc.constantFrom<ListKind>('tools', 'prompts', 'resources', 'templates'))
  .map((some) => some.sort(inOrder));
const inOrder = (a: ListKind, b: ListKind): number => ORDER.indexOf(a) - ORDER.indexOf(b);
const ORDER: readonly ListKind[] = ['tools', 'prompts', 'resources', 'templates'];
const page = fc.record({ cursor: fc.option(fc.string(), { nil: undefined }), result: objectText });
const says: fc.Arbitrary<Says> = fc.record({
  asksBack: fc.boolean(),
  asksForRoots: fc.boolean(),
  habits: fc.uniqueArray(fc.tuple(fc.stringMatching(/^"[a-zé\\]{1,8}"$/), fc.integer({ min: -1, max: 3 })), {
    selector: ([k]) => k,
  }),
  profiles: fc.array(
    fc.record({
      capabilities: fc.constantFrom({}, { sampling: {} }, { elicitation: { url: {} }, roots: { listChanged: true } }),
      clientInfo: fc.constantFrom(undefined, '', '{"name":"é"}'),
      learnedMs: fc.nat(),
      initializeResult: objectText,
      lists: kinds.chain((some) =>
        fc.tuple(...some.map((kind) => fc.tuple(fc.constant(kind), fc.array(page, { maxLength: 3 })))),
      ),
    }),
    { maxLength: 3 },
  ),
});

describe('the knowledge of a server', () => {
  test('comes out of its file as it went in, to the byte', () => {
    fc.assert(
      fc.property(says, fc.string(), (what, name) => {
        const known = knownThat(what);
        const content = encodeKnown(name, known);
        const again = nothing();
        expect(decodeKnown(content, again)).toBe(true);
        expect(saidBy(again)).toEqual(saidBy(known));
        expect(JSON.parse(content)).toMatchObject({ format: 2, name });
      }),
      { numRuns: 500 },
    );
  });

  const known = knownThat({
    asksBack: true,
    asksForRoots: true,
    habits: [['"a"', -1]],
    profiles: [
      {
        capabilities: {},
        clientInfo: undefined,
        learnedMs: 7,
        initializeResult: '{"capabilities":{}}',
        lists: [['tools', [{ cursor: undefined, result: '{"tools":[{"name":"é"}]}' }]]],
      },
    ],
  });
  const whole = Buffer.from(encodeKnown('é', known));

  /** Whether it was of use; if it was not, it has left nothing behind. */
  function isOfUse(content: string): boolean {
    const into = nothing();
    let wasUsed = false;
    try {
      wasUsed = decodeKnown(content, into);
    } catch {
      wasUsed = false; // as good as none, and whoever reads it says why
    }
    if (!wasUsed) expect(saidBy(into)).toEqual(saidBy(nothing()));
    return wasUsed;
  }

  test('is nothing in a file that is torn, at whatever byte', () => {
    for (let length = 0; length < whole.length - 1; length++)
      expect(isOfUse(whole.subarray(0, length).toString())).toBe(false);
    expect(isOfUse(whole.subarray(0, whole.length - 1).toString())).toBe(true);
  });

  test.each([
    '',
    'null',
    '7',
    '[]',
    '{}',
    '{"format":2,"profiles":[]}',
    '{"format":"1"}',
    '{"format":1,"profiles":[],"habits":{}}',
    '{"format":2,"profiles":{}}',
    '{"format":2,"profiles":[null],"habits":{}}',
    '{"format":2,"profiles":[{"initializeResult":"7","lists":{}}],"habits":{}}',
    '{"format":2,"profiles":[{"initializeResult":"{","lists":{}}],"habits":{}}',
    '{"format":2,"profiles":[],"habits":null}',
    '{"format":2,"profiles":[{"initializeResult":"{}","lists":{"tools":[{"result":"null"}]}}],"habits":{}}',
  ])('is nothing in %s', (content) => {
    expect(isOfUse(content)).toBe(false);
  });

  test('does no harm however its file was changed', () => {
    fc.assert(
      fc.property(mutations, (steps) => {
        const bytes = mutate(whole.toString('utf8', 0, whole.length - 1), steps);
        if (bytes === undefined || !isOfUse(bytes.toString())) return;
        const into = nothing();
        decodeKnown(bytes.toString(), into);
        for (const profile of into.profiles) {
          expect(JSON.parse(profile.initializeResult.toString())).toBeTypeOf('object');
          into.suits(profile.capabilities, { sampling: {} });
          for (const kind of ORDER) into.pagesFor(profile, kind, { rootsKey: undefined, owner: undefined });
          profile.isSafe('"a"');
        }
        into.profileFor({ capabilities: {}, owner: undefined });
      }),
      { numRuns: 5000 },
    );
  });
});
