#!/usr/bin/env node
// The command. `connect` and `serve` start many times or must start fast, so they go past the parser of the others.

import { getSystemErrorMap } from 'node:util';
import { homeDir, settleHome } from '../local/home-dir.ts';
import { systemCode } from '../util/bridge-error.ts';
import { connect } from './connect.ts';
import { exitCodeOf, FAILED, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { serve } from './serve.ts';

declare const MCP_BRIDGE_VERSION: string;
declare const MCP_BRIDGE_BUILD: string;

async function run(args: readonly string[], host: CliHost): Promise<number> {
  const given = asOptions(withoutColourFlag(args));
  const [verb, ...rest] = given[0]?.startsWith('-') ? (await import('./verb-first.ts')).verbFirst(given) : given;
  const wantsHelp = ownPart(rest).some((arg) => arg === '--help' || arg === '-h' || arg === '--version');
  if (verb === 'connect' && !wantsHelp) return connect(rest, host);
  if (verb === 'serve' && !wantsHelp) return serve(rest, host);
  const { runCommand } = await import('./commands.ts');
  return runCommand([...(verb === undefined ? [] : [verb]), ...rest], host);
}

const NO_COLOUR = '--no-color';

/** It stands anywhere, with every verb; behind `--` it is none of ours. */
function ownPart(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end < 0 ? args : args.slice(0, end);
}

function withoutColourFlag(args: readonly string[]): readonly string[] {
  const own = ownPart(args);
  return [...own.filter((arg) => arg !== NO_COLOUR), ...args.slice(own.length)];
}

/** What people type when they do not know what to type: nothing, `help`, `help VERB`, or `-v`. */
function asOptions(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === undefined) return ['--help'];
  if (first === 'help') return [...rest, '--help'];
  return first === '-v' ? ['--version'] : args;
}

const typedHome = process.env.HOME;

const host: CliHost = {
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  isColourless: ownPart(process.argv).includes(NO_COLOUR),
  environment: process.env,
  get cwd() {
    return process.cwd();
  },
  get homedir() {
    return homeDir(process.env);
  },
  get isHomeUnnamed() {
    return process.env.HOME !== typedHome;
  },
  node: process.execPath,
  program: import.meta.filename,
  version: MCP_BRIDGE_VERSION,
  pid: process.pid,
  build: MCP_BRIDGE_BUILD,
  onInterrupt(listener) {
    process.once('SIGINT', listener);
    return () => process.off('SIGINT', listener);
  },
  onEnd(listener) {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, listener);
  },
};

let writeError: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error) => {
  writeError ??= error;
});
process.stderr.on('error', () => undefined); // there is nowhere to say it

// All that is started from here, and a config that is a program, take the same home for it.
settleHome(process.env);
void run(process.argv.slice(2), host)
  .catch((error: unknown) => {
    process.stderr.write(lineFor(error));
    return exitCodeOf(error);
  })
  .then(exitOnceFlushed);

/** What is still on its way to a pipe would go with the process. */
function exitOnceFlushed(code: number): void {
  process.exitCode = code;
  process.stdout.write('', () =>
    setImmediate(() => {
      // Who closes a pipe has read enough.
      const isLost = writeError !== undefined && systemCode(writeError) !== 'EPIPE';
      if (isLost) process.stderr.write(lineFor(`write error: ${wordsFor(writeError)}`));
      process.stderr.write('', () => process.exit(isLost ? FAILED : code));
    }),
  );
}

function wordsFor(error: NodeJS.ErrnoException | undefined): string {
  const [, words = 'unknown error'] = getSystemErrorMap().get(error?.errno ?? 0) ?? [];
  return words.charAt(0).toUpperCase() + words.slice(1);
}
