// Turns values of a program into values that JSON can hold.

/** Copies only what JSON can express; leaves out functions, circular parts and members that throw. */
export function plainOf(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol' || above.includes(value)) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  const here = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plainOf(item, here) ?? null);
  const members = new Map<string, unknown>();
  for (const key of Object.keys(value)) {
    try {
      members.set(key, plainOf((value as Record<string, unknown>)[key], here));
    } catch {
      // A getter of the user's own has thrown: nobody else can use it either.
    }
  }
  return Object.fromEntries(members);
}
