// Edits tables of TOML texts: adds a new one at the end, and removes one with its sub-tables. It does not touch inline
// tables: a change would mean writing the table again.

import { type AST, parseTOML } from 'toml-eslint-parser';
import { isRecord } from '../util/json-value.ts';
import { lineBreakOf, lineEnd, lineStart, nextLine, spliced, type TextSplice } from './splice.ts';
import type { EntryPlace, Obstacle, TextEditor } from './text-editor.ts';

/** There is no obstacle to report: the strict parser refuses duplicates already. */
export const TOML_EDITOR: TextEditor = { obstacle: (): Obstacle | undefined => undefined, inserted, copied, removed };

function inserted(text: string, { container, name }: EntryPlace, value: unknown): string {
  const eol = lineBreakOf(text);
  const header = `[${[...container, name].map(keyText).join('.')}]`;
  const lines = Object.entries(isRecord(value) ? value : {}).map(
    ([key, item]) => `${keyText(key)} = ${valueText(item)}`,
  );
  return appended(text, [header, ...lines].join(eol) + eol);
}

function appended(text: string, table: string): string {
  const eol = lineBreakOf(text);
  const gap = text.trim() === '' ? '' : eol;
  const end = text === '' || text.endsWith('\n') ? text : text + eol;
  return end + gap + table;
}

/** Copies a table only: a member of another kind needs the table around it. */
function copied(text: string, { container, name }: EntryPlace, from: { readonly text: string }): string | undefined {
  const path = [...container, name];
  const tables = parseTOML(from.text)
    .body[0].body.filter((node) => node.type === 'TOMLTable')
    .filter(({ resolvedKey }) => leadsTo(resolvedKey, path));
  const written = tables.map(({ range, body }) => {
    const own = lines(from.text, [range[0], body.at(-1)?.range[1] ?? lineEnd(from.text, range[0])]);
    return from.text.slice(own.start, own.end);
  });
  if (written.length === 0) return undefined;
  const table = written.join('');
  // The empty line before it may have stayed.
  return appended(text.replace(/(\r?\n)\r?\n$/, '$1'), table.endsWith('\n') ? table : table + lineBreakOf(text));
}

function keyText(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (!isRecord(value)) return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
  const members = Object.entries(value).map(([key, item]) => `${keyText(key)} = ${valueText(item)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function removed(text: string, { container, name }: EntryPlace): string {
  const path = [...container, name];
  const top = parseTOML(text).body[0];
  return spliced(
    text,
    top.body.flatMap((node) => removals(text, node, path)),
  );
}

function removals(text: string, node: AST.TOMLTable | AST.TOMLKeyValue, path: readonly string[]): TextSplice[] {
  if (node.type === 'TOMLKeyValue') return leadsTo(keysOf(node), path) ? [lines(text, node.range)] : [];
  if (leadsTo(node.resolvedKey, path)) return [table(text, node)];
  return node.body
    .filter((pair) => leadsTo([...node.resolvedKey, ...keysOf(pair)], path))
    .map(({ range }) => lines(text, range));
}

function keysOf({ key }: AST.TOMLKeyValue): string[] {
  return key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));
}

function leadsTo(keys: readonly (string | number)[], path: readonly string[]): boolean {
  return path.every((key, i) => keys[i] === key);
}

function lines(text: string, [start, end]: AST.Range): TextSplice {
  return { start: lineStart(text, start), end: nextLine(text, end), text: '' };
}

/** The splice that removes a table. It includes the empty line before, if another one or nothing follows. */
function table(text: string, { range, body }: AST.TOMLTable): TextSplice {
  const own = lines(text, [range[0], body.at(-1)?.range[1] ?? lineEnd(text, range[0])]);
  const before = own.start === 0 ? 0 : lineStart(text, own.start - 1);
  const isBlankBefore = before < own.start && text.slice(before, own.start).trim() === '';
  const isBlankBehind = own.end >= text.length || text.slice(own.end, nextLine(text, own.end)).trim() === '';
  return isBlankBefore && isBlankBehind ? { ...own, start: before } : own;
}
