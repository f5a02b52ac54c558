// Reads a config file in JSON, TOML or YAML. The parsers for TOML, YAML and JSON with comments are loaded for the first
// file that needs them. Their error messages quote the file, which may hold secrets, so only the position is passed on.

import type { Node, ParseError } from 'jsonc-parser';
import type { Document as YamlDocument } from 'yaml';
import { expectSyntaxError } from '../util/expected-error.ts';
import { placeIn, sentenceOf } from '../util/json-fault.ts';
import { diagnostic, type Report } from './diagnostic.ts';
import { sizeOf, treeOf } from './tree.ts';

export type Syntax = 'json' | 'toml' | 'yaml';

export interface Document {
  readonly value: unknown;
  readonly hasComments: boolean;
}

/** The outcome of reading a file. */
export type DocumentReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable'; readonly path: string }
  | { readonly kind: 'document'; readonly realpath: string; readonly document: Document };

export interface Writing {
  readonly text: string;
  readonly path: string;
  readonly syntax: Syntax;
}

/** No real config is this deep; a deeper one could overflow the stack of whoever walks through it. */
const DEEPEST = 200;

/** Throws a SyntaxFault if the text is broken; then none of it may be used. */
export async function documentOf({ text, path, syntax }: Writing, report: Report): Promise<Document> {
  const { value, duplicates, hasComments } = await parse(text, syntax);
  if (sizeOf(value).depth > DEEPEST) throw new SyntaxFault('it is nested too deeply', 1, 1);
  for (const name of new Set(duplicates)) {
    const message = `${path} has the key "${name}" twice in one place. The last one is used; remove the other.`;
    report(diagnostic('duplicate-key', message, { path, name }));
  }
  return { value, hasComments };
}

async function parse(text: string, syntax: Syntax) {
  try {
    switch (syntax) {
      case 'json':
        return await parseJson(text);
      case 'toml':
        return await parseToml(text);
      case 'yaml':
        return await parseYaml(text);
    }
  } catch (error) {
    if (isTooDeep(error)) throw new SyntaxFault('it is nested too deeply, or refers to itself', 1, 1);
    throw error;
  }
}

/** True for stack overflows in parsers, aliases that expand too much, and endless aliases. */
function isTooDeep(error: unknown): boolean {
  if (error instanceof RangeError || error instanceof ReferenceError) return true;
  return error instanceof TypeError && error.message.includes('circular');
}

async function parseToml(text: string) {
  const { parse: parseText, TomlError } = await import('smol-toml');
  try {
    return { value: parseText(text) as unknown, duplicates: [], hasComments: false };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new SyntaxFault('this is not TOML, or the same key again', error.line, error.column);
  }
}

async function parseYaml(text: string) {
  const { isScalar, LineCounter, parseAllDocuments, visit } = await import('yaml');
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { prettyErrors: false, lineCounter, logLevel: 'error', uniqueKeys: false });
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (second !== undefined) throw new SyntaxFault('there is a second document in it', 1, 1);
  const fault = document?.errors[0];
  if (fault !== undefined) {
    const { line, col } = lineCounter.linePos(fault.pos[0]);
    throw new SyntaxFault('this is not YAML', line, col);
  }
  const duplicates = document === undefined ? [] : keysTwiceIn(document, { isScalar, visit });
  // An alias of itself is endless; conversion to JSON refuses or ends it.
  const value: unknown = JSON.parse(JSON.stringify(document?.toJS() ?? null));
  return { value, duplicates, hasComments: false };
}

// Strict JSON is read by JSON.parse. The slower parser is loaded for all other files, and to find duplicate keys.
export interface JsonDocument {
  readonly value: unknown;
  /** Duplicate keys; the last one is used. */
  readonly duplicates: readonly string[];
  readonly hasComments: boolean;
}

export class SyntaxFault extends Error {
  override readonly name = 'SyntaxFault';
  readonly line: number;
  readonly column: number;

  constructor(message: string, line: number, column: number) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

export async function parseJson(text: string): Promise<JsonDocument> {
  const strict = parseStrictly(text);
  if (strict !== undefined && sizeOf(strict.value).keys === keysWritten(text))
    return { ...strict, duplicates: [], hasComments: false };
  const lenient = await parseLeniently(text);
  return { ...lenient, hasComments: strict === undefined };
}

function parseStrictly(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    expectSyntaxError(error);
    return undefined;
  }
}

const STRING_OR_KEY = /"(?:[^"\\]|\\.)*"\s*(:?)/g;

function keysWritten(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(STRING_OR_KEY)) if (colon === ':') count++;
  return count;
}

async function parseLeniently(text: string): Promise<Omit<JsonDocument, 'hasComments'>> {
  const { parseTree, printParseErrorCode } = await import('jsonc-parser');
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) throw faultAt(text, first.offset, sentenceOf(printParseErrorCode(first.error)));
  const duplicates: string[] = [];
  return { value: root === undefined ? undefined : plainValue(root, duplicates), duplicates };
}

function faultAt(text: string, offset: number, sentence = 'this is not JSON'): SyntaxFault {
  const { line, column } = placeIn(text, offset);
  return new SyntaxFault(sentence, line, column);
}

/** Converts a node: the parser itself would set a prototype for the key `__proto__`. */
function plainValue(node: Node, duplicates: string[]): unknown {
  if (node.type === 'array') return (node.children ?? []).map((child) => plainValue(child, duplicates));
  if (node.type !== 'object') return node.value;
  const members = new Map<string, unknown>();
  for (const { children: [key, value] = [] } of node.children ?? []) {
    const name = String(key?.value);
    if (members.has(name)) duplicates.push(name);
    if (value !== undefined) members.set(name, plainValue(value, duplicates));
  }
  return treeOf(members);
}

// The parser would compare each key with all others of its map, and write out keys that are not strings: a small file
// could take minutes. So the keys are checked here, once.
/** Finds duplicate keys; the last one is used. Throws a SyntaxFault for a key that is not a string. */
type YamlTools = Pick<typeof import('yaml'), 'isScalar' | 'visit'>;

function keysTwiceIn(document: YamlDocument, { isScalar, visit }: YamlTools): string[] {
  const twice: string[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (key !== null && !isScalar(key)) throw new SyntaxFault('a key in it is no text', 1, 1);
        const name = String(key?.value);
        if (seen.has(name)) twice.push(name);
        seen.add(name);
      }
    },
  });
  return twice;
}
