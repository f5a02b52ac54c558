// Values of a program, as JSON can carry them.

/** A copy with only what JSON can say: functions, circular parts and members that throw are left out. */
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
      // A getter of the user's own: nobody else can use it either.
    }
  }
  return Object.fromEntries(members);
}
