// Values of parsed files, which may be anything. Only own members are read, so that keys such as `__proto__` or
// `constructor` are ordinary names.

export type Tree = Readonly<Record<string, unknown>>;

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

export function member(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    if (!isTree(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

export function treeAt(value: unknown, ...keys: readonly string[]): Tree | undefined {
  const found = member(value, ...keys);
  return isTree(found) ? found : undefined;
}

export function textAt(value: unknown, ...keys: readonly string[]): string | undefined {
  const found = member(value, ...keys);
  return typeof found === 'string' ? found : undefined;
}

/** The texts of a list; other values are left out. */
export function textsAt(value: unknown, ...keys: readonly string[]): string[] {
  const found = member(value, ...keys);
  return Array.isArray(found) ? found.filter((item) => typeof item === 'string') : [];
}

/** A tree of these members. `Object.fromEntries` defines `__proto__` as an ordinary member. */
export function treeOf(members: Iterable<readonly [string, unknown]>): Tree {
  return Object.fromEntries(members);
}

/** The same tree with every text replaced. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isTree(value)) return value;
  return treeOf(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}

/** Counts level by level, without recursion: parsers accept millions of levels, the stack does not. */
export function sizeOf(value: unknown): { readonly keys: number; readonly depth: number } {
  let keys = 0;
  let depth = 0;
  for (let level = [value]; level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      const members: unknown[] = Array.isArray(item) ? item : Object.values(item);
      if (!Array.isArray(item)) keys += members.length;
      for (const below of members) if (typeof below === 'object' && below !== null) next.push(below);
    }
    level = next;
  }
  return { keys, depth };
}

export function pointerTo(...keys: readonly (string | number)[]): string {
  return keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
