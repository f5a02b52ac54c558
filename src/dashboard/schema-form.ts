// Makes a form from a tool's JSON Schema, and arguments from the input. Values that a form cannot show are typed as
// JSON. No browser in it.

import { isRecord, membersOf, recordsOf, textOf, textsOf } from './data.ts';

type FieldKind = 'text' | 'long' | 'number' | 'integer' | 'flag' | 'choice' | 'json';

export interface FormField {
  readonly name: string;
  readonly kind: FieldKind;
  /** For people, such as `string` or `array of string`. */
  readonly type: string;
  readonly isNeeded: boolean;
  readonly description: string;
  /** In JSON, so that numbers and strings differ. */
  readonly choices: readonly string[];
  readonly example: string;
}

const MOST_FIELDS = 100;
const MOST_CHOICES = 200;

export function fieldsOf(schema: unknown): FormField[] {
  const { properties, required } = membersOf(schema);
  const needed = textsOf(required);
  const fields = Object.entries(membersOf(properties)).slice(0, MOST_FIELDS);
  return fields
    .map(([name, property]) => fieldOf(name, membersOf(property), needed.includes(name)))
    .sort((a, b) => Number(b.isNeeded) - Number(a.isNeeded));
}

function fieldOf(name: string, schema: Readonly<Record<string, unknown>>, isNeeded: boolean): FormField {
  const bare = withoutNull(schema);
  const choices = choicesOf(bare);
  const type = typeOf(bare);
  const fallback = schema.default ?? (Array.isArray(schema.examples) ? schema.examples[0] : undefined);
  const example = fallback === undefined ? '' : typeof fallback === 'string' ? fallback : JSON.stringify(fallback);
  const kind = choices.length > 0 ? 'choice' : kindOf(type, bare);
  return {
    name,
    kind,
    type,
    isNeeded,
    description: textOf(schema.description ?? bare.description),
    choices,
    example: example.slice(0, 200),
  };
}

function choicesOf({ enum: values, const: only }: Readonly<Record<string, unknown>>): string[] {
  const all = Array.isArray(values) ? values : only === undefined ? [] : [only];
  return all.slice(0, MOST_CHOICES).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

/**
 * The schema of a value without null, because Python and TypeScript write optional fields so: an empty field is left
 * out.
 */
function withoutNull(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { type, anyOf } = schema;
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((one) => one !== 'null');
    return others.length === 0 && typeof only === 'string' ? { ...schema, type: only } : schema;
  }
  const [only, ...others] = recordsOf(anyOf).filter((one) => one.type !== 'null');
  return type === undefined && only !== undefined && others.length === 0 ? only : schema;
}

function typeOf(schema: Readonly<Record<string, unknown>>): string {
  const { type, items } = schema;
  if (type === 'array' && isRecord(items) && typeof items.type === 'string') return `array of ${items.type}`;
  if (typeof type === 'string') return type;
  return Array.isArray(type) ? textsOf(type).join(' or ') : 'any';
}

function kindOf(type: string, { format, maxLength }: Readonly<Record<string, unknown>>): FieldKind {
  switch (type) {
    case 'string':
      return format === undefined && typeof maxLength === 'number' && maxLength > 500 ? 'long' : 'text';
    case 'number':
    case 'integer':
      return type;
    case 'boolean':
      return 'flag';
    default:
      return 'json';
  }
}

/** An error in a person's input. */
export class FormFault extends Error {}

/** The arguments. Empty optional fields are left out. Throws a FormFault. */
export function argumentsFrom(
  fields: readonly FormField[],
  typed: (name: string) => string | boolean,
): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const field of fields) {
    const value = typed(field.name);
    if (value === '' && (!field.isNeeded || field.kind !== 'text')) {
      if (field.isNeeded) throw new FormFault(`${field.name} is needed`);
      continue;
    }
    Object.defineProperty(given, field.name, { value: read(field, `${value}`), enumerable: true });
  }
  return given;
}

function read({ name, kind, choices, type }: FormField, text: string): unknown {
  switch (kind) {
    case 'number':
    case 'integer': {
      const number = Number(text);
      if (text.trim() === '' || !Number.isFinite(number)) throw new FormFault(`${name} is no number`);
      if (kind === 'integer' && !Number.isInteger(number)) throw new FormFault(`${name} is no whole number`);
      return number;
    }
    case 'flag':
      return text === 'true';
    case 'choice':
      if (!choices.includes(text)) throw new FormFault(`${name} is none of its choices`);
      return type === 'string' ? text : jsonOr(text, text);
    case 'json':
      return jsonOf(name, type, text);
    default:
      return text;
  }
}

function jsonOf(name: string, type: string, text: string): unknown {
  const value = jsonOr(text, undefined);
  if (value !== undefined) return value;
  // A list of words, separated as people write it.
  if (type === 'array of string')
    return text
      .split(/[\n,]/)
      .map((word) => word.trim())
      .filter(Boolean);
  if (type === 'any') return text;
  throw new FormFault(`${name} is no JSON, and must be: ${type}`);
}

function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise; // typed by a person
  }
}
