// Finds the config file and reads it. Without one, everything has a default.

import { existsSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { xdgConfigDir } from '../local/home-dir.ts';
import { isAnotherUsers } from '../local/owned-path.ts';
import { readRegularSync } from '../local/regular-file.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { placeIn, sentenceOf } from '../util/json-fault.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import type { ClosingSection } from './closing-sections.ts';
import { type Config, EMPTY_CONFIG } from './config.ts';
import type { LastGoodConfigs } from './last-good.ts';
import type { PatternBudget } from './tool-rules.ts';

export interface ConfigPlace {
  /** A file named by the user; it must be there. */
  readonly named?: string | undefined;
  readonly cwd: string;
  readonly homedir: string;
  readonly xdgConfigHome?: string | undefined;
  /** Whether a program in the working directory may be run: whoever starts a daemon there by hand wants that. */
  readonly runsPrograms?: boolean | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Where it came from; undefined without a file. */
  readonly file: string | undefined;
  readonly faults: readonly string[];
  /** Sections that keep somebody out, and have faults. */
  readonly inDoubt: readonly ClosingSection[];
  /** `directory`: it stood in the working directory, so whoever wrote what is there may have written it. */
  readonly origin: ConfigOrigin;
  /** `mcpServers` as it is written. */
  readonly servers: unknown;
  /** All of it as it is written. */
  readonly content: unknown;
}

type ConfigOrigin = 'none' | 'named' | 'directory' | 'user';

const DATA = ['json', 'jsonc'];
const PROGRAMS = ['js', 'mjs', 'ts'];

export const NO_CONFIG: LoadedConfig = {
  config: EMPTY_CONFIG,
  file: undefined,
  faults: [],
  inDoubt: [],
  origin: 'none',
  servers: undefined,
  content: undefined,
};

/** All files that may be the one that counts, in their order. */
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

/** The file that counts. Looks at names only. */
export function findConfigFile(place: ConfigPlace): Pick<LoadedConfig, 'file' | 'origin'> {
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

/** Verbs and `connect` work in whatever directory: another user's file there keeps nobody from using the bridge. */
const isPassedOver = (file: string, { runsPrograms }: ConfigPlace): boolean =>
  runsPrograms !== true && isAnotherUsers(file);

/** With `lastGood`, it is kept there what the file says. */
export async function loadConfig(place: ConfigPlace, lastGood?: LastGoodConfigs): Promise<LoadedConfig> {
  const { file, origin } = findConfigFile(place);
  if (file === undefined) return NO_CONFIG;
  const content = await readConfig(file);
  lastGood?.keep(file, content, new Date());
  return loadedFrom(content, { file, origin, place });
}

/**
 * Of a daemon that starts: while its file cannot be read, what that said when it was last read counts. `checked` is the file that
 * was read before the daemon before was ended: that one counts also if it has gone since.
 */
export async function loadOrLastGood(
  place: ConfigPlace,
  lastGood: LastGoodConfigs,
  checked?: string,
): Promise<LoadedConfig> {
  try {
    const loaded = await loadConfig(place, lastGood);
    if (loaded.file !== undefined || checked === undefined) return loaded;
    throw notThere(checked);
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    const isGone = error.code === 'CONFIG_NOT_FOUND' && checked !== undefined;
    if (error.code !== 'CONFIG_INVALID' && !isGone) throw error;
    const found = isGone ? checkedAt(checked, place) : findConfigFile(place);
    const kept = found.file === undefined ? undefined : lastGood.kept(found.file);
    if (found.file === undefined || kept === undefined) throw error;
    const loaded = await loadedFrom(kept.content, { file: found.file, origin: found.origin, place });
    const hint = error.hint === undefined ? '' : ` ${error.hint}`;
    const fault = `${error.message}.${hint} What it said at ${kept.at} still counts.`;
    return { ...loaded, faults: [fault, ...loaded.faults] };
  }
}

function checkedAt(file: string, place: ConfigPlace): Pick<LoadedConfig, 'file' | 'origin'> {
  if (place.named !== undefined) return { file, origin: 'named' };
  return { file, origin: directoryFiles(place).includes(file) ? 'directory' : 'user' };
}

const notThere = (file: string): BridgeError =>
  new BridgeError('CONFIG_NOT_FOUND', `There is no config file ${file}`, { hint: 'See --config.' });

interface FoundConfig extends Pick<LoadedConfig, 'origin'> {
  readonly file: string;
  readonly place: ConfigPlace;
}

async function loadedFrom(content: unknown, { file, origin, place }: FoundConfig): Promise<LoadedConfig> {
  const { validate } = await import('./schema.ts');
  const { config, faults, inDoubt } = validate(content, pathsIn(file, place.homedir), await patternsOf(content));
  return { file, origin, servers: membersOf(content).mcpServers, content, config, faults, inDoubt };
}

/** Looks at the patterns of rules for tools, if there may be some: most configs have none. */
export async function patternsOf(content: unknown): Promise<PatternBudget | undefined> {
  if (!isRecord(content) || Object.values(content).every((section) => !isRecord(section) || !hasRules(section)))
    return undefined;
  return new (await import('../util/glob.ts')).GlobBudget();
}

/** A misspelled key is read as the one that it is most like, so each list of objects may be the one of the rules. */
function hasRules(section: Readonly<Record<string, unknown>>): boolean {
  return Object.values(section).some((value) => Array.isArray(value) && value.some(isRecord));
}

/** What the paths in a config file mean. */
export function pathsIn(file: string, homedir: string): (path: string) => string {
  const expanded = (path: string): string =>
    path === '~' || path.startsWith('~/') ? join(homedir, path.slice(1)) : path;
  return (path) => resolve(dirname(file), expanded(path));
}

export function isProgram(file: string): boolean {
  return PROGRAMS.includes(extname(file).slice(1));
}

async function readConfig(file: string): Promise<unknown> {
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

/** Another user would decide which programs run for this one. */
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

/** Comments and trailing commas are welcome in .json too; the parser for them is loaded only where they are. */
async function parseWithComments(file: string, text: string): Promise<unknown> {
  const { parse, printParseErrorCode } = await import('jsonc-parser');
  const errors: import('jsonc-parser').ParseError[] = [];
  const content: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return content;
  const { line, column } = placeIn(text, first.offset);
  const code = printParseErrorCode(first.error);
  throw new BridgeError('CONFIG_INVALID', `${file}:${line}:${column}: ${sentenceOf(code) ?? code}`, {
    hint: 'Mend the file.',
  });
}
