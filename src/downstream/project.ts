// Definitions that depend on a client's directory: they have arguments that begin with a dot, or variables for the
// project. Each directory gets its own servers from such a definition. The program itself never depends on the client's
// directory: programs, scripts and packages are looked up, and the process starts, where the definition is. Otherwise
// the author of a repository could choose what a user's definition runs.

import { resolve } from 'node:path';
import type { RemoteServer, ServerDefinition, StdioServer } from '../model/server-definition.ts';
import { filledWithDirectory } from '../util/directory-variables.ts';
import { relativePrograms } from '../util/executed-words.ts';

const DOTTED = /^\.\.?(?:\/|$)/;

/** The definition for clients in the directory `project`; without a project, for the definition's own directory. */
export function inProject(definition: ServerDefinition, project: string | undefined): ServerDefinition {
  if (definition.transport === 'dial-in' || definition.transport === 'bus') return definition;
  const placed = definition.transport === 'stdio' ? withOwnPrograms(definition) : definition;
  const dir = project ?? (definition.transport === 'stdio' ? definition.dir : undefined);
  if (dir === undefined) return placed;
  // Variables in headers are filled in later, so a directory name must not look like one.
  if (placed.transport !== 'stdio' && dir.includes('${')) return placed;
  const fill = (text: string): string => filledWithDirectory(text, dir);
  return placed.transport === 'stdio' ? filledProcess(placed, dir, fill) : filledRemote(placed, fill);
}

/** Resolves relative programs and scripts next to the definition, unless its `cwd` says otherwise. */
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
