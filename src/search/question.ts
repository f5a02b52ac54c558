// Reads a question: its wishes, the words of each wish (without empty ones) with their synonyms, and the wanted action.
// It knows words only, never tools.

import { EMPTY_WORDS, FAINT_WORDS, SYNONYMS } from './synonyms.ts';
import { actionOf, isAsking, NO_ACTION, wishOf } from './tool-actions.ts';
import { isPlural, spelledWordsOf, stemOf, wordsOf } from './tool-words.ts';
import { wishesIn, withoutArguments } from './wishes.ts';

/** One word or phrase of a question. */
export interface AskedWord {
  /** The word as it was asked, in lower case and in one spelling. */
  readonly text: string;
  /** The stems of the word, or of the words of a phrase. */
  readonly own: readonly string[];
  /** Synonyms of it. */
  readonly others: readonly string[];
  /** Less than 1 for a word that says little about the tool: a number, `new`, `help`, or a verb of many tools. */
  readonly share: number;
  /** True if the word is a plural. */
  readonly isPlural: boolean;
  /** True if an earlier wish has the word too. */
  readonly isRepeated: boolean;
}

/** A part of a question that one tool may answer. */
export interface AskedWish {
  readonly asked: readonly AskedWord[];
  readonly action: number;
}

export interface Question {
  readonly wishes: readonly AskedWish[];
}

/** Groups of words and phrases; all of one group are synonyms of each other. */
export type WordGroups = readonly (readonly string[])[];

const LONGEST_QUESTION = 4000;
/** The limit for the words of all wishes together. */
const MOST_WORDS = 64;
const FAINT = 0.35;
/** The share of a verb. The action counts separately (`AskedWish.action`), so that the nouns decide. */
const VERB = 0.8;
/** A part with fewer words belongs to the wish before or after it: `how big is it`. */
const LEAST_WORDS = 2;
const LONGEST_PHRASE = 4;
const NUMBER = /^\p{N}+$/u;

const EMPTY: ReadonlySet<string> = new Set(EMPTY_WORDS.flatMap(wordsOf));
const FAINT_STEMS: ReadonlySet<string> = new Set(FAINT_WORDS.flatMap(wordsOf));

export class QuestionReader {
  /** Synonyms by a word, or by the words of a phrase with spaces between them. */
  readonly #others = new Map<string, Set<string>>();

  /** `more` adds synonyms to the built-in ones. */
  constructor(more: WordGroups = []) {
    for (const [word, others] of Object.entries(SYNONYMS)) for (const other of others) this.#relate(word, other);
    for (const group of more)
      for (const [i, word] of group.entries()) for (const other of group.slice(i + 1)) this.#relate(word, other);
  }

  read(text: string): Question {
    const question = withoutArguments(text.slice(0, LONGEST_QUESTION));
    const seen = new Set<string>();
    const wishes: AskedWish[] = [];
    let left = MOST_WORDS;
    for (const part of wishesIn(question)) {
      const wish = this.#wish(part, left, seen);
      left -= wish.asked.length;
      const last = wishes.at(-1);
      if (last !== undefined && (wish.asked.length < LEAST_WORDS || last.asked.length < LEAST_WORDS))
        wishes.splice(-1, 1, together(last, wish));
      else if (wish.asked.length > 0) wishes.push(wish);
    }
    return { wishes: wishes.length > 0 ? wishes : this.#bareWish(question) };
  }

  /** Reads one wish, with at most `most` words. `seen` has the words of earlier wishes. */
  #wish(text: string, most: number, seen: Set<string>): AskedWish {
    const spelled = spelledWordsOf(text);
    const words = spelled.map(stemOf);
    const asked = new Map<string, AskedWord>();
    for (let i = 0; i < words.length && asked.size < most; ) {
      const { phrase, length } = this.#phraseAt(words, i);
      const key = phrase.join(' ');
      if (!asked.has(key) && !(phrase.length === 1 && EMPTY.has(key))) {
        const isRepeated = seen.has(key);
        asked.set(key, { ...this.#asked(phrase, spelled.slice(i, i + length)), isRepeated });
        seen.add(key);
      }
      i += length;
    }
    const list = [...asked.values()];
    return { asked: list, action: isAsking(text) ? wishOf(text) : actionOf(list.flatMap(verbsOf)) };
  }

  #asked(own: readonly string[], spelled: readonly string[]): Omit<AskedWord, 'isRepeated'> {
    const key = own.join(' ');
    const isWordPlural = isPlural(spelled.at(-1) ?? '');
    const isVerb = own.length === 1 && !isWordPlural && actionOf(own) !== NO_ACTION;
    return {
      text: spelled.join(' '),
      own,
      others: [...(this.#others.get(key) ?? [])],
      share: FAINT_STEMS.has(key) || NUMBER.test(key) ? FAINT : isVerb ? VERB : 1,
      isPlural: isWordPlural,
    };
  }

  /** The wish of a question that has only empty words. */
  #bareWish(text: string): AskedWish[] {
    const words = [...new Set(spelledWordsOf(text))].slice(0, MOST_WORDS);
    if (words.length === 0) return [];
    const asked = words.map((word) => ({ ...this.#asked([stemOf(word)], [word]), isPlural: false, isRepeated: false }));
    return [{ asked, action: NO_ACTION }];
  }

  /** Finds the longest phrase that begins here, and its number of words: `take a picture` has three. */
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

  /** Adds a synonym. Questions may hold phrases; in tools only single words are looked up. */
  #mayStandFor(asked: readonly string[], [other, ...more]: readonly string[]): void {
    if (other === undefined || more.length > 0 || asked.length === 0) return;
    const key = asked.join(' ');
    const others = this.#others.get(key) ?? new Set();
    this.#others.set(key, others.add(other));
  }
}

/** Words that may be the verb. A plural is a noun (`changes`). For a phrase its synonyms count (`get rid of`). */
function verbsOf({ own, others, isPlural }: AskedWord): readonly string[] {
  if (isPlural) return [];
  return own.length > 1 ? others : own;
}

function together(one: AskedWish, other: AskedWish): AskedWish {
  const keys = new Set(one.asked.map(({ text }) => text));
  const asked = [...one.asked, ...other.asked.filter(({ text }) => !keys.has(text))];
  return { asked, action: one.action === NO_ACTION ? other.action : one.action };
}
