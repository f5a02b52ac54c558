// Words that may stand for each other in a search, besides those that are built in: groups in `discovery.search`, or by their word in
// `search`. And `search.ranker`, a ranker of the user's own: a program that the daemon runs.

import { isRecord } from '../util/json-value.ts';
import type { Reader } from './reader.ts';

export type ConfiguredSynonyms = readonly (readonly string[])[];

/** Each group relates each of its words to each other one. */
const MOST_GROUPS = 1000;
const MOST_WORDS = 50;
const LONGEST = 100;

export function synonymsOf(reader: Reader, value: unknown, place: string): ConfiguredSynonyms {
  const fields = reader.section(value, place);
  reader.keys(fields, place, ['synonyms']);
  const { synonyms = [] } = fields;
  const where = `${place}.synonyms`;
  if (!Array.isArray(synonyms)) {
    reader.fault(where, 'must be a list of lists of words');
    return [];
  }
  if (synonyms.length > MOST_GROUPS)
    reader.fault(where, `has more than ${MOST_GROUPS} groups; the others are left out`);
  return synonyms.slice(0, MOST_GROUPS).flatMap((group: unknown, i) => groupOf(reader, group, `${where}[${i}]`) ?? []);
}

/** Reads `search.synonyms`: the words that each word may stand for. */
export function synonymsByWord(reader: Reader, value: unknown): ConfiguredSynonyms {
  const place = 'search.synonyms';
  const { synonyms } = isRecord(value) ? value : {};
  const byWord = Object.entries(reader.section(synonyms, place));
  if (byWord.length > MOST_GROUPS) reader.fault(place, `has more than ${MOST_GROUPS} words; the others are left out`);
  return byWord.slice(0, MOST_GROUPS).flatMap(([word, others]) => {
    const group = Array.isArray(others) ? [word, ...(others as unknown[])] : others;
    return groupOf(reader, group, `${place}.${word}`) ?? [];
  });
}

/** In a list of its own. One that is not understood is left out whole. */
function groupOf(reader: Reader, value: unknown, place: string): [readonly string[]] | undefined {
  const before = reader.errors;
  const words = reader.texts(value, place);
  if (reader.errors > before) return undefined;
  if (words.length < 2 || words.length > MOST_WORDS) reader.fault(place, `needs 2 to ${MOST_WORDS} words`);
  for (const [i, word] of words.entries())
    if (!/[\p{L}\p{N}]/u.test(word) || word.length > LONGEST)
      reader.fault(`${place}[${i}]`, `must be a word, or a few, of at most ${LONGEST} characters`);
  return reader.errors > before ? undefined : [words];
}

/** Reads `search`: the file of a ranker; '' names none. */
export function rankerOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): string | undefined {
  const fields = reader.section(value, 'search');
  reader.keys(fields, 'search', ['ranker', 'synonyms']);
  const ranker = fields.ranker === '' ? undefined : reader.text(fields.ranker, 'search.ranker');
  return ranker === undefined ? undefined : resolvePath(ranker);
}
