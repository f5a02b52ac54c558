#!/usr/bin/env node
// The program: hands its process to a command line, and ends with the exit code once all output is written.

import { fstatSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { getSystemErrorMap } from 'node:util';
import { homeDir, settleHome } from '../local/home-dir.ts';
import { systemCode } from '../util/bridge-error.ts';
import { exitCodeOf, FAILED, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { NO_COLOUR, ownPart, run } from './run.ts';

declare const MCP_BRIDGE_VERSION: string;
declare const MCP_BRIDGE_BUILD: string;

const typedHome = process.env.HOME;

const host: CliHost = {
  get stdin() {
    return process.stdin;
  },
  get isPiped() {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isSocket();
  },
  openStdin(reader) {
    if (this.isPiped !== true) return undefined;
    return new Socket({ fd: 0, readable: true, writable: false, onread: reader } as SocketConstructorOpts);
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
process.stderr.on('error', () => undefined); // errors cannot be reported anywhere

// All child processes, and a config that is a program, must see the same home.
settleHome(process.env);
void run(process.argv.slice(2), host)
  .catch((error: unknown) => {
    process.stderr.write(lineFor(error));
    return exitCodeOf(error);
  })
  .then(exitOnceFlushed);

/** Exits when all output is written: output still on its way to a pipe would be lost. */
function exitOnceFlushed(code: number): void {
  process.exitCode = code;
  process.stdout.write('', () =>
    setImmediate(() => {
      // A reader that closes the pipe has read enough.
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
