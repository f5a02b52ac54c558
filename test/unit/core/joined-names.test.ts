import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aliasIn, joinedName as nameWithin } from '../../../src/core/joined-names.ts';
import { joinedPart } from '../../../src/core/joined-part.ts';
import type { ListPage } from '../../../src/core/server-knowledge.ts';
import { aliasesOf } from '../../../src/model/aliases.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { LIMITS } from '../../../src/model/settings.ts';
import { LONGEST_NAME } from '../../../src/util/longest-name.ts';

const NAME = /^[A-Za-z0-9_-]{1,47}$/;
const LONGEST = DEFAULT_LIMITS.maxToolNameLength;
const joinedName = (alias: string, own: string): string => nameWithin(alias, own, LONGEST);
const ALIAS = /^[a-z0-9_]+$/;

const aliasOf = (server: string): string | undefined => aliasesOf([server]).get(server);

function pageOf(tools: readonly string[]): ListPage[] {
  return [
    { cursor: undefined, result: Buffer.from(`${JSON.stringify({ tools: tools.map((name) => ({ name })) })}\n`) },
  ];
}

/** The joined names of all tools, each with the server and the own name that it leads to. */
function joinedNames(servers: readonly (readonly [string, readonly string[]])[]): [string, string, string][] {
  const aliases = aliasesOf(servers.map(([server]) => server));
  return servers.flatMap(([server, tools]) => {
    const part = joinedPart('tools', pageOf(tools), { alias: aliases.get(server) ?? '', longestName: LONGEST });
    return [...part.keys()].map((name): [string, string, string] => [
      name,
      server,
      JSON.parse(Buffer.from(part.ownKeyOf(name) ?? '""', 'latin1').toString()) as string,
    ]);
  });
}

/** Underscores everywhere, letters that are too many or not allowed, and what looks like a name made here. */
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('_', '__', '___', 'a', 'A', '1', '-', '.', '/', ' ', 'é', '😀', '#2', '_2') },
  fc.constantFrom('a'.repeat(20), '_'.repeat(20), 'é'.repeat(30), 'x'.repeat(64), 'server', '01234567', '_0123abcd'),
  fc.string({ maxLength: 6 }),
);
const anyName = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
const catalog = fc.uniqueArray(fc.tuple(anyName, fc.uniqueArray(anyName, { maxLength: 6 })), {
  selector: ([server]) => server,
  maxLength: 6,
});

describe('an alias', () => {
  test.each([
    ['météo', 'm_t_o'],
    ['天気', 'server'],
    ['my-cool-server', 'my_cool_server'],
    ['123service', '_123service'],
    ['Weather', 'weather'],
    ['a.b/c d', 'a_b_c_d'],
    ['a__b', 'a_b'],
    ['_a_', '_a'],
    ['é', 'server'],
    ['', 'server'],
    ['___', 'server'],
  ])('of %j is %s', (server, alias) => {
    expect(aliasOf(server)).toBe(alias);
  });

  test('that is taken gets a number, also when the number is taken', () => {
    expect([...aliasesOf(['a-b', 'a_b', 'a_b_2', 'a.b', 'é', 'ü']).values()]).toEqual([
      'a_b',
      'a_b_2',
      'a_b_2_2',
      'a_b_3',
      'server',
      'server_2',
    ]);
  });

  test('of a long name leaves room for a tool, and differs from that of a name that begins like it', () => {
    const [one, other] = aliasesOf([`${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`]).values();
    expect([one?.length, other?.length]).toEqual([32, 32]);
    expect(one).not.toBe(other);
  });

  test('has no two underscores in a row, none at its end, and is no other server’s', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 12 }), (servers) => {
        const aliases = [...aliasesOf(servers).values()];
        expect(new Set(aliases).size).toBe(servers.length);
        for (const alias of aliases) {
          expect(alias).toMatch(ALIAS);
          expect(alias).not.toMatch(/__|_$|^\d/);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('stays the same when servers are added behind', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 12 }), fc.nat({ max: 12 }), (servers, many) => {
        const all = aliasesOf(servers);
        for (const [server, alias] of aliasesOf(servers.slice(0, many))) expect(all.get(server)).toBe(alias);
      }),
    );
  });
});

