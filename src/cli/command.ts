// The types for rows of the command table, and for the values that a command's function gets.

import type { CliHost } from './host.ts';
import type { Option, Options } from './start-options.ts';

/**
 * Kinds of names that a shell completes. `pending` can be approved, `connected` is a connected client, `program` has a
 * config that can be changed; files are completed by the shell itself.
 */
export type NameKind = 'server' | 'tool' | 'pending' | 'connected' | 'program' | 'file';

/** A word after the command that is not an option. */
export interface Word {
  readonly name: string;
  readonly describe: string;
  readonly choices?: readonly string[];
  readonly completes?: NameKind;
  readonly isNeeded?: true;
  /** True if all following words belong to it too. */
  readonly isMany?: true;
  /** True if it is accepted only to explain that it is wrong. */
  readonly isHidden?: true;
}

export interface Command {
  readonly group: Group;
  /** One sentence for people, without a full stop. */
  readonly summary: string;
  readonly words: readonly Word[];
  readonly options: Options;
  /** Usage lines after the name, if words and options do not express them. */
  readonly usage?: readonly string[];
  /** The required words, as typed, and described. */
  readonly needs?: readonly [typed: string, inWords: string];
  /** True if it takes everything after `--`. */
  readonly takesLine?: true;
  /** True if errors are printed as JSON too with --json. */
  readonly hasJsonErrors?: true;
  /** Example command lines, without `mcp-bridge`. */
  readonly examples: readonly string[];
  readonly run: (values: unknown, host: CliHost, line: readonly string[] | undefined) => Promise<number>;
}

export const GROUPS = [
  ...(['Every day', 'Servers and clients', 'The daemon', 'When something is wrong'] as const),
  ...(['Programs that speak to each other', 'The shell'] as const),
] as const;
type Group = (typeof GROUPS)[number];

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export const NAMES = ['servers', 'tools', 'pending', 'connected'] as const;

type TextOf<O extends Option | Word> = O extends { readonly choices: readonly (infer Choice)[] } ? Choice : string;
type OptionValue<O extends Option> = O['type'] extends 'boolean'
  ? boolean
  : O extends { readonly repeats: true }
    ? string | readonly string[]
    : TextOf<O>;
type OptionValues<O extends Options> = { readonly [Name in keyof O]?: OptionValue<O[Name]> | undefined };
type WordValue<W extends Word> = W extends { readonly isMany: true } ? readonly TextOf<W>[] : TextOf<W>;
type Needed = { readonly isNeeded: true };
type WordValues<W extends Word> = {
  readonly [One in W as One extends Needed ? One['name'] : never]: WordValue<One>;
} & { readonly [One in W as One extends Needed ? never : One['name']]?: WordValue<One> | undefined };

interface Row<O extends Options, W extends Word> extends Omit<Command, 'options' | 'words' | 'run'> {
  readonly options: O;
  readonly words: readonly W[];
  readonly run: (
    values: OptionValues<O> & WordValues<W>,
    host: CliHost,
    line: readonly string[] | undefined,
  ) => Promise<number>;
}

/**
 * Makes a row of the table. Its function gets the values of its own words and options; the parser makes these, so the
 * compiler cannot check them.
 */
export function row<const O extends Options, const W extends Word>(terms: Row<O, W>): Command {
  return { ...terms, run: terms.run as Command['run'] };
}
