// What only Codex has: variables that are named instead of written, and fields that exclude each other.

import { type EntryNotes, type EntryValue, textMap } from './entry-fields.ts';
import { isTree, member, type Tree, textAt } from './tree.ts';

const OF_A_PROCESS = ['command', 'args', 'env', 'env_vars'];
const OF_A_URL = ['url', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'http_headers_helper'];

export function checkCodexFields(fields: Tree, notes: EntryNotes): void {
  if (member(fields, 'bearer_token') !== undefined)
    notes.refuse('Codex takes no "bearer_token" in the file: name a variable with "bearer_token_env_var"');
  const has = (keys: readonly string[]): string | undefined => keys.find((key) => member(fields, key) !== undefined);
  if (has(['command']) !== undefined && has(OF_A_URL) !== undefined)
    notes.refuse(`Codex takes no "${has(OF_A_URL)}" beside a "command"`);
  if (has(['url']) !== undefined && has(OF_A_PROCESS) !== undefined)
    notes.refuse(`Codex takes no "${has(OF_A_PROCESS)}" beside a "url"`);
}

/** Variables that are handed on under their own names. */
export function codexVariables(fields: Tree): Map<string, EntryValue> {
  const listed = member(fields, 'env_vars');
  const found = new Map<string, EntryValue>();
  for (const item of Array.isArray(listed) ? listed : []) {
    const name = typeof item === 'string' ? item : textAt(item, 'name');
    const isRemote = isTree(item) && item.source !== undefined && item.source !== 'local';
    if (name !== undefined && !isRemote) found.set(name, { prefix: '', variable: name, isNeeded: false });
  }
  return found;
}

export function codexHeaders(fields: Tree, notes: EntryNotes): Map<string, EntryValue> {
  const headers = new Map<string, EntryValue>();
  const token = textAt(fields, 'bearer_token_env_var');
  if (token !== undefined) headers.set('Authorization', { prefix: 'Bearer ', variable: token, isNeeded: true });
  for (const [name, variable] of textMap(member(fields, 'env_http_headers'), 'env_http_headers', notes))
    headers.set(name, { prefix: '', variable, isNeeded: false });
  return headers;
}
