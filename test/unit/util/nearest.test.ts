import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { MOST_COMPARED, MOST_LETTERS_A_TURN, mistyped, nearest } from '../../../src/util/nearest.ts';

const NAMES = ['weather__get_forecast', 'weather__get_alerts', 'github__create_issue', 'github__list_issues', 'x'];

// All hints of a turn share a budget.
beforeEach(() => nextTurn());

describe('the names that are most like another', () => {
  test.each([
    ['weather__get_forcast', 'weather__get_forecast'],
    ['GITHUB__CREATE_ISSUE', 'github__create_issue'],
    ['get_forecast', 'weather__get_forecast'],
    ['github__issue_create', 'github__create_issue'],
  ])('for %s begin with %s', (wanted, likely) => {
    expect(nearest(wanted, NAMES)[0]).toBe(likely);
  });

  test('are none where nothing is like it', () => {
    expect(nearest('zzzzzz', NAMES)).toEqual([]);
    expect(nearest('', NAMES)).toEqual([]);
    expect(nearest('x', [])).toEqual([]);
  });

  test('are three at most, all of them names there are, the name itself first', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1 }),
        fc.nat(),
        (names, i) => {
          const wanted = names[i % names.length] as string;
          const found = nearest(wanted, names);
          expect(found.length).toBeGreaterThan(0);
          expect(found.length).toBeLessThanOrEqual(3);
          expect(new Set(found).size).toBe(found.length);
          for (const name of found) expect(names).toContain(name);
          expect(found.map((name) => name.toLowerCase())).toContain(wanted.toLowerCase());
        },
      ),
    );
  });

  test('are those that a comparison of all pairs of letters finds', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'C', '_', 'é'), maxLength: 14 });
    fc.assert(
      fc.property(name, fc.uniqueArray(name, { maxLength: 20 }), (wanted, names) => {
        expect(nearest(wanted, names)).toEqual(nearestByHand(wanted, names));
      }),
    );
  });

  test('are looked for among so many and no more, so the likeliest come first', () => {
    let taken = 0;
    function* names(): Iterable<string> {
      for (let i = 0; i < 20_000; i++) {
        taken++;
        yield `server__tool_${i}`;
      }
    }
    expect(nearest('server__tol_7', names())[0]).toBe('server__tool_7');
    expect(taken).toBe(MOST_COMPARED + 1);
  });

  test('are no longer looked for in a turn that has asked for many', async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `delete_and_create_the_record_of_customer_${i}`);
    let compared = 0;
    function* counted(): Iterable<string> {
      for (const name of names) {
        compared += name.length;
        yield name;
      }
    }
    const hints = names.slice(0, 100).map((name) => nearest(`${name}x`, counted()));
    expect(hints[0]?.[0]).toBe(names[0]);
    expect(hints.at(-1)).toEqual([]);
    expect(compared).toBeLessThan(MOST_LETTERS_A_TURN + 1000);
    await nextTurn();
    expect(nearest(`${names[7]}x`, names)[0]).toBe(names[7]);
  });

  test('leave next to no memory behind: few collections for a million letters', async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `delete_and_create_the_record_of_customer_${i}`);
    let collections = 0;
    const observer = new PerformanceObserver((list) => {
      collections += list.getEntries().length;
    });
    observer.observe({ entryTypes: ['gc'] });
    for (let i = 0; i < 20; i++) {
      nearest(`delete_or_create_the_record_of_costumer_${i}`, names);
      await nextTurn();
    }
    await nextTurn();
    observer.disconnect();
    expect(collections).toBeLessThan(10);
  });

  test('of a name whose letters are two each in lower case are found all the same', () => {
    const name = 'İ'.repeat(200);
    const wanted = Array.from({ length: 256 }, (_, i) => String.fromCharCode(0x130, 0x400 + i)).join('');
    expect(nearest(name, [wanted, `${name}x`])).toEqual([`${name}x`]);
    expect(nearest(wanted, [name, `${wanted}x`])[0]).toBe(`${wanted}x`);
  });

  test('of a name without end are found all the same', () => {
    expect(nearest('weather__get_forecast'.repeat(100_000), NAMES).length).toBeLessThanOrEqual(3);
  });
});

/** The same in the obvious way. */
function nearestByHand(wanted: string, names: readonly string[]): string[] {
  const pairsOf = (name: string): Set<string> => {
    const letters = `^${name.toLowerCase()}$`;
    return new Set(Array.from({ length: letters.length - 1 }, (_, i) => letters.slice(i, i + 2)));
  };
  const likenessOf = (a: Set<string>, b: Set<string>): number =>
    (2 * [...a].filter((pair) => b.has(pair)).length) / (a.size + b.size);
  return names
    .map((name) => ({ name, likeness: likenessOf(pairsOf(wanted), pairsOf(name)) }))
    .filter(({ likeness }) => likeness >= 0.35)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, 3)
    .map(({ name }) => name);
}

describe('the words that somebody may have mistyped', () => {
  const WORDS = ['start', 'status', 'stop', 'tools', 'servers', 'zsh', 'bash', 'uninstall'];

  test.each([
    ['statsu', ['status']],
    ['Stop', ['stop']],
    ['sotp', ['stop']],
    ['bsh', ['bash']],
    ['uninst', ['uninstall']],
    ['tool', ['tools']],
  ])('%s, of which less than a third is wrong, or which is a beginning', (wanted, meant) => {
    expect(mistyped(wanted, WORDS)).toEqual(meant);
  });

  test.each(['list', 'ls', 'version', 'csh', 'st', '', 'zzzzzz', 'x'.repeat(100_000)])('are none for %j', (wanted) => {
    expect(mistyped(wanted, WORDS)).toEqual([]);
  });
});
