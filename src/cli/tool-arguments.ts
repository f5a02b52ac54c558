// Turns arguments that a person types as KEY=VALUE into JSON, using the tool's schema. The result is text, so that
// numbers keep all digits. A wrong argument is wrong usage, with a hint where to look.

import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord } from '../util/json-value.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import { otherParameters, type Parameter, parametersOf, type Shape, typeName } from './render/tool-schema.ts';

export interface CalledTool {
  readonly server: string;
  readonly tool: string;
  readonly inputSchema: unknown;
}

interface Pair {
  readonly key: string;
  readonly value: string;
  readonly isJson: boolean;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** The text of a JSON object on one line. */
export function argumentsFrom(texts: readonly string[], tool: CalledTool): string {
  const parameters = parametersOf(tool.inputSchema);
  const members = [...grouped(texts.map(pairIn))].map(([key, pairs]) => {
    const shape = shapeFor(key, parameters, tool);
    return `${JSON.stringify(key)}:${jsonFor(key, pairs, shape)}`;
  });
  const given = new Set(texts.map((text) => pairIn(text).key));
  const missing = parameters.filter(({ name, isNeeded }) => isNeeded && !given.has(name)).map(({ name }) => name);
  if (missing.length > 0)
    throw misfit(`${missing.join(', ')} must be given`, `See: mcp-bridge describe ${tool.server} ${tool.tool}`);
  return `{${members.join(',')}}`;
}

/** Checks that the text is a JSON object, and puts it on one line. `from` names its source. */
export function argumentsIn(text: string, from: string): string {
  if (!isRecord(parsed(text))) throw misfit(`${from} must be a JSON object${faultIn(text)}`);
  return oneLine(text);
}

function pairIn(text: string): Pair {
  const [, key, sign, value] = /^(.+?)(:?=)(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined)
    throw misfit(`${JSON.stringify(text)} is no argument`, 'Arguments are KEY=VALUE, or KEY:=JSON.');
  return { key, value, isJson: sign === ':=' };
}

function grouped(pairs: readonly Pair[]): ReadonlyMap<string, Pair[]> {
  const groups = new Map<string, Pair[]>();
  for (const pair of pairs) groups.set(pair.key, [...(groups.get(pair.key) ?? []), pair]);
  return groups;
}

function shapeFor(key: string, parameters: readonly Parameter[], { server, tool, inputSchema }: CalledTool): Shape {
  const shape = parameters.find(({ name }) => name === key)?.shape ?? otherParameters(inputSchema);
  if (shape !== undefined) return shape;
  const names = parameters.map(({ name }) => name);
  const alike = nearest(key, names);
  const near = alike.length > 0 ? alike : names.filter((name) => isShortFor(key, name)).slice(0, 3);
  const hint = suggestion(near) ?? `See: mcp-bridge describe ${server} ${tool}`;
  throw misfit(`${tool} has no parameter ${JSON.stringify(key)}`, names.length > 0 ? hint : 'It takes none.');
}

/** True for abbreviations, such as `msg` for `message`: its letters in order, beginning with the first. */
function isShortFor(short: string, name: string): boolean {
  const letters = [...name.toLowerCase()];
  const wanted = [...short.toLowerCase()];
  if (wanted.length < 2 || letters[0] !== wanted[0]) return false;
  let at = 0;
  return wanted.every((letter) => {
    at = letters.indexOf(letter, at) + 1;
    return at > 0;
  });
}

function jsonFor(key: string, pairs: readonly Pair[], shape: Shape): string {
  const [first] = pairs;
  if (first === undefined || pairs.length > 1) return listOf(key, pairs, shape);
  if (first.isJson) return jsonOf(key, first.value);
  return typed(first.value, shape) ?? wrongValue(key, first.value, shape);
}

/** An array, which may be given item by item. */
function listOf(key: string, pairs: readonly Pair[], shape: Shape): string {
  if (!shape.types.includes('array')) throw misfit(`${key} is given more than once`);
  const items = pairs.map(({ value, isJson }) => {
    if (isJson) return jsonOf(key, value);
    return typed(value, shape.items ?? ANY_TEXT) ?? wrongValue(key, value, shape.items ?? ANY_TEXT);
  });
  return `[${items.join(',')}]`;
}

const ANY_TEXT: Shape = { types: [], values: undefined, items: undefined, schema: {} };

function jsonOf(key: string, value: string): string {
  if (parsed(value) === undefined) throw misfit(`${key}:= must be followed by JSON${faultIn(value)}`);
  return oneLine(value);
}

/** JSON for a text, using the first type that fits; undefined if none fits. */
function typed(text: string, shape: Shape): string | undefined {
  const { types, values, items } = shape;
  if (values !== undefined) {
    const value = values.find((one) => (typeof one === 'string' ? one : JSON.stringify(one)) === text);
    return value === undefined ? undefined : JSON.stringify(value);
  }
  const may = (type: string): boolean => types.length === 0 || types.includes(type);
  if (may('boolean') && (text === 'true' || text === 'false')) return text;
  if (may('null') && text === 'null') return text;
  if (NUMBER.test(text) && (may('number') || (may('integer') && Number.isInteger(Number(text))))) return text;
  if ((may('object') && isRecord(parsed(text))) || (may('array') && Array.isArray(parsed(text)))) return oneLine(text);
  const isOneItem = types.includes('array') && !text.trimStart().startsWith('[');
  if (isOneItem && !may('string')) {
    const item = typed(text, items ?? ANY_TEXT);
    return item === undefined ? undefined : `[${item}]`;
  }
  return may('string') ? JSON.stringify(text) : undefined;
}

function wrongValue(key: string, value: string, shape: Shape): never {
  const { types, values } = shape;
  if (values === undefined) {
    const hint = types.includes('array') ? `Give several as ${key}=A ${key}=B, or as ${key}:=JSON.` : undefined;
    throw misfit(`${key} must be ${typeName(shape)}, and is ${JSON.stringify(value.slice(0, 80))}`, hint);
  }
  const names = values.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const near = nearest(value, names);
  throw misfit(
    `${key} must be one of ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`,
    suggestion(near),
  );
}

/** The error for wrong usage of any command. Without a hint, the caller must add one. */
function misfit(problem: string, hint?: string): BridgeError {
  return new BridgeError('USAGE', problem, hint === undefined ? {} : { hint });
}

/** The fault in a text that is no JSON, as the end of a sentence; '' if it is JSON. */
function faultIn(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return `: ${messageOf(error)}`;
  }
}

/** Parses JSON; undefined if it is invalid. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // the caller reports that to the person
  }
}

/** Replaces line ends by spaces: in JSON they only occur between tokens, where both mean the same. */
function oneLine(json: string): string {
  return json.replace(/[\r\n]/g, ' ');
}
