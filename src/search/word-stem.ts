// What the forms of an English word have in common: `creates`, `created`, `creating` and `creation` are one word to the
// search. It is no word of the language, and nothing that is shown. Forms that come out apart are left to synonyms.

const LEAST_STEM = 3;
const VOWEL = /[aeiouy]/;
/** What the rules would make another word of. */
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
/** A double letter at the end that belongs to the word. */
const DOUBLED_BY_ITSELF = /(?:ll|ss|zz|ff)$/;

export function stemOf(word: string): string {
  if (word.length <= LEAST_STEM) return word;
  const singular = withoutPlural(word);
  if (AS_THEY_ARE.has(singular)) return singular;
  return withoutEnd(withoutForm(singular));
}

/** Of a noun in lower case; a verb may look like one. */
export function isPlural(word: string): boolean {
  return word === 'people' || (word.length > LEAST_STEM && withoutPlural(word) !== word);
}

function withoutPlural(word: string): string {
  if (AS_THEY_ARE.has(word) || !word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (/(?:ch|sh|x|ss|zz)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

/** `created`, `creating` and `creation` as `creat`. */
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

/** `create` as `creat`, `query` as `queri`, so that they meet their forms. */
function withoutEnd(word: string): string {
  if (word.length <= LEAST_STEM) return word;
  if (word.endsWith('e')) return word.slice(0, -1);
  return word.endsWith('y') && !/[aeou]y$/.test(word) ? `${word.slice(0, -1)}i` : word;
}
