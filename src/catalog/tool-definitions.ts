// What a server says of its tools, each as one text: all of it, because anything may reach the model, and with the members
// of objects in one order, because theirs means nothing.

import { createHash } from 'node:crypto';
import type { ListPage } from '../core/server-knowledge.ts';
import { isRecord, membersOf } from '../util/json-value.ts';

/** By the tool's name. A name that is there twice has both its definitions. */
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

/** The same text for all that differ only in the order of members, or in how they are spelled. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Of a list as it came: what is the same byte by byte need not be looked at again. */
export function digestOf(pages: readonly ListPage[]): string {
  const hash = createHash('sha256');
  for (const { result } of pages) hash.update(result);
  return hash.digest('hex').slice(0, 32);
}
