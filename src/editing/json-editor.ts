// Inserts and removes members of JSON texts, with or without comments and trailing commas. It follows the layout of the
// text. It never removes a comment, even one beside a removed member.

import { createScanner, type Node, parseTree } from 'jsonc-parser';
import {
  indentAt,
  isFirstOnLine,
  lineBreakOf,
  lineEnd,
  lineStart,
  spliced,
  type TextSplice,
  wholeLines,
} from './splice.ts';
import type { EntryPlace, Obstacle, TextEditor } from './text-editor.ts';

export const JSON_EDITOR: TextEditor = { obstacle, inserted, copied, removed };

function rootOf(text: string): Node | undefined {
  return parseTree(text, [], { allowTrailingComma: true });
}

function propertiesNamed(node: Node, name: string): Node[] {
  return (node.children ?? []).filter(({ children }) => children?.[0]?.value === name);
}

function valueIn(property: Node | undefined): Node | undefined {
  return property?.children?.[1];
}

function obstacle(text: string, container: readonly string[]): Obstacle | undefined {
  let node = rootOf(text);
  for (const [depth, key] of [...container, undefined].entries()) {
    if (node === undefined) return undefined;
    const called = depth === 0 ? 'the whole of it' : `"${container[depth - 1]}"`;
    if (node.type !== 'object') return { offset: node.offset, problem: `${called} must be an object` };
    const twice = key === undefined ? repeatedIn(node) : propertiesNamed(node, key)[1];
    if (twice !== undefined) return { offset: twice.offset, problem: 'this key is there twice' };
    node = key === undefined ? undefined : valueIn(propertiesNamed(node, key)[0]);
  }
  return undefined;
}

function repeatedIn({ children = [] }: Node): Node | undefined {
  const seen = new Set<unknown>();
  return children.find(({ children: [key] = [] }) => seen.size === seen.add(key?.value).size);
}

function inserted(text: string, { container, name }: EntryPlace, value: unknown): string {
  let node = rootOf(text);
  const missing = [...container];
  if (node === undefined) return `${rendered(nested([...missing, name], value), lineBreakOf(text), '  ')}\n`;
  for (const key of container) {
    const found: Node | undefined = valueIn(propertiesNamed(node, key)[0]);
    if (found === undefined) break;
    node = found;
    missing.shift();
  }
  const [key = name, ...rest] = [...missing, name];
  return spliced(text, insertion(text, node, { key, value: nested(rest, value) }));
}

function copied(
  text: string,
  place: EntryPlace,
  from: { readonly value: unknown; readonly text: string },
): string | undefined {
  const written = valueAt(from.text, place);
  const bare = inserted(text, place, from.value);
  const found = valueAt(bare, place);
  if (written === undefined || found === undefined) return undefined;
  const { offset, length } = written;
  const splice = { start: found.offset, end: found.offset + found.length };
  return spliced(bare, [{ ...splice, text: from.text.slice(offset, offset + length) }]);
}

function valueAt(text: string, { container, name }: EntryPlace): Node | undefined {
  let node = rootOf(text);
  for (const key of [...container, name]) node = node && valueIn(propertiesNamed(node, key)[0]);
  return node;
}

function nested(keys: readonly string[], value: unknown): unknown {
  return keys.reduceRight((inner, key) => Object.fromEntries([[key, inner]]), value);
}

interface Member {
  readonly key: string;
  readonly value: unknown;
}

function insertion(text: string, object: Node, member: Member): TextSplice[] {
  const last = object.children?.at(-1);
  if (last === undefined) return [intoEmpty(text, object, member)];
  return isSpread(text, object) ? afterLine(text, object, member) : afterSibling(text, object, member);
}

/** True if the object's members have lines of their own. */
function isSpread(text: string, object: Node): boolean {
  const first = object.children?.[0];
  if (first !== undefined) return text.slice(object.offset, first.offset).includes('\n');
  const isAlone = object.parent === undefined && text.trim().length === object.length;
  return isAlone || text.trim().includes('\n');
}

function intoEmpty(text: string, object: Node, member: Member): TextSplice {
  const [start, end] = [object.offset + 1, object.offset + object.length - 1];
  const inside = text.slice(start, end);
  const kept = inside.trimEnd();
  const at = { start: start + kept.length, end };
  if (!isSpread(text, object)) return { ...at, text: compact(text, member) };
  const [eol, outer] = [lineBreakOf(text), indentAt(text, object.offset)];
  const indent = outer + unitOf(text);
  return { ...at, text: `${eol}${indent}${property(member, { eol, indent, unit: unitOf(text) })}${eol}${outer}` };
}

