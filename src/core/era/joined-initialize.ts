// What a joined view says in answer to `initialize`: the capabilities of all its servers together, as far as they are
// known, and their instructions under a heading for each.

import { isRecord } from '../../util/json-value.ts';
import type { ServerProfile } from '../server-knowledge.ts';
import { capabilitiesOf, instructionsOf } from './initialize.ts';

/** What is assumed of a server that has not run yet. The bridge can honour it whatever the server turns out to have. */
const ASSUMED = { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {}, completions: {}, tasks: {} };

/** `profiles` are undefined for servers that are not known yet. */
export function joinedCapabilities(profiles: readonly (ServerProfile | undefined)[]): Record<string, object> {
  const declared = profiles.map(
    (profile): Readonly<Record<string, unknown>> =>
      profile === undefined ? ASSUMED : capabilitiesOf(profile.initializeResult),
  );
  const has = (name: string): boolean => declared.some((capabilities) => capabilities[name] !== undefined);
  const subscribe = declared.some(({ resources }) => isRecord(resources) && resources.subscribe === true);
  return {
    // Its lists may always become longer: a server that was slow joins them when it comes.
    tools: { listChanged: true },
    ...(has('prompts') && { prompts: { listChanged: true } }),
    ...(has('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
    ...(has('logging') && { logging: {} }),
    ...(has('completions') && { completions: {} }),
    ...extensionsOf(declared),
    ...(has('tasks') && { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
  };
}

/** Those of all servers; of one that several have, the first one's settings. */
function extensionsOf(declared: readonly Readonly<Record<string, unknown>>[]): { extensions?: object } {
  const all = declared.flatMap(({ extensions }) => (isRecord(extensions) ? Object.entries(extensions) : []));
  return all.length === 0 ? {} : { extensions: Object.fromEntries(all.reverse()) };
}

export function joinedInstructions(
  servers: readonly { readonly alias: string; readonly profile: ServerProfile | undefined }[],
): string | undefined {
  const parts = servers.flatMap(({ alias, profile }) => {
    const text = profile === undefined ? '' : instructionsOf(profile.initializeResult).trim();
    return text === '' ? [] : [`# ${alias}\n\n${text}`];
  });
  return parts.length === 0 ? undefined : parts.join('\n\n');
}
