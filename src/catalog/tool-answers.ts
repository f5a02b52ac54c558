// What the tools that find others say of servers and tools. What goes without saying is left out: an agent pays for each
// word.

import { type JoinedLeg, refreshHint } from '../core/joined-lists.ts';
import type { Leg } from '../core/leg.ts';
import type { Server } from '../core/server.ts';
import type { ToolGate } from '../core/tool-gate.ts';
import { type KnownTool, toolsIn } from './known-tools.ts';
import { descriptionOf } from './server-words.ts';
import type { FoundTool } from './tool-finder.ts';
import { noSuchTool } from './tool-refusal.ts';

/** What is known of all servers, without asking one. */
export function serversListed(legs: readonly JoinedLeg[]): object {
  const isAllKnown = legs.every(({ leg }) => leg.lastPagesOf('tools') !== undefined);
  return { servers: legs.map(serverSummary), ...(isAllKnown ? {} : { note: NOT_KNOWN }) };
}

const NOT_KNOWN = 'Where toolCount is null, tools are not known yet: search_tools or list_tools starts the server';

/** The servers that a search could not look into, though they have not failed. */
export function notKnownYet(legs: readonly JoinedLeg[]): object {
  const unknown = legs.filter(({ leg }) => leg.lastPagesOf('tools') === undefined && !leg.server.isDown);
  return unknown.length === 0 ? {} : { notKnownYet: unknown.map(({ leg }) => leg.name) };
}

function serverSummary({ leg }: JoinedLeg): object {
  const { name, gate } = leg;
  const pages = leg.lastPagesOf('tools');
  const tools = pages === undefined ? undefined : [...toolsIn(pages).keys()];
  const enabled = tools?.filter((tool) => gate.refusalOf(tool) === undefined);
  return {
    name,
    description: descriptionOf(leg),
    toolCount: tools?.length ?? null,
    enabledCount: enabled?.length ?? null,
    status: statusOf(leg),
  };
}

function statusOf({ server }: Leg): string {
  if (server.isOpen) return 'connected';
  if (server.isStarting) return 'starting';
  return server.isDown ? 'failed' : 'idle';
}

export function toolsListed({ leg }: JoinedLeg, includeDisabled: boolean): object {
  const { server, gate } = leg;
  const tools = [...toolsIn(leg.lastPagesOf('tools') ?? []).values()].flatMap((tool) => {
    const { name, summary } = tool;
    const refusal = gate.refusalOf(name);
    if (refusal !== undefined && (!includeDisabled || refusal.code === 'TOOL_CHANGED')) return [];
    const enabled = refusal === undefined;
    return [{ name, summary, enabled, tags: gate.tagsOf(name), ...taskOf(tool), ...changeOf(name, server) }];
  });
  return { server: leg.name, ...failureOf(server), tools };
}

/** The results of a search. Servers with the same tool say what they are, where that tells them apart. */
export function foundTools(results: readonly FoundTool[], legs: readonly JoinedLeg[]): object[] {
  const words = wordsApart(results, new Map(legs.map(({ leg }) => [leg.name, leg])));
  return results.map((found) => {
    const serverDescription = words.get(found);
    return { ...foundTool(found), ...(serverDescription && { serverDescription }) };
  });
}

/** The descriptions of servers whose tools look the same; none where those look the same too. */
function wordsApart(results: readonly FoundTool[], legs: ReadonlyMap<string, Leg>): ReadonlyMap<FoundTool, string> {
  const alike = new Map<string, FoundTool[]>();
  for (const found of results) {
    const looks = JSON.stringify([found.tool.name, found.tool.summary]);
    const others = alike.get(looks);
    if (others === undefined) alike.set(looks, [found]);
    else others.push(found);
  }
  const described = [...alike.values()].map((group) =>
    group.map((found): [FoundTool, string] => {
      const leg = group.length > 1 ? legs.get(found.leg.name) : undefined;
      return [found, leg === undefined ? '' : descriptionOf(leg)];
    }),
  );
  return new Map(described.filter((group) => new Set(group.map(([, words]) => words)).size > 1).flat());
}

function foundTool({ leg, tool, relevance }: FoundTool): object {
  const { server } = leg;
  const { name, summary } = tool;
  return {
    server: leg.name,
    tool: name,
    summary,
    relevance: Math.round(relevance * 100) / 100,
    tags: server.gate.tagsOf(name),
    ...(tool.ui !== undefined && { _meta: { ui: tool.ui } }),
    ...taskOf(tool),
    ...changeOf(name, server),
    ...failureOf(server),
  };
}

export function toolDetails(tool: KnownTool, { leg }: JoinedLeg): object {
  const { server } = leg;
  const { name } = tool;
  const { description, inputSchema, outputSchema, annotations, _meta } = tool.decode();
  return {
    server: leg.name,
    tool: name,
    description,
    inputSchema,
    outputSchema,
    annotations,
    _meta,
    tags: server.gate.tagsOf(name),
    ...taskOf(tool),
    ...changeOf(name, server),
    ...failureOf(server),
  };
}

/** Throws unless the server has it, and it may be called. */
export function permittedTool(name: string, joined: JoinedLeg): KnownTool {
  const { leg } = joined;
  const { name: server, gate } = leg;
  const tools = toolsIn(leg.lastPagesOf('tools') ?? []);
  const tool = tools.get(name);
  if (tool === undefined)
    throw noSuchTool({ server, tool: name }, permittedAmong(tools.keys(), gate), refreshHint(joined));
  const refusal = gate.refusalOf(name);
  if (refusal !== undefined) throw refusal;
  return tool;
}

/** One after the other: of thousands, only some are looked at for a hint. */
function* permittedAmong(names: Iterable<string>, gate: ToolGate): Iterable<string> {
  for (const name of names) if (gate.refusalOf(name) === undefined) yield name;
}

/** It can be called only as a task. */
function taskOf({ needsTask }: KnownTool): object {
  return needsTask ? { taskSupport: 'required' } : {};
}

/** It is not what somebody has agreed to. */
function changeOf(tool: string, { gate }: Server): object {
  return gate.isChanged(tool) ? { changed: true } : {};
}

/** It cannot be started at present, and this is what it has said before. */
function failureOf({ isDown }: Server): object {
  return isDown ? { status: 'failed' } : {};
}
