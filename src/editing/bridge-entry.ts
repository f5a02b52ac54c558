// The bridge as an entry in a client's config: builds the entry, and recognises it later. A name alone proves nothing:
// an entry is ours if it starts this program.

import { realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { traitsOf } from '../discovery/client-traits.ts';
import { type LaunchedProgram, ownPathsOf, SelfReference } from '../discovery/self-reference.ts';
import { isTree } from '../discovery/tree.ts';
import { writtenEntry } from '../discovery/written-definition.ts';
import { TOKEN_PREFIX } from '../local/access-tokens.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { type BridgeLaunch, type ClientTarget, ENTRY_NAME } from './client-targets.ts';
import { type EditingHost, machineOfHost } from './editing-host.ts';

export interface LaunchOptions {
  /** The config file for this client's bridge; undefined for the usual one. */
  readonly config: string | undefined;
  /** The daemon's socket, if the client would find another one by itself. */
  readonly socket?: string | undefined;
  /** The client's id, if the config has an entry for it. */
  readonly client?: string | undefined;
  /** The view that the client asks for; undefined to leave it to the config. */
  readonly view?: string | undefined;
}

export function bridgeLaunch(host: EditingHost, { config, socket, client, view }: LaunchOptions): BridgeLaunch {
  const { node, program, cwd } = host;
  const named = config === undefined ? [] : ['--config', resolve(cwd, config)];
  const at = socket === undefined ? [] : ['--mcp-bridge-socket', socket];
  const as = client === undefined ? [] : ['--client', client];
  const seen = view === undefined ? [] : ['--view', view];
  return { command: node, args: [realpathOf(program), 'connect', ...named, ...at, ...seen, ...as] };
}

/**
 * The relation of an entry to this bridge. `stale`: an earlier installation wrote it, and the program has moved since.
 */
export type Kinship = 'ours' | 'stale' | 'foreign';

export function kinshipOf(name: string, fields: unknown, target: ClientTarget, host: EditingHost): Kinship {
  const launched = launchedBy(fields, target);
  const isOwnName = name === ENTRY_NAME;
  if (isOwnName && startsProgramElsewhere(launched, host)) return 'stale';
  if (isOurs(launched, host)) return 'ours';
  return isOwnName && hasOwnToken(fields) ? 'stale' : 'foreign';
}

/** True if a URL entry carries a token of the bridge; its address may be an old one. */
function hasOwnToken(fields: unknown): boolean {
  return isTree(fields) && JSON.stringify(fields).includes(`"Bearer ${TOKEN_PREFIX}`);
}

function launchedBy(fields: unknown, { client }: ClientTarget): LaunchedProgram {
  const { transport, command, args, url, cwd } = writtenEntry(fields, client, traitsOf(client)).written;
  return { transport, command, args, url, cwd };
}

function isOurs(launched: LaunchedProgram, host: EditingHost): boolean {
  const machine = machineOfHost(host);
  const self = { bins: ['mcp-bridge', host.program], packages: ['mcp-bridge'], endpoints: host.endpoints ?? [] };
  const paths = [host.program, ...ownPathsOf(launched, machine)];
  const realpaths = new Map(paths.map((path) => [path, realpathOf(path)]));
  return new SelfReference(self, machine, realpaths).includes(launched);
}

function startsProgramElsewhere({ command, args }: LaunchedProgram, host: EditingHost): boolean {
  const wanted = bridgeLaunch(host, { config: undefined });
  const [script = '', action] = args;
  if (action !== 'connect' || basename(script) !== basename(wanted.args[0] ?? '')) return false;
  return command !== wanted.command || script !== wanted.args[0];
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    expectSystemError(error);
    return path; // A file that does not exist is not ours.
  }
}
