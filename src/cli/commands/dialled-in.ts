// Servers that have connected to the daemon by themselves, and a person's decisions about them. Only the name and the
// program's description of itself can be shown.

import { ControlClient, type DialledInReport, type StatusReport } from '../../client/control-client.ts';
import { type DialInDecision, DialInDecisions } from '../../local/dial-in-decisions.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { printable } from '../render/table.ts';

/** The connected servers, the config by which the daemon judges them, what else waits here, and what runs. */
export type DialledIn = Pick<StatusReport, 'dialledIn' | 'configFile' | 'pendingApprovals' | 'instances'>;

const NONE: DialledIn = { dialledIn: [], configFile: null, pendingApprovals: null, instances: [] };

/** Asks the daemon; empty if no daemon answers. */
export async function dialledIn(values: WhereValues, host: CliHost): Promise<DialledIn> {
  const { path } = await locate(values, host);
  let client: ControlClient | undefined;
  try {
    client = await ControlClient.open(path, host.version);
    return await client.call('bridge/status', { cwd: host.cwd });
  } catch (error) {
    // All other decisions need no daemon.
    if (error instanceof BridgeError) return NONE;
    throw error;
  } finally {
    client?.close();
  }
}

/** The named servers for which a decision would change something. */
export function undecided(
  names: readonly string[],
  decision: DialInDecision,
  servers: readonly DialledInReport[],
): readonly DialledInReport[] {
  const done = decision === 'approved' ? 'offered' : 'rejected';
  return servers.filter(({ name, state }) => names.includes(name) && state !== done);
}

/** Remarks on the other named servers. */
export function settledAmong(
  names: readonly string[],
  servers: readonly DialledInReport[],
  callers: readonly DialledInReport[],
): DialledInReport[] {
  return servers.filter((server) => names.includes(server.name) && !callers.includes(server));
}

/** Throws if the config would override a decision: a person must not believe that it took effect. */
export function checkDecidable(
  callers: readonly DialledInReport[],
  decision: DialInDecision,
  { configFile }: DialledIn,
): void {
  for (const { name, state, configured, blockedBy } of callers) {
    const file = configFile ?? 'the config';
    if (decision === 'rejected' && configured)
      throw new BridgeError(
        'REQUEST_REFUSED',
        `Nothing was rejected: ${file} offers ${name}, whatever is decided here`,
        {
          hint: `Remove dialIn.${name} from that file. If ${name} is offered even then: mcp-bridge reject ${name}`,
        },
      );
    if (decision === 'approved' && state === 'blocked')
      throw new BridgeError(
        'REQUEST_REFUSED',
        `Nothing was approved: policy blocks ${name}: ${blockedBy ?? 'see status'}`,
        {
          hint: `Whoever wrote that rule can change it. Then: mcp-bridge approve ${name}`,
        },
      );
  }
}

export async function decideDialIns(
  servers: readonly DialledInReport[],
  decision: DialInDecision,
  { environment, homedir }: CliHost,
): Promise<void> {
  if (servers.length === 0) return;
  const names = servers.map(({ name }) => name);
  await new DialInDecisions(environment, homedir).decide(names, decision);
}

export function viewOf({ name, program, version, since }: DialledInReport): string {
  const who = printable(`${program} ${version}`.trim());
  return `${printable(name)}\n  a server that has connected by itself: ${who}, since ${since}\n  ! Whatever program of yours connects under this name is offered to all clients from then on\n`;
}
