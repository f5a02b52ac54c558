// Who may be used. A pure decision over one definition, which names the rule that it rests on. Denial beats permission,
// and nothing a user writes can take back what an administrator has denied.

import type { DiscoveredServer } from './discovered-server.ts';
import type { PolicyRule } from './policy-rules.ts';
import { fitsUrl } from './url-pattern.ts';

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

export type PolicySubject = Pick<
  DiscoveredServer,
  'name' | 'scope' | 'file' | 'transport' | 'command' | 'args' | 'url'
>;

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

/** Names count only where no rule says what may be started, or connected to. */
function byPermission(server: PolicySubject, { allowed }: Policy): PolicyDecision {
  if (allowed === undefined) return { isAllowed: true, rule: undefined };
  const precise = allowed.filter(({ kind }) => kind === (server.transport === 'stdio' ? 'command' : 'url'));
  const counting = precise.length > 0 ? precise : allowed.filter(({ kind }) => kind === 'name');
  const rule = counting.find((candidate) => fits(server, candidate));
  if (rule !== undefined) return { isAllowed: true, rule: labelOf(rule) };
  return refusal('allowedMcpServers', 'no rule of allowedMcpServers allows it');
}

function fits(server: PolicySubject, rule: PolicyRule): boolean {
  switch (rule.kind) {
    case 'name':
      return server.name === rule.name;
    case 'command':
      return server.transport === 'stdio' && sameTexts([server.command ?? '', ...server.args], rule.argv);
    case 'unclear':
      return true;
    case 'url':
      return server.transport !== 'stdio' && server.url !== undefined && fitsUrl(server.url, rule.pattern);
  }
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}

function labelOf({ label, file }: PolicyRule): string {
  return `${label} in ${file}`;
}

function refusal(rule: string, reason: string): PolicyDecision {
  return { isAllowed: false, rule, reason };
}
