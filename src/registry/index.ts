// The API of `mcp-bridge/registry`: a program that runs an MCP server lists it in a file, and sees which others run.

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
  /** `project`, the default: `.mcp-bridge/mcp_servers.json` in the directory. `user`: this user's own. */
  readonly scope?: 'project' | 'user';
  /** The project's directory; the working directory by default. */
  readonly cwd?: string;
  /** A registry in another place. */
  readonly file?: string;
  /** Throws an error instead of returning a warning. */
  readonly strict?: boolean;
}

/** Lists a server. Without `strict` it never throws: see `isDone` and `warnings`. */
export function registerServer(info: ServerInfo, options: RegistryOptions = {}): Promise<Outcome> {
  return withPlace(options, (change) => register(info, change));
}

/** Removes a server by the `id` from `registerServer`. Without `strict` it never throws. */
export function unregisterServer(id: string, options: RegistryOptions = {}): Promise<Outcome> {
  return withPlace(options, (change) => unregister(id, change), id);
}

export interface ListOptions {
  /** Lists only this registry; by default those of the directory and of the user. */
  readonly scope?: 'project' | 'user';
  readonly cwd?: string;
  /** More registries, for example of other projects. */
  readonly files?: readonly string[];
}

/** Lists the servers whose processes run. It changes no file. */
export function listServers({ scope, cwd, files = [] }: ListOptions = {}): Promise<RunningServers> {
  const named = files.map((file) => resolve(file));
  const isMeant = (place: RegistryPlace): boolean =>
    scope === undefined || place.scope === scope || place.scope === 'named';
  return runningServers(knownRegistries(surroundings(cwd), named).filter(isMeant));
}

/** Finds the file. A removed working directory or a missing home must not make a server fail either. */
async function withPlace(
  options: RegistryOptions,
  task: (change: ChangeOptions) => Promise<Outcome>,
  id = '',
): Promise<Outcome> {
  let change: ChangeOptions;
  // A program without types may pass anything.
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
