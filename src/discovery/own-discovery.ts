// Discovery as the bridge itself runs it, so that daemon and commands get the same result: on this machine, under its
// config, and with its approvals.

import type { Config } from '../config/config.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Approvals, SeenApprovals } from './approval.ts';
import { diagnostic } from './diagnostic.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { type Discovery, discoverServers } from './discovery.ts';
import { type HeldNames, HeldNamesFile, NO_HELD_NAMES } from './held-names.ts';
import type { DiscoveryHost } from './host.ts';
import { KeptInputs, type ReferredValues, referenceTo } from './inputs.ts';
import { locationsOf } from './locations.ts';
import { machineOf } from './machine.ts';
import { nodeDiscoveryHost } from './node-host.ts';
import type { SourceMemory } from './source-memory.ts';
import { SwitchedServers } from './switched-servers.ts';

export { ApprovalFile, ClientApprovalFile } from './approval-file.ts';

/** The process that runs discovery. */
export interface DiscoveringProcess {
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly homedir: string;
  /** The file that runs `mcp-bridge`. */
  readonly program: string;
  readonly socketPath: string;
  /** The bridge's HTTP address besides its socket, as the beginning of a URL. */
  readonly httpOrigin?: string | undefined;
}

/** The parts of a config that discovery needs. */
export type ConfigForDiscovery = Pick<LoadedConfig, 'file' | 'servers'> & {
  readonly config: Pick<Config, 'servers' | 'discovery' | 'serverSettings'>;
};

export interface OwnDiscoveryOptions {
  /** The directory of the project to look at; a home directory is no project. */
  readonly cwd: string;
  readonly config: ConfigForDiscovery;
  readonly approvals: Approvals;
  /** Definitions that other clients' approvals covered before. */
  readonly seenApprovals: SeenApprovals;
  readonly isOwnOnly?: boolean;
  /** True if definitions will be written to a file: inputs and variables become references, never values. */
  readonly isToBeWritten?: boolean;
  /** True if ids given here are saved. Read-only uses save nothing. */
  readonly keepsNames?: boolean;
  /** The memory, for a process that discovers repeatedly. */
  readonly memory?: SourceMemory;
}

/** Another process may give the same ids at the same time. */
const MOST_TRIES = 5;

export interface OwnFindings extends Discovery {
  /** For references in the bridge's own definitions. */
  readonly values: ReferredValues;
}

/** Runs discovery with the user's input values and switched-off servers. */
export async function discoverHere(own: DiscoveringProcess, options: OwnDiscoveryOptions): Promise<OwnFindings> {
  const [inputs, inputFault] = attempted(() => new KeptInputs(own.environment, own.homedir).read(), new Map());
  const [off, switchFault] = attempted(() => new SwitchedServers(own.environment, own.homedir).read(), new Set());
  const found = await discoverNamed(own, options, inputs);
  const values = { inputs, environment: own.environment };
  const faults = [inputFault, switchFault].filter((fault) => fault !== undefined);
  return faults.reduce(
    withDiagnostic,
    off.size === 0 ? { ...found, values } : { ...found, values, servers: found.servers.map(switchedBy(off)) },
  );
}

function switchedBy(off: ReadonlySet<string>) {
  return (server: DiscoveredServer): DiscoveredServer => {
    if (server.state !== 'ready' || !off.has(server.id)) return server;
    return {
      ...server,
      state: 'disabled',
      reason: `it is switched off: mcp-bridge enable ${server.id}`,
      isOffHere: true,
    };
  };
}

type Inputs = ReferredValues['inputs'];

async function discoverNamed(
  own: DiscoveringProcess,
  options: OwnDiscoveryOptions,
  inputs: Inputs,
): Promise<Discovery> {
  const discover = (heldNames: HeldNames): Promise<Discovery> => discoverWith(own, options, { heldNames, inputs });
  if (options.isOwnOnly === true) return discover(NO_HELD_NAMES);
  const file = new HeldNamesFile(own.environment, own.homedir);
  for (let tries = 1; ; tries++) {
    const [held, unreadable] = attempted(() => file.read(), NO_HELD_NAMES);
    const found = await discover(held);
    if (unreadable !== undefined) return withDiagnostic(found, unreadable);
    if (options.keepsNames !== true || found.givenNames.size === 0) return found;
    try {
      if ((await file.add(found.givenNames)) || tries >= MOST_TRIES) return found;
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      return withDiagnostic(found, error);
    }
  }
}

function discoverWith(
  own: DiscoveringProcess,
  { cwd, config, approvals, seenApprovals, memory, isOwnOnly = false, isToBeWritten = false }: OwnDiscoveryOptions,
  { heldNames, inputs }: { readonly heldNames: HeldNames; readonly inputs: Inputs },
): Promise<Discovery> {
  const { precedence, policy, registries, sources, agentPlugins } = config.config.discovery;
  return discoverServers(hostOf(own, cwd), {
    precedence,
    policy,
    registries,
    sources,
    agentPlugins,
    approvals,
    seenApprovals,
    isOwnOnly,
    heldNames,
    isToBeWritten,
    input: isToBeWritten ? referenceTo(inputs) : (id) => inputs.get(id),
    // With a memory, no retry is needed: the watcher reports when a half-written file is complete.
    ...(memory === undefined ? { pause } : { memory }),
    ownConfig: { file: config.file, servers: config.servers },
  });
}

function attempted<Value>(task: () => Value, otherwise: Value): [Value, BridgeError | undefined] {
  try {
    return [task(), undefined];
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return [otherwise, error];
  }
}

/** Adds a diagnostic: servers are found anyway, but their ids may differ next time. */
function withDiagnostic<Found extends Discovery>(found: Found, { message, hint }: BridgeError): Found {
  const told = diagnostic('unreadable', `${message}.${hint === undefined ? '' : ` ${hint}`}`);
  return { ...found, diagnostics: [told, ...found.diagnostics] };
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function hostOf(
  { platform, environment: env, homedir, program, socketPath, httpOrigin }: DiscoveringProcess,
  cwd: string,
): DiscoveryHost {
  const endpoints = [`unix://${socketPath}`, ...(httpOrigin === undefined ? [] : [httpOrigin])];
  const self = { bins: ['mcp-bridge', program], packages: ['mcp-bridge'], endpoints };
  return nodeDiscoveryHost({ platform, homedir, cwd, env, self });
}

/** A file or pattern of files, and the client it belongs to. */
export interface LookedAt {
  readonly client: string;
  readonly path: string;
}

/** All places where definitions may be, existing or not. */
export async function placesHere(own: DiscoveringProcess, cwd: string): Promise<LookedAt[]> {
  const host = hostOf(own, cwd);
  const machine = await machineOf(host, (path) => isThere(host, path));
  return locationsOf(machine).map(({ client, path, pattern }) => ({
    client,
    path: machine.path.join(path, ...pattern),
  }));
}

function isThere({ files }: DiscoveryHost, path: string): Promise<boolean> {
  return files.realpath(path).then(
    () => true,
    () => false,
  );
}

/**
 * The config for daemons that clients start. A config in the working directory does not count, because the repository's
 * author may have written it.
 */
export function ownConfigOf(loaded: LoadedConfig, { environment, homedir }: DiscoveringProcess): Promise<LoadedConfig> {
  if (loaded.origin !== 'directory') return Promise.resolve(loaded);
  return loadConfig({ cwd: homedir, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME, runsPrograms: true });
}
