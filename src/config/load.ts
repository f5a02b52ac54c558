// Reads and checks the whole config file. Without a file, every setting has its default.

import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import type { ClosingSection } from './closing-sections.ts';
import { type Config, EMPTY_CONFIG } from './config.ts';
import {
  type ConfigPlace,
  directoryFiles,
  type FoundConfigFile,
  findConfigFile,
  notThere,
  pathsIn,
  readConfig,
} from './config-file.ts';
import type { LastGoodConfigs } from './last-good.ts';
import type { PatternBudget } from './tool-rules.ts';

export interface LoadedConfig extends FoundConfigFile {
  readonly config: Config;
  readonly faults: readonly string[];
  /** Faulty sections that restrict access. */
  readonly inDoubt: readonly ClosingSection[];
  /** `mcpServers` as the file spells it. */
  readonly servers: unknown;
  /** The whole content as the file spells it. */
  readonly content: unknown;
}

export const NO_CONFIG: LoadedConfig = {
  config: EMPTY_CONFIG,
  file: undefined,
  faults: [],
  inDoubt: [],
  origin: 'none',
  servers: undefined,
  content: undefined,
};

/** Loads the config. With `lastGood`, keeps the content there. */
export async function loadConfig(place: ConfigPlace, lastGood?: LastGoodConfigs): Promise<LoadedConfig> {
  const { file, origin } = findConfigFile(place);
  if (file === undefined) return NO_CONFIG;
  const content = await readConfig(file);
  lastGood?.keep(file, content, new Date());
  return loadedFrom(content, { file, origin, place });
}

/**
 * Loads the config of a daemon that starts. While its file cannot be read, the last good content is used. `checked` is
 * the file that was read before the previous daemon was stopped; its last good content is used even if the file has
 * gone since.
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
    const fault = `${error.message}.${hint} What it said at ${kept.at} is still used.`;
    return { ...loaded, faults: [fault, ...loaded.faults] };
  }
}

function checkedAt(file: string, place: ConfigPlace): FoundConfigFile {
  if (place.named !== undefined) return { file, origin: 'named' };
  return { file, origin: directoryFiles(place).includes(file) ? 'directory' : 'user' };
}

interface FoundConfig extends FoundConfigFile {
  readonly file: string;
  readonly place: ConfigPlace;
}

async function loadedFrom(content: unknown, { file, origin, place }: FoundConfig): Promise<LoadedConfig> {
  const { validate } = await import('./schema.ts');
  const { config, faults, inDoubt } = validate(content, pathsIn(file, place.homedir), await patternsOf(content));
  return { file, origin, servers: membersOf(content).mcpServers, content, config, faults, inDoubt };
}

/** Makes a budget for the patterns of tool rules, if there may be rules; most configs have none. */
export async function patternsOf(content: unknown): Promise<PatternBudget | undefined> {
  if (!isRecord(content) || Object.values(content).every((section) => !isRecord(section) || !hasRules(section)))
    return undefined;
  return new (await import('../util/glob.ts')).GlobBudget();
}

/**
 * True if the section may have rules. A misspelled key counts as the key that it resembles, so any list of objects may
 * be the rules.
 */
function hasRules(section: Readonly<Record<string, unknown>>): boolean {
  return Object.values(section).some((value) => Array.isArray(value) && value.some(isRecord));
}
