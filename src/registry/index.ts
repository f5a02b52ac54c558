// What `mcp-bridge/registry` offers: programs that run an MCP server say so in a file, and see which others run.

import { resolve } from 'node:path';
import { homeDir } from '../local/home-dir.ts';
import { messageOf } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { type ChangeOptions, type Outcome, register, unregister } from './registration.ts';
import type { ServerInfo } from './registry-entry.ts';
import { knownRegistries, projectRegistry, type RegistryPlace, userRegistry } from './registry-places.ts';
import { type RunningServers, runningServers } from './running-servers.ts';

export type { Outcome } from './registration.ts';
export type { ServerInfo } from './registry-entry.ts';
export type { RegistryScope } from './registry-places.ts';
export type { RunningServer, RunningServers } from './running-servers.ts';

export interface RegistryOptions {
  /** `project`, which is the usual one: `.mcp-bridge/mcp_servers.json` in the directory. `user`: this user's own. */
  readonly scope?: 'project' | 'user';
  /** The project's directory; else the working directory. */
  readonly cwd?: string;
  /** A registry somewhere else. */
  readonly file?: string;
  /** Fail with an error instead of a warning. */
  readonly strict?: boolean;
}

/** Lists a server. It never throws unless it is asked to: see `isDone` and `warnings`. */
export function registerServer(info: ServerInfo, options: RegistryOptions = {}): Promise<Outcome> {
  return withPlace(options, (change) => register(info, change));
}

/** Takes a server out, by the `id` that `registerServer` has given. It never throws unless it is asked to. */
export function unregisterServer(id: string, options: RegistryOptions = {}): Promise<Outcome> {
  return withPlace(options, (change) => unregister(id, change), id);
}

export interface ListOptions {
  /** Only this one; else those of the directory and of the user. */
  readonly scope?: 'project' | 'user';
  readonly cwd?: string;
  /** More registries, of other projects. */
  readonly files?: readonly string[];
}

/** The servers whose processes run. It changes no file. */
export function listServers({ scope, cwd, files = [] }: ListOptions = {}): Promise<RunningServers> {
  const named = files.map((file) => resolve(file));
  const isMeant = (place: RegistryPlace): boolean =>
    scope === undefined || place.scope === scope || place.scope === 'named';
  return runningServers(knownRegistries(surroundings(cwd), named).filter(isMeant));
}

/** A working directory that somebody has removed, and a user without a home, are no reason for a server to fail either. */
async function withPlace(
  options: RegistryOptions,
  task: (change: ChangeOptions) => Promise<Outcome>,
  id = '',
): Promise<Outcome> {
  let change: ChangeOptions;
  // Programs without types pass anything.
  const { strict, file }: RegistryOptions = isRecord(options) ? options : {};
  try {
    change = changeOptions(options);
  } catch (error) {
    if (strict === true) throw error;
    const warning = `Where the registry is cannot be told: ${messageOf(error)}`;
    return { isDone: false, id, file: typeof file === 'string' ? file : '', warnings: [warning] };
  }
  return task(change);
}

function surroundings(cwd: string | undefined) {
  return { cwd: resolve(cwd ?? process.cwd()), homedir: homeDir(process.env), environment: process.env };
}

function changeOptions({ scope = 'project', cwd, file, strict = false }: RegistryOptions): ChangeOptions {
  const here = surroundings(cwd);
  const usual = scope === 'user' ? userRegistry(here) : projectRegistry(here.cwd);
  return {
    file: file === undefined ? usual : resolve(file),
    own: { pid: process.pid, cwd: here.cwd },
    isStrict: strict,
  };
}
