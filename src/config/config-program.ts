// A config file that is a program: runs it, and takes what it exports by default. It runs in a thread of its own, with all
// that this process may do: one that never ends can be ended, and each time it runs anew.

import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';

/** Of the package `typescript`. */
interface Compiler {
  transpileModule(text: string, options: object): { readonly outputText: string };
}

const NO_TYPESCRIPT = 'this Node does not run TypeScript';

/** What came of a program; `code` is that of a failed system call. */
type Outcome = { readonly value: unknown } | { readonly message: string; readonly code?: unknown };

const MOST_MS = 10_000;

/** The thread, as a script: an import of its own, so that the bundler leaves it alone. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const say = (outcome) => parentPort.postMessage(outcome);
const failed = (error) => say({ message: error instanceof Error ? error.message : String(error), code: error?.code });
import(workerData).then((module) => say({ value: module.default })).catch(failed);
`;

export async function runConfig(file: string, mostMs = MOST_MS): Promise<unknown> {
  try {
    if (!statSync(file).isFile()) throw new Error('it is no regular file');
    const value = await load(file, mostMs);
    if (value === undefined) throw new Error('it has no default export');
    return value;
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', `${file} failed: ${messageOf(error)}`, {
      cause: error,
      ...hintFor(error, file),
    });
  }
}

async function load(file: string, mostMs: number): Promise<unknown> {
  try {
    return await exportOf(pathToFileURL(file).href, mostMs);
  } catch (error) {
    if (!isUnknownType(error, file)) throw error;
    return exportOf(`data:text/javascript,${encodeURIComponent(withoutTypes(file))}`, mostMs);
  }
}

/** What the module at `url` exports by default, if it comes to an end in time. */
function exportOf(url: string, mostMs: number): Promise<unknown> {
  const thread = new Worker(THREAD, { eval: true, workerData: url, env: SHARE_ENV });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`it has not come to an end within ${mostMs / 1000} s`));
      void thread.terminate();
    }, mostMs);
    thread.once('message', (outcome: Outcome) => {
      if ('value' in outcome) resolve(outcome.value);
      else reject(Object.assign(new Error(outcome.message), { code: outcome.code }));
      void thread.terminate(); // whatever it has left open
    });
    thread.once('error', reject);
    thread.once('exit', () => {
      clearTimeout(timer);
      reject(new Error('it ended before it exported anything: does it await what never comes?'));
    });
  });
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
