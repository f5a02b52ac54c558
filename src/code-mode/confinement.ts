// The confinement of a process that runs programs: Node's permission model, and bubblewrap or sandbox-exec if one works
// on this machine. Inside there is no network, no file except Node and its libraries, and no other process.

import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { expectSystemError } from '../util/expected-error.ts';

export interface Confinement {
  /** For the log and `status`. */
  readonly name: 'bwrap' | 'sandbox-exec' | 'none';
  /** The command that runs Node with these arguments; `paths` are readable inside. */
  command(
    nodeArgs: readonly string[],
    paths?: readonly string[],
  ): { readonly file: string; readonly args: readonly string[] };
}

export interface ConfinementHost {
  readonly execPath: string;
  readonly platform: NodeJS.Platform;
  readonly path: string | undefined;
  /** A directory that must not be readable inside. */
  readonly homedir: string;
}

/** The exit code of a test that was stopped by the confinement. */
const WALLED = 42;

/** Possible locations of Node's libraries. */
const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/nix/store', '/etc/ld.so.cache'];

function inBubblewrap(file: string, execPath: string): Confinement {
  return {
    name: 'bwrap',
    command: (nodeArgs, paths = []) => ({
      file,
      args: [
        ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL', '--chdir', '/'],
        ...LIBRARIES.flatMap((path) => ['--ro-bind-try', path, path]),
        ...[execPath, ...paths].flatMap((path) => ['--ro-bind', path, path]),
        ...['--', execPath, ...nodeArgs],
      ],
    }),
  };
}

function inSandboxExec(file: string, execPath: string): Confinement {
  const quoted = (path: string): string => JSON.stringify(path);
  return {
    name: 'sandbox-exec',
    command: (nodeArgs, paths = []) => {
      const readable = [execPath, ...paths].map((path) => `(literal ${quoted(path)}) (subpath ${quoted(path)})`);
      const profile = [
        '(version 1)(allow default)(deny network*)(deny file-write*)(deny process-fork)',
        '(deny file-read-data (subpath "/Users") (subpath "/private") (subpath "/Volumes") (subpath "/tmp"))',
        `(allow file-read-data ${readable.join(' ')})`,
      ];
      return { file, args: ['-p', profile.join(''), execPath, ...nodeArgs] };
    },
  };
}

function unconfined(execPath: string): Confinement {
  return { name: 'none', command: (nodeArgs) => ({ file: execPath, args: nodeArgs }) };
}

/** Finds and tests this machine's confinement. */
export async function findConfinement({
  execPath,
  platform,
  path = '',
  homedir,
}: ConfinementHost): Promise<Confinement> {
  const name = platform === 'linux' ? 'bwrap' : platform === 'darwin' ? 'sandbox-exec' : undefined;
  const file =
    name &&
    path
      .split(':')
      .map((dir) => join(dir, name))
      .find(isProgram);
  if (file === undefined) return unconfined(execPath);
  const found = platform === 'linux' ? inBubblewrap(file, execPath) : inSandboxExec(file, execPath);
  return (await confines(found, homedir)) ? found : unconfined(execPath);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return file.startsWith('/');
  } catch (error) {
    expectSystemError(error);
    return false;
  }
}

/** Reads a directory; this must fail. */
const ATTEMPT = `try { require('node:fs').readdirSync(process.argv[1]) } catch { process.exit(${WALLED}) }`;

/** True if the confinement works: a kernel may forbid it, and one that lets files through is useless. */
function confines(confinement: Confinement, homedir: string): Promise<boolean> {
  const { file, args } = confinement.command(['-e', ATTEMPT, homedir]);
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'ignore', env: {}, timeout: 10_000, killSignal: 'SIGKILL' });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === WALLED));
  });
}

/** Node's arguments: no files, no processes, no code from strings, little memory. */
export function nodeArguments(heapMiB: number): readonly string[] {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  return [
    ...[permission, '--disallow-code-generation-from-strings', '--disable-proto=delete', '--no-warnings'],
    `--max-old-space-size=${heapMiB}`,
  ];
}
