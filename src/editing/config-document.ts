// The text of a config file, strictly parsed, and the map of servers in it. Each change makes a new document and checks
// it: it refuses a change that affects anything but the one member.

import { isDeepStrictEqual } from 'node:util';
import { documentOf, type Syntax, SyntaxFault } from '../discovery/document.ts';
import { isTree, member, type Tree, treeAt, treeOf } from '../discovery/tree.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { placeIn } from '../util/json-fault.ts';
import { textEditorFor } from './text-editor.ts';

export interface DocumentPlace {
  readonly path: string;
  readonly syntax: Syntax;
  /** The keys that lead to the map of servers. */
  readonly container: readonly string[];
}

const MARK = '\ufeff';

export class ConfigDocument {
  readonly #place: DocumentPlace;
  readonly #mark: string;
  readonly #text: string;
  readonly #value: Tree;

  private constructor(place: DocumentPlace, mark: string, { text, value }: { text: string; value: Tree }) {
    this.#place = place;
    this.#mark = mark;
    this.#text = text;
    this.#value = value;
  }

  /** Parses the text. Throws if it is broken, or if the place to change is ambiguous. */
  static async parse(whole: string, place: DocumentPlace): Promise<ConfigDocument> {
    const mark = whole.startsWith(MARK) ? MARK : '';
    const text = whole.slice(mark.length);
    const value = await treeIn(text, place);
    const editor = await textEditorFor(place.syntax);
    const obstacle = text.trim() === '' ? undefined : editor.obstacle(text, place.container);
    if (obstacle !== undefined) throw refusal(place, text, obstacle.offset, obstacle.problem);
    const found = member(value, ...place.container);
    const mayBeNull = place.syntax === 'yaml';
    if (found !== undefined && !isTree(found) && !(mayBeNull && found === null))
      throw refusal(place, text, 0, `"${place.container.at(-1)}" must be a map`);
    return new ConfigDocument(place, mark, { text, value });
  }

  get text(): string {
    return this.#mark + this.#text;
  }

  /** The servers by name. */
  get entries(): ReadonlyMap<string, unknown> {
    return new Map(Object.entries(treeAt(this.#value, ...this.#place.container) ?? {}));
  }

  /** True if the document holds nothing but maps without members. */
  get isHollow(): boolean {
    return isHollow(this.#value);
  }

  /** The whole content, for callers that look beside the servers. */
  get value(): Tree {
    return this.#value;
  }

  /** Returns the document with this server; it replaces a server of the same name. */
  async with(name: string, entry: unknown): Promise<ConfigDocument> {
    const bare = this.entries.has(name) ? await this.without(name) : this;
    if (name === '__proto__') throw cannotChange(this.#place, name);
    const editor = await textEditorFor(this.#place.syntax);
    const { container } = this.#place;
    const text = editor.inserted(bare.#text, { container, name }, entry);
    return this.#checked(text, name, new Map([...bare.entries, [name, entry]]));
  }

  /** Does the same, but writes the server as another document spells it, with its comments. */
  async withAsIn(name: string, entry: unknown, other: ConfigDocument): Promise<ConfigDocument> {
    const editor = await textEditorFor(this.#place.syntax);
    const { container } = this.#place;
    const isThere = isDeepStrictEqual(other.entries.get(name), plain(entry));
    const from = { value: entry, text: other.#text };
    const text = isThere ? editor.copied(this.#text, { container, name }, from) : undefined;
    try {
      if (text !== undefined) return await this.#checked(text, name, new Map([...this.entries, [name, entry]]));
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error; // Such a spelling does not fit here: write it afresh.
    }
    return this.with(name, entry);
  }

  async without(name: string): Promise<ConfigDocument> {
    const editor = await textEditorFor(this.#place.syntax);
    const { container } = this.#place;
    const text = editor.removed(this.#text, { container, name });
    return this.#checked(text, name, new Map([...this.entries].filter(([key]) => key !== name)));
  }

  async #checked(text: string, name: string, entries: ReadonlyMap<string, unknown>): Promise<ConfigDocument> {
    const wanted = withEntries(this.#value, this.#place.container, treeOf(entries));
    const value = await treeIn(text, this.#place).catch((error: unknown) => {
      if (!(error instanceof BridgeError)) throw error;
      return undefined; // the edit has broken the text: nothing is written
    });
    if (!isDeepStrictEqual(pruned(value, this.#place.container), pruned(wanted, this.#place.container)))
      throw cannotChange(this.#place, name);
    return new ConfigDocument(this.#place, this.#mark, { text, value: value ?? {} });
  }
}

async function treeIn(text: string, place: DocumentPlace): Promise<Tree> {
  if (text.trim() === '') return {};
  try {
    const { value } = await documentOf({ text, ...place }, () => undefined);
    if (value === null && place.syntax === 'yaml') return {};
    if (isTree(value)) return plain(value) as Tree;
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    throw new BridgeError('CONFIG_INVALID', `${place.path}:${error.line}:${error.column}: ${error.message}`, {
      hint: 'Correct the file first: nothing was changed.',
    });
  }
  throw refusal(place, text, 0, 'the whole of it must be a map');
}

/** Gives the prototypes and number types of one parser, so that two values can be compared. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isTree(value)) return value;
  return treeOf(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

function refusal({ path }: DocumentPlace, text: string, offset: number, problem: string): BridgeError {
  const { line, column } = placeIn(text, offset);
  return new BridgeError('CONFIG_INVALID', `${path}:${line}:${column}: ${problem}`, {
    hint: 'Correct the file first: nothing was changed.',
  });
}

function cannotChange({ path, container }: DocumentPlace, name: string): BridgeError {
  return new BridgeError(
    'CONFIG_INVALID',
    `${path}: "${name}" under "${container.join('.')}" cannot be changed without changing more than that`,
    { hint: 'Write each server there as a table of its own, or change it by hand: docs/clients.md has the entry.' },
  );
}

function withEntries(value: Tree, container: readonly string[], entries: Tree): Tree {
  const [key, ...rest] = container;
  if (key === undefined) return entries;
  const below = withEntries(treeAt(value, key) ?? {}, rest, entries);
  return treeOf(new Map(Object.entries(value)).set(key, below));
}

/** Removes the map of servers if it is empty: an empty one is the same as none. */
function pruned(value: Tree | undefined, container: readonly string[]): Tree | undefined {
  const [key, ...rest] = container;
  if (value === undefined || key === undefined) return value;
  const below = pruned(treeAt(value, key), rest);
  const others = Object.entries(value).filter(([name]) => name !== key);
  const isEmpty = below === undefined || Object.keys(below).length === 0;
  return treeOf([...others, ...(isEmpty ? [] : [[key, below] as const])]);
}

function isHollow(value: unknown): boolean {
  return value === null || (isTree(value) && Object.values(value).every(isHollow));
}
