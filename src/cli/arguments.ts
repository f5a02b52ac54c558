// Reads the arguments of a command with Node's own parser, by the table in options.ts.

import { parseArgs } from 'node:util';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { nearest } from '../util/nearest.ts';
import type { Options } from './start-options.ts';

export type Values<O extends Options> = { readonly [K in keyof O]?: O[K]['type'] extends 'boolean' ? boolean : string };

export function readArguments<O extends Options>(command: string, args: readonly string[], options: O): Values<O> {
  const shapes = Object.fromEntries(Object.entries(options).map(([name, { type }]) => [name, { type }]));
  let values: Record<string, unknown>;
  try {
    // Loading Node's parser takes half a millisecond, but it explains what is wrong.
    values =
      plainValues(args, options) ?? parseArgs({ args: [...args], options: shapes, allowPositionals: false }).values;
  } catch (error) {
    const problem = messageOf(error).split(/\.\s|\n/)[0] ?? '';
    const empty = /^Option '(?:-\w, )?--([\w-]+).*' argument (?:missing|is ambiguous)/.exec(problem)?.[1];
    if (empty !== undefined) throw noValue(command, empty);
    const unknown = /^Unknown option '(-[^']*)'/.exec(problem)?.[1];
    throw wrongUsage(command, problem + (unknown === undefined ? '' : optionMeant(unknown, options)));
  }
  for (const [name, { choices }] of Object.entries(options)) {
    const value = values[name];
    if (choices !== undefined && typeof value === 'string' && !choices.includes(value))
      throw wrongUsage(command, `--${name} is one of ${choices.join(', ')}`);
  }
  return givenTexts(command, values, options) as Values<O>;
}

/**
 * The values of a simple command line: only known options, each once, in the usual form; undefined for any other line.
 */
export function plainValues(args: readonly string[], options: Options): Record<string, unknown> | undefined {
  const values: Record<string, unknown> = {};
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    const name = arg.slice(2);
    const option = arg.startsWith('--') && Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined || Object.hasOwn(values, name)) return undefined;
    const value = option.type === 'boolean' ? true : args[++i];
    if (value === undefined || (typeof value === 'string' && value.startsWith('-'))) return undefined;
    values[name] = value;
  }
  return values;
}

/**
 * The given values, after a check that no text option is empty: an empty variable in a script must not act like a
 * missing option.
 */
export function givenTexts(
  command: string,
  values: Readonly<Record<string, unknown>>,
  options: Options,
): Record<string, unknown> {
  const given = { ...values };
  for (const [name, { type, repeats }] of Object.entries(options)) {
    const texts = [given[name] ?? []].flat();
    if (type === 'string' && texts.includes('')) throw noValue(command, name);
    if (repeats === true || texts.length < 2) continue;
    if (type === 'string') throw wrongUsage(command, `--${name} has several values. Give it one`);
    given[name] = texts.at(-1);
  }
  return given;
}

export function noValue(command: string, name: string): BridgeError {
  return wrongUsage(command, `--${name} needs a value. Give it one, or leave it out`);
}

/** The option that an unknown one probably means, as the end of a sentence. */
export function optionMeant(wrong: string, options: Options | undefined): string {
  const [near] = nearest(wrong.replace(/^-+/, ''), [...Object.keys(options ?? {}), 'help', 'version', 'no-color']);
  return near === undefined ? '' : `. Did you mean --${near}?`;
}

function wrongUsage(command: string, problem: string): BridgeError {
  return new BridgeError('USAGE', problem, { hint: `See: mcp-bridge ${command} --help` });
}
