// What a question asks for: its words without those that say nothing, each with what may stand for it. It knows words
// only, and nothing of the tools that there are.

import { EMPTY_WORDS, FAINT_WORDS, SYNONYMS } from './synonyms.ts';
import { actionOf, isAsking, wishOf } from './tool-actions.ts';
import { isPlural, spelledWordsOf, stemOf, wordsOf } from './tool-words.ts';

/** Something that is asked for. */
export interface AskedWord {
  /** As it was said: one word, or those of a phrase. */
  readonly own: readonly string[];
  /** What may stand for it. */
  readonly others: readonly string[];
  /** Whether it says only a little. */
  readonly isFaint: boolean;
  /** Whether more than one is meant. */
  readonly isPlural: boolean;
}

export interface Question {
  readonly asked: readonly AskedWord[];
  readonly action: number;
}

/** Words, or a few of them, that may stand for each other. */
export type SynonymGroups = readonly (readonly string[])[];

const LONGEST_QUESTION = 1000;
const MOST_WORDS = 24;
const LONGEST_PHRASE = 4;
const NUMBER = /^\p{N}+$/u;

const EMPTY: ReadonlySet<string> = new Set(EMPTY_WORDS.flatMap(wordsOf));
const FAINT: ReadonlySet<string> = new Set(FAINT_WORDS.flatMap(wordsOf));

export class QuestionReader {
  /** By a word, or by the words of a phrase with spaces between them. */
  readonly #others = new Map<string, Set<string>>();

  /** `more`: besides those that are built in. */
  constructor(more: SynonymGroups = []) {
    for (const [word, others] of Object.entries(SYNONYMS)) for (const other of others) this.#relate(word, other);
    for (const group of more)
      for (const [i, word] of group.entries()) for (const other of group.slice(i + 1)) this.#relate(word, other);
  }

  read(text: string): Question {
    const question = text.slice(0, LONGEST_QUESTION);
    const spelled = spelledWordsOf(question);
    const words = spelled.map(stemOf);
    const asked: AskedWord[] = [];
    const seen = new Set<string>();
    for (let i = 0; i < words.length && asked.length < MOST_WORDS; ) {
      const { phrase, length } = this.#phraseAt(words, i);
      const key = phrase.join(' ');
      if (!seen.has(key) && !(phrase.length === 1 && EMPTY.has(key)))
        asked.push(this.#asked(phrase, isPlural(spelled[i + length - 1] ?? '')));
      seen.add(key);
      i += length;
    }
    const action = isAsking(question) ? wishOf(question) : actionOf(asked.flatMap(verbsOf));
    return { asked: asked.length > 0 ? asked : this.#bareWords(words), action };
  }

  #asked(own: readonly string[], isPlural: boolean): AskedWord {
    const key = own.join(' ');
    return { own, others: [...(this.#others.get(key) ?? [])], isFaint: FAINT.has(key) || NUMBER.test(key), isPlural };
  }

  /** Of a question that says nothing else. */
  #bareWords(words: readonly string[]): AskedWord[] {
    return [...new Set(words)].slice(0, MOST_WORDS).map((word) => this.#asked([word], false));
  }

  /** The longest phrase that begins here, and how many words it goes over: `take a picture` has three. */
  #phraseAt(words: readonly string[], from: number): { readonly phrase: readonly string[]; readonly length: number } {
    let best = { phrase: words.slice(from, from + 1), length: 1 };
    const phrase = best.phrase.slice();
    for (let i = from + 1; i < words.length && i < from + 2 * LONGEST_PHRASE && phrase.length < LONGEST_PHRASE; i++) {
      const word = words[i] ?? '';
      const withIt = [...phrase, word].join(' ');
      if (this.#others.has(withIt)) best = { phrase: [...phrase, word], length: i - from + 1 };
      if (!EMPTY.has(word) || this.#others.has(withIt)) phrase.push(word);
    }
    return best;
  }

  #relate(a: string, b: string): void {
    const [one, other] = [wordsOf(a), wordsOf(b)];
    this.#mayStandFor(one, other);
    this.#mayStandFor(other, one);
  }

  /** A phrase is understood in a question; only words are looked for in tools. */
  #mayStandFor(asked: readonly string[], [other, ...more]: readonly string[]): void {
    if (other === undefined || more.length > 0 || asked.length === 0) return;
    const key = asked.join(' ');
    const others = this.#others.get(key) ?? new Set();
    this.#others.set(key, others.add(other));
  }
}

/** What is plural is a noun: `changes`. What a phrase means stands for it: `get rid of`. */
function verbsOf({ own, others, isPlural }: AskedWord): readonly string[] {
  if (isPlural) return [];
  return own.length > 1 ? others : own;
}
