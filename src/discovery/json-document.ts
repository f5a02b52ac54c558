// JSON with comments and trailing commas. What is strict goes through JSON.parse; the slower parser is loaded for what
// is not, and to say which key is there twice.

import type { Node, ParseError } from 'jsonc-parser';
import { expectSyntaxError } from '../util/expected-error.ts';
import { placeIn, sentenceOf } from '../util/json-fault.ts';
import { sizeOf, treeOf } from './tree.ts';

export interface JsonDocument {
  readonly value: unknown;
  /** Keys that are there twice; the last one counts. */
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

/** The parser's own values make a prototype of `__proto__`. */
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
