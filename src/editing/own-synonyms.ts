// Adds words that may stand for each other in a search to the bridge's own config. It changes
// `discovery.search.synonyms` and nothing else in the file.

import { isTree } from '../discovery/tree.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { ConfigDocument } from './config-document.ts';
import { alone, type EditingHost } from './editing-host.ts';
import { backUp } from './install-record.ts';
import { openOwnConfig, replaceOwn } from './own-config.ts';

const FEWEST_WORDS = 2;
const MOST_WORDS = 50;
const MOST_GROUPS = 1000;
const LONGEST_WORD = 100;
/** The name for copies of the bridge's own config. */
const OWN = 'bridge';

export interface SynonymEdit {
  readonly file: string;
  readonly words: readonly string[];
  /** False if the file has these words as a group already. */
  readonly isChanged: boolean;
}

/** Adds a group of words; each of them then finds what the others find. */
export async function addSynonyms(
  given: readonly string[],
  { config }: { readonly config: string | undefined },
  host: EditingHost,
): Promise<SynonymEdit> {
  const words = wordsIn(given);
  return alone(host, async () => {
    const { file } = await openOwnConfig(config, host);
    const place = { path: file.path, syntax: 'json', container: ['discovery', 'search'] } as const;
    const document = await ConfigDocument.parse(file.text, place);
    const groups = document.entries.get('synonyms') ?? [];
    if (!Array.isArray(groups)) throw faulty(file.path, '"discovery.search.synonyms" in it is no list of lists');
    if (groups.some((group) => hasAll(group, words))) return { file: file.path, words, isChanged: false };
    if (groups.length >= MOST_GROUPS) throw faulty(file.path, `It has ${MOST_GROUPS} groups of synonyms already`);
    const changed = await document.with('synonyms', [...groups, words]);
    backUp(file, OWN, host);
    replaceOwn(file, { bytes: Buffer.from(changed.text), entries: [] }, host);
    return { file: file.path, words, isChanged: true };
  });
}

function wordsIn(given: readonly string[]): string[] {
  const words = [...new Set(given.map((word) => word.trim()).filter((word) => word !== ''))];
  const hint = 'For example: ticket issue';
  if (words.length < FEWEST_WORDS || words.length > MOST_WORDS)
    throw new BridgeError('USAGE', `Synonyms are ${FEWEST_WORDS} to ${MOST_WORDS} different words`, { hint });
  if (words.some((word) => word.length > LONGEST_WORD || !/[\p{L}\p{N}]/u.test(word) || /\p{Cc}/u.test(word)))
    throw new BridgeError('USAGE', `A synonym is a word, or a few, of at most ${LONGEST_WORD} characters`, { hint });
  return words;
}

function hasAll(group: unknown, words: readonly string[]): boolean {
  return Array.isArray(group) && !isTree(group) && words.every((word) => group.includes(word));
}

function faulty(path: string, problem: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `${path} cannot be changed. ${problem}`, {
    hint: 'See: mcp-bridge config check',
  });
}
