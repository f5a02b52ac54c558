// A survey of all definitions on this machine, as this user's daemon would see them from a directory, with the
// decisions about them; for showing and deciding. It asks no daemon, starts nothing and writes nothing.

import { accessSync, constants, statSync } from 'node:fs';
import { platform } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { type LoadedConfig, NO_CONFIG } from '../config/load.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { definitionHash, NOTHING_COVERED, StoredClientApprovals } from './approval.ts';
import { ApprovalFile, ClientApprovalFile, StoredApprovals } from './approval-file.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { type DiscoveringProcess, discoverHere, type OwnFindings, ownConfigOf } from './own-discovery.ts';
import type { RememberedLaunch } from './remembered-launch.ts';
import { LOST } from './source-reader.ts';

/** The directory to survey, and the bridge's own config there. */
export interface SurveyPlace {
  readonly own: DiscoveringProcess;
  /** The directory whose project is surveyed. */
  readonly cwd: string;
  readonly loaded: LoadedConfig;
  /** Directories of Agent Plugins, in addition to those of the config. */
  readonly agentPlugins: readonly string[];
  /** Faults of the config that are known already. */
  readonly failures: readonly string[];
}

export interface Survey {
  readonly discovery: OwnFindings;
  readonly approvals: StoredApprovals;
  readonly approvalFile: ApprovalFile;
  /** Definitions that other clients' approvals covered when first seen. */
  readonly clientApprovals: StoredClientApprovals;
  readonly config: LoadedConfig;
  readonly own: DiscoveringProcess;
  /** The directory whose project was surveyed. */
  readonly cwd: string;
  /** Programs and directories that ready servers need but this machine lacks. */
  readonly missing: ReadonlyMap<DiscoveredServer, string>;
  /** Faults of the bridge's own files. */
  readonly failures: readonly string[];
}

/** Surveys everything once. */
export async function takeSurvey(place: SurveyPlace): Promise<Survey> {
  const { own, cwd, agentPlugins } = place;
  const { environment, homedir } = own;
  const failures = [...place.failures];
  const loaded = await unlessBroken(() => ownConfigOf(place.loaded, own), NO_CONFIG, failures);
  const config = withPlugins(loaded, agentPlugins);
  failures.push(...config.faults.map((fault) => `${config.file}: ${fault}`));
  const approvalFile = new ApprovalFile(environment, homedir);
  const approvals = await unlessBroken(async () => approvalFile.read(), new StoredApprovals([]), failures);
  const stored = await unlessBroken(
    async () => new ClientApprovalFile(environment, homedir).read(),
    undefined,
    failures,
  );
  const seenApprovals = stored ?? NOTHING_COVERED;
  const discovery = withoutKnownFaults(await discoverHere(own, { cwd, config, approvals, seenApprovals }), config);
  const clientApprovals = stored ?? new StoredClientApprovals([]);
  const missing = missingPrograms(discovery.servers, environment);
  return { discovery, missing, approvals, approvalFile, clientApprovals, config, own, cwd, failures };
}

function withPlugins(loaded: LoadedConfig, dirs: readonly string[]): LoadedConfig {
  const { config } = loaded;
  const agentPlugins = [...config.discovery.agentPlugins, ...dirs];
  return dirs.length === 0
    ? loaded
    : { ...loaded, config: { ...config, discovery: { ...config.discovery, agentPlugins } } };
}

/** The decision about another definition at the same place, in the bridge or by another client's user. */
export interface EarlierDecision {
  /** In words, such as `it was approved on 2026-11-19`. */
  readonly words: string;
  readonly launch: RememberedLaunch;
}

export function decidedBefore(
  server: DiscoveredServer,
  { approvals, clientApprovals }: Survey,
): EarlierDecision | undefined {
  const hash = definitionHash(server);
  if (approvals.decisionOn(hash) !== undefined) return undefined;
  const own = approvals.lastBefore(hash, server);
  if (own !== undefined) return { words: `it was ${own.decision} on ${own.at.slice(0, 10)}`, launch: own.launch };
  const theirs = server.state === 'pending-approval' ? clientApprovals.definitionAt(server) : undefined;
  if (theirs === undefined) return undefined;
  return { words: `${theirs.client} approved it (seen on ${theirs.at.slice(0, 10)})`, launch: theirs.launch };
}

/** Drops diagnostics about the bridge's own servers that the config has already reported. */
function withoutKnownFaults(discovery: OwnFindings, { file, faults }: LoadedConfig): OwnFindings {
  const isTold = ({ code, path, server }: OwnFindings['diagnostics'][number]): boolean =>
    code === 'invalid-entry' && path === file && faults.some((fault) => fault.startsWith(`mcpServers.${server} `));
  return {
    ...discovery,
    diagnostics: discovery.diagnostics.filter((found) => !isTold(found)).map(withoutEarlierContent),
  };
}

/** Rewords a diagnostic, because a survey does not know the earlier contents that a daemon may have. */
function withoutEarlierContent(found: Diagnostic): Diagnostic {
  if (found.code === 'bad-container' || !found.message.endsWith(LOST)) return found;
  return { ...found, message: `${found.message.slice(0, -1)}, but for what a daemon that runs has read of it before.` };
}

/** Runs a step so that one broken file hides nothing else. */
async function unlessBroken<Result>(
  task: () => Promise<Result>,
  otherwise: Result,
  failures: string[],
): Promise<Result> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    failures.push(wordsOf(error));
    return otherwise;
  }
}

export function wordsOf({ message, hint }: BridgeError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

// --- missing programs ---

type Environment = Readonly<Record<string, string | undefined>>;

/** The missing program or file, by server. A daemon with another PATH may find programs that are missing here. */
function missingPrograms(
  servers: readonly DiscoveredServer[],
  environment: Environment,
): ReadonlyMap<DiscoveredServer, string> {
  const asked = new Map<string, boolean>();
  const isThere = (file: string): boolean => {
    const known = asked.get(file) ?? isProgram(file, environment);
    asked.set(file, known);
    return known;
  };
  return new Map(
    servers.flatMap((server) => {
      const missing = server.state === 'ready' ? missingOf(server, environment, isThere) : undefined;
      return missing === undefined ? [] : [[server, missing] as const];
    }),
  );
}

function missingOf(
  { transport, command = '', cwd, env }: DiscoveredServer,
  environment: Environment,
  isThere: (file: string) => boolean,
): string | undefined {
  if (transport !== 'stdio') return undefined;
  if (cwd !== undefined && isAbsolute(cwd) && !isDirectory(cwd)) return `there is no directory ${cwd}`;
  if (/[\\/]/.test(command)) {
    const isKnown = isAbsolute(command) || (cwd !== undefined && isAbsolute(cwd));
    return !isKnown || isThere(resolve(cwd ?? '.', command)) ? undefined : `there is no program ${command}`;
  }
  const path = env.PATH ?? environment.PATH;
  if (path === undefined) return undefined;
  const dirs = path.split(delimiter).filter((dir) => dir !== '');
  return dirs.some((dir) => isThere(join(dir, command))) ? undefined : `there is no program ${command} in PATH`;
}

function isProgram(file: string, { PATHEXT }: Environment): boolean {
  const endings = platform() === 'win32' ? ['', ...(PATHEXT ?? '.EXE;.CMD;.BAT;.COM').split(';')] : [''];
  return endings.some((ending) => {
    try {
      accessSync(`${file}${ending}`, constants.X_OK);
      return statSync(`${file}${ending}`).isFile();
    } catch (error) {
      expectSystemError(error);
      return false;
    }
  });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
