// Globs over names, as `discovery.toolRules` and clients' lists of tools have them. picomatch says what a glob means; the
// text is matched here, in bounded time. A pattern that cannot be kept says why, and fits nothing.

import { createRequire } from 'node:module';
import { LinearRegexp, RegexpRefused } from './linear-regexp.ts';
import { LONGEST_NAME } from './longest-name.ts';

export const LONGEST_PATTERN = 256;
/** More that are not just names take too long to read. */
export const MOST_GLOBS = 1000;
/** A name and another one, with a colon between them. */
export const LONGEST_TEXT = 2 * LONGEST_NAME + 1;
/** All patterns of one list together may take this many steps for the longest text: some 10 ms. */
const MOST_STEPS = 1_000_000;
/** A try of JavaScript's own engine takes a tenth of the time of a step. */
const TRIES_PER_STEP = 10;
/** The steps that JavaScript's own engine may take for one pattern, some 50 µs. It is the faster engine. */
const MOST_TRIES = 10_000;
/** Texts that are as long as most names are, and as long as some. */
const LENGTHS = [32, 64, 128, LONGEST_NAME, LONGEST_TEXT];

export type Glob =
  | { readonly isKept: true; readonly steps: number; fits(text: string): boolean }
  | { readonly isKept: false; readonly problem: string };

const MOST_REMEMBERED = 10_000;
const remembered = new Map<string, Glob>();

export function globOf(pattern: string): Glob {
  if (pattern.length > LONGEST_PATTERN) return refused(`is longer than ${LONGEST_PATTERN} characters`);
  const known = remembered.get(pattern);
  if (known !== undefined) return known;
  const glob = compiled(pattern);
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(pattern, glob);
  return glob;
}

/** Counts what patterns that are matched together take. */
export class GlobBudget {
  #globs = 0;
  #steps = 0;

  /** Why one more cannot be kept; undefined if it can. */
  problemWith(pattern: string): string | undefined {
    if (isName(pattern) && pattern.length <= LONGEST_PATTERN) return undefined;
    if (++this.#globs > MOST_GLOBS) return `is one of more than ${MOST_GLOBS} globs`;
    this.#steps += stepsToRead(pattern);
    const glob = this.#steps > MOST_STEPS ? TOO_SLOW : globOf(pattern);
    if (!glob.isKept) return glob.problem;
    this.#steps += glob.steps;
    return this.#steps > MOST_STEPS ? TOO_SLOW.problem : undefined;
  }
}

/** The first pattern of a list that cannot be kept, and why. */
export function problemIn(
  patterns: readonly string[],
): { readonly pattern: string; readonly problem: string } | undefined {
  const budget = new GlobBudget();
  for (const pattern of patterns) {
    const problem = budget.problemWith(pattern);
    if (problem !== undefined) return { pattern, problem };
  }
  return undefined;
}

const TOO_SLOW = { isKept: false, problem: 'would take too long to match, with those before it' } as const;

/** picomatch takes a time that grows with the square of the depth of parentheses. */
function stepsToRead(pattern: string): number {
  return 30 * (pattern.slice(0, LONGEST_PATTERN).split('(').length - 1) ** 2;
}

/** Tests whether a text matches one of these. All patterns without globs cost one lookup together. */
export function anyOf(patterns: readonly string[]): (text: string) => boolean {
  const names = new Set(patterns.map(plain));
  const globs = patterns.filter((pattern) => !isName(pattern)).map(globOf);
  return (text) => {
    if (text === '' || text.length > LONGEST_TEXT) return false;
    const name = plain(text);
    return names.has(name) || globs.some((glob) => glob.isKept && glob.fits(name));
  };
}

function compiled(pattern: string): Glob {
  if (pattern === '') return refused('is empty');
  const text = plain(pattern);
  if (isName(pattern)) return { isKept: true, steps: 0, fits: (name) => name === text };
  try {
    const expression = translated(text);
    const linear = new LinearRegexp(expression.source);
    const quick = LENGTHS.findLast((length) => linear.triesFor(length) <= MOST_TRIES) ?? 0;
    return {
      isKept: true,
      steps: quick === LONGEST_TEXT ? linear.triesFor(quick) / TRIES_PER_STEP : linear.stepsFor(LONGEST_TEXT),
      fits: (name) => (name.length <= quick ? expression.test(name) : linear.test(name)),
    };
  } catch (error) {
    if (error instanceof RegexpRefused) return refused(`cannot be kept: ${error.message}`);
    if (error instanceof SyntaxError) return refused('is not a glob: its brackets, braces or ranges make no sense');
    throw error;
  }
}

const refused = (problem: string): Glob => ({ isKept: false, problem });

/** True for a pattern without characters that mean something in a glob. */
const isName = (pattern: string): boolean => /^[\w:/-]+$/.test(pattern);

/** A star stands for slashes too, or a tool with one in its name would slip through. */
const plain = (text: string): string => text.replaceAll('/', '\u2215');

type Translate = (glob: string, options: { dot: boolean; nonegate: boolean; debug: boolean }) => RegExp;

let makeRe: Translate | undefined;

/** Throws a SyntaxError for what means nothing. Loaded with the first pattern that is not just a name. */
function translated(pattern: string): RegExp {
  makeRe ??= (createRequire(import.meta.filename)('picomatch') as { makeRe: Translate }).makeRe;
  return makeRe(pattern, { dot: true, nonegate: true, debug: true });
}
