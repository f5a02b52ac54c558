// The words of all tools. It finds them exactly, by their beginning, or with one typing error. It knows nothing about
// tools.

export interface VocabularyWord {
  readonly text: string;
}

/** Shorter words begin too many others, or are too similar to each other. */
const LEAST_BEGINNING = 3;
const LEAST_MISTYPED = 3;
const MOST_COMPLETIONS = 8;
const MOST_CORRECTIONS = 4;

export class Vocabulary<Word extends VocabularyWord> {
  readonly #make: (text: string) => Word;
  readonly #words = new Map<string, Word>();
  /** Words by their first three letters. */
  readonly #heads = new Map<string, Set<Word>>();
  /**
   * The keys of `#heads` by two letters. In a word with one typing error, the first two letters are right, or the last
   * two.
   */
  readonly #branches = new Map<string, Set<string>>();
  readonly #tails = new Map<string, Set<Word>>();

  constructor(make: (text: string) => Word) {
    this.#make = make;
  }

  get(text: string): Word | undefined {
    return this.#words.get(text);
  }

  /** Returns a word; adds it if it is new. */
  wordFor(text: string): Word {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    const word = this.#make(text);
    this.#words.set(text, word);
    addTo(this.#heads, headOf(text), word);
    addTo(this.#branches, branchOf(text), headOf(text));
    addTo(this.#tails, tailOf(text), word);
    return word;
  }

  remove(word: Word): void {
    this.#words.delete(word.text);
    removeFrom(this.#heads, headOf(word.text), word);
    if (!this.#heads.has(headOf(word.text))) removeFrom(this.#branches, branchOf(word.text), headOf(word.text));
    removeFrom(this.#tails, tailOf(word.text), word);
  }

  /** Words that begin with this one, the shortest first. */
  completionsOf(text: string): Word[] {
    if (text.length < LEAST_BEGINNING) return [];
    const longer: Word[] = [];
    for (const word of this.#heads.get(headOf(text)) ?? [])
      if (word.text.length > text.length && word.text.startsWith(text)) longer.push(word);
    return longer.sort(byLengthAndText).slice(0, MOST_COMPLETIONS);
  }

  /** Words that differ by one typing error: a wrong, missing or extra letter, or two swapped letters. */
  correctionsOf(text: string): Word[] {
    if (text.length < LEAST_MISTYPED) return [];
    // Only a missing letter is corrected in a word of three: most words that differ in one letter are different words.
    const least = text.length === LEAST_MISTYPED ? text.length + 1 : text.length - 1;
    const near = new Set<Word>();
    const heads = [...(this.#branches.get(branchOf(text)) ?? [])].map((head) => this.#heads.get(head));
    for (const alike of [...heads, this.#tails.get(tailOf(text))])
      for (const word of alike ?? [])
        if (word.text.length >= least && word.text.length <= text.length + 1 && isOneTypoAway(text, word.text))
          near.add(word);
    return [...near].sort(byLengthAndText).slice(0, MOST_CORRECTIONS);
  }
}

const headOf = (text: string): string => text.slice(0, LEAST_BEGINNING);
const branchOf = (text: string): string => text.slice(0, 2);
const tailOf = (text: string): string => text.slice(-2);

function byLengthAndText(a: VocabularyWord, b: VocabularyWord): number {
  return a.text.length - b.text.length || (a.text < b.text ? -1 : 1);
}

function addTo<Word>(groups: Map<string, Set<Word>>, key: string, word: Word): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([word]));
  else group.add(word);
}

function removeFrom<Word>(groups: Map<string, Set<Word>>, key: string, word: Word): void {
  const group = groups.get(key);
  group?.delete(word);
  if (group?.size === 0) groups.delete(key);
}

function isOneTypoAway(a: string, b: string): boolean {
  if (a === b) return false;
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  if (a.length > b.length) return isSameFrom(a, from + 1, b, from);
  if (a.length < b.length) return isSameFrom(a, from, b, from + 1);
  if (isSameFrom(a, from + 1, b, from + 1)) return true;
  return a[from] === b[from + 1] && a[from + 1] === b[from] && isSameFrom(a, from + 2, b, from + 2);
}

function isSameFrom(a: string, fromA: number, b: string, fromB: number): boolean {
  if (a.length - fromA !== b.length - fromB) return false;
  for (let i = fromA, j = fromB; i < a.length; i++, j++) if (a[i] !== b[j]) return false;
  return true;
}
