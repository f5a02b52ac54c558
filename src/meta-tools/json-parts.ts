// How many parts a value has that was JSON: itself, and each value within it, be it a text of a megabyte.

/** Counted up to `most`; beyond that it is one more. */
export function partsOf(value: unknown, most: number): number {
  const left: unknown[] = [value];
  let parts = 0;
  while (left.length > 0 && parts <= most) {
    const next = left.pop();
    parts++;
    if (typeof next !== 'object' || next === null) continue;
    const within: unknown[] = Object.values(next);
    if (parts + left.length + within.length > most) return most + 1;
    for (const each of within) left.push(each);
  }
  return parts;
}
