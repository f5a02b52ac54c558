// Reads a question: its words without empty ones, each with its synonyms, and the kind of action that is wanted. It knows
// words only, never which tools exist.

import { EMPTY_WORDS, FAINT_WORDS, SYNONYMS } from './synonyms.ts';
import { actionOf, isAsking, wishOf } from './tool-actions.ts';
import { isPlural, spelledWordsOf, stemOf, wordsOf } from './tool-words.ts';

/** One word or phrase of a question. */
export interface AskedWord {
  /** The stems of the word, or of the words of a phrase. */
  readonly own: readonly string[];
  /** Synonyms of it. */
  readonly others: readonly string[];
  /** Says little about the tool, as numbers and `new` do. */
  readonly isFaint: boolean;
  /** Stands in the plural. */
  readonly isPlural: boolean;
}

export interface Question {
  readonly asked: readonly AskedWord[];
  readonly action: number;
}

/** Groups of words and phrases; all of one group are synonyms of each other. */
export type WordGroups = readonly (readonly string[])[];

const LONGEST_QUESTION = 1000;
const MOST_WORDS = 24;
const LONGEST_PHRASE = 4;
const NUMBER = /^\p{N}+$/u;

const EMPTY: ReadonlySet<string> = new Set(EMPTY_WORDS.flatMap(wordsOf));
const FAINT: ReadonlySet<string> = new Set(FAINT_WORDS.flatMap(wordsOf));

export class QuestionReader {
  /** Synonyms by a word, or by the words of a phrase with spaces between them. */
  readonly #others = new Map<string, Set<string>>();

  /** `more` are synonyms beside the built-in ones. */
  constructor(more: WordGroups = []) {
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

  /** The words of a question that has only empty ones. */
  #bareWords(words: readonly string[]): AskedWord[] {
    return [...new Set(words)].slice(0, MOST_WORDS).map((word) => this.#asked([word], false));
  }

  /** Finds the longest phrase that begins here, and how many words it takes: `take a picture` takes three. */
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

  /** Phrases are understood in questions. In tools only single words are looked up. */
  #mayStandFor(asked: readonly string[], [other, ...more]: readonly string[]): void {
    if (other === undefined || more.length > 0 || asked.length === 0) return;
    const key = asked.join(' ');
    const others = this.#others.get(key) ?? new Set();
    this.#others.set(key, others.add(other));
  }
}

/** Words that may be the verb. A plural is a noun (`changes`); for a phrase its synonyms count (`get rid of`). */
function verbsOf({ own, others, isPlural }: AskedWord): readonly string[] {
  if (isPlural) return [];
  return own.length > 1 ? others : own;
}
