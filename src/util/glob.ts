// Globs over names, for `discovery.toolRules` and clients' lists of tools. picomatch says what a glob means; this file
// matches the text, in limited time. A refused pattern says why, and fits nothing.

import { createRequire } from 'node:module';
import { LinearRegexp, RegexpRefused } from './linear-regexp.ts';
import { LONGEST_NAME } from './longest-name.ts';

export const LONGEST_PATTERN = 256;
/** More globs would take too long to read; plain names do not count. */
export const MOST_GLOBS = 1000;
/** Two names with a colon between them. */
export const LONGEST_TEXT = 2 * LONGEST_NAME + 1;
/** The steps that all patterns of one list together may take for the longest text: about 10 ms. */
const MOST_STEPS = 1_000_000;
/** A try of JavaScript's own engine takes a tenth of the time of a step. */
const TRIES_PER_STEP = 10;
/** The tries that JavaScript's own, faster engine may take for one pattern: about 50 µs. */
const MOST_TRIES = 10_000;
/** The lengths of most names, and of the longest ones. */
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

/** Counts the cost of patterns that are matched together. */
export class GlobBudget {
  #globs = 0;
  #steps = 0;

  /** The reason why one more pattern cannot be kept; undefined if it can. */
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

/** The first pattern of a list that cannot be kept, and the reason. */
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

/** The steps for reading a pattern: picomatch's time grows with the square of the number of parentheses. */
function stepsToRead(pattern: string): number {
  return 30 * (pattern.slice(0, LONGEST_PATTERN).split('(').length - 1) ** 2;
}

/** Makes a test for texts that match one of these patterns. All patterns without globs cost one lookup together. */
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

/** True for a pattern without glob characters. */
const isName = (pattern: string): boolean => /^[\w:/-]+$/.test(pattern);

/** Replaces slashes, because a star must match them too: else a tool with a slash in its name would escape a rule. */
const plain = (text: string): string => text.replaceAll('/', '\u2215');

type Translate = (glob: string, options: { dot: boolean; nonegate: boolean; debug: boolean }) => RegExp;

let makeRe: Translate | undefined;

/**
 * Translates a glob; throws a SyntaxError if it means nothing. picomatch is loaded with the first pattern that is no
 * plain name.
 */
function translated(pattern: string): RegExp {
  makeRe ??= (createRequire(import.meta.filename)('picomatch') as { makeRe: Translate }).makeRe;
  return makeRe(pattern, { dot: true, nonegate: true, debug: true });
}
