// A tool's JSON Schema, read for people and for typing what they type: which parameters there are, and what each takes.
// It checks nothing, and whatever a schema says it makes something of it, also of one that refers to itself.

import { isRecord, membersOf, textOf } from '../../util/json-value.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** The kinds that a value may have. */
export interface Shape {
  /** JSON's types and `integer`; none for anything. */
  readonly types: readonly string[];
  /** If only these. */
  readonly values: readonly unknown[] | undefined;
  /** The elements of an array. */
  readonly items: Shape | undefined;
  readonly schema: Schema;
}

export interface Parameter {
  readonly name: string;
  readonly isNeeded: boolean;
  readonly shape: Shape;
}

const DEEPEST = 6;
const ANYTHING: Shape = { types: [], values: undefined, items: undefined, schema: {} };

/** Parameters, the needed ones first. */
export function parametersOf(root: unknown): Parameter[] {
  const { properties, required } = resolve(root, membersOf(root));
  const needed = new Set(Array.isArray(required) ? required : []);
  const parameters = Object.entries(membersOf(properties)).map(([name, schema]) => ({
    name,
    isNeeded: needed.has(name),
    shape: shapeOf(schema, membersOf(root)),
  }));
  return parameters.sort((a, b) => Number(b.isNeeded) - Number(a.isNeeded));
}

/** The kind of a parameter that is not listed; undefined if there can be none. */
export function otherParameters(root: unknown): Shape | undefined {
  const { properties, patternProperties, additionalProperties: others } = resolve(root, membersOf(root));
  if (isRecord(others)) return shapeOf(others, membersOf(root));
  // Most schemas that say nothing of others mean none, and who mistypes a name wants to be told.
  const isOpen = others === undefined && Object.keys(membersOf(properties)).length === 0;
  return others === true || isOpen || isRecord(patternProperties) ? ANYTHING : undefined;
}

export function shapeOf(written: unknown, root: Schema, depth = 0): Shape {
  const schema = resolve(written, root);
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (alternatives !== undefined && depth < DEEPEST)
    return united(
      alternatives.map((one) => shapeOf(one, root, depth + 1)),
      schema,
    );
  const values = valuesOf(schema);
  const items = schema.items === undefined || depth >= DEEPEST ? undefined : shapeOf(schema.items, root, depth + 1);
  return { types: typesOf(schema, values), values, items, schema };
}

export function typeName({ types, items }: Shape): string {
  const names = types.map((type) => {
    const of = type !== 'array' || items === undefined || items.types.length === 0 ? undefined : typeName(items);
    if (of === undefined) return type;
    return of.includes(' or ') ? `array of (${of})` : `array of ${of}`;
  });
  return names.length === 0 ? 'any' : names.join(' or ');
}

function united(shapes: readonly Shape[], schema: Schema): Shape {
  const takesAnything = shapes.some(({ types }) => types.length === 0);
  const types = takesAnything ? [] : [...new Set(shapes.flatMap((shape) => shape.types))];
  const lists = shapes.map(({ types, values }) => values ?? (types.join() === 'null' ? [null] : undefined));
  const values = lists.every((list) => list !== undefined) ? lists.flat() : undefined;
  return { types, values, items: shapes.find(({ items }) => items !== undefined)?.items, schema };
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

function typesOf(schema: Schema, values: readonly unknown[] | undefined): readonly string[] {
  const named = [schema.type].flat().filter((type) => typeof type === 'string');
  if (named.length > 0) return named;
  if (values !== undefined) return [...new Set(values.map(typeOf))];
  if (isRecord(schema.properties)) return ['object'];
  return schema.items === undefined ? [] : ['array'];
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** With what it refers to and what it adds up from put into it. */
export function resolve(written: unknown, root: Schema, depth = 0): Schema {
  const schema = membersOf(written);
  if (depth >= DEEPEST) return schema;
  const parts = [
    ...(typeof schema.$ref === 'string' ? [referred(schema.$ref, root)] : []),
    ...(Array.isArray(schema.allOf) ? schema.allOf : []),
  ].map((part) => resolve(part, root, depth + 1));
  return parts.length === 0 ? schema : [...parts, schema].reduce(joined, {});
}

function joined(a: Schema, b: Schema): Schema {
  const properties = { ...membersOf(a.properties), ...membersOf(b.properties) };
  const required = [a.required, b.required].flatMap((names) => (Array.isArray(names) ? names : []));
  const { $ref: _, allOf: __, ...both } = { ...a, ...b };
  return {
    ...both,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

/** Only within the schema itself: `#/$defs/name`. */
function referred(ref: string, root: Schema): unknown {
  if (!ref.startsWith('#')) return {};
  const steps = ref.slice(1).split('/').slice(1).map(unescapePointer);
  return steps.reduce<unknown>(memberOf, root);
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  const members = membersOf(value);
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

function unescapePointer(step: string): string {
  const plain = step.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
  return plain.replaceAll('~1', '/').replaceAll('~0', '~');
}

export function descriptionOf({ schema }: Shape): string {
  return textOf(schema.description) || textOf(schema.title);
}
