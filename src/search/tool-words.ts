// Splits a text into the words that the search compares: names (`createPullRequest`, `list-issues`, `HTTPResponse`),
// prose and questions, in any script. Questions and tools must use the same code: else their words would not match.

import { JOINED, SPELLINGS } from './spellings.ts';

/** Letters, digits and the marks on them. */
const RUN = /[\p{L}\p{N}\p{M}]+/gu;
const PLAIN = /^[\t\n\r -~]*$/;
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\u30fc]/u;
const SPACELESS_PARTS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\u30fc]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\u30fc]+/gu;
/** Splits between `get` and `User` and between `HTTP` and `Response`, but not inside `URLs`. */
const HUMPS = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}(?!s(?!\p{Ll}))\p{Ll})/u;
const TERMINAL_CODE = /\p{Cc}\[[\d;?]*[A-Za-z]/gu;
const LONGEST_WORD = 64;
/** A brand has few inner capitals; a descriptive name has many. */
const MOST_HUMPS_OF_A_BRAND = 3;

/** The stems of a text's words, in order, with repetitions. */
export function wordsOf(text: string): string[] {
  return spelledWordsOf(text).map(stemOf);
}

/** The words of a text in one spelling, before stemming. */
export function spelledWordsOf(text: string): string[] {
  const words: string[] = [];
  for (const run of cleaned(text).match(RUN) ?? []) addRun(words, run);
  return words.length === 0 ? words : spelledOneWay(words);
}

function cleaned(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFKC')
    .replace(TERMINAL_CODE, ' ')
    .replace(/\p{Cf}/gu, '');
}

function addRun(words: string[], run: string): void {
  if (!PLAIN.test(run) && SPACELESS.test(run)) return addSpaceless(words, run);
  const parts = run.split(HUMPS);
  const whole = run.toLowerCase().slice(0, LONGEST_WORD);
  if (parts.length === 1 || JOINED.has(whole)) return void words.push(whole);
  for (const part of parts) words.push(part.toLowerCase().slice(0, LONGEST_WORD));
  if (parts.length <= MOST_HUMPS_OF_A_BRAND && /^\p{Lu}/u.test(run)) words.push(whole);
}

/** Adds each pair of neighbouring characters, for scripts without spaces between words. */
function addSpaceless(words: string[], run: string): void {
  for (const part of run.match(SPACELESS_PARTS) ?? []) {
    if (!SPACELESS.test(part)) addRun(words, part);
    else words.push(...pairsOf([...part]));
  }
}

function pairsOf(characters: readonly string[]): string[] {
  if (characters.length === 1) return [...characters];
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

/** Replaces short forms: `PRs` becomes `pull request`, and `git hub` becomes `github`. */
function spelledOneWay(words: readonly string[]): string[] {
  const spelled: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    const joined = `${word}${words[i + 1] ?? ''}`;
    if (i + 1 < words.length && JOINED.has(joined)) {
      spelled.push(joined);
      i++;
    } else spelled.push(...(SPELLINGS.get(word) ?? [word]));
  }
  return spelled;
}

// --- stems ---

const LEAST_STEM = 3;
const VOWEL = /[aeiouy]/;
/** Words that the rules below would confuse with others. */
const AS_THEY_ARE: ReadonlySet<string> = new Set([
  'setting',
  'meeting',
  'billing',
  'building',
  'string',
  'news',
  'status',
  'alias',
  'canvas',
  'process',
  'access',
  'address',
  'embed',
  'seed',
  'speed',
  'feed',
  'need',
  'bed',
  'process',
]);
/** Double letters at the end that belong to the word. */
const DOUBLED_BY_ITSELF = /(?:ll|ss|zz|ff)$/;

/** The common part of a word's forms: `creates`, `created`, `creating` and `creation` share one. Nobody sees it. */
export function stemOf(word: string): string {
  if (word.length <= LEAST_STEM) return word;
  const singular = withoutPlural(word);
  if (AS_THEY_ARE.has(singular)) return singular;
  return withoutEnd(withoutForm(singular));
}

/** True if a word in lower case looks like a plural; some verbs do. */
export function isPlural(word: string): boolean {
  return word === 'people' || (word.length > LEAST_STEM && withoutPlural(word) !== word);
}

function withoutPlural(word: string): string {
  if (AS_THEY_ARE.has(word) || !word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (/(?:ch|sh|x|ss|zz)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

/** Reduces `created`, `creating` and `creation` to `creat`. */
function withoutForm(word: string): string {
  const rest = /^(.+)(?:ed|ing)$/.exec(word)?.[1];
  if (rest !== undefined && rest.length >= LEAST_STEM - 1 && VOWEL.test(rest) && !rest.endsWith('e'))
    return undoubled(rest);
  return /[a-z]{3}tion$/.test(word) ? word.slice(0, -3) : word;
}

function undoubled(word: string): string {
  const isDoubled = word.length > LEAST_STEM && word.at(-1) === word.at(-2);
  return isDoubled && !DOUBLED_BY_ITSELF.test(word) ? word.slice(0, -1) : word;
}

/** Reduces `create` to `creat` and `query` to `queri`, so that they match their other forms. */
function withoutEnd(word: string): string {
  if (word.length <= LEAST_STEM) return word;
  if (word.endsWith('e')) return word.slice(0, -1);
  return word.endsWith('y') && !/[aeou]y$/.test(word) ? `${word.slice(0, -1)}i` : word;
}
