// Values of a program, as JSON can carry them.

/** No file is; what goes on for longer never ends. */
const DEEPEST = 200;

/** What JSON has no word for is left out: functions, what is part of itself, what fails when it is looked at. */
export function plainOf(value: unknown, depth = 0): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol' || depth > DEEPEST) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => plainOf(item, depth + 1) ?? null);
  const members = new Map<string, unknown>();
  for (const key of Object.keys(value)) {
    try {
      members.set(key, plainOf((value as Record<string, unknown>)[key], depth + 1));
    } catch {
      // A getter of the user's own: nobody else can use it either.
    }
  }
  return Object.fromEntries(members);
}
