// A tool's JSON Schema for people: its parameters, their types, the members of nested objects, and a call that can be
// pasted into a shell. It validates nothing, and accepts any schema, even a recursive one.

import { isRecord, membersOf, textOf } from '../../util/json-value.ts';
import { printable } from '../../util/printable.ts';
import type { CalledTool } from '../tool-arguments.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The kinds of values that are allowed. */
export interface Shape {
  /** The types of JSON, and `integer`; empty for any type. */
  readonly types: readonly string[];
  /** The only allowed values, if restricted. */
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

/** The parameters, required ones first. */
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

/** The kind of unlisted parameters; undefined if none are allowed. */
export function otherParameters(root: unknown): Shape | undefined {
  const { properties, patternProperties, additionalProperties: others } = resolve(root, membersOf(root));
  if (isRecord(others)) return shapeOf(others, membersOf(root));
  // Most schemas that do not mention others allow none, and a mistyped name should be reported.
  const isOpen = others === undefined && Object.keys(membersOf(properties)).length === 0;
  return others === true || isOpen || isRecord(patternProperties) ? ANYTHING : undefined;
}

function shapeOf(written: unknown, root: Schema, depth = 0): Shape {
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

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The schema with everything included that it refers to or combines. */
function resolve(written: unknown, root: Schema, depth = 0): Schema {
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

/** Follows a reference within the schema: `#/$defs/name`. */
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

/** A parameter, or a member of an object in a parameter or list. A recursive schema is followed once. */
export interface NestedParameter extends Parameter {
  readonly depth: number;
}

interface Member {
  readonly name: string;
  readonly isNeeded: boolean;
  readonly written: unknown;
}

/** The maximum number of members shown, because nobody reads more. */
const MOST = 400;

/** The parameters in reading order: each before its members, required ones first. */
export function nestedParametersOf(schema: unknown): NestedParameter[] {
  const root = membersOf(schema);
  const found: NestedParameter[] = [];
  const walk = (members: readonly Member[], depth: number, within: ReadonlySet<string>): void => {
    for (const { name, isNeeded, written } of members) {
      if (found.length >= MOST) return;
      found.push({ name, isNeeded, shape: shapeOf(written, root), depth });
      const inside = new Set(within);
      if (depth + 1 < DEEPEST) walk(membersIn(written, root, inside), depth + 1, inside);
    }
  };
  walk(ownMembers(resolve(root, root)), 0, new Set(['#']));
  return found;
}

/** `within` holds the references followed on the way here, and is extended. */
function membersIn(written: unknown, root: Schema, within: Set<string>): Member[] {
  const references = referencesIn(membersOf(written));
  if (references.some((reference) => within.has(reference))) return [];
  for (const reference of references) within.add(reference);
  const schema = resolve(written, root);
  const variants: unknown[] = [schema.anyOf, schema.oneOf].find(Array.isArray) ?? [];
  const ofVariants = variants.flatMap((one) => membersIn(one, root, within));
  return unique([
    ...ownMembers(schema),
    ...othersIn(schema),
    ...(schema.items === undefined ? [] : membersIn(schema.items, root, within)),
    ...(variants.length > 1 ? ofVariants.map((member) => ({ ...member, isNeeded: false })) : ofVariants),
  ]);
}

function referencesIn({ $ref, allOf }: Schema): string[] {
  const parts = Array.isArray(allOf) ? allOf.flatMap((part) => referencesIn(membersOf(part))) : [];
  return typeof $ref === 'string' ? [$ref, ...parts] : parts;
}

function ownMembers({ properties, required }: Schema): Member[] {
  const needed = new Set(Array.isArray(required) ? required : []);
  const members = Object.entries(membersOf(properties)).map(([name, written]) => ({
    name,
    isNeeded: needed.has(name),
    written,
  }));
  return members.sort((a, b) => Number(b.isNeeded) - Number(a.isNeeded));
}

function othersIn({ additionalProperties: others }: Schema): Member[] {
  return isRecord(others) && Object.keys(others).length > 0
    ? [{ name: '(any name)', isNeeded: false, written: others }]
    : [];
}

/** Keeps the first of several members with the same name, as variants have them. */
function unique(members: readonly Member[]): Member[] {
  const byName = new Map<string, Member>();
  for (const member of members) if (!byName.has(member.name)) byName.set(member.name, member);
  return [...byName.values()];
}

const DEEPEST_EXAMPLE = 4;
const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date: '2026-01-31',
    'date-time': '2026-01-31T12:00:00Z',
    email: 'me@example.com',
    uri: 'https://example.com',
    url: 'https://example.com',
  }),
);

/** A call to paste into a shell and change, with the required parameters, or else the first one. */
export function exampleCall({ server, tool, inputSchema }: CalledTool): string {
  const root = membersOf(inputSchema);
  const parameters = parametersOf(root);
  const isFree = !parameters.some(({ isNeeded }) => isNeeded);
  const needed = isFree ? parameters.slice(0, 1) : parameters.filter(({ isNeeded }) => isNeeded);
  const values = needed.map(({ name, shape }) => [name, exampleOf(shape, root)] as const);
  const isPlain = needed.every(({ name }) => /^\w[^=:]*$/.test(name) && printable(name) === name);
  const args = isPlain
    ? values.map(([name, value]) => word(pairFor(name, value)))
    : ['--args', word(JSON.stringify(Object.fromEntries(values)))];
  return ['mcp-bridge call', word(server), word(tool), ...args].join(' ');
}

function pairFor(name: string, value: unknown): string {
  return typeof value === 'object' ? `${name}:=${JSON.stringify(value)}` : `${name}=${value}`;
}

function exampleOf(shape: Shape, root: Schema, depth = 0): unknown {
  const { schema, values, types, items } = shape;
  const [example] = Array.isArray(schema.examples) ? schema.examples : [];
  const given = [schema.default, example, values?.[0]].find((one) => one !== undefined && one !== null && one !== '');
  if (given !== undefined && (types.length === 0 || fits(given, types))) return given;
  if (values !== undefined) return values[0] ?? null;
  const type = types.find((one) => one !== 'null') ?? types[0] ?? 'string';
  switch (type) {
    case 'string':
      return FORMATS.get(textOf(schema.format)) ?? 'text';
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? schema.minimum : 1;
    case 'boolean':
      return true;
    case 'array':
      return items === undefined || depth >= DEEPEST_EXAMPLE ? [] : [exampleOf(items, root, depth + 1)];
    case 'object':
      return depth >= DEEPEST_EXAMPLE ? {} : exampleObject(schema, root, depth + 1);
    default:
      return null;
  }
}

function exampleObject(schema: Schema, root: Schema, depth: number): object {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const needed = Object.entries(membersOf(schema.properties)).filter(([name]) => required.has(name));
  return Object.fromEntries(needed.map(([name, one]) => [name, exampleOf(shapeOf(one, root, depth), root, depth)]));
}

function fits(value: unknown, types: readonly string[]): boolean {
  return types.includes(typeOf(value)) || (Number.isInteger(value) && types.includes('integer'));
}

/** Quotes a text so that a shell takes it as one word. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
