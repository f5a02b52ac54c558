#!/usr/bin/env node
// The command. `connect` and `serve` start many times or must start fast, so they go past the parser of the others.

import { homedir } from 'node:os';
import { connect } from './connect.ts';
import { exitCodeOf, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { serve } from './serve.ts';

declare const MCP_BRIDGE_VERSION: string;
declare const MCP_BRIDGE_BUILD: string;

async function run(args: readonly string[], host: CliHost): Promise<number> {
  const [verb, ...rest] = args;
  const wantsHelp = rest.some((arg) => arg === '--help' || arg === '-h' || arg === '--version');
  if (verb === 'connect' && !wantsHelp) return connect(rest, host);
  if (verb === 'serve' && !wantsHelp) return serve(rest, host);
  const { runCommand } = await import('./commands.ts');
  return runCommand(args, host);
}

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
  environment: process.env,
  get cwd() {
    return process.cwd();
  },
  get homedir() {
    return homedir();
  },
  node: process.execPath,
  program: import.meta.filename,
  version: MCP_BRIDGE_VERSION,
  build: MCP_BRIDGE_BUILD,
  onInterrupt(listener) {
    process.once('SIGINT', listener);
    return () => process.off('SIGINT', listener);
  },
  onTerminate(listener) {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, listener);
  },
};

void run(process.argv.slice(2), host)
  .catch((error: unknown) => {
    process.stderr.write(lineFor(error));
    return exitCodeOf(error);
  })
  .then(exitOnceFlushed);

/** What is still on its way to a pipe would go with the process. */
function exitOnceFlushed(code: number): void {
  process.exitCode = code;
  process.stdout.once('error', () => process.exit(code));
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}
