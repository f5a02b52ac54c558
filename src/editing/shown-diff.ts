// What a change would do to a file, for people: the lines that go and come, with a few around them. Configs hold keys
// and tokens anywhere, also in comments, so of values only those are shown that are known to be none.

import { createScanner } from 'jsonc-parser';
import type { Syntax } from '../discovery/document.ts';
import { lineDiff } from './line-diff.ts';

export interface ShownChange {
  readonly path: string;
  readonly syntax: Syntax;
  /** Undefined where there is no file. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Texts that are our own, and no secret. */
  readonly known: ReadonlySet<string>;
}

export function shownDiff({ path, syntax, before, after, known }: ShownChange): string {
  const mask = syntax === 'json' ? maskedJson : maskedLines;
  const [from, to] = [before, after].map((text) => (text === undefined ? '' : mask(text, known))) as [string, string];
  const head = `--- ${before === undefined ? '/dev/null' : path}\n+++ ${after === undefined ? '/dev/null' : path}\n`;
  return head + lineDiff(from, to);
}

const HIDDEN = '…';
/** White space between a key and its colon; who has more loses the key in what is shown. */
const MOST_GAP = 64;
/** Keys whose values say what kind of entry it is. */
const TELLING = new Set(['type', 'transport', 'source', 'command', 'cmd']);

function isHarmless(key: string, text: string, known: ReadonlySet<string>): boolean {
  if (known.has(text) || /^(?:true|false|null)?$/.test(text)) return true;
  if (TELLING.has(key)) return /^[\w@./\\+-]{1,200}$/.test(text) && !/[\w-]{32}/.test(text);
  return /^--?[A-Za-z][A-Za-z-]{0,24}$/.test(text);
}

function maskedJson(text: string, known: ReadonlySet<string>): string {
  const scanner = createScanner(text, false);
  let result = '';
  let key = '';
  let end = 0;
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const start = scanner.getTokenOffset();
    const token = text.slice(start, start + scanner.getTokenLength());
    end = start + token.length;
    const isKey = token.startsWith('"') && /^\s*:/.test(text.slice(end, end + MOST_GAP));
    result += isKey ? token : maskedToken(token, scanner.getTokenValue(), { key, known });
    // What a key says holds for the value behind it, and not for what is within that.
    if (isKey) key = scanner.getTokenValue();
    else if (!/^(?:\s*|:|\/[/*].*)$/s.test(token)) key = '';
  }
  return result + (end < text.length ? HIDDEN : '');
}

interface Context {
  readonly key: string;
  readonly known: ReadonlySet<string>;
}

function maskedToken(token: string, value: string, { key, known }: Context): string {
  if (token.startsWith('//')) return `// ${HIDDEN}`;
  if (token.startsWith('/*')) return `/* ${HIDDEN} */`;
  if (/^[\s{}[\]:,]*$/.test(token) || isHarmless(key, value, known)) return token;
  return token.startsWith('"') ? `"${HIDDEN}"` : HIDDEN;
}

const KEYED = /^(\s*(?:- )?(?:"[^"]*"|[\w.@/-]+)\s*[:=])(\s*)(.*?)(\r?)$/;
const BRACKETS = /^\s*[[\]{},|>-]*\s*$/;
/** A table of TOML. Within a list of several lines nothing begins like this. */
const HEADER = /^\[\[?[A-Za-z_][\w-]*(?:\.[\w-]+|\."[^"]*")*\]\]?\s*$/;

/** TOML and YAML: a line at a time, which is all that can be trusted of a text that may run over several. */
function maskedLines(text: string, known: ReadonlySet<string>): string {
  return text
    .split('\n')
    .map((line) => maskedLine(line, known))
    .join('\n');
}

function maskedLine(line: string, known: ReadonlySet<string>): string {
  if (BRACKETS.test(line) || HEADER.test(line)) return line;
  const [, name, gap = '', value = '', cr = ''] = KEYED.exec(line) ?? [];
  if (name === undefined) return maskedItem(line, known);
  const key = /["\w.@/-]+/.exec(name)?.[0].replaceAll('"', '') ?? '';
  const { texts, isList } = scalarsIn(value);
  const isShown = BRACKETS.test(value) || texts.every((text) => isHarmless(isList ? '' : key, text, known));
  return name + gap + (isShown ? value : HIDDEN) + cr;
}

function maskedItem(line: string, known: ReadonlySet<string>): string {
  const [, indent = '', text = '', cr = ''] = /^(\s*(?:- )?)(.*?)(\r?)$/.exec(line) ?? [];
  if (text.startsWith('#')) return `${indent}# ${HIDDEN}${cr}`;
  return indent + (scalarsIn(text).texts.every((item) => isHarmless('', item, known)) ? text : HIDDEN) + cr;
}

/** The texts in a value of one line; the whole of it where it is no text and no list of them. */
function scalarsIn(value: string): { readonly texts: readonly string[]; readonly isList: boolean } {
  try {
    const parsed: unknown = JSON.parse(value);
    const isList = Array.isArray(parsed);
    const items: unknown[] = isList ? parsed : [parsed];
    return { texts: items.map((item) => (isScalar(item) ? String(item) : value)), isList };
  } catch {
    return { texts: [value], isList: false }; // Not JSON: then it is one plain text, or hidden as a whole.
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}
