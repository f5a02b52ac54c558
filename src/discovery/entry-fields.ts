// Reads the fields of an entry, in every spelling that some client has for them. What cannot be used is noted, and
// left out; what makes the entry useless is a fault.

import { isTree, member, type Tree } from './tree.ts';

/** A text, or a variable of the environment that is named and not written. */
export type EntryValue = string | Reference;

interface Reference {
  readonly prefix: string;
  readonly variable: string;
  /** Whether there is no use in the entry without it. */
  readonly isNeeded: boolean;
}

export type EntryValues = ReadonlyMap<string, EntryValue>;

/** What was wrong with an entry: `fault` for all of it, the names of variables for those. */
export class EntryNotes {
  fault: string | undefined;
  readonly badValues: string[] = [];

  refuse(fault: string): undefined {
    this.fault ??= fault;
    return undefined;
  }
}

const TRUE = new Set<unknown>([true, 'true', 'yes', 'on', 1]);
const FALSE = new Set<unknown>([false, 'false', 'no', 'off', 0]);

/** Whether it says so. YAML of today makes texts of `yes` and `no`. */
function says(fields: Tree, key: string, words: ReadonlySet<unknown>): boolean {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return value !== undefined && words.has(typeof value === 'string' ? value.toLowerCase() : value);
}

export function isSwitchedOff(fields: Tree): boolean {
  if (says(fields, 'disabled', TRUE)) return true;
  if (member(fields, 'anythingllm', 'autoStart') === false) return true;
  return ['enabled', 'active', 'isActive'].some((key) => says(fields, key, FALSE));
}

export function firstOf(fields: Tree, keys: readonly string[]): { key: string; value: unknown } | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (value !== undefined && value !== null) return { key, value };
  }
  return undefined;
}

export function textField(fields: Tree, keys: readonly string[], notes: EntryNotes): string | undefined {
  const found = firstOf(fields, keys);
  if (found === undefined || typeof found.value === 'string') return found?.value as string | undefined;
  return notes.refuse(`"${found.key}" must be a text`);
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return undefined;
}

/** A list of texts; numbers and such become texts. */
export function textList(value: unknown, key: string, notes: EntryNotes): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    notes.refuse(`"${key}" must be a list`);
    return [];
  }
  const texts = value.map(scalarText);
  if (texts.includes(undefined)) notes.refuse(`"${key}" must be a list of texts`);
  return texts.filter((text) => text !== undefined);
}

const NO_TEXTS: ReadonlyMap<string, string> = new Map();

/** All of them in one; what comes later counts. Most entries have one map or none, and need no other. */
export function joinedValues(maps: readonly EntryValues[]): EntryValues {
  const filled = maps.filter(({ size }) => size > 0);
  return filled.length < 2 ? (filled[0] ?? NO_TEXTS) : new Map(filled.flatMap((map) => [...map]));
}

/** A map of texts, or a list of `NAME=value`. A value that is no text is left out, and noted. */
export function textMap(value: unknown, key: string, notes: EntryNotes): ReadonlyMap<string, string> {
  if (value === undefined || value === null) return NO_TEXTS;
  if (Array.isArray(value)) return mapOfList(value, notes);
  if (!isTree(value)) {
    notes.refuse(`"${key}" must be an object`);
    return NO_TEXTS;
  }
  const map = new Map<string, string>();
  for (const [name, item] of Object.entries(value)) {
    const text = scalarText(item);
    if (text !== undefined) map.set(name, text);
    else if (item !== null) notes.badValues.push(name); // null takes a variable away
  }
  return map;
}

function mapOfList(list: readonly unknown[], notes: EntryNotes): Map<string, string> {
  const map = new Map<string, string>();
  for (const [i, item] of list.entries()) {
    const at = typeof item === 'string' ? item.indexOf('=') : -1;
    if (at > 0 && typeof item === 'string') map.set(item.slice(0, at), item.slice(at + 1));
    else notes.badValues.push(`[${i}]`);
  }
  return map;
}

/** The texts of the first of these that is a list. */
export function listField(fields: Tree, keys: readonly string[]): string[] | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (Array.isArray(value)) return value.filter((item) => typeof item === 'string');
  }
  return undefined;
}

/** A time in the client's unit, or in the one that its key names. */
export function milliseconds(value: unknown, unit: 'ms' | 's'): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined;
  return Math.round(unit === 's' ? number * 1000 : number);
}
