// Definitions of tools as comparable texts. The whole definition counts, because any part may reach the model; the
// order of members does not.

import { createHash } from 'node:crypto';
import type { ListPage } from '../core/server-knowledge.ts';
import { isRecord, membersOf } from '../util/json-value.ts';

/** Cut as bytes: a substring would keep the whole text in memory. */
const HASH_BYTES = 16;

/** Returns the text of each tool by name. A name that is listed twice gets both definitions. */
export function definitionsIn(pages: readonly ListPage[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { result } of pages) {
    const { tools } = membersOf(JSON.parse(result.toString()));
    for (const tool of Array.isArray(tools) ? tools : []) {
      const name: unknown = isRecord(tool) ? tool.name : undefined;
      if (typeof name !== 'string') continue; // nobody can call it
      const before = texts.get(name);
      texts.set(name, before === undefined ? canonical(tool) : `${before}\n${canonical(tool)}`);
    }
  }
  return texts;
}

/** Returns the same text for values that differ only in the order of members or in their escapes. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest().toString('hex', 0, HASH_BYTES);
}

/** Hashes the bytes of a list, so that an equal list need not be parsed again. */
export function digestOf(pages: readonly ListPage[]): string {
  const hash = createHash('sha256');
  for (const { result } of pages) hash.update(result);
  return hash.digest().toString('hex', 0, HASH_BYTES);
}
