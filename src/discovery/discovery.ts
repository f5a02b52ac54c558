// Finds MCP server definitions in the files of every known client, and decides what becomes of each, with the reason.
// It starts nothing, writes nothing, and reads everything through the host it is given.

import type { ProcessIdentity } from '../local/process-identity.ts';
import {
  type Approvals,
  type Consent,
  decideApproval,
  type FirstSeen,
  NOTHING_SEEN,
  type SeenApprovals,
} from './approval.ts';
import { basesOf, relativeVariables } from './bases.ts';
import { type ClaudeSettings, readClaudeSettings } from './claude-settings.ts';
import { switchOff } from './client-switches.ts';
import { type Definer, define, type PlacedEntry } from './definition.ts';
import { type Diagnostic, diagnostic } from './diagnostic.ts';
import { byOrder, byPrecedence, type DiscoveredServer, type Draft, withState } from './discovered-server.ts';
import { type Conflict, type Group, groupDuplicates } from './duplicates.ts';
import { type Gathering, type GivenServers, gather, givenEntries } from './gathering.ts';
import { type HeldNames, NO_HELD_NAMES } from './held-names.ts';
import type { DiscoveryHost } from './host.ts';
import { environmentReference } from './inputs.ts';
import { mergeLayers } from './layers.ts';
import {
  agentPluginLocations,
  type Location,
  locationsBeside,
  managedLocations,
  type Override,
  overrideOf,
  registryLocations,
  sourceLocations,
  tellShellFiles,
  withMoved,
} from './locations.ts';
import { type Machine, machineOf, suppliedVariable } from './machine.ts';
import { named } from './naming.ts';
import { codexPlugins, copilotPlugins, linkedExtensions, mergeExtensions, pluginLocations } from './plugins.ts';
import { copilotPolicyFiles, explainPolicy, type OwnPolicy, type Policies, policiesOf } from './policy.ts';
import { type Precedence, shadow } from './precedence.ts';
import { projectTest, trustCodexProjects } from './project-trust.ts';
import { ownPathsOf, SelfReference } from './self-reference.ts';
import { SourceMemory, type SourceVisit } from './source-memory.ts';
import { type PauseBeforeRetry, SourceReader } from './source-reader.ts';
import { withEnvFile } from './text-variables.ts';

export interface DiscoveryOptions {
  readonly precedence?: Precedence;
  /** Decisions about definitions of projects, by the hash of the definition. */
  readonly approvals?: Approvals;
  /** Definitions that other clients' approvals covered when first seen; if missing, all approvals are new. */
  readonly seenApprovals?: SeenApprovals;
  readonly policy?: OwnPolicy;
  /** The bridge's config if it was read already. Then other configs of the bridge count as a project's. */
  readonly ownConfig?: OwnConfig;
  /** Ignores all other clients' definitions. The bridge's own are subject to everybody's policy anyway. */
  readonly isOwnOnly?: boolean;
  /** True if definitions will be written to a file: then environment variables become references instead of values. */
  readonly isToBeWritten?: boolean;
  /** Returns values for the inputs and secrets that definitions ask for. */
  readonly input?: (id: string) => string | undefined;
  /** Definitions from elsewhere than files: from flags, a config that is a program, or hosted connectors. */
  readonly given?: readonly GivenServers[];
  /** Directories of Agent Plugins, each with a plugin.json and an mcp.json. */
  readonly agentPlugins?: readonly string[];
  /** More files and directories of definitions. */
  readonly sources?: readonly string[];
  /** More registries of running servers, and if any of their servers may be on other machines. */
  readonly registries?: { readonly files: readonly string[]; readonly mayBeRemote: boolean };
  /** If given, a broken file is read again after a short pause. */
  readonly pause?: PauseBeforeRetry;
  /** The ids already given: each definition keeps its own, and no other gets it. */
  readonly heldNames?: HeldNames;
  /** Files read by earlier discoveries: only changed files are read again. */
  readonly memory?: SourceMemory;
}

export interface OwnConfig {
  readonly file: string | undefined;
  /** `mcpServers`, as written. */
  readonly servers: unknown;
}

export interface Discovery {
  readonly servers: readonly DiscoveredServer[];
  readonly diagnostics: readonly Diagnostic[];
  /** Groups of definitions that are the same server. */
  readonly groups: readonly Group[];
  /** Different servers with the same name. */
  readonly conflicts: readonly Conflict[];
  /** Processes of running servers; a server ends with its process. */
  readonly processes: readonly ProcessIdentity[];
  /** The policies for `explainPolicy`. */
  readonly policies: Policies;
  /** Ids that were given for the first time. The caller must save them to keep them. */
  readonly givenNames: HeldNames;
  /** Definitions that run because another client's approval is new. The caller must save these before serving them. */
  readonly firstSeen: readonly FirstSeen[];
}

