// Reads the arguments of a verb with node's own parser, by the table in options.ts.

import { parseArgs } from 'node:util';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { nearest } from '../util/nearest.ts';
import type { Options } from './options.ts';

export type Values<O extends Options> = { readonly [K in keyof O]?: O[K]['type'] extends 'boolean' ? boolean : string };

export function readArguments<O extends Options>(verb: string, args: readonly string[], options: O): Values<O> {
  const shapes = Object.fromEntries(Object.entries(options).map(([name, { type }]) => [name, { type }]));
  let values: Record<string, unknown>;
  try {
    values = parseArgs({ args: [...args], options: shapes, allowPositionals: false }).values;
  } catch (error) {
    const problem = messageOf(error).split(/\.\s|\n/)[0] ?? '';
    const unknown = /^Unknown option '(-[^']*)'/.exec(problem)?.[1];
    throw wrongUsage(verb, problem + (unknown === undefined ? '' : optionMeant(unknown, options)));
  }
  for (const [name, { choices }] of Object.entries(options)) {
    const value = values[name];
    if (choices !== undefined && typeof value === 'string' && !choices.includes(value))
      throw wrongUsage(verb, `--${name} is one of ${choices.join(', ')}`);
  }
  return values as Values<O>;
}

/** Which option may have been meant by one that there is not, as the end of a sentence. */
export function optionMeant(wrong: string, options: Options | undefined): string {
  const [near] = nearest(wrong.replace(/^-+/, ''), [...Object.keys(options ?? {}), 'help', 'version']);
  return near === undefined ? '' : `. Did you mean --${near}?`;
}

function wrongUsage(verb: string, problem: string): BridgeError {
  return new BridgeError('USAGE', problem, { hint: `See: mcp-bridge ${verb} --help` });
}
