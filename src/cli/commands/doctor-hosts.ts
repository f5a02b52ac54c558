// Findings of `doctor` about other hosts: whether NATS is reachable, has the buckets and permits their use, which hosts
// are there, and whether stateful servers are served.

import type { ControlClient } from '../../client/control-client.ts';
import type { FederationReport } from '../../model/federation-report.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { counted } from '../render/table.ts';
import { type Finding, note, ok, wrong } from './doctor-findings.ts';

const CHECK = 'other hosts';
const PAGE = 'docs/federation.md';

/** Empty if the config has no section `federation`, or the daemon is too old to ask. */
export async function hostFindings(client: ControlClient): Promise<Finding[]> {
  let report: FederationReport | null;
  try {
    report = await client.call('bridge/hosts');
  } catch (error) {
    if (error instanceof BridgeError) return [];
    throw error;
  }
  return report === null ? [] : findingsIn(report);
}

export function findingsIn({ host, nats, faults, hosts, leases }: FederationReport): Finding[] {
  if (host === '')
    return faults.map((fault) =>
      wrong(CHECK, `${fault}; so the section is not used`, 'Correct it, then: mcp-bridge restart'),
    );
  const told = faults.map((fault) => wrong(CHECK, capital(fault), fault.includes(PAGE) ? null : `More on it: ${PAGE}`));
  if (nats === null) return told;
  const { address, version } = nats;
  const isWell = told.length === 0 ? [ok(CHECK, 'NATS keeps the list of hosts, and permits all that is needed')] : told;
  const away = hosts.flatMap(({ host: name, unreachable }) =>
    unreachable === null ? [] : note(`host ${name}`, unreachable, 'Look there: mcp-bridge doctor'),
  );
  const there = hosts.filter(({ unreachable }) => unreachable === null).map(({ host: name }) => name);
  const seen = there.length > 0 ? [ok('hosts', `${counted(there.length, 'other host')}: ${shortened(there)}`)] : [];
  const none = hosts.length === 0 ? [noneThere(told.length > 0)] : [];
  const unserved = leases.flatMap(({ server, host: holder }) =>
    holder === null
      ? note(
          `server ${server}`,
          'It remembers, and no host serves it by its name alone',
          'A host takes over within 30 s. If not: mcp-bridge hosts',
        )
      : [],
  );
  return [ok('NATS', `It answers: ${address}, version ${version}`), ...isWell, ...seen, ...none, ...away, ...unserved];
}

/** With a fault nobody knows if there is one. */
function noneThere(hasFaults: boolean): Finding {
  if (hasFaults) return note('hosts', 'No other host is known', 'Correct what is wrong first');
  return note('hosts', 'No other host is there', 'Give a daemon there a section federation with the same tenant');
}

/** A sentence of a fault, which the log has behind other words. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const MOST_NAMED = 10;

function shortened(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
