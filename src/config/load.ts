// Finds the config file and reads it. Without one, everything has a default.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { placeIn, sentenceOf } from '../util/json-fault.ts';
import { type Config, EMPTY_CONFIG, validate } from './schema.ts';

export interface ConfigPlace {
  /** A file named by the user; it must be there. */
  readonly named?: string | undefined;
  readonly cwd: string;
  readonly homedir: string;
  readonly xdgConfigHome?: string | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Where it came from; undefined without a file. */
  readonly file: string | undefined;
  readonly faults: readonly string[];
}

/** A .ts file needs a Node that runs it: 22.18 or newer. */
const EXTENSIONS = ['json', 'jsonc', 'js', 'mjs', 'ts'];

/** The file that counts, or undefined. Looks at names only. */
export function findConfigFile(place: ConfigPlace): string | undefined {
  if (place.named !== undefined) {
    const file = resolve(place.cwd, place.named);
    if (existsSync(file)) return file;
    throw new BridgeError('CONFIG_NOT_FOUND', `There is no config file ${file}`, { hint: 'See --config.' });
  }
  const userDir = join(place.xdgConfigHome || join(place.homedir, '.config'), 'mcp-bridge');
  const candidates = [
    ...EXTENSIONS.map((extension) => join(place.cwd, `mcp-bridge.config.${extension}`)),
    ...EXTENSIONS.map((extension) => join(userDir, `config.${extension}`)),
  ];
  return candidates.find((file) => existsSync(file));
}

export async function loadConfig(place: ConfigPlace): Promise<LoadedConfig> {
  const file = findConfigFile(place);
  if (file === undefined) return { config: EMPTY_CONFIG, file, faults: [] };
  const content = await readConfig(file);
  return { file, ...validate(content, (path) => resolve(dirname(file), expandHome(path, place.homedir))) };
}

function expandHome(path: string, homedir: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir, path.slice(1)) : path;
}

async function readConfig(file: string): Promise<unknown> {
  if (['.js', '.mjs', '.ts'].includes(extname(file))) return runConfig(file);
  const text = readText(file).replace(/^\ufeff/, '');
  try {
    return JSON.parse(text);
  } catch {
    return parseWithComments(file, text);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', `Cannot read ${file}: ${systemCode(error) ?? 'unknown error'}`, {
      cause: error,
    });
  }
}

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
    hint: 'Mend the file: nothing of it is used.',
  });
}

async function runConfig(file: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
    if (module.default === undefined) throw new Error('it has no default export');
    return module.default;
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', `${file} failed: ${messageOf(error)}`, { cause: error });
  }
}
