// A mark of a server program's files, as far as the command names them. Two equal marks mean that the program was not
// replaced in between. No contents are read, and files that the program loads are unknown.

import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { markOf, UNCERTAIN } from '../local/path-mark.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import type { Environment } from './server-process.ts';

/** Arguments that may name a file of the program, as in `node server.js` or `uv run --directory DIR main.py`. */
const MOST_ARGUMENTS = 8;
/** Other files are the server's data, such as a database, and change while it runs. */
const SCRIPT = /\.(?:[cm]?[jt]sx?|py[cz]?|rb|php|phar|pl|lua|sh|jar|dll|exs?|wasm)$/i;
const EXECUTABLE = 0o111;

/** Marks the program of a server; '' if the server is no program of this machine. `cwd` is the daemon's directory. */
export function programMark(definition: ServerDefinition, environment: Environment, cwd: string): string {
  if (definition.transport !== 'stdio') return '';
  const { command, args, env } = definition;
  const dir = definition.cwd ?? definition.dir ?? cwd;
  const path = env.PATH ?? environment.PATH ?? '';
  const places = command.includes('/') ? [resolve(dir, command)] : path.split(':').map((place) => join(place, command));
  const program = places.find((place) => isProgram(place));
  const files = args.slice(0, MOST_ARGUMENTS).flatMap((arg) => (mayBePath(arg) ? [resolve(dir, arg)] : []));
  const own = files.filter((file) => isProgram(file));
  return [program === undefined ? 'none' : markOf(program), ...own.map(markOf)].join('; ');
}

/** True if both marks belong to one program that certainly did not change in between. */
export function isSameProgram(before: string, now: string): boolean {
  return before === now && !before.includes(UNCERTAIN);
}

function mayBePath(arg: string): boolean {
  return arg !== '' && !arg.startsWith('-') && !arg.includes('\0') && !arg.includes('://');
}

function isProgram(path: string): boolean {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true && (SCRIPT.test(path) || (stats.mode & EXECUTABLE) !== 0);
  } catch {
    return false; // the name is too long, or a part of it is no directory
  }
}
