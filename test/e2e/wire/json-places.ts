// A JSON text as a tree that says where each value stands, so that one value can be compared or changed and all other
// bytes stay as they are.

export interface Value {
  readonly start: number;
  readonly end: number;
  /** The members of an object or the items of an array. */
  readonly children: readonly Child[];
}

interface Child {
  /** The key as it is spelled, between its quotes; of an item its index. */
  readonly key: string;
  /** Where its key begins, or an item itself. */
  readonly start: number;
  readonly value: Value;
}

export type Path = readonly string[];

const TOKEN = /\s*("[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s"[\]{},:]+)/gy;

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    const tokens: Token[] = [];
    for (const match of text.matchAll(TOKEN)) {
      const [whole, token = ''] = match;
      const end = match.index + whole.length;
      tokens.push({ text: token, start: end - token.length, end });
    }
    this.#tokens = tokens;
  }

  #next(): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new SyntaxError('The text ends too soon');
    return token;
  }

  value(): Value {
    const first = this.#next();
    if (first.text === '{') return this.#rest(first, '}', () => this.#next());
    if (first.text === '[') return this.#rest(first, ']', undefined);
    return { start: first.start, end: first.end, children: [] };
  }

  #rest({ start }: Token, closing: string, key: (() => Token) | undefined): Value {
    const children: Child[] = [];
    for (;;) {
      const next = this.#tokens[this.#at];
      if (next?.text === closing) return { start, end: this.#next().end, children };
      if (next?.text === ',') this.#at++;
      children.push(key === undefined ? this.#item(children.length) : this.#member(key()));
    }
  }

  #item(index: number): Child {
    const value = this.value();
    return { key: String(index), start: value.start, value };
  }

  #member(key: Token): Child {
    this.#next(); // the colon
    return { key: key.text.slice(1, -1), start: key.start, value: this.value() };
  }
}

export const treeOf = (text: string): Value => new Reader(text).value();

/** The value at a path, and what it is a child of; the last one where a key is there twice. */
function find(
  text: string,
  path: Path,
): { value: Value; parent: Value | undefined; child: Child | undefined } | undefined {
  let value = treeOf(text);
  let parent: Value | undefined;
  let child: Child | undefined;
  for (const key of path) {
    const next = value.children.findLast((candidate) => candidate.key === key);
    if (next === undefined) return undefined;
    [parent, child, value] = [value, next, next.value];
  }
  return { value, parent, child };
}

/** A value as it is spelled. */
export function spelled(text: string, path: Path): string | undefined {
  const found = find(text, path);
  return found && text.slice(found.value.start, found.value.end);
}

/** The keys of the object at a path, as they are spelled. */
export const membersAt = (text: string, path: Path): string[] =>
  find(text, path)?.value.children.map(({ key }) => key) ?? [];

/** The text with another value at the path; the same text where there is none. */
export function replaced(text: string, path: Path, value: string): string {
  const found = find(text, path);
  if (found === undefined) return text;
  return text.slice(0, found.value.start) + value + text.slice(found.value.end);
}

/** The text without the member or item at the path, and without its comma. */
export function without(text: string, path: Path): string {
  const found = find(text, path);
  if (found?.parent === undefined || found.child === undefined) return text;
  const siblings = found.parent.children;
  const at = siblings.indexOf(found.child);
  const [before, after] = [siblings[at - 1], siblings[at + 1]];
  if (after !== undefined) return text.slice(0, found.child.start) + text.slice(after.start);
  const start = before === undefined ? found.child.start : before.value.end;
  return text.slice(0, start) + text.slice(found.value.end);
}

/** The text with one more member in the object at the path, as its last. */
export function extended(text: string, path: Path, member: string): string {
  const found = find(text, path);
  if (found === undefined) return text;
  const comma = found.value.children.length === 0 ? '' : ',';
  return `${text.slice(0, found.value.end - 1)}${comma}${member}${text.slice(found.value.end - 1)}`;
}

/** The text with the first two members of the object at the path in each other's place. */
export function swapped(text: string, path: Path): string {
  const [first, second] = find(text, path)?.value.children ?? [];
  if (first === undefined || second === undefined) return text;
  const [one, other] = [text.slice(first.start, first.value.end), text.slice(second.start, second.value.end)];
  const between = text.slice(first.value.end, second.start);
  return text.slice(0, first.start) + other + between + one + text.slice(second.value.end);
}

/** Every value that has no children, by its path, in the order of the text. */
export function leavesOf(text: string): [path: string, value: string][] {
  const leaves: [string, string][] = [];
  const walk = (value: Value, path: string): void => {
    if (value.children.length === 0) leaves.push([path, text.slice(value.start, value.end)]);
    for (const { key, value: child } of value.children) walk(child, path === '' ? key : `${path}.${key}`);
  };
  walk(treeOf(text), '');
  return leaves;
}