export function discoverServers(host: DiscoveryHost, options: DiscoveryOptions = {}): Promise<Discovery> {
  const { memory = new SourceMemory() } = options;
  return memory.visit(host.cwd, (visit) => discoverIn(visit, host, options));
}

async function discoverIn(visit: SourceVisit, host: DiscoveryHost, options: DiscoveryOptions): Promise<Discovery> {
  const diagnostics: Diagnostic[] = [];
  const report = (found: Diagnostic): void => {
    diagnostics.push(found);
  };
  const reader = new SourceReader(host, visit, report, options.pause);
  const here = await machineOf(host, (path) => reader.isThere(path));
  const machine = options.isToBeWritten === true ? { ...here, variable: environmentReference } : here;
  const isProject = await projectTest(reader, machine);
  const gathering: Gathering = { reader, machine, report, isProject };
  const settings = await readClaudeSettings(reader, machine, isProject);
  const { entries, exclusiveFile } = await entriesOf(gathering, settings, options);
  const policies = policiesOf({
    ...{ settings, exclusiveFile, machine, report },
    copilot: await copilotPolicyFiles(reader, machine),
    ...{ own: options.policy, ownFile: options.ownConfig?.file },
  });
  const drafts = await draftsOf(entries, gathering, options);
  const known = await withoutSelf(drafts, host, gathering);
  const firstSeen: FirstSeen[] = [];
  const decided = decide(known, {
    settings,
    policies,
    options,
    machine,
    firstSeen: (first) => void firstSeen.push(first),
  });
  const { drafts: grouped, groups, conflicts } = groupDuplicates(decided, report);
  const processes = entries.flatMap(({ process }) => process ?? []);
  const { servers, given } = named(grouped, options.heldNames);
  return {
    servers,
    diagnostics: inOrder(diagnostics),
    groups,
    conflicts,
    processes,
    policies,
    givenNames: given,
    firstSeen,
  };
}

interface Found {
  readonly entries: readonly PlacedEntry[];
  readonly exclusiveFile: string | undefined;
}

async function entriesOf(gathering: Gathering, settings: ClaudeSettings, options: DiscoveryOptions): Promise<Found> {
  const { reader, machine, report } = gathering;
  const managed = managedLocations(machine);
  const locations = options.isOwnOnly === true ? [] : await locationsFor(gathering, settings, options);
  const mayBeRemote = options.registries?.mayBeRemote ?? false;
  const found = await gather(
    locations.map((location) => (location.format === 'registry' ? { ...location, mayBeRemote } : location)),
    gathering,
  );
  const trusted = await switchOff(mergeExtensions(await trustCodexProjects(found, gathering)), gathering);
  const given = givenEntries([...ownServers(options.ownConfig), ...(options.given ?? [])], {
    machine,
    report,
    isProject: gathering.isProject,
  });
  return { entries: mergeLayers([...trusted, ...given]), exclusiveFile: await exclusiveAmong(managed, reader) };
}

async function locationsFor(
  gathering: Gathering,
  settings: ClaudeSettings,
  options: DiscoveryOptions,
): Promise<Location[]> {
  const { reader, machine } = gathering;
  const override = overrideOf(machine);
  tellRelative(gathering, override);
  if (override === undefined) {
    await tellShellFiles(gathering);
    return [
      ...(await withMoved(locationsBeside(options.ownConfig, machine), gathering)),
      ...(await pluginLocations(reader, machine, settings)),
      ...(await codexPlugins(reader, machine, dirOf(machine, 'CODEX'))),
      ...(await copilotPlugins(reader, machine, dirOf(machine, 'COPILOT'))),
      ...(await linkedExtensions(reader, machine)),
      ...agentPluginLocations(machine, options.agentPlugins ?? []),
      ...(await Promise.all(
        sourceLocations(options.sources ?? []).map((location) => namedBy('discovery.sources', location, gathering)),
      )),
      ...registryLocations(options.registries?.files ?? []),
    ];
  }
  return [
    ...managedLocations(machine),
    ...(await Promise.all(override.locations.map((location) => namedBy('MCP_SERVERS_CONFIG', location, gathering)))),
  ];
}

function dirOf(machine: Machine, base: string): string {
  return basesOf(machine).get(base)?.dirs[0] ?? '';
}

function ownServers(ownConfig: OwnConfig | undefined): GivenServers[] {
  if (ownConfig?.file === undefined) return [];
  return [{ client: 'bridge', scope: 'dynamic', file: ownConfig.file, servers: ownConfig.servers }];
}

