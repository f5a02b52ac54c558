// Definitions that depend on where a client works: a relative command, arguments that begin with a dot, or variables for
// the project's directory. Each directory has servers of its own of such a kind; all the others are shared.

import { isAbsolute } from 'node:path';
import type { RemoteServer, ServerDefinition, StdioServer } from '../core/server-definition.ts';

const DIRECTORY = /\$\{(?:PWD|CLAUDE_PROJECT_DIR|workspaceFolder)\}/g;
const DOTTED = /^\.\.?(?:\/|$)/;

function dependsOnProject(definition: StdioServer | RemoteServer): boolean {
  if (textsOf(definition).some((text) => text.search(DIRECTORY) >= 0)) return true;
  return definition.transport === 'stdio' && definition.cwd === undefined && isRelative(definition);
}

function isRelative({ command, args }: StdioServer): boolean {
  return (command.includes('/') && !isAbsolute(command)) || args.some((arg) => DOTTED.test(arg));
}

function textsOf(definition: StdioServer | RemoteServer): readonly string[] {
  if (definition.transport !== 'stdio') return [definition.url, ...Object.values(definition.headers)];
  const { command, args, env, cwd } = definition;
  return [command, ...args, ...Object.values(env), cwd ?? ''];
}

/** The definition as it is for clients that work in `project`, or, without one, where it was defined. */
export function inProject(definition: ServerDefinition, project: string | undefined): ServerDefinition {
  if (definition.transport === 'dial-in') return definition;
  const dir = project ?? (definition.transport === 'stdio' ? definition.dir : undefined);
  if (dir === undefined || !dependsOnProject(definition)) return definition;
  // What stands in headers is looked at for variables once more: a directory must not become one.
  if (definition.transport !== 'stdio' && dir.includes('${')) return definition;
  const fill = (text: string): string => text.replace(DIRECTORY, () => dir);
  return definition.transport === 'stdio' ? filledProcess(definition, dir, fill) : filledRemote(definition, fill);
}

function filledProcess(definition: StdioServer, dir: string, fill: (text: string) => string): StdioServer {
  const { command, args, env, cwd } = definition;
  return {
    ...definition,
    command: fill(command),
    args: args.map(fill),
    env: mapped(env, fill),
    cwd: cwd === undefined ? dir : fill(cwd),
  };
}

function filledRemote(definition: RemoteServer, fill: (text: string) => string): RemoteServer {
  return { ...definition, url: fill(definition.url), headers: mapped(definition.headers, fill) };
}

function mapped(map: Readonly<Record<string, string>>, fill: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, text]) => [key, fill(text)]));
}
