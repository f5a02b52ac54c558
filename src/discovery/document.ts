// What a file says, whatever it is written in. The parsers of TOML and YAML are loaded when such a file is there. Their
// own messages quote the file, which may hold secrets, so only the place is passed on.

import { diagnostic, type Report } from './diagnostic.ts';
import { parseJson, SyntaxFault } from './json-document.ts';
import { sizeOf } from './tree.ts';

export type Syntax = 'json' | 'toml' | 'yaml';

export interface Document {
  readonly value: unknown;
  readonly hasComments: boolean;
}

/** What reading a file came to. */
export type DocumentReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable'; readonly path: string }
  | { readonly kind: 'document'; readonly realpath: string; readonly document: Document };

export interface Writing {
  readonly text: string;
  readonly path: string;
  readonly syntax: Syntax;
}

/** No config is; and what walks through one must not run out of stack. */
const DEEPEST = 200;

/** Throws a SyntaxFault when the text is broken: then nothing of it may be used. */
export async function documentOf({ text, path, syntax }: Writing, report: Report): Promise<Document> {
  const { value, duplicates, hasComments } = await parse(text, syntax);
  if (sizeOf(value).depth > DEEPEST) throw new SyntaxFault('it is nested too deeply', 1, 1);
  for (const name of new Set(duplicates)) {
    const message = `${path} has the key "${name}" twice in one place. The last one counts; remove the other.`;
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

/** Parsers that run out of stack, aliases that make too much of a text, and one that has no end. */
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
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const { keysTwiceIn } = await import('./yaml-keys.ts');
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { prettyErrors: false, lineCounter, logLevel: 'error', uniqueKeys: false });
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (second !== undefined) throw new SyntaxFault('there is a second document in it', 1, 1);
  const fault = document?.errors[0];
  if (fault !== undefined) {
    const { line, col } = lineCounter.linePos(fault.pos[0]);
    throw new SyntaxFault('this is not YAML', line, col);
  }
  const duplicates = document === undefined ? [] : keysTwiceIn(document);
  // What is an alias of itself has no end; written as JSON it has one, or is refused.
  const value: unknown = JSON.parse(JSON.stringify(document?.toJS() ?? null));
  return { value, duplicates, hasComments: false };
}
