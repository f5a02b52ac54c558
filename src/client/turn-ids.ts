// Ids and progress tokens of one connection among several to the same server. Each says over which it came, so that an
// answer that is late finds nobody. The bridge's are numbers and stay numbers: some servers take no others.

import { expectSyntaxError } from '../util/expected-error.ts';

const NUMBER = /^\d{1,10}$/;
const SPAN = 2 ** 32;

/** `text` is JSON, and so is the result. */
export function marked(turn: number, text: string): string {
  const number = NUMBER.test(text) ? Number(text) : SPAN;
  return number < SPAN ? String(turn * SPAN + number) : JSON.stringify(`${turn}|${text}`);
}

/** What it was before; undefined if it is none of this turn's. */
export function unmarked(turn: number, text: string): string | undefined {
  const value = parsed(text);
  if (typeof value === 'number') {
    const number = value - turn * SPAN;
    return Number.isInteger(number) && number >= 0 && number < SPAN ? String(number) : undefined;
  }
  const prefix = `${turn}|`;
  return typeof value === 'string' && value.startsWith(prefix) ? value.slice(prefix.length) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // none of ours
  }
}
