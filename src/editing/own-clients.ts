// Changes `clients` in the bridge's own config: inserts, replaces and removes the entry that an installation writes for
// a client. It leaves the rest of the text as it is.

import { isDeepStrictEqual } from 'node:util';
import { applyEdits, type FormattingOptions, findNodeAtLocation, modify, type Node, parseTree } from 'jsonc-parser';
import type { Tree } from '../discovery/tree.ts';
import { isTree, member } from '../discovery/tree.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { anyOf } from '../util/glob.ts';
import { ConfigDocument } from './config-document.ts';
import type { OpenOwnConfig } from './own-config.ts';
import { indentAt, isFirstOnLine, lineBreakOf, lineEnd, lineStart, spliced, type TextSplice } from './splice.ts';

/** The entry that `install` writes for a client. */
export interface OwnClientEntry {
  readonly match: { readonly client: string };
  readonly names?: Readonly<Record<string, string>>;
  readonly toolRules?: readonly { readonly pattern: readonly string[]; readonly enabled: boolean }[];
}

function entriesIn({ value }: ConfigDocument): readonly unknown[] {
  const entries = member(value, 'clients');
  return Array.isArray(entries) ? entries : [];
}

export function hasClientEntry(document: ConfigDocument, entry: unknown): boolean {
  return entriesIn(document).some((one) => isDeepStrictEqual(one, entry));
}

/** The reason why an entry for this client would not count, or would hide another one; undefined if there is none. */
export function entryInTheWay(document: ConfigDocument, client: string, own: unknown): string | undefined {
  if (member(document.value, 'clients') !== undefined && !Array.isArray(member(document.value, 'clients')))
    return 'clients of the config is no list';
  const at = entriesIn(document).findIndex((entry) => !isDeepStrictEqual(entry, own) && mayMatch(entry, client));
  return at < 0 ? undefined : `clients[${at}] of the config may be about this client already`;
}

function mayMatch(entry: unknown, client: string): boolean {
  const wanted = member(entry, 'match', 'client');
  const globs: unknown[] = typeof wanted === 'string' ? [wanted] : Array.isArray(wanted) ? wanted : [];
  const texts = globs.filter((glob) => typeof glob === 'string');
  return !isTree(entry) || texts.length === 0 || texts.length < globs.length || anyOf(texts)(client);
}

/** Puts `after` in place of `before`, or at the end; without `after`, removes `before`. */
export async function withClientEntry(
  { file, document }: Pick<OpenOwnConfig, 'file' | 'document'>,
  before: unknown,
  after: OwnClientEntry | undefined,
): Promise<ConfigDocument> {
  const entries = entriesIn(document);
  const at = before === undefined ? -1 : entries.findIndex((entry) => isDeepStrictEqual(entry, before));
  if (at < 0 && after === undefined) return document;
  const wanted =
    after === undefined ? entries.toSpliced(at, 1) : at < 0 ? [...entries, after] : entries.with(at, after);
  const { text } = document;
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const changed = mark + edited(text.slice(mark.length), { entries, at, after });
  const place = { path: file.path, syntax: 'json', container: ['mcpServers'] } as const;
  const next = await ConfigDocument.parse(changed, place);
  const rest = ({ clients: _, ...others }: Tree): Tree => others;
  const isSound = isDeepStrictEqual(rest(next.value), rest(document.value)) && sameItems(entriesIn(next), wanted);
  if (isSound) return next;
  throw new BridgeError('CONFIG_INVALID', `${file.path}: "clients" cannot be changed without changing more than that`, {
    hint: 'Change it by hand: docs/clients.md has the entry.',
  });
}

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));

interface Change {
  readonly entries: readonly unknown[];
  readonly at: number;
  readonly after: OwnClientEntry | undefined;
}

function edited(text: string, { entries, at, after }: Change): string {
  const nodes = entryNodes(text);
  const last = nodes.at(-1);
  if (last === undefined) {
    const formattingOptions = layoutOf(text);
    return applyEdits(text, modify(text, ['clients'], [after], { formattingOptions }));
  }
  if (after === undefined && entries.length === 1) return applyEdits(text, modify(text, ['clients'], undefined, {}));
  if (after === undefined) return spliced(text, removal(text, nodes, at));
  const node = nodes[at];
  if (node === undefined) return spliced(text, appendix(text, last, after));
  const { offset, length } = node;
  return spliced(text, [{ start: offset, end: offset + length, text: written(text, offset, after) }]);
}

function entryNodes(text: string): readonly Node[] {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return (root && findNodeAtLocation(root, ['clients'])?.children) ?? [];
}

/** The text of the entry at this place; it gets lines of its own if it begins a line. */
function written(text: string, offset: number, entry: OwnClientEntry): string {
  if (!isFirstOnLine(text, offset)) return JSON.stringify(entry);
  const eol = lineBreakOf(text);
  return JSON.stringify(entry, undefined, '  ').replaceAll('\n', `${eol}${indentAt(text, offset)}`);
}

/** The splices that add an entry behind the last one and its comments. */
function appendix(text: string, last: Node, entry: OwnClientEntry): TextSplice[] {
  const end = last.offset + last.length;
  const comma = /^\s*,/.test(text.slice(end)) ? '' : ',';
  const entryText = written(text, last.offset, entry);
  if (!isFirstOnLine(text, last.offset)) return [{ start: end, end, text: `, ${entryText}` }];
  const at = lineEnd(text, end);
  const line = `${lineBreakOf(text)}${indentAt(text, last.offset)}${entryText}`;
  return [
    { start: end, end, text: comma },
    { start: at, end: at, text: line },
  ];
}

/** The splices that remove an entry. If it stands behind another one, its lines and the comma before it go. */
function removal(text: string, nodes: readonly Node[], at: number): TextSplice[] {
  const [node, before] = [nodes[at], nodes[at - 1]];
  if (node === undefined) return [];
  const end = node.offset + node.length;
  const isLast = at === nodes.length - 1;
  const comma = before === undefined ? -1 : before.offset + before.length;
  if (!isLast || text[comma] !== ',')
    return modify(text, ['clients', at], undefined, {}).map(({ offset, length, content }) => ({
      ...{ start: offset, end: offset + length, text: content },
    }));
  const start = isFirstOnLine(text, node.offset) ? lineEnd(text, lineStart(text, node.offset) - 1) : comma + 1;
  return [
    { start: comma, end: comma + 1, text: '' },
    { start: Math.max(start, comma + 1), end, text: '' },
  ];
}

/** The layout of the first member that has a line of its own. */
function layoutOf(text: string): FormattingOptions {
  const first = /\n[ \t]+(?=")/.exec(text);
  const indent = first === null ? '  ' : indentAt(text, first.index + first[0].length);
  const eol = lineBreakOf(text);
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 1, eol }
    : { insertSpaces: true, tabSize: indent.length || 2, eol };
}
