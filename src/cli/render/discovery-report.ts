// The definitions that were found, as JSON for scripts, without secrets.

import { definitionHash } from '../../discovery/approval.ts';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { maskedText } from '../../discovery/masked-text.ts';
import { explainPolicy } from '../../discovery/policy.ts';
import { differencesIn } from '../../discovery/remembered-launch.ts';
import { shownLaunch, sourcesOfLaunch } from '../../discovery/shown-launch.ts';
import { decidedBefore, type Survey } from '../../discovery/survey.ts';
import { hostOfUrl } from '../../discovery/url-form.ts';

export function reportOf(found: Survey, servers: readonly DiscoveredServer[] = found.discovery.servers): object {
  const { discovery, config, failures, cwd } = found;
  const { diagnostics, groups, conflicts } = discovery;
  return {
    cwd,
    isEnabled: config.config.discovery.isEnabled,
    servers: servers.map((server) => serverReport(server, found)),
    diagnostics: [...failures.map((message) => ({ level: 'error', code: 'bridge-file', message })), ...diagnostics],
    groups,
    conflicts,
  };
}

/** One definition. Missing values are null. */
export function serverReport(server: DiscoveredServer, found: Survey): object {
  const { approvals, discovery, missing } = found;
  const decision = approvals.decisionOn(definitionHash(server));
  const before = decidedBefore(server, found);
  const shown = shownLaunch(server);
  return {
    ...placeOf(server),
    state: server.state,
    reason: server.reason ?? null,
    missing: missing.get(server) ?? null,
    transport: shown.transport,
    command: shown.command ?? null,
    args: shown.args,
    cwd: shown.cwd ?? null,
    url: shown.url ?? null,
    headersHelper: shown.headersHelper ?? null,
    variables: shown.env,
    executed: shown.executed,
    envFile: shown.envFile ?? null,
    headers: shown.headers,
    host:
      server.transport === 'stdio' ? null : (hostOfUrl(server.url ?? '', server.raw.url ?? server.url ?? '') ?? null),
    takes: sourcesOfLaunch(server.raw),
    inputs: server.inputs,
    timeoutMs: server.timeoutMs ?? null,
    startupTimeoutMs: server.startupTimeoutMs ?? null,
    tools: { allow: server.tools.allow ?? null, deny: server.tools.deny },
    ignored: server.ignored,
    description: maskedText(server.description),
    policy: rulingOn(server, discovery),
    decision: decision === undefined ? null : { decision: decision.decision, at: decision.at },
    differences: before === undefined ? [] : differencesIn(server, before.launch),
  };
}

function placeOf({ id, name, alias, client, scope, file, realpath, pointer, sources }: DiscoveredServer): object {
  return { id, name, alias, client, scope, file, realpath, pointer, sources };
}

/** The policy rule that decides about it. */
export function rulingOn(server: DiscoveredServer, { policies }: Survey['discovery']): object {
  const decision = explainPolicy(server, policies);
  const { isAllowed, rule = null } = decision;
  return { isAllowed, rule, reason: decision.isAllowed ? null : decision.reason };
}
