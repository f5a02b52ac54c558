// Servers that go by another name because of what a command has changed: of several that are the same, one counts, under
// its own name, and whoever knows it by another one is to hear of it.

import { standsFor } from '../../discovery/candidates.ts';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import type { Survey } from '../../discovery/survey.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import type { CliHost } from '../host.ts';
import { type SurveyValues, survey } from '../survey.ts';

/** Makes the change; with what came of it, a line for each name that is gone with it. */
export async function withLostNames<Result>(
  change: () => Promise<Result>,
  values: SurveyValues,
  host: CliHost,
): Promise<{ readonly done: Result; readonly lost: string[] }> {
  const before = await surveyed(values, host);
  const done = await change();
  const after = before && (await surveyed(values, host));
  return { done, lost: before && after ? [...givenWay(before, after), ...lostNames(before, after)] : [] };
}

/** A line for each server that nobody reaches any more, as the bridge's own config has another one of its name. */
function givenWay(before: Survey, after: Survey): string[] {
  if (!after.config.config.discovery.isEnabled) return [];
  const shadowed = after.discovery.servers.filter(({ state }) => state === 'shadowed');
  return before.discovery.servers.flatMap((known) => {
    if (known.state !== 'ready' || !shadowed.some((one) => isSamePlace(one, known))) return [];
    const { id, client, file } = known;
    return [`"${id}" means this one for all clients now, and not that of ${client} in ${file} any more`];
  });
}

/** A command that changes something needs no more of what cannot be looked at. */
async function surveyed(values: SurveyValues, host: CliHost): Promise<Survey | undefined> {
  try {
    return await survey(values, host);
  } catch (error) {
    if (error instanceof BridgeError) return undefined;
    throw error;
  }
}

/** Between two looks at what there is. */
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
