// Careful access to decoded JSON: its author may have put any value anywhere, even objects on which String() fails.

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of an object; empty for anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Returns a text as it is, and '' for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
