import { describe, expect, test } from 'vitest';
import { WAYS } from '../support/ways.ts';
import { PROTOCOL_SCENARIOS } from './protocol/scenarios.ts';
import { REQUIREMENTS } from './requirements.ts';

const known = REQUIREMENTS.map(({ id }) => id);
const shown = new Set(PROTOCOL_SCENARIOS.flatMap(({ shows }) => shows));

describe('the requirements of the protocol', () => {
  test('each is shown by a scenario', () => {
    expect(known.filter((id) => !shown.has(id))).toEqual([]);
  });

  test('no scenario cites one that does not exist, or none at all', () => {
    expect([...shown].filter((id) => !known.includes(id))).toEqual([]);
    expect(PROTOCOL_SCENARIOS.filter(({ shows }) => shows.length === 0)).toEqual([]);
  });

  test('each has an id of its own, a sentence, and a clause of the specification', () => {
    expect(new Set(known).size).toBe(known.length);
    for (const { says, clause } of REQUIREMENTS) {
      expect(says).toMatch(/\.$/);
      expect(clause).toMatch(/^https:\/\/modelcontextprotocol\.io\/specification\/2025-\d\d-\d\d\/[a-z/]+#[a-z-]+$/);
    }
  });

  test('every scenario runs somewhere, under a title of its own', () => {
    const titles = PROTOCOL_SCENARIOS.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    for (const { needs = [] } of PROTOCOL_SCENARIOS)
      expect(WAYS.some(({ traits }) => needs.every((trait) => traits.includes(trait)))).toBe(true);
  });
});
