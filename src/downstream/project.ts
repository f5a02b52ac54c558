// Definitions that depend on the directory in which a client works: they have arguments that begin with a dot, or variables for
// the project. Each directory gets servers of its own from such a definition. The program never depends on the directory:
// programs, scripts and packages are looked up, and the process starts, where the definition stands. Otherwise the author of a
// repository would decide what a definition of its user runs.

import { resolve } from 'node:path';
import type { RemoteServer, ServerDefinition, StdioServer } from '../model/server-definition.ts';
import { filledWithDirectory } from '../util/directory-variables.ts';
import { relativePrograms } from '../util/executed-words.ts';

const DOTTED = /^\.\.?(?:\/|$)/;

/** The definition for clients that work in `project`; without a project, for the place where it was defined. */
export function inProject(definition: ServerDefinition, project: string | undefined): ServerDefinition {
  if (definition.transport === 'dial-in' || definition.transport === 'bus') return definition;
  const placed = definition.transport === 'stdio' ? withOwnPrograms(definition) : definition;
  const dir = project ?? (definition.transport === 'stdio' ? definition.dir : undefined);
  if (dir === undefined) return placed;
  // Variables in headers are filled in later: the name of a directory must not become one.
  if (placed.transport !== 'stdio' && dir.includes('${')) return placed;
  const fill = (text: string): string => filledWithDirectory(text, dir);
  return placed.transport === 'stdio' ? filledProcess(placed, dir, fill) : filledRemote(placed, fill);
}

/** Resolves relative programs and scripts beside the definition, unless its `cwd` says where they are. */
function withOwnPrograms(definition: StdioServer): StdioServer {
  const { command, args, cwd, dir } = definition;
  if (cwd !== undefined || dir === undefined) return definition;
  const words = [command, ...args];
  const own = relativePrograms(words);
  if (own.size === 0) return definition;
  const [program = command, ...rest] = words.map((word, i) => (own.has(i) ? resolve(dir, word) : word));
  return { ...definition, command: program, args: rest };
}

function filledProcess(definition: StdioServer, dir: string, fill: (text: string) => string): StdioServer {
  const { command, args, env, cwd } = definition;
  const filled = { ...definition, command: fill(command), args: args.map(fill), env: mapped(env, fill) };
  if (cwd !== undefined) return { ...filled, cwd: fill(cwd) };
  return { ...filled, args: filled.args.map((arg) => (DOTTED.test(arg) ? resolve(dir, arg) : arg)) };
}

function filledRemote(definition: RemoteServer, fill: (text: string) => string): RemoteServer {
  return { ...definition, url: fill(definition.url), headers: mapped(definition.headers, fill) };
}

function mapped(map: Readonly<Record<string, string>>, fill: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, text]) => [key, fill(text)]));
}
