// Whose rules hold for whom. What an administrator sets holds for the servers of every client, or the bridge would be a
// way around it; a user's own Claude Code lists hold for Claude Code's; the bridge's own for all.

import { type ClaudeSettings, type SettingsFile, settingsIn } from './claude-settings.ts';
import type { Report } from './diagnostic.ts';
import type { Machine } from './machine.ts';
import { basesOf } from './places/bases.ts';
import { decidePolicy, OPEN_POLICY, type Policy, type PolicyDecision, type PolicySubject } from './policy.ts';
import { type ListName, type PolicyRule, rulesIn } from './policy-rules.ts';
import type { SourceReader } from './source-reader.ts';
import { member, treeAt } from './tree.ts';

/** As in the bridge's config file. */
export interface OwnPolicy {
  readonly allowedMcpServers?: unknown;
  readonly deniedMcpServers?: unknown;
  /** It is not understood whom it denies. */
  readonly deniesAll?: true;
}

function unclearPolicy(file = 'the config'): PolicyRule {
  return { kind: 'unclear', label: 'policy', file };
}

export interface Policies {
  /** For the servers of every client: Claude Code's administrator's first. */
  readonly everybody: readonly Policy[];
  /** For Claude Code's. */
  readonly claude: Policy;
}

export interface PolicySources {
  readonly settings: ClaudeSettings;
  /** What Copilot CLI's administrator has set. */
  readonly copilot: readonly SettingsFile[];
  readonly own: OwnPolicy | undefined;
  /** The config file that it stands in. */
  readonly ownFile: string | undefined;
  readonly exclusiveFile: string | undefined;
  readonly machine: Machine;
  readonly report: Report;
}

export function policiesOf(sources: PolicySources): Policies {
  const { settings, copilot, own, ownFile, exclusiveFile, machine, report } = sources;
  const { managed } = settings;
  const isSet = (key: string): boolean => managed.some(({ value }) => member(value, key) === true);
  const env = environmentWith(managed, machine);
  const rules = (files: readonly SettingsFile[], list: ListName): PolicyRule[] | undefined => {
    const lists = files.map(({ path, value }) => rulesIn(member(value, list), list, { file: path, report, env }));
    return lists.every((found) => found === undefined) ? undefined : lists.flatMap((found) => found ?? []);
  };
  const admin: Policy = {
    allowed: rules(managed, 'allowedMcpServers'),
    denied: rules(managed, 'deniedMcpServers') ?? [],
    exclusiveFile,
    admitsHosted: isSet('allowAllClaudeAiMcps'),
    isPluginOnly: managed.some(({ value }) => isPluginOnly(member(value, 'strictPluginOnlyCustomization'))),
    refusesHosted: isSet('disableClaudeAiConnectors'),
  };
  const ofCopilot: Policy = {
    ...OPEN_POLICY,
    allowed: rules(copilot, 'allowedMcpServers'),
    denied: rules(copilot, 'deniedMcpServers') ?? [],
  };
  const ownReading = ownFile === undefined ? { file: 'policy' } : { file: ownFile, within: 'policy.' };
  const ownRules = (list: ListName): PolicyRule[] | undefined =>
    rulesIn(own?.[list], list, { ...ownReading, report, env, closes: true });
  const bridge: Policy = {
    ...OPEN_POLICY,
    allowed: ownRules('allowedMcpServers'),
    denied: [...(ownRules('deniedMcpServers') ?? []), ...(own?.deniesAll === true ? [unclearPolicy(ownFile)] : [])],
  };
  const ownAllowed = rules(settings.own, 'allowedMcpServers');
  const isManagedOnly = isSet('allowManagedMcpServersOnly');
  const bothAllowed = joined(admin.allowed, ownAllowed);
  const claude: Policy = {
    ...admin,
    allowed: isManagedOnly ? admin.allowed : bothAllowed,
    denied: [...admin.denied, ...(rules(settings.own, 'deniedMcpServers') ?? [])],
    refusesHosted: admin.refusesHosted || settings.own.some(({ value }) => value.disableClaudeAiConnectors === true),
  };
  return { everybody: [admin, ofCopilot, bridge], claude };
}

export async function copilotPolicyFiles(reader: SourceReader, machine: Machine): Promise<SettingsFile[]> {
  const dirs = basesOf(machine).get('COPILOT_MANAGED')?.dirs ?? [];
  const found = await Promise.all(
    dirs.map((dir) => settingsIn(reader, machine.path.join(dir, 'managed-settings.json'))),
  );
  return found.flat();
}

/** The first refusal, or the last permission. For Claude Code the lists of all its settings are one. */
export function explainPolicy(server: PolicySubject & { readonly client: string }, policies: Policies): PolicyDecision {
  const [admin = OPEN_POLICY, ...others] = policies.everybody;
  const decisions = [server.client === 'claude-code' ? policies.claude : admin, ...others].map((policy) =>
    decidePolicy(server, policy),
  );
  const [first = { isAllowed: true, rule: undefined } as const] = decisions;
  return decisions.find(({ isAllowed }) => !isAllowed) ?? decisions.find(({ rule }) => rule !== undefined) ?? first;
}

type Rules = readonly PolicyRule[] | undefined;

function joined(a: Rules, b: Rules): Rules {
  return a === undefined && b === undefined ? undefined : [...(a ?? []), ...(b ?? [])];
}

function isPluginOnly(value: unknown): boolean {
  return value === true || (Array.isArray(value) && value.includes('mcp'));
}

/** The environment at the start, and what the administrator adds to it. */
function environmentWith(managed: readonly SettingsFile[], machine: Machine): Machine['env'] {
  const added = new Map(managed.flatMap(({ value }) => Object.entries(treeAt(value, 'env') ?? {})));
  return (name) => {
    const value = added.get(name);
    return typeof value === 'string' ? value : machine.env(name);
  };
}
