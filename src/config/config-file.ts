// Finds the config file and reads its content. Others interpret it: the daemon and most commands check the whole file
// (load.ts), clients take the few settings that they need (client-settings.ts).

import { existsSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { xdgConfigDir } from '../local/home-dir.ts';
import { isAnotherUsers } from '../local/owned-path.ts';
import { readRegularSync } from '../local/regular-file.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

export interface ConfigPlace {
  /** A file named by the user; it must exist. */
  readonly named?: string | undefined;
  readonly cwd: string;
  readonly homedir: string;
  readonly xdgConfigHome?: string | undefined;
  /** True if a program in the working directory may run: a person who starts a daemon there by hand wants that. */
  readonly runsPrograms?: boolean | undefined;
}

type ConfigOrigin = 'none' | 'named' | 'directory' | 'user';

/** The file in use, undefined if there is none, and how it was found. */
export interface FoundConfigFile {
  readonly file: string | undefined;
  /** `directory`: the file stood in the working directory, so the author of that directory may have written it. */
  readonly origin: ConfigOrigin;
}

const DATA = ['json', 'jsonc'];
const PROGRAMS = ['js', 'mjs', 'ts'];

/** All files that may be used, in order. */
export function configFilesOf(place: ConfigPlace): string[] {
  if (place.named !== undefined) return [resolve(place.cwd, place.named)];
  return [...directoryFiles(place), ...userFiles(place)];
}

export function directoryFiles({ cwd, runsPrograms = false }: ConfigPlace): string[] {
  const endings = runsPrograms ? [...DATA, ...PROGRAMS] : DATA;
  return endings.map((ending) => join(cwd, `mcp-bridge.config.${ending}`));
}

export function userFiles({ homedir, xdgConfigHome }: ConfigPlace): string[] {
  const dir = join(xdgConfigDir(xdgConfigHome, homedir), 'mcp-bridge');
  return [...DATA, ...PROGRAMS].map((ending) => join(dir, `config.${ending}`));
}

/** Finds the file to use. Looks at names only. */
export function findConfigFile(place: ConfigPlace): FoundConfigFile {
  if (place.named !== undefined) {
    const file = resolve(place.cwd, place.named);
    if (existsSync(file)) return { file, origin: 'named' };
    throw notThere(file);
  }
  const directory = directoryFiles(place).find((file) => isThere(file) && !isPassedOver(file, place));
  if (directory !== undefined) return { file: directory, origin: 'directory' };
  const user = userFiles(place).find(isThere);
  return user === undefined ? { file: user, origin: 'none' } : { file: user, origin: 'user' };
}

const isThere = (file: string): boolean => existsSync(file);

/** True for another user's file. Commands and `connect` run in any directory, so such a file must not stop them. */
const isPassedOver = (file: string, { runsPrograms }: ConfigPlace): boolean =>
  runsPrograms !== true && isAnotherUsers(file);

export const notThere = (file: string): BridgeError =>
  new BridgeError('CONFIG_NOT_FOUND', `There is no config file ${file}`, { hint: 'See --config.' });

/** Resolves the paths in a config file. */
export function pathsIn(file: string, homedir: string): (path: string) => string {
  const expanded = (path: string): string =>
    path === '~' || path.startsWith('~/') ? join(homedir, path.slice(1)) : path;
  return (path) => resolve(dirname(file), expanded(path));
}

export function isProgram(file: string): boolean {
  return PROGRAMS.includes(extname(file).slice(1));
}

export async function readConfig(file: string): Promise<unknown> {
  refuseAnotherUsers(file);
  if (isProgram(file)) return (await import('./config-program.ts')).runConfig(file);
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return parseWithComments(file, text);
  }
}

/** Throws if another user owns the file: that user would choose the programs that run here. */
export function refuseAnotherUsers(file: string): void {
  if (!isAnotherUsers(file)) return;
  throw new BridgeError('CONFIG_INVALID', `${file} is not read: it, or a link to it, belongs to another user`, {
    hint: 'Copy it to a file of your own, or name another one with --config.',
  });
}

export function readText(file: string): string {
  try {
    return new TextDecoder().decode(readRegularSync(file)); // without a byte order mark
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new BridgeError('CONFIG_INVALID', `Cannot read ${file}: ${UNREADABLE[code] ?? code}`, { cause: error });
  }
}

const UNREADABLE: Readonly<Record<string, string>> = {
  EACCES: 'it may not be read by this user',
  EFBIG: 'it is larger than 5 MB',
  EISDIR: 'it is a directory',
  NOT_A_FILE: 'it is no regular file',
};

/**
 * Parses a text with comments and trailing commas; .json files may have them too. Loads the parser only for such texts.
 */
async function parseWithComments(file: string, text: string): Promise<unknown> {
  const { parse, printParseErrorCode } = await import('jsonc-parser');
  const errors: import('jsonc-parser').ParseError[] = [];
  const content: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return content;
  const { placeIn, sentenceOf } = await import('../util/json-fault.ts');
  const { line, column } = placeIn(text, first.offset);
  const code = printParseErrorCode(first.error);
  throw new BridgeError('CONFIG_INVALID', `${file}:${line}:${column}: ${sentenceOf(code) ?? code}`, {
    hint: 'Correct the file.',
  });
}
