// What was decoded from JSON, looked at with care: whoever sent it may have put anything anywhere, also objects on which
// String() fails.

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object's members; none of what is no object. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** A text; '' for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