function tellRelative({ machine, report }: Gathering, override: Override | undefined): void {
  for (const path of override?.refused ?? []) {
    const message = `MCP_SERVERS_CONFIG names ${path}, which is another file in each directory. It is not read: name it absolutely, or with ~.`;
    report(diagnostic('unreadable', message, { name: 'MCP_SERVERS_CONFIG' }));
  }
  for (const name of relativeVariables(machine)) {
    const message = `${name} names a place that is another one in each directory. It is not heeded: name it absolutely.`;
    report(diagnostic('unreadable', message, { name }));
  }
}

/** Finds a file, or the files in a directory. */
async function namedBy(who: string, location: Location, { reader, report }: Gathering): Promise<Location> {
  const { path } = location;
  if ((await reader.list(path)).length > 0) return { ...location, pattern: ['*.json'] };
  const reading = await reader.read(path, 'json');
  if (reading.kind === 'absent')
    report(diagnostic('unreadable', `${who} names ${path}, which is not there.`, { path }));
  return location;
}

/** An unreadable file allows nothing: otherwise breaking it would be a way around it. */
async function exclusiveAmong(managed: readonly Location[], reader: SourceReader): Promise<string | undefined> {
  for (const { path } of managed) if ((await reader.read(path, 'json')).kind !== 'absent') return path;
  return undefined;
}

async function draftsOf(
  entries: readonly PlacedEntry[],
  { reader, machine, report }: Gathering,
  options: DiscoveryOptions,
): Promise<Draft[]> {
  const definer: Definer = {
    machine,
    report,
    input: (id) => options.input?.(id) ?? suppliedVariable(inputVariable(id), machine),
  };
  return Promise.all(
    entries.map((entry) => {
      const { draft, envFile } = define(entry, definer);
      const readText = (path: string): Promise<string | undefined> => reader.readText(path, entry.awaitsApproval);
      return envFile === undefined ? draft : withEnvFile(draft, envFile, { machine, readText });
    }),
  );
}

/** The environment variable that can supply an input: MCP_BRIDGE_INPUT_API_KEY for `api-key`. */
export function inputVariable(id: string): string {
  return `MCP_BRIDGE_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;
}

const LIVE = new Set(['ready', 'disabled', 'needs-input']);

async function withoutSelf(
  drafts: readonly Draft[],
  { self }: DiscoveryHost,
  { reader, machine }: Gathering,
): Promise<Draft[]> {
  const isMeant = ({ state, url = '' }: Draft): boolean => LIVE.has(state) || url.startsWith('unix:');
  const asked = drafts.filter(isMeant).flatMap((draft) => ownPathsOf(draft, machine));
  const paths = [...new Set([...asked, ...self.bins.filter((bin) => machine.path.isAbsolute(bin))])];
  const real = await Promise.all(paths.map(async (path) => [path, await reader.realpath(path)] as const));
  const reference = new SelfReference(self, machine, new Map(real));
  return drafts.map((draft) =>
    isMeant(draft) && reference.includes(draft) ? withState(draft, 'self', 'it leads back to this bridge') : draft,
  );
}

interface Deciding {
  readonly settings: ClaudeSettings;
  readonly policies: Policies;
  readonly options: DiscoveryOptions;
  readonly machine: Machine;
  readonly firstSeen: Consent['firstSeen'];
}

const GOVERNED = new Set([...LIVE, 'pending-approval']);

/** Decides about all drafts. Excluded drafts are ignored everywhere; drafts that a list denies are merged first. */
function decide(drafts: readonly Draft[], { settings, policies, options, machine, firstSeen }: Deciding): Draft[] {
  const { precedence = 'scope', approvals = new Map(), heldNames = NO_HELD_NAMES } = options;
  const { root, path } = machine;
  const seen = options.seenApprovals ?? NOTHING_SEEN;
  const consent: Consent = { approvals, claude: settings.decide, seen, root, path, firstSeen };
  const isExclusive = policies.everybody.some(({ exclusiveFile }) => exclusiveFile !== undefined);
  const govern = (draft: Draft): Draft => {
    const decision = explainPolicy(draft, policies);
    if (decision.isAllowed || !GOVERNED.has(draft.state)) return draft;
    return withState(draft, 'blocked-by-policy', decision.reason);
  };
  const admitted = isExclusive ? drafts.map(govern) : drafts;
  const agreed = admitted.map((draft) => decideApproval(draft, consent));
  const decided = shadow(agreed, precedence, heldNames).map(govern);
  return decided.sort(precedence === 'first-wins' ? byOrder : byPrecedence);
}

/** Sorts and removes duplicates: a file may be read for several reasons, and disks list files in any order. */
function inOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const wordOf = ({ path = '', server = '', code, name = '', message }: Diagnostic): string =>
    JSON.stringify([path, server, code, name, message]);
  const distinct = new Map(diagnostics.map((found) => [wordOf(found), found]));
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found);
}
