// Reads data from outside, which may be anything.

export type JsonFields = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of an object; empty for anything else. */
export function membersOf(value: unknown): JsonFields {
  return isRecord(value) ? value : {};
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

export function recordsOf(value: unknown): readonly JsonFields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
