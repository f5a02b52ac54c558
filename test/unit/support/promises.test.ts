// docs/security.md and docs/reliability.md: each promise names the tests that fail when it is broken, by file and title. A
// test that was renamed, or a promise without one, fails here.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { themes } from '../../torture/scenarios.mjs';

const ROOT = join(import.meta.dirname, '../../..');
const SCENARIOS = new Set(Object.values(themes).flatMap(Object.keys));

/** `test/…`: *title*, *title*; or torture: *scenario*. */
const SHOWN_BY = /(?:`(test\/[^`]+)`|\b(torture)): (\*[^*]+\*(?:, \*[^*]+\*)*)/g;

interface Reference {
  readonly file: string;
  readonly titles: readonly string[];
}

function referencesIn(text: string): Reference[] {
  return [...text.matchAll(SHOWN_BY)].map(([, file, torture = '', titles = '']) => ({
    file: file ?? torture,
    titles: [...titles.matchAll(/\*([^*]+)\*/g)].map(([, title = '']) => title),
  }));
}

/** What is wrong with one reference; a title stands in the file as a text of its own. */
function faultsOf({ file, titles }: Reference): string[] {
  if (file === 'torture')
    return titles.filter((title) => !SCENARIOS.has(title)).map((title) => `no scenario: ${title}`);
  if (!existsSync(join(ROOT, file))) return [`no file: ${file}`];
  const source = readFileSync(join(ROOT, file), 'utf8');
  const isThere = (title: string): boolean => [`'`, '"', '`'].some((quote) => source.includes(quote + title + quote));
  return titles.filter((title) => !isThere(title)).map((title) => `no test in ${file}: ${title}`);
}

const page = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');
const rules = page('security.md')
  .split('## What is kept')[0]
  ?.split('\n')
  .flatMap((line) => /^\| (.+?) \| .+ \| (.+) \|$/.exec(line) ?? [])
  .flatMap((_, i, all) => (i % 3 === 0 ? [[all[i + 1] ?? '', all[i + 2] ?? ''] as const] : []))
  .filter(([threat]) => threat !== 'threat' && threat !== '---');

describe('each rule of docs/security.md', () => {
  test.each(rules ?? [])('%s', (_, shownBy) => {
    const references = referencesIn(shownBy);
    expect(references).not.toEqual([]);
    expect(references.flatMap(faultsOf)).toEqual([]);
    const named = [...shownBy.matchAll(/`(test\/[^`]+)`/g)].map(([, file]) => file);
    expect(named.filter((file) => references.every((one) => one.file !== file))).toEqual([]);
  });

  test('is read here', () => {
    expect(rules?.length).toBeGreaterThan(25);
  });
});

// Its tables are scenarios of the torture suite, which test/integration/torture.test.ts compares with them and runs.
test('each promise of docs/reliability.md beside its tables names a test', () => {
  const text = page('reliability.md').replace(/\s*\n\s*/g, ' ');
  const named = [...text.matchAll(/`(test\/(?!torture\/)[^`]+)`/g)].map(([, file]) => file);
  const references = referencesIn(text);
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((file) => references.every((one) => one.file !== file))).toEqual([]);
  expect(references.flatMap(faultsOf)).toEqual([]);
});
