// A config file that is a program: runs it, and takes its default export. It runs in its own thread, with all rights of
// this process. So an endless one can be stopped, and each run starts afresh.

import { statSync } from 'node:fs';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { membersOf } from '../util/json-value.ts';

/** The outcome of a program; `code` is that of a failed system call. */
type Outcome =
  | { readonly value: unknown }
  | { readonly message: string; readonly code?: unknown; readonly isSyntax: boolean };

const MOST_MS = 10_000;

/**
 * Hooks that let an older Node import TypeScript; they run in their own thread. They remove the types with the package
 * `typescript`, if the file can find it. Without the package, a file without types runs as JavaScript.
 */
const TYPES = `
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !new URL(url).pathname.endsWith('.ts')) return next(url, context);
  const text = await readFile(fileURLToPath(url), 'utf8');
  return { format: 'module', shortCircuit: true, source: withoutTypes(text, url) };
}

function withoutTypes(text, url) {
  const compiler = compilerFor(url);
  const compilerOptions = { module: 'esnext', target: 'es2022' };
  return compiler === undefined ? text : compiler.transpileModule(text, { compilerOptions }).outputText;
}

function compilerFor(url) {
  try {
    return createRequire(url)('typescript');
  } catch (error) {
    if (error?.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
`;

/**
 * The thread's script. It is a text with its own import, so that the bundler does not touch it. Node runs TypeScript
 * itself from 22.18 on.
 */
const THREAD = `
const { register } = require('node:module');
const { parentPort, workerData } = require('node:worker_threads');
const say = (outcome) => parentPort.postMessage(outcome);
const failed = (error) =>
  say({ message: error instanceof Error ? error.message : String(error), code: error?.code, isSyntax: error instanceof SyntaxError });
if (!process.features.typescript) register('data:text/javascript,' + encodeURIComponent(workerData.types));
import(workerData.url).then((module) => say({ value: module.default })).catch(failed);
`;

export async function runConfig(file: string, mostMs = MOST_MS): Promise<unknown> {
  try {
    if (!statSync(file).isFile()) throw new Error('it is no regular file');
    const value = await exportOf(pathToFileURL(file).href, mostMs);
    if (value === undefined) throw new Error('it has no default export');
    return value;
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', `${file} failed: ${messageOf(error)}`, {
      cause: error,
      ...hintFor(error, file),
    });
  }
}

/** Resolves to the default export of the module at `url`, if it ends in time. */
function exportOf(url: string, mostMs: number): Promise<unknown> {
  const thread = new Worker(THREAD, { eval: true, workerData: { url, types: TYPES }, env: SHARE_ENV });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`it has not come to an end within ${mostMs / 1000} s`));
      void thread.terminate();
    }, mostMs);
    thread.once('message', (outcome: Outcome) => {
      if ('value' in outcome) resolve(outcome.value);
      else reject(Object.assign(new Error(outcome.message), { code: outcome.code, isSyntax: outcome.isSyntax }));
      void thread.terminate(); // ends whatever the program has left open
    });
    thread.once('error', reject);
    thread.once('exit', () => {
      clearTimeout(timer);
      reject(new Error('it ended before it exported anything: does it await what never comes?'));
    });
  });
}

function hintFor(error: unknown, file: string): { readonly hint?: string } {
  if (extname(file) !== '.ts' || membersOf(error).isSyntax !== true) return {};
  return {
    hint: 'Types are understood by Node 22.18 and newer, and where the package typescript is beside the file. Use one of them, or leave the types out.',
  };
}