function afterSibling(text: string, object: Node, member: Member): TextSplice[] {
  const last = object.children?.at(-1) as Node;
  const comma = commaAfter(text, last);
  const gap = /[,:]\s/.test(text.slice(object.offset, last.offset + last.length)) ? ' ' : '';
  const at = comma === undefined ? last.offset + last.length : comma + 1;
  const written = compact(text, member);
  return [{ start: at, end: at, text: comma === undefined ? `,${gap}${written}` : `${gap}${written},` }];
}

function afterLine(text: string, object: Node, member: Member): TextSplice[] {
  const children = object.children ?? [];
  const last = children.at(-1) as Node;
  const model = children.findLast(({ offset }) => isFirstOnLine(text, offset)) ?? last;
  const [eol, indent] = [lineBreakOf(text), indentAt(text, model.offset)];
  const comma = commaAfter(text, last);
  const end = last.offset + last.length;
  const at = endOfRemarks(text, comma === undefined ? end : comma + 1);
  const closing = lineStart(text, object.offset + object.length - 1) <= at ? eol + indentAt(text, object.offset) : '';
  const written = `${eol}${indent}${property(member, { eol, indent, unit: unitOf(text) })}`;
  if (comma !== undefined) return [{ start: at, end: at, text: `${written},${closing}` }];
  return [
    { start: end, end, text: ',' },
    { start: at, end: at, text: written + closing },
  ];
}

/** The offset behind the comments on the same line: they belong to the member before them. */
function endOfRemarks(text: string, offset: number): number {
  const scanner = createScanner(text, false);
  scanner.setPosition(offset);
  const end = lineEnd(text, offset);
  let at = offset;
  for (scanner.scan(); scanner.getTokenOffset() < end; scanner.scan()) {
    const token = text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength());
    if (token.startsWith('/')) at = scanner.getTokenOffset() + token.length;
    else if (token.trim() !== '') break;
  }
  return at;
}

function commaAfter(text: string, { offset, length }: Node): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset + length);
  scanner.scan();
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : undefined;
}

interface Layout {
  readonly eol: string;
  readonly indent: string;
  readonly unit: string;
}

function property({ key, value }: Member, { eol, indent, unit }: Layout): string {
  return `${JSON.stringify(key)}: ${rendered(value, eol + indent, unit)}`;
}

function rendered(value: unknown, eol: string, unit: string): string {
  return JSON.stringify(value, undefined, unit).replaceAll('\n', eol);
}

function compact(text: string, { key, value }: Member): string {
  const isTight = /"\s*:\S/.test(text) || text.trim() === '{}';
  if (isTight) return `${JSON.stringify(key)}:${JSON.stringify(value)}`;
  const loose = rendered(value, '\n', ' ')
    .replace(/(?<=[[{])\n\s*|\n\s*(?=[\]}])/g, '')
    .replace(/\n\s*/g, ' ');
  return `${JSON.stringify(key)}: ${loose}`;
}

/** The indentation of the text: that of its first member. */
function unitOf(text: string): string {
  const found = /^([ \t]+)\S/m.exec(text.replace(/^[ \t]*(?:\/\/.*|\/\*.*|\*.*)$/gm, ''))?.[1];
  if (found === undefined) return '  ';
  return found.startsWith('\t') ? '\t' : found;
}

function removed(text: string, { container, name }: EntryPlace): string {
  let object = rootOf(text);
  for (const key of container) object = object && valueIn(propertiesNamed(object, key)[0]);
  const [found] = object === undefined ? [] : propertiesNamed(object, name);
  if (object === undefined || found === undefined) return text;
  return spliced(text, removal(text, object, found));
}

function removal(text: string, object: Node, found: Node): TextSplice[] {
  const siblings = object.children ?? [];
  const comma = commaAfter(text, found);
  const end = found.offset + found.length;
  const before = siblings[siblings.indexOf(found) - 1];
  const isOnly = siblings.length === 1;
  const [start, close] = [object.offset + 1, object.offset + object.length - 1];
  const rest = text.slice(start, found.offset) + text.slice((comma ?? end - 1) + 1, close);
  if (isOnly && rest.trim() === '') return [{ start, end: close, text: '' }];
  // A comment may stand between the member and its comma.
  if (comma !== undefined && text.slice(end, comma).trim() !== '')
    return [wholeLines(text, { start: found.offset, end }), { start: comma, end: comma + 1, text: '' }];
  const own = wholeLines(text, { start: found.offset, end: (comma ?? end - 1) + 1 });
  if (comma !== undefined || before === undefined) return [own];
  const dangling = commaAfter(text, before) ?? own.start;
  const isOneLine =
    text.slice(dangling + 1, own.start).trim() === '' && !text.slice(dangling, own.start).includes('\n');
  return isOneLine
    ? [{ start: dangling, end: own.start === found.offset ? end : own.end, text: '' }]
    : [{ start: dangling, end: dangling + 1, text: '' }, own];
}
