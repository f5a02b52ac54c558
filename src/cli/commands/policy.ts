// `mcp-bridge policy explain`: shows which rule allows or blocks a server.

import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { explainPolicy } from '../../discovery/policy.ts';
import { named } from '../../discovery/selection.ts';
import type { Survey } from '../../discovery/survey.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { rulingOn } from '../render/discovery-report.ts';
import { policyWords } from '../render/explanation.ts';
import { jsonText, printableLines } from '../render/table.ts';
import { tilde } from '../render/terminal.ts';
import { type SurveyValues, survey } from '../survey.ts';

export interface PolicyValues extends SurveyValues {
  readonly name: string;
  readonly json?: boolean | undefined;
}

export async function explainRule(values: PolicyValues, host: CliHost): Promise<number> {
  const found = await survey(values, host);
  const servers = named(found.discovery.servers, values.name);
  const warnings = found.discovery.diagnostics.filter(({ code }) => code === 'policy-rule');
  if (values.json === true) {
    const report = { servers: servers.map((server) => ruling(server, found)), warnings };
    host.stdout.write(jsonText(report));
    return DONE;
  }
  const lines = [
    ...servers.map((server) => sentence(server, found)),
    ...[...found.failures, ...warnings.map(({ message }) => message)].map((text) => `! ${text}`),
  ];
  for (const line of lines) host.stdout.write(`${printableLines(tilde(line, host))}\n`);
  return DONE;
}

function ruling(server: DiscoveredServer, { discovery }: Survey): object {
  const { id, name, client, scope, file, pointer, state } = server;
  return { id, name, client, scope, file, pointer, state, ...rulingOn(server, discovery) };
}

/** The result in words. Besides policy, other things may prevent a server's use. */
function sentence(server: DiscoveredServer, { discovery }: Survey): string {
  const { client, name, file, state, reason } = server;
  const words = policyWords(explainPolicy(server, discovery.policies));
  const other = state === 'ready' || state === 'blocked-by-policy' ? '' : ` Its state is ${state}: ${reason}.`;
  return `${client}:${name} in ${file} is ${words}.${other}`;
}
