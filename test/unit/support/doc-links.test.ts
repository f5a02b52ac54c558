// Links between the pages: each leads to a file that is there, and to a heading that it has.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...pagesIn('docs'),
  ...pagesIn('docs/adr'),
];

function pagesIn(dir: string): string[] {
  return readdirSync(join(ROOT, dir))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(dir, name));
}

/** As GitHub names headings. */
function headingsOf(file: string): Set<string> {
  const text = readFileSync(file, 'utf8').replace(/^```.*?^```$/gms, '');
  const names = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/ /g, '-'),
  );
  return new Set(names);
}

function faultsIn(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```$/gms, '');
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  return links.flatMap(([link, path = '', heading]) => {
    const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
    if (!existsSync(file)) return [`${link}: no ${relative(ROOT, file)}`];
    if (heading === undefined || headingsOf(file).has(heading)) return [];
    return [`${link}: no such heading`];
  });
}

test.each(PAGES)('the links of %s lead somewhere', (page) => {
  expect(faultsIn(page)).toEqual([]);
});
