// `bridge/changes` and `bridge/accept`: lists tools that have changed since they were first seen, and accepts their
// present definitions. A tool is accepted only if its definition is still the one that was shown.

import type { SeenDefinition, SeenTool } from '../catalog/seen-tools-file.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import type { AcceptReport, ChangedServer, ChangedTool, ChangesReport, ShownDefinition } from './report.ts';
import { type SeenToolsOf, type ServersHere, unknownServer } from './servers-here.ts';

export function changesIn(here: ServersHere, server: unknown): ChangesReport {
  const name = textOf(server);
  if (name !== '' && !here.names.includes(name)) return { servers: [], unknown: unknownServer(name, here) };
  const servers = here.names.filter((other) => name === '' || other === name);
  return { servers: servers.flatMap((one) => changesOf(one, here.seenOf(one))), unknown: null };
}

function changesOf(server: string, of: SeenToolsOf | undefined): ChangedServer[] {
  if (of?.seen.hasNews !== true) return [];
  const tools = [...of.seen.tools].flatMap(([name, tool]) => changeOf(name, tool) ?? []);
  return [{ server, policy: of.policy, tools }];
}

function changeOf(tool: string, { accepted, current, isNew }: SeenTool): ChangedTool | undefined {
  const now = current ?? accepted;
  if (now === undefined || (current === undefined && !isNew)) return undefined;
  if (current === undefined) return { tool, state: 'new', before: null, now: shown(now) };
  return { tool, state: 'changed', before: accepted === undefined ? null : shown(accepted), now: shown(current) };
}

function shown({ hash, text }: SeenDefinition): ShownDefinition {
  return { hash, definition: text === undefined ? null : (parsed(text) ?? text) };
}

/** Parses the kept text: a name that is listed twice has two definitions. */
function parsed(text: string): unknown {
  const texts = text.split('\n');
  const definitions = texts.map((one) => JSON.parse(one) as unknown);
  return definitions.length === 1 ? definitions[0] : definitions;
}

/** Accepts tools, given the hashes of their shown definitions. */
export function accept(here: ServersHere, server: unknown, tools: unknown): AcceptReport {
  const name = textOf(server);
  const seen = here.names.includes(name) ? here.seenOf(name)?.seen : undefined;
  if (seen === undefined) return { accepted: [], others: [], unknown: unknownServer(name, here), isKept: true };
  const hashes = new Map(Object.entries(isRecord(tools) ? tools : {}).map(([tool, hash]) => [tool, textOf(hash)]));
  const others = seen.accept(hashes);
  const accepted = [...hashes.keys()].filter((tool) => !others.includes(tool));
  return { accepted, others, unknown: null, isKept: here.keepSeen() };
}
