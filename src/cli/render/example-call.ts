// A call of a tool that a person can paste into a shell, and change.

import { membersOf, textOf } from '../../util/json-value.ts';
import { printable } from '../../util/printable.ts';
import type { CalledTool } from '../tool-arguments.ts';
import { parametersOf, type Schema, type Shape, shapeOf, typeOf } from './tool-schema.ts';

const DEEPEST = 4;
const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date: '2026-01-31',
    'date-time': '2026-01-31T12:00:00Z',
    email: 'me@example.com',
    uri: 'https://example.com',
    url: 'https://example.com',
  }),
);

/** With what it needs, or one of those that it can do without. */
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
      return items === undefined || depth >= DEEPEST ? [] : [exampleOf(items, root, depth + 1)];
    case 'object':
      return depth >= DEEPEST ? {} : exampleObject(schema, root, depth + 1);
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

/** As a shell takes it for one word. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
