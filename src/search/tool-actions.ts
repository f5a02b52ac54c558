// The kind of action that a question wants and a tool does: read, create, delete, change or end. `delete_issue` does
// not answer a question about listing issues, however well the other words fit.

import { wordsOf } from './tool-words.ts';

export const NO_ACTION = 0;
const TO_READ = 1;
const TO_CREATE = 2;
const TO_DELETE = 3;
const TO_CHANGE = 4;
const TO_END = 5;
/** The number of kinds; "none" counts as one. */
export const ACTIONS = 6;

const READING =
  'check count describe display enumerate explain export fetch find get inspect list look query read retrieve search see show view';
const CREATING = 'add append associate attach connect create generate insert leave link make new relate';
const DELETING = 'clean clear delete destroy discard drop erase forget purge remove trash uninstall wipe';
const ENDING = 'abort cancel disconnect end kill revoke stop terminate unsubscribe';
const CHANGING = 'change edit modify patch rename replace set update';
const ASKING = new Set('are did does has have how is was were what when where which who whom whose why'.split(' '));
/** Second words of questions about how to do something: `how do I`, `how to`. */
const WAYS = new Set('can could do does may should to would'.split(' '));

const ACTION_OF: ReadonlyMap<string, number> = new Map(
  [
    [TO_READ, READING] as const,
    [TO_CREATE, CREATING] as const,
    [TO_DELETE, DELETING] as const,
    [TO_CHANGE, CHANGING] as const,
    [TO_END, ENDING] as const,
  ].flatMap(([action, words]) => wordsOf(words).map((word) => [word, action] as const)),
);

/** Returns the action of the first word that has one. */
export function actionOf(words: readonly string[]): number {
  for (const word of words) {
    const action = ACTION_OF.get(word);
    if (action !== undefined) return action;
  }
  return NO_ACTION;
}

/** True if a tool does something else than the question asks. The question must ask for deleting. */
export function isOtherAction(does: number, asked: number): boolean {
  if (asked === NO_ACTION) return does === TO_DELETE;
  if (asked === TO_END && does === TO_DELETE) return false;
  return does !== NO_ACTION && does !== asked;
}

/** True if a question asks for information. `How do I …` asks for the action instead. */
export function isAsking(question: string): boolean {
  const [, first = '', second = ''] = /^\P{L}*(\p{L}+)\P{L}+(\p{L}+)/u.exec(question.toLowerCase()) ?? [];
  return ASKING.has(first) && !(first === 'how' && WAYS.has(second));
}

/** Returns the action inside a question for information (`a tool to create`, `where can I delete`), else reading. */
export function wishOf(question: string): number {
  for (const [, verb = ''] of question.toLowerCase().matchAll(/(?<!\p{L})(?:to|i|me|we|you)\s+(\p{L}+)/gu)) {
    const action = actionOf(wordsOf(verb));
    if (action !== NO_ACTION) return action;
  }
  return TO_READ;
}
