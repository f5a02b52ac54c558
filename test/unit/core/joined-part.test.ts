import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withOutwardPage } from '../../../src/core/app-pages.ts';
import { type JoinedPart, joinedPart } from '../../../src/core/joined-part.ts';
import type { ListedItem } from '../../../src/core/listed-item.ts';
import type { ListPage } from '../../../src/core/server-knowledge.ts';
import type { ToolGate } from '../../../src/model/tool-gate.ts';
import type { ListKind } from '../../../src/protocol/era.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { runs } from '../../support/runs.ts';

const NAMING = { alias: 'one', longestName: 47 };

const pagesOf = (member: string, ...pages: unknown[][]): ListPage[] =>
  pages.map((items) => ({ cursor: undefined, result: Buffer.from(`${JSON.stringify({ [member]: items })}\n`) }));

/** Decodes an item as it is written into a list. */
function decoded({ b, from, to, keyFrom, keyTo, key, isRenamed }: ListedItem): unknown {
  const text = (begin: number, end: number): string => b.toString('utf8', begin, end);
  return JSON.parse(isRenamed ? `${text(from, keyFrom)}${JSON.stringify(key)}${text(keyTo, to)}` : text(from, to));
}

const itemsOf = (part: JoinedPart): unknown[] =>
  Array.from({ length: part.size }, (_, place) => decoded(part.itemAt(place)));

/** A gate that refuses these tools. */
const gateAgainst = (...names: string[]): ToolGate => ({
  isOpen: false,
  refusalOf: (tool) => (names.includes(tool) ? new BridgeError('TOOL_DISABLED', 'no') : undefined),
  isChanged: () => false,
  tagsOf: () => [],
});

const name = fc.oneof(fc.constantFrom('a', 'b', 'a#2', 'é', '"', '\\', 'x'.repeat(60)), fc.string({ maxLength: 5 }));
const page = fc.constantFrom(undefined, { ui: { resourceUri: 'ui://p' } }, { 'ui/resourceUri': 'ui://q' }, { x: 1 });
const tool = fc.record({ description: fc.string({ maxLength: 3 }), name, _meta: page }, { requiredKeys: ['name'] });

describe('a part of a joined list', () => {
  test('has all tools of all pages in their order, each under a name that leads back to its own', () => {
    fc.assert(
      fc.property(fc.array(fc.array(tool, { maxLength: 5 }), { maxLength: 4 }), (lists) => {
        const part = joinedPart('tools', pagesOf('tools', ...lists), NAMING);
        const keys = [...part.keys()];
        expect(new Set(keys).size).toBe(keys.length);
        expect([...part.shownKeys()]).toEqual(keys);
        const tools = lists.flat();
        const wanted = tools.map(({ _meta, ...rest }, i) => ({
          ...rest,
          name: keys[i],
          ...(_meta !== undefined && { _meta: withOutwardPage(_meta, 'one') }),
        }));
        expect(itemsOf(part)).toEqual(JSON.parse(JSON.stringify(wanted)));
        const owns = keys.map((key) => Buffer.from(part.ownKeyOf(key) ?? '', 'latin1').toString());
        expect(owns).toEqual(tools.map((one) => JSON.stringify(one.name)));
        expect([part.has('one__none'), part.ownKeyOf('none')]).toEqual([false, undefined]);
      }),
      { numRuns: runs(500) },
    );
  });

  test('lists a URI once, under itself', () => {
    const listed = [{ uri: 'a:1' }, { uri: 'a:"' }, { uri: 'a:1', name: 'again' }];
    const part = joinedPart('resources', pagesOf('resources', listed, [{ uri: 'ui:1' }]), NAMING);
    expect([...part.keys()]).toEqual(['a:1', 'a:"', 'ui:1']);
    expect(itemsOf(part)).toEqual([{ uri: 'a:1' }, { uri: 'a:"' }, { uri: 'ui:1' }]);
    expect([part.has('a:"'), part.has('a:2')]).toEqual([true, false]);
  });

  test('shows a client the tools that it may call, and keeps the names of the rest', () => {
    const pages = pagesOf('tools', [{ name: 'a' }, { name: 'b' }], [{ name: 'a' }, { name: 'c' }]);
    const part = joinedPart('tools', pages, NAMING).permittedBy(gateAgainst('a'));
    expect([...part.shownKeys()]).toEqual(['one__b', 'one__c']);
    expect([part.size, itemsOf(part)]).toEqual([2, [{ name: 'one__b' }, { name: 'one__c' }]]);
    expect(part.ownKeyOf('one__a')).toBe('"a"');
  });

  test('is made once for each alias and length of names, and each set of rules', () => {
    const pages = pagesOf('tools', [{ name: 'a' }]);
    const kind: ListKind = 'tools';
    const part = joinedPart(kind, pages, NAMING);
    expect(joinedPart(kind, pages, { ...NAMING })).toBe(part);
    const others = [
      joinedPart(kind, pages, { ...NAMING, alias: 'two' }),
      joinedPart(kind, pages, { ...NAMING, longestName: 9 }),
    ];
    expect(others.map((other) => [...other.keys()])).toEqual([['two__a'], ['one__a']]);
    expect(joinedPart(kind, pages, NAMING)).toBe(part);
    const gate = gateAgainst('a');
    expect(part.permittedBy(gate)).toBe(part.permittedBy(gate));
    expect(part.permittedBy({ ...gate, isOpen: true })).toBe(part);
  });
});
