// The difference between two definitions of a tool, for people: place by place, texts by lines and words. Everything
// new is shown, however long, because an attacker would hide at the end. The caller escapes it.

import { type DiffLine, sequenceDiff } from '../../editing/line-diff.ts';
import { isRecord } from '../../util/json-value.ts';

/** Lines without line ends, indented below their subject. */
export function definitionDifference(before: unknown, now: unknown): string[] {
  return differences('', before, now).flatMap((difference) => [headOf(difference), ...shown(difference)]);
}

/** One definition alone, in the same format. */
export function wholeDefinition(definition: unknown): string[] {
  return differences('', {}, definition).flatMap((difference) => [`${difference.place}:`, ...shown(difference)]);
}

interface Difference {
  readonly place: string;
  /** Undefined if there was none. */
  readonly before: unknown;
  readonly now: unknown;
}

function differences(place: string, before: unknown, now: unknown): Difference[] {
  if (isList(before) && isList(now)) return sameList(before, now) ? [] : [{ place, before, now }];
  const [old, young] = [partsOf(before), partsOf(now)];
  if (old !== undefined && young !== undefined && Array.isArray(before) === Array.isArray(now)) {
    const keys = [...new Set([...old.keys(), ...young.keys()])];
    return keys.flatMap((key) => differences(placeOf(place, key), old.get(key), young.get(key)));
  }
  return JSON.stringify(before) === JSON.stringify(now) ? [] : [{ place, before, now }];
}

/**
 * True for lists such as required names or enum values. They are compared as sets, so that one insertion does not
 * change all.
 */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null);
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function partsOf(value: unknown): ReadonlyMap<string | number, unknown> | undefined {
  if (Array.isArray(value)) return new Map(value.entries());
  return isRecord(value) ? new Map(Object.entries(value)) : undefined;
}

function placeOf(place: string, key: string | number): string {
  if (typeof key === 'number') return `${place}[${key}]`;
  if (!/^[\w$-]+$/.test(key)) return `${place}[${JSON.stringify(key)}]`;
  return place === '' ? key : `${place}.${key}`;
}

function headOf({ place, before, now }: Difference): string {
  return `${place}:${before === undefined ? ' new' : now === undefined ? ' gone' : ''}`;
}

function shown({ before, now }: Difference): string[] {
  if (isList(before) && isList(now)) return listDifference(before, now);
  const texts = typeof before === 'string' && typeof now === 'string';
  if (texts) return textDifference(before, now).map((line) => `  ${line}`);
  const gone = before === undefined ? [] : linesOf(before).map((line) => `  - ${line}`);
  const come = now === undefined ? [] : linesOf(now).map((line) => `  + ${line}`);
  return [...gone, ...come];
}

/** A value on one line if it fits, else on several. */
function linesOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split('\n');
  const json = JSON.stringify(value);
  return json.length <= MOST_IN_A_LINE ? [json] : JSON.stringify(value, undefined, 2).split('\n');
}

const MOST_IN_A_LINE = 60;

function listDifference(before: readonly unknown[], now: readonly unknown[]): string[] {
  const items = (list: readonly unknown[]): string[] => list.map((item) => JSON.stringify(item));
  const lines = sequenceDiff(items(before), items(now)).filter(({ sign }) => sign !== ' ');
  return lines.map(({ sign, text }) => `  ${sign} ${text}`);
}

function textDifference(before: string, now: string): string[] {
  const lines = sequenceDiff(before.split('\n'), now.split('\n'));
  return lines.flatMap((line, i) => {
    const next = lines[i + 1];
    // A changed line is shown word by word.
    const isPair = line.sign === '-' && next?.sign === '+' && lines[i + 2]?.sign !== '+' && lines[i - 1]?.sign !== '-';
    if (isPair) return wordDifference(line.text, next.text);
    const isSecond = line.sign === '+' && lines[i - 1]?.sign === '-' && lines[i - 2]?.sign !== '-';
    if (isSecond && lines[i + 1]?.sign !== '+') return [];
    return line.sign === ' ' ? contextOf(lines, i) : [`${line.sign} ${line.text}`];
  });
}

/** Unchanged lines next to changed ones, for context. */
function contextOf(lines: readonly DiffLine[], i: number): string[] {
  const isNear = [lines[i - 1], lines[i + 1]].some((line) => line !== undefined && line.sign !== ' ');
  return isNear ? [`  ${lines[i]?.text ?? ''}`] : [];
}

function wordDifference(before: string, now: string): string[] {
  const words = sequenceDiff(wordsIn(before), wordsIn(now));
  if (!words.some(({ sign }) => sign === ' ')) return [`- ${before}`, `+ ${now}`];
  const side = (sign: '-' | '+'): string => {
    const [open, close] = sign === '-' ? ['[-', '-]'] : ['{+', '+}'];
    let text = '';
    let isInside = false;
    for (const word of words) {
      if (word.sign !== ' ' && word.sign !== sign) continue;
      if ((word.sign === sign) !== isInside) text += isInside ? close : open;
      isInside = word.sign === sign;
      text += word.text;
    }
    return `${sign} ${text}${isInside ? close : ''}`;
  };
  return [side('-'), side('+')];
}

/** Words, each with the spaces after it. */
function wordsIn(line: string): string[] {
  return line.match(/\s*\S+|\s+$/g) ?? [];
}
