// The command as a person types it: run in this process, or as the real program. In this process it costs a hundredth of the
// time; it may not do what belongs to a whole process: last until a signal, or hand on its descriptors.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { exitCodeOf, lineFor } from '../../src/cli/exit-code.ts';
import type { CliHost } from '../../src/cli/host.ts';
import { NO_COLOUR, ownPart, run } from '../../src/cli/run.ts';
import { homeDir, settleHome } from '../../src/local/home-dir.ts';
import { PROGRAM } from './test-daemon.ts';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandPlace {
  /** Beside the environment of this file of tests. */
  readonly env?: object;
  /** The home of this file of tests if it is not given. */
  readonly cwd?: string;
  readonly input?: string;
}

/** These are whole processes: they last, relay their own stdin, or have children that get their descriptors. */
const PROCESSES = new Set(['serve', 'connect', 'attach', 'demo']);

/** Runs the command to its end, in this process if it can be. */
export function runCommand(args: readonly string[], place: CommandPlace = {}): Promise<CommandResult> {
  return args.some((word) => PROCESSES.has(word)) ? runProgram(args, place) : runHere(args, place);
}

/** Runs the real program to its end. */
export function runProgram(
  args: readonly string[],
  { env, cwd = process.env.HOME, input = '' }: CommandPlace = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, ...args],
      { env: { ...process.env, ...env }, cwd, maxBuffer: 1 << 28 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
    child.stdin?.on('error', () => undefined); // one that ends without reading it is no failure
    child.stdin?.end(input);
  });
}

async function runHere(
  args: readonly string[],
  { env, cwd = homeDir(process.env), input = '' }: CommandPlace,
): Promise<CommandResult> {
  const environment: Record<string, string | undefined> = { ...process.env, ...env };
  const typedHome = environment.HOME;
  settleHome(environment);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const [written, complaints] = [textOf(stdout), textOf(stderr)];
  const [version = '', build = ''] = ownBuild();
  const host: CliHost = {
    stdin: Readable.from([Buffer.from(input)]),
    isPiped: true,
    stdout,
    stderr,
    isColourless: ownPart(args).includes(NO_COLOUR),
    environment,
    cwd,
    get homedir() {
      return homeDir(environment);
    },
    isHomeUnnamed: environment.HOME !== typedHome,
    node: process.execPath,
    program: PROGRAM,
    version,
    build,
    pid: process.pid,
    onInterrupt: () => () => undefined,
    onEnd: () => undefined,
  };
  const code = await run(args, host).catch((error: unknown) => {
    stderr.write(lineFor(error));
    return exitCodeOf(error);
  });
  stdout.end();
  stderr.end();
  return { code, stdout: await written, stderr: await complaints };
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = await stream.toArray();
  return Buffer.concat(chunks).toString();
}

let known: readonly string[] | undefined;

/** The version and the build of what is in dist/, so that its daemons are those of this program. */
function ownBuild(): readonly string[] {
  known ??= /"((\d+\.\d+\.\d+)\+[0-9a-f]{12})"/.exec(readFileSync(PROGRAM, 'utf8'))?.slice(1).reverse() ?? [];
  return known;
}
