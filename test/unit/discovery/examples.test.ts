// Files of clients, and what must come of them.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkExample, discoverExample, type Example } from '../../support/discovery-example.ts';

const casesIn = (file: string): Example[] =>
  (
    JSON.parse(readFileSync(new URL(`../../fixtures/discovery/${file}`, import.meta.url), 'utf8')) as {
      cases: Example[];
    }
  ).cases;

const EXAMPLES = ['examples.json', 'more-examples.json', 'clients-agree.json'].flatMap(casesIn);

test.each(EXAMPLES.map((example) => [`${example.id}: ${example.title}`, example] as const))(
  '%s',
  async (_, example) => {
    await checkExample(example);
  },
);

test('the outcome is the same each time', async () => {
  for (const example of EXAMPLES) expect(await discoverExample(example)).toEqual(await discoverExample(example));
});
