// Reads words that may stand for each other in a search, in addition to the built-in ones: groups in
// `discovery.search`, or word by word in `search`. Reads `search.ranker` too: the user's own ranker, a program that the
// daemon runs.

import { isRecord } from '../util/json-value.ts';
import type { Reader } from './reader.ts';

export type ConfiguredSynonyms = readonly (readonly string[])[];

/** The limit exists because a group relates each of its words to every other one. */
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

/** Reads `search.synonyms`: for each word, the words that it may stand for. */
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

/** Reads a group; returns it in a list. An unreadable group is left out whole. */
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

/** Reads `search`: the file of a ranker; '' means no ranker. */
export function rankerOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): string | undefined {
  const fields = reader.section(value, 'search');
  reader.keys(fields, 'search', ['ranker', 'synonyms']);
  const ranker = fields.ranker === '' ? undefined : reader.text(fields.ranker, 'search.ranker');
  return ranker === undefined ? undefined : resolvePath(ranker);
}
