import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/test-daemon.ts';
import {
  REQUIREMENTS_OF_CLIENTS_OF_2026,
  REQUIREMENTS_OF_NOTICES_OF_2026,
  REQUIREMENTS_OF_SERVERS_OF_2026,
  REQUIREMENTS_OF_TASKS_OF_2026,
} from './requirements-2026.ts';
import { REQUIREMENTS_OF_HTTP } from './requirements-http.ts';

/** The ids that titles of tests cite, such as `(B3, D6)`. */
function cited(): Set<string> {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(ROOT, 'test', file), 'utf8'));
  const titles = texts.flatMap((text) => [...text.matchAll(/\(([A-I]\d+(?:, [A-I]\d+)*)\)['`]/g)]);
  return new Set(titles.flatMap(([, ids = '']) => ids.split(', ')));
}

describe('the requirements of clients and servers of different eras', () => {
  const requirements = [
    ...REQUIREMENTS_OF_SERVERS_OF_2026,
    ...REQUIREMENTS_OF_CLIENTS_OF_2026,
    ...REQUIREMENTS_OF_NOTICES_OF_2026,
    ...REQUIREMENTS_OF_HTTP,
    ...REQUIREMENTS_OF_TASKS_OF_2026,
  ];
  const known = requirements.map(({ id }) => id);

  test('are each shown by a test', () => {
    expect(known.filter((id) => !cited().has(id))).toEqual([]);
  });

  test('have no other tests', () => {
    expect([...cited()].filter((id) => !known.includes(id))).toEqual([]);
  });

  test('have an id of their own, a sentence, and a clause of the specification', () => {
    expect(new Set(known).size).toBe(known.length);
    for (const { says, clause } of requirements) {
      expect(says).toMatch(/\.$/);
      expect(clause).toMatch(
        /^https:\/\/(?:modelcontextprotocol\.io|github\.com\/modelcontextprotocol\/ext-tasks\/blob\/main)\/specification\/20\d\d-\d\d-\d\d\/[a-z/-]+(?:\.md)?(?:#[a-z-]+)?$/,
      );
    }
  });
});