describe('a joined name', () => {
  test.each([
    ['get', 'weather__get'],
    ['_get', 'weather___get'],
    ['get__all', 'weather__get__all'],
    ['Get-All_2', 'weather__Get-All_2'],
    ['x'.repeat(38), `weather__${'x'.repeat(38)}`],
  ])('of %s keeps it as it is', (own, name) => {
    expect(joinedName('weather', own)).toBe(name);
  });

  test.each(['a.b', 'a b', 'é', '😀', 'x'.repeat(39), '_'.repeat(200), '\n', 'a\n'])(
    'of %j gets a hash instead of what all clients do not take',
    (own) => {
      expect(joinedName('weather', own)).toMatch(/^weather__[A-Za-z0-9_-]*_[0-9a-f]{8}$/);
      expect(joinedName('weather', own)).toMatch(NAME);
    },
  );

  test.each([LIMITS.maxToolNameLength.least, 47, 64, LIMITS.maxToolNameLength.most ?? 0])(
    'has at most maxToolNameLength characters, also where that is %i, and begins with its alias',
    (longest) => {
      const alias = aliasesOf([`${'x'.repeat(80)}1`]).get(`${'x'.repeat(80)}1`) ?? '';
      const names = ['y'.repeat(300), '_'.repeat(300), 'é', 'a'].map((own) => nameWithin(alias, own, longest));
      for (const name of names) {
        expect(name.length).toBeLessThanOrEqual(longest);
        expect(aliasIn(name)).toBe(alias);
      }
      expect(new Set(names).size).toBe(names.length);
      expect(`mcp__mcp-bridge__${joinedName(alias, 'y'.repeat(300))}`).toHaveLength(64);
    },
  );

  test('leads to one tool of one server, and all clients take it, whatever servers and tools are called', () => {
    fc.assert(
      fc.property(catalog, (servers) => {
        const names = joinedNames(servers);
        const wanted = servers.flatMap(([server, tools]) =>
          tools.filter((tool) => tool.length <= LONGEST_NAME).map((tool) => JSON.stringify([server, tool])),
        );
        expect(new Set(names.map(([name]) => name)).size).toBe(names.length);
        expect(names.map(([, server, tool]) => JSON.stringify([server, tool])).sort()).toEqual(wanted.sort());
        const aliases = aliasesOf(servers.map(([server]) => server));
        for (const [name, server] of names) {
          expect(name).toMatch(NAME);
          expect(aliasIn(name)).toBe(aliases.get(server));
        }
      }),
      { numRuns: 3000 },
    );
  });

  test('stays free for a tool that is called like a name that was made for another', () => {
    const made = joinedName('a', 'x.y').slice('a__'.length);
    const tools = ['x.y', made, 'x.y#2', joinedName('a', 'x.y#2').slice('a__'.length)];
    for (const order of [tools, [...tools].reverse()]) {
      const names = joinedNames([['a', order]]);
      expect(new Set(names.map(([name]) => name)).size).toBe(4);
      expect(names.map(([, , own]) => own)).toEqual(order);
    }
  });

  test('does not depend on the other tools, nor on their order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[a-zA-Z0-9_.-]{1,90}$/), { maxLength: 8 }), (tools) => {
        const byOwn = (order: readonly string[]) =>
          new Map(joinedNames([['a', order]]).map(([name, , own]) => [own, name]));
        const all = byOwn(tools);
        expect(byOwn([...tools].reverse())).toEqual(all);
        for (const tool of tools) expect(byOwn([tool]).get(tool)).toBe(all.get(tool));
      }),
    );
  });

  test('of a tool that is listed twice is two names for the one tool', () => {
    const names = joinedNames([['a', ['x', 'x', 'x']]]);
    expect(new Set(names.map(([name]) => name)).size).toBe(3);
    expect(names.map(([, , own]) => own)).toEqual(['x', 'x', 'x']);
  });

  test('reveals the alias at its beginning, if there is one', () => {
    expect(['a__b', 'a___b', '__b', 'a_b', ''].map(aliasIn)).toEqual(['a', 'a', '', undefined, undefined]);
  });
});
