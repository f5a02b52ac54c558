// The terms of a command: what a row of the table of commands says of one, and the types of what its function is given.

import type { CliHost } from './host.ts';
import type { Option, Options } from './start-options.ts';

/**
 * Kinds of names that a shell completes. `pending` is what can be approved, `connected` a client that is there, `program` one
 * whose config can be changed; `file` is the shell's own business.
 */
export type NameKind = 'server' | 'tool' | 'pending' | 'connected' | 'program' | 'file';

/** A word behind the command that is no option. */
export interface Word {
  readonly name: string;
  readonly describe: string;
  readonly choices?: readonly string[];
  readonly completes?: NameKind;
  readonly isNeeded?: true;
  /** All words that follow are meant, too. */
  readonly isMany?: true;
  /** Taken only to say that it is wrong. */
  readonly isHidden?: true;
}

export interface Command {
  readonly group: Group;
  /** One sentence for people, without a full stop. */
  readonly summary: string;
  readonly words: readonly Word[];
  readonly options: Options;
  /** Usage lines behind the name, where words and options do not say it. */
  readonly usage?: readonly string[];
  /** The words that it cannot do without, as they are typed, and described. */
  readonly needs?: readonly [typed: string, inWords: string];
  /** It takes what follows `--`. */
  readonly takesLine?: true;
  /** With --json, an error is printed as JSON, too. */
  readonly hasJsonErrors?: true;
  /** Command lines without `mcp-bridge`. */
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

/** A row of the table, whose function gets the values of its own words and options. The parser makes these, which the compiler cannot see. */
export function row<const O extends Options, const W extends Word>(terms: Row<O, W>): Command {
  return { ...terms, run: terms.run as Command['run'] };
}
