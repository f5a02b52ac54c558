// Who may be used. A pure decision over one definition, which names the rule that it rests on. Denial beats permission,
// and nothing a user writes can take back what an administrator has denied.

import type { DiscoveredServer } from './discovered-server.ts';
import type { PolicyRule } from './policy-rules.ts';
import { fitsGlob, fitsUrl } from './url-pattern.ts';

export interface Policy {
  /** Undefined when everything is allowed that is not denied. */
  readonly allowed: readonly PolicyRule[] | undefined;
  readonly denied: readonly PolicyRule[];
  /** The file that takes all others' place. */
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

/** `rule` is where it is written, such as `deniedMcpServers[0] in FILE`; undefined when no rule was needed. */
export type PolicyDecision =
  | { readonly isAllowed: true; readonly rule: string | undefined }
  | { readonly isAllowed: false; readonly rule: string; readonly reason: string };

export interface PolicySubject extends Pick<DiscoveredServer, 'name' | 'scope' | 'file' | 'command' | 'args' | 'url'> {
  readonly transport: DiscoveredServer['transport'] | 'dial-in';
}

/** The first refusal of a server that has connected by itself; undefined if it may be used. */
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
 * Names count only where no rule says what may be started, or connected to; who connects by itself has nothing but a
 * name.
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

/** With wildcards, a star that stands alone at the end is for any further arguments. */
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
