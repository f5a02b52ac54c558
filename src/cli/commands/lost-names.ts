// Reports servers whose name changes because of a command: of several equal servers only one is listed, under its own
// name. Users of the other names are told.

import { standsFor } from '../../discovery/candidates.ts';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import type { Survey } from '../../discovery/survey.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import type { CliHost } from '../host.ts';
import { type SurveyValues, survey } from '../survey.ts';

/** Makes the change; returns its result with a line for each name that has gone. */
export async function withLostNames<Result>(
  change: () => Promise<Result>,
  values: SurveyValues,
  host: CliHost,
): Promise<{ readonly done: Result; readonly lost: string[] }> {
  const before = await surveyed(values, host);
  const done = await change();
  const after = before && (await surveyed(values, host));
  return { done, lost: before && after ? [...hiddenServers(before, after), ...lostNames(before, after)] : [] };
}

/** A line for each server that is hidden now, because the bridge's own config has a server of the same name. */
function hiddenServers(before: Survey, after: Survey): string[] {
  if (!after.config.config.discovery.isEnabled) return [];
  const shadowed = after.discovery.servers.filter(({ state }) => state === 'shadowed');
  return before.discovery.servers.flatMap((known) => {
    if (known.state !== 'ready' || !shadowed.some((one) => isSamePlace(one, known))) return [];
    const { id, client, file } = known;
    return [`"${id}" means this one for all clients now, and not that of ${client} in ${file} any more`];
  });
}

/** The survey; undefined if it fails, because a command that changes something does not depend on it. */
async function surveyed(values: SurveyValues, host: CliHost): Promise<Survey | undefined> {
  try {
    return await survey(values, host);
  } catch (error) {
    if (error instanceof BridgeError) return undefined;
    throw error;
  }
}

/** Compares two surveys. */
export function lostNames(before: Survey, after: Survey): string[] {
  if (!after.config.config.discovery.isEnabled) return [];
  const duplicates = after.discovery.servers.filter(({ state }) => state === 'duplicate');
  return before.discovery.servers.flatMap((known) => {
    const gone = known.state === 'ready' ? duplicates.find((one) => isSamePlace(one, known)) : undefined;
    const counting = gone && standsFor(gone, after);
    if (counting === undefined || counting.id === known.id) return [];
    return [`"${known.id}" is the same server as "${counting.id}", which is the name to use now`];
  });
}

function isSamePlace(one: DiscoveredServer, other: DiscoveredServer): boolean {
  return one.client === other.client && one.file === other.file && one.pointer === other.pointer;
}
