// Decides which servers may be used, by rules from several places. An administrator's rules apply to every client's
// servers; a user's own Claude Code lists to Claude Code's; the bridge's rules to all. Denial beats permission, and a
// user cannot lift an administrator's denial.

import { basesOf } from './bases.ts';
import { type ClaudeSettings, type SettingsFile, settingsIn } from './claude-settings.ts';
import type { Report } from './diagnostic.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import type { Machine } from './machine.ts';
import { type ListName, type PolicyRule, rulesIn } from './policy-rules.ts';
import type { SourceReader } from './source-reader.ts';
import { member, treeAt } from './tree.ts';
import { fitsGlob, fitsUrl } from './url-pattern.ts';

export interface Policy {
  /** Undefined if everything is allowed that is not denied. */
  readonly allowed: readonly PolicyRule[] | undefined;
  readonly denied: readonly PolicyRule[];
  /** The file that replaces all others. */
  readonly exclusiveFile: string | undefined;
  readonly admitsHosted: boolean;
  readonly isPluginOnly: boolean;
  readonly refusesHosted: boolean;
}

export const OPEN_POLICY: Policy = {
  allowed: undefined,
  denied: [],
  exclusiveFile: undefined,
  admitsHosted: false,
  isPluginOnly: false,
  refusesHosted: false,
};

/** `rule` is the location of the rule, such as `deniedMcpServers[0] in FILE`; undefined if no rule decided. */
export type PolicyDecision =
  | { readonly isAllowed: true; readonly rule: string | undefined }
  | { readonly isAllowed: false; readonly rule: string; readonly reason: string };

export interface PolicySubject extends Pick<DiscoveredServer, 'name' | 'scope' | 'file' | 'command' | 'args' | 'url'> {
  readonly transport: DiscoveredServer['transport'] | 'dial-in';
}

/** The first refusal of a server that connected by itself; undefined if it is allowed. */
export function refusalOfDialIn(name: string, policies: readonly Policy[]): PolicyDecision | undefined {
  const what = { transport: 'dial-in', command: undefined, args: [], url: undefined } as const;
  const server: PolicySubject = { name, scope: 'dial-in', file: '', ...what };
  return policies.map((policy) => decidePolicy(server, policy)).find(({ isAllowed }) => !isAllowed);
}

export function decidePolicy(server: PolicySubject, policy: Policy): PolicyDecision {
  return byMode(server, policy) ?? byDenial(server, policy) ?? byPermission(server, policy);
}

function byMode(server: PolicySubject, policy: Policy): PolicyDecision | undefined {
  const isHosted = server.scope === 'hosted';
  const { exclusiveFile } = policy;
  if (exclusiveFile !== undefined && server.file !== exclusiveFile && !(isHosted && policy.admitsHosted))
    return refusal(exclusiveFile, `only the servers in ${exclusiveFile} may be used`);
  if (isHosted && policy.refusesHosted)
    return refusal('disableClaudeAiConnectors', 'hosted connectors are switched off by policy');
  if (policy.isPluginOnly && server.scope !== 'plugin' && server.file !== exclusiveFile)
    return refusal('strictPluginOnlyCustomization', 'only the servers of plugins may be used');
  return undefined;
}

function byDenial(server: PolicySubject, { denied }: Policy): PolicyDecision | undefined {
  const rule = denied.find((candidate) => fits(server, candidate));
  return rule && refusal(labelOf(rule), `it is denied by ${labelOf(rule)}`);
}

/**
 * Applies the allow list. Names count only if no rule is about commands or URLs; a server that connects by itself has
 * only a name.
 */
function byPermission(server: PolicySubject, { allowed }: Policy): PolicyDecision {
  if (allowed === undefined) return { isAllowed: true, rule: undefined };
  const precise = allowed.filter(({ kind }) => kind === preciseKindOf(server));
  const counting = precise.length > 0 ? precise : allowed.filter(({ kind }) => kind === 'name');
  const rule = counting.find((candidate) => fits(server, candidate));
  if (rule !== undefined) return { isAllowed: true, rule: labelOf(rule) };
  return refusal('allowedMcpServers', 'no rule of allowedMcpServers allows it');
}

function preciseKindOf({ transport }: PolicySubject): PolicyRule['kind'] | undefined {
  if (transport === 'dial-in') return undefined;
  return transport === 'stdio' ? 'command' : 'url';
}

function fits(server: PolicySubject, rule: PolicyRule): boolean {
  switch (rule.kind) {
    case 'name':
      return server.name === rule.name || (rule.hasWildcards && fitsGlob(server.name, rule.name));
    case 'command':
      return server.transport === 'stdio' && fitsCommand([server.command ?? '', ...server.args], rule);
    case 'unclear':
      return true;
    case 'url':
      return server.transport !== 'stdio' && server.url !== undefined && fitsUrl(server.url, rule.pattern);
  }
}

/** Matches a command. With wildcards, a lone star at the end matches all further arguments. */
function fitsCommand(argv: readonly string[], rule: PolicyRule & { kind: 'command' }): boolean {
  const { hasWildcards } = rule;
  const isOpen = hasWildcards && rule.argv.at(-1) === '*';
  const wanted = isOpen ? rule.argv.slice(0, -1) : rule.argv;
  if (isOpen ? argv.length < wanted.length : argv.length !== wanted.length) return false;
  return wanted.every((text, i) => argv[i] === text || (hasWildcards && fitsGlob(argv[i] ?? '', text)));
}

function labelOf({ label, file }: PolicyRule): string {
  return `${label} in ${file}`;
}

function refusal(rule: string, reason: string): PolicyDecision {
  return { isAllowed: false, rule, reason };
}

/** The policy in the bridge's config file. */
export interface OwnPolicy {
  readonly allowedMcpServers?: unknown;
  readonly deniedMcpServers?: unknown;
  /** True if it cannot be parsed: then it denies everything. */
  readonly deniesAll?: true;
}

function unclearPolicy(file = 'the config'): PolicyRule {
  return { kind: 'unclear', label: 'policy', file };
}

export interface Policies {
  /** For every client's servers; those of Claude Code's administrator come first. */
  readonly everybody: readonly Policy[];
  /** For Claude Code's servers. */
  readonly claude: Policy;
}

export interface PolicySources {
  readonly settings: ClaudeSettings;
  /** The rules of Copilot CLI's administrator. */
  readonly copilot: readonly SettingsFile[];
  readonly own: OwnPolicy | undefined;
  /** The config file that contains it. */
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

/** The first refusal, or the last permission. For Claude Code, all its settings' lists count as one. */
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

/** The environment at the start, with the administrator's additions. */
function environmentWith(managed: readonly SettingsFile[], machine: Machine): Machine['env'] {
  const added = new Map(managed.flatMap(({ value }) => Object.entries(treeAt(value, 'env') ?? {})));
  return (name) => {
    const value = added.get(name);
    return typeof value === 'string' ? value : machine.env(name);
  };
}
