// Edits members of YAML maps, in blocks or in braces. It changes the text only at the places that the parser names:
// writing the document again would change its comments, indentation and line breaks.

import { isMap, isScalar, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml';
import { isFirstOnLine, lineBreakOf, lineStart, nextLine, spliced } from './splice.ts';
import type { EntryPlace, Obstacle, TextEditor } from './text-editor.ts';

export const YAML_EDITOR: TextEditor = { obstacle, inserted, copied, removed };

/** A map, or the place where one must be made. */
type Found =
  | { readonly kind: 'map'; readonly map: YAMLMap; readonly pair: Pair | undefined }
  | { readonly kind: 'empty'; readonly pair: Pair | undefined }
  | { readonly kind: 'missing'; readonly parent: YAMLMap; readonly keys: readonly string[] }
  | { readonly kind: 'other'; readonly offset: number };

function find(text: string, container: readonly string[]): Found {
  let node: unknown = parseDocument(text, { uniqueKeys: false, logLevel: 'silent' }).contents;
  let pair: Pair | undefined;
  for (const [depth, key] of container.entries()) {
    if (isEmpty(node)) return { kind: 'empty', pair };
    if (!isMap(node)) return { kind: 'other', offset: rangeOf(node)[0] };
    const next = pairNamed(node, key);
    if (next === undefined) return { kind: 'missing', parent: node, keys: container.slice(depth) };
    pair = next;
    node = next.value;
  }
  if (isMap(node)) return { kind: 'map', map: node, pair };
  return isEmpty(node) ? { kind: 'empty', pair } : { kind: 'other', offset: rangeOf(node)[0] };
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

function keyOf({ key }: Pair): unknown {
  return isScalar(key) ? key.value : undefined;
}

function pairNamed(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find((pair) => keyOf(pair) === name);
}

function rangeOf(node: unknown): readonly [start: number, end: number] {
  const range = (node as { range?: readonly number[] | null } | null)?.range;
  return [range?.[0] ?? 0, range?.[1] ?? 0];
}

function obstacle(text: string, container: readonly string[]): Obstacle | undefined {
  for (let depth = 0; depth <= container.length; depth++) {
    const found = find(text, container.slice(0, depth));
    if (found.kind === 'other') return { offset: found.offset, problem: 'there must be a map here' };
    const twice = found.kind === 'map' ? repeatedIn(found.map) : undefined;
    if (twice !== undefined) return { offset: rangeOf(twice.key)[0], problem: 'this key is there twice' };
  }
  return undefined;
}

function repeatedIn(map: YAMLMap): Pair | undefined {
  const seen = new Set<unknown>();
  return map.items.find((pair) => seen.size === seen.add(keyOf(pair)).size);
}

function inserted(text: string, { container, name }: EntryPlace, value: unknown): string {
  const found = find(text, container);
  switch (found.kind) {
    case 'map':
      return intoMap(text, found, [name], value);
    case 'missing':
      return intoMap(text, { map: found.parent, pair: undefined }, [...found.keys, name], value);
    case 'empty':
      return intoEmpty(text, found.pair, found.pair === undefined ? [...container, name] : [name], value);
    case 'other':
      return text;
  }
}

/** Copies a member between block maps with the same indentation only. */
function copied(
  text: string,
  place: EntryPlace,
  from: { readonly value: unknown; readonly text: string },
): string | undefined {
  const bare = inserted(text, place, from.value);
  const [written, found] = [linesAt(from.text, place), linesAt(bare, place)];
  if (written === undefined || found === undefined || written.column !== found.column) return undefined;
  const lines = from.text.slice(written.start, written.end);
  return spliced(bare, [{ ...found, text: lines.endsWith('\n') ? lines : lines + lineBreakOf(text) }]);
}

function linesAt(
  text: string,
  { container, name }: EntryPlace,
): { start: number; end: number; column: number } | undefined {
  const found = find(text, container);
  const pair = found.kind === 'map' && found.map.flow !== true ? pairNamed(found.map, name) : undefined;
  if (pair === undefined) return undefined;
  const start = rangeOf(pair.key)[0];
  if (!isFirstOnLine(text, start)) return undefined;
  return { start: lineStart(text, start), end: nextLine(text, endOfPair(text, pair)), column: columnOf(text, start) };
}

interface Target {
  readonly map: YAMLMap;
  readonly pair: Pair | undefined;
}

function intoMap(text: string, { map, pair }: Target, keys: readonly string[], value: unknown): string {
  const last = map.items.at(-1);
  if (map.flow === true && (last !== undefined || pair === undefined)) return intoBraces(text, map, keys, value);
  if (last === undefined) return intoEmpty(text, pair, keys, value);
  const indent = columnOf(text, rangeOf(map.items[0]?.key)[0]);
  return afterLine(text, endOfPair(text, last), block(text, keys, value, indent));
}

/** Inserts the member into a map in braces, as JSON: braces hold JSON too. */
function intoBraces(text: string, map: YAMLMap, keys: readonly string[], value: unknown): string {
  const [, end] = rangeOf(map);
  const [key = '', ...rest] = keys;
  const inner = rest.reduceRight<unknown>((below, name) => ({ [name]: below }), value);
  const member = `${JSON.stringify(key)}: ${JSON.stringify(inner)}`;
  const body = text.slice(0, end - 1).trimEnd();
  const comma = map.items.length === 0 || body.endsWith(',') ? '' : ', ';
  return spliced(text, [{ start: body.length, end: body.length, text: `${comma}${member}` }]);
}

/** Puts the first value into an empty document, or behind a key without a value or with `{}`. */
function intoEmpty(text: string, pair: Pair | undefined, keys: readonly string[], value: unknown): string {
  if (pair === undefined) return afterLine(text, text.length, block(text, keys, value, 0));
  const [keyStart, keyEnd] = rangeOf(pair.key);
  const [start, end] = pair.value === null ? [keyEnd, keyEnd] : rangeOf(pair.value);
  const colon = text.indexOf(':', keyEnd);
  const bare = spliced(text, start > colon ? [{ start: colon + 1, end: Math.max(end, colon + 1), text: '' }] : []);
  const indent = columnOf(text, keyStart) + unitOf(text);
  return afterLine(bare, colon, block(text, keys, value, indent));
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** The indentation of the text: that of its first indented line. */
function unitOf(text: string): number {
  return /^( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2;
}

function block(text: string, keys: readonly string[], value: unknown, indent: number): string {
  const tree = keys.reduceRight<unknown>((below, name) => ({ [name]: below }), value);
  const written = stringify(tree, { indent: unitOf(text), lineWidth: 0, blockQuote: false });
  // A pattern would not do: it also takes characters within a text as line starts.
  const lines = written.split('\n').map((line) => (line === '' ? line : ' '.repeat(indent) + line));
  return lines.join(lineBreakOf(text));
}

function afterLine(text: string, offset: number, added: string): string {
  const at = nextLine(text, offset);
  const gap = at > 0 && text[at - 1] !== '\n' ? lineBreakOf(text) : '';
  return text.slice(0, at) + gap + added + text.slice(at);
}

/** The end of the pair's last character; the parser includes the line breaks behind it. */
function endOfPair(text: string, { key, value }: Pair): number {
  const [start] = rangeOf(key);
  const end = Math.max(rangeOf(value)[1], rangeOf(key)[1]);
  return start + text.slice(start, end).trimEnd().length;
}

function removed(text: string, { container, name }: EntryPlace): string {
  const found = find(text, container);
  const pair = found.kind === 'map' ? pairNamed(found.map, name) : undefined;
  if (found.kind !== 'map' || pair === undefined) return text;
  const start = rangeOf(pair.key)[0];
  const end = endOfPair(text, pair);
  if (found.map.flow === true) return withoutInBraces(text, start, end);
  if (!isFirstOnLine(text, start)) return text;
  const without = { start: lineStart(text, start), end: nextLine(text, end), text: '' };
  const isLast = found.map.items.length === 1;
  const holder = found.pair === undefined ? undefined : text.indexOf(':', rangeOf(found.pair.key)[1]) + 1;
  const braces = isLast && holder !== undefined ? [{ start: holder, end: holder, text: ' {}' }] : [];
  return spliced(text, [...braces, without]);
}

function withoutInBraces(text: string, start: number, end: number): string {
  const behind = /^\s*,[ \t]*/.exec(text.slice(end))?.[0].length;
  if (behind !== undefined) return spliced(text, [{ start, end: end + behind, text: '' }]);
  const before = /,\s*$/.exec(text.slice(0, start))?.[0].length ?? 0;
  return spliced(text, [{ start: start - before, end, text: '' }]);
}
