// A config file that is a program: runs it, and takes what it exports by default. It runs in this process, with all that
// this process may do.

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';

/** Of the package `typescript`. */
interface Compiler {
  transpileModule(text: string, options: object): { readonly outputText: string };
}

const NO_TYPESCRIPT = 'this Node does not run TypeScript';

export async function runConfig(file: string): Promise<unknown> {
  try {
    const stat = statSync(file);
    if (!stat.isFile()) throw new Error('it is no regular file');
    // One that has changed since is another module; what it was as a CommonJS module must be forgotten.
    delete createRequire(file).cache[realpathSync(file)];
    const module = await load(`${pathToFileURL(file).href}?${stat.mtimeMs}`, file);
    if (module.default === undefined) throw new Error('it has no default export');
    return module.default;
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', `${file} failed: ${messageOf(error)}`, {
      cause: error,
      ...hintFor(error, file),
    });
  }
}

async function load(url: string, file: string): Promise<{ readonly default?: unknown }> {
  try {
    return await import(url);
  } catch (error) {
    if (!isUnknownType(error, file)) throw error;
    return import(`data:text/javascript,${encodeURIComponent(withoutTypes(file))}`);
  }
}

/** Node runs TypeScript itself from 22.18 on. */
function isUnknownType(error: unknown, file: string): boolean {
  return systemCode(error) === 'ERR_UNKNOWN_FILE_EXTENSION' && extname(file) === '.ts';
}

function withoutTypes(file: string): string {
  const { transpileModule } = compilerFor(file);
  const compilerOptions = { module: 'esnext', target: 'es2022' };
  return transpileModule(readFileSync(file, 'utf8'), { compilerOptions }).outputText;
}

function compilerFor(file: string): Compiler {
  try {
    return createRequire(file)('typescript') as Compiler;
  } catch (error) {
    throw new Error(NO_TYPESCRIPT, { cause: error });
  }
}

function hintFor(error: unknown, file: string): { readonly hint?: string } {
  if (extname(file) === '.ts' && messageOf(error) === NO_TYPESCRIPT)
    return { hint: 'Use Node 22.18 or newer, install the package typescript beside the file, or write it as .mjs.' };
  return {};
}
