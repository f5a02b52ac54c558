// Every word that tools have, and where: a list of postings for each server that uses it. To take a server away takes its
// lists away, and words that nobody uses any more; nothing else is touched.

import { type ServerTools, WORK_OF_WORD } from './server-tools.ts';
import type { TurnPace } from './turn-pace.ts';

export interface KnownWord {
  readonly text: string;
  /** The servers that use it, and where in their postings it begins. */
  readonly places: Map<ServerTools, number>;
}

/** Words of fewer letters begin too much, or are too like each other. */
const LEAST_BEGINNING = 3;
const LEAST_MISTYPED = 3;
const MOST_COMPLETIONS = 8;
const MOST_CORRECTIONS = 4;

export class Vocabulary {
  readonly #words = new Map<string, KnownWord>();
  /** By the first two letters and by the last two: a word with one wrong letter has either of them right. */
  readonly #heads = new Map<string, Set<KnownWord>>();
  readonly #tails = new Map<string, Set<KnownWord>>();

  get(text: string): KnownWord | undefined {
    return this.#words.get(text);
  }

  async add(server: ServerTools, pace: TurnPace): Promise<void> {
    for (const [text, start] of server.starts) {
      const word = this.#words.get(text) ?? this.#addWord(text);
      word.places.set(server, start);
      await pace.spend(WORK_OF_WORD);
    }
  }

  remove(server: ServerTools): void {
    for (const text of server.starts.keys()) {
      const word = this.#words.get(text);
      if (word?.places.delete(server) === true && word.places.size === 0) this.#removeWord(word);
    }
  }

  /** Words that go on after this one; those that go on least come first. */
  completionsOf(text: string): KnownWord[] {
    if (text.length < LEAST_BEGINNING) return [];
    const longer = [...(this.#heads.get(headOf(text)) ?? [])].filter(
      (word) => word.text.length > text.length && word.text.startsWith(text),
    );
    return longer.sort(byLengthAndText).slice(0, MOST_COMPLETIONS);
  }

  /** Words that are one letter away: another one, one more, one less, or two that changed places. */
  correctionsOf(text: string): KnownWord[] {
    if (text.length < LEAST_MISTYPED) return [];
    const alike = [this.#heads.get(headOf(text)), this.#tails.get(tailOf(text))].flatMap((words) => [...(words ?? [])]);
    // Of three letters only one may be missing: most of what differs in one is another word.
    const least = text.length === LEAST_MISTYPED ? text.length + 1 : text.length - 1;
    const near = [...new Set(alike)].filter((word) => word.text.length >= least && isOneTypoAway(text, word.text));
    return near.sort(byLengthAndText).slice(0, MOST_CORRECTIONS);
  }

  #addWord(text: string): KnownWord {
    const word = { text, places: new Map<ServerTools, number>() };
    this.#words.set(text, word);
    addTo(this.#heads, headOf(text), word);
    addTo(this.#tails, tailOf(text), word);
    return word;
  }

  #removeWord(word: KnownWord): void {
    this.#words.delete(word.text);
    removeFrom(this.#heads, headOf(word.text), word);
    removeFrom(this.#tails, tailOf(word.text), word);
  }
}

const headOf = (text: string): string => text.slice(0, 2);
const tailOf = (text: string): string => text.slice(-2);

function byLengthAndText(a: KnownWord, b: KnownWord): number {
  return a.text.length - b.text.length || (a.text < b.text ? -1 : 1);
}

function addTo(groups: Map<string, Set<KnownWord>>, key: string, word: KnownWord): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([word]));
  else group.add(word);
}

function removeFrom(groups: Map<string, Set<KnownWord>>, key: string, word: KnownWord): void {
  const group = groups.get(key);
  group?.delete(word);
  if (group?.size === 0) groups.delete(key);
}

function isOneTypoAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  const [restA, restB] = [a.slice(from), b.slice(from)];
  if (a.length !== b.length) return a.length > b.length ? restA.slice(1) === restB : restB.slice(1) === restA;
  if (restA.slice(1) === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}
