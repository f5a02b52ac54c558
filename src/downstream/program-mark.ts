// A mark of the files that a server's program consists of, as far as its command names them: two equal marks say that the program was not
// replaced in between. It reads no content, and knows nothing of what the program loads.

import { join, resolve } from 'node:path';
import { markOf, UNCERTAIN } from '../local/path-mark.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import type { Environment } from './server-process.ts';

/** Arguments that may name a file of the program: `node server.js`, `uv run --directory DIR main.py`. */
const MOST_ARGUMENTS = 8;
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL']);

/** Marks the program of a server; '' for a server that is none of this machine. `cwd` is the daemon's directory. */
export function programMark(definition: ServerDefinition, environment: Environment, cwd: string): string {
  if (definition.transport !== 'stdio') return '';
  const { command, args, env } = definition;
  const dir = definition.cwd ?? definition.dir ?? cwd;
  const path = env.PATH ?? environment.PATH ?? '';
  const programs = command.includes('/')
    ? [resolve(dir, command)]
    : path.split(':').map((place) => join(place, command));
  const files = args.slice(0, MOST_ARGUMENTS).flatMap((arg) => (isPath(arg) ? [resolve(dir, arg)] : []));
  return [firstMark(programs), ...files.map(markOf).filter((mark) => !MISSING.has(mark))].join('; ');
}

/** True if this is a mark, and surely that of the same program as the other one. */
export function isSameProgram(before: string, now: string): boolean {
  return before === now && !before.includes(UNCERTAIN);
}

function isPath(arg: string): boolean {
  return !arg.startsWith('-') && !arg.includes('\0') && arg !== '';
}

/** The mark of the first program on the PATH. */
function firstMark(places: readonly string[]): string {
  for (const place of places) {
    const mark = markOf(place);
    if (!MISSING.has(mark)) return mark;
  }
  return 'none';
}
