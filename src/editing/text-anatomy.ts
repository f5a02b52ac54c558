// Finds the values and comments in the text of a config, in any syntax. Between them are only names and punctuation.

import type { Syntax } from '../discovery/document.ts';

interface Range {
  readonly start: number;
  readonly end: number;
}

export interface TextValue extends Range {
  /** The keys that lead to the value; numbers for lists. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

export interface Anatomy {
  /** In the order of the text. */
  readonly values: readonly TextValue[];
  readonly comments: readonly Range[];
}

/** The anatomy of a text that its strict parser accepts. */
export function anatomyOf(text: string, syntax: Syntax): Promise<Anatomy> {
  switch (syntax) {
    case 'json':
      return ofJson(text);
    case 'toml':
      return ofToml(text);
    case 'yaml':
      return ofYaml(text);
  }
}

async function ofJson(text: string): Promise<Anatomy> {
  const { visit } = await import('jsonc-parser');
  const values: TextValue[] = [];
  const comments: Range[] = [];
  visit(text, {
    onLiteralValue: (value: unknown, start, length, _line, _character, pathOf) => {
      values.push({ value, start, end: start + length, path: pathOf() });
    },
    onComment: (start, length) => {
      comments.push({ start, end: start + length });
    },
  });
  return { values, comments };
}

type TomlNode = import('toml-eslint-parser').AST.TOMLContentNode;
type TomlPair = import('toml-eslint-parser').AST.TOMLKeyValue;

async function ofToml(text: string): Promise<Anatomy> {
  const { parseTOML } = await import('toml-eslint-parser');
  const program = parseTOML(text);
  const values: TextValue[] = [];
  const takePair = ({ key, value }: TomlPair, path: TextValue['path']): void =>
    take(value, [...path, ...key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value))]);
  const take = (node: TomlNode, path: TextValue['path']): void => {
    const [start, end] = node.range;
    if (node.type === 'TOMLValue') values.push({ start, end, path, value: node.value });
    else if (node.type === 'TOMLArray') for (const [i, item] of node.elements.entries()) take(item, [...path, i]);
    else for (const pair of node.body) takePair(pair, path);
  };
  for (const node of program.body[0].body) {
    if (node.type === 'TOMLKeyValue') takePair(node, []);
    else for (const pair of node.body) takePair(pair, node.resolvedKey);
  }
  return { values, comments: program.comments.map(({ range: [start, end] }) => ({ start, end })) };
}

async function ofYaml(text: string): Promise<Anatomy> {
  const { isMap, isScalar, isSeq, Lexer, parseDocument } = await import('yaml');
  const values: TextValue[] = [];
  const take = (node: unknown, path: TextValue['path']): void => {
    if (isScalar(node)) {
      const [start = 0, end = 0] = node.range ?? [];
      values.push({ start, end, path, value: node.value });
    } else if (isSeq(node)) for (const [i, item] of node.items.entries()) take(item, [...path, i]);
    else if (isMap(node)) {
      for (const { key, value } of node.items) {
        // A key that is no text is treated as a value too.
        if (!isScalar(key)) take(key, path);
        take(value, [...path, isScalar(key) ? String(key.value) : '']);
      }
    }
  };
  take(parseDocument(text, { uniqueKeys: false, logLevel: 'silent' }).contents, []);
  return { values, comments: yamlComments(text, new Lexer()) };
}

/** Tokens that stand for no characters; the last of them comes before the text of a scalar. */
const MARKS = new Set(['\u0002', '\u0018', '\u001f']);

function yamlComments(text: string, lexer: import('yaml').Lexer): Range[] {
  const comments: Range[] = [];
  let [at, before] = [0, ''];
  for (const token of lexer.lex(text)) {
    const end = at + (MARKS.has(token) ? 0 : token.length);
    if (token.startsWith('#') && before !== '\u001f') comments.push({ start: at, end });
    [at, before] = [end, token];
  }
  return comments;
}
