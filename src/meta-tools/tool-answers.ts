// The answers of the lookup meta-tools. Members with their usual value are omitted, because an agent pays for each
// word. It asks no server and uses only what is known.

import { uiWithOutwardPage, withOutwardPage } from '../core/app-pages.ts';
import { type JoinedServer, refreshHint } from '../core/joined-lists.ts';
import type { Server } from '../core/server.ts';
import type { ToolGate } from '../model/tool-gate.ts';
import { instructionsOf, serverInfoOf } from '../protocol/initialize.ts';
import { textOf } from '../util/json-value.ts';
import { shortened } from '../util/printable.ts';
import { isToolOfApps, type KnownTool, toolsIn } from './known-tools.ts';
import type { FoundTool } from './tool-finder.ts';
import { forAppsOnly, noSuchTool } from './tool-refusal.ts';

/** The answer of `list_mcp_servers`. */
export function serversListed(servers: readonly JoinedServer[]): object {
  const isAllKnown = servers.every((joined) => joined.lastPagesOf('tools') !== undefined);
  return { servers: servers.map(serverSummary), ...(isAllKnown ? {} : { note: NOT_KNOWN }) };
}

const NOT_KNOWN = 'Where toolCount is null, the tools are not known yet. list_tools starts the server and lists them.';

/** Servers that have not failed but whose tools are still unknown to a search. */
export function notKnownYet(servers: readonly JoinedServer[]): object {
  const unknown = servers.filter((joined) => joined.lastPagesOf('tools') === undefined && !joined.server.isDown);
  return unknown.length === 0 ? {} : { notKnownYet: unknown.map(({ name }) => name) };
}

function serverSummary(joined: JoinedServer): object {
  const { name, gate } = joined;
  const pages = joined.lastPagesOf('tools');
  const tools = pages === undefined ? undefined : [...toolsIn(pages).keys()];
  const enabled = tools?.filter((tool) => gate.refusalOf(tool) === undefined);
  return {
    name,
    description: descriptionOf(joined),
    toolCount: tools?.length ?? null,
    enabledCount: enabled?.length ?? null,
    status: statusOf(joined),
  };
}

function statusOf({ server }: JoinedServer): string {
  if (server.isOpen) return 'connected';
  if (server.isStarting) return 'starting';
  return server.isDown ? 'failed' : 'idle';
}

export function toolsListed(joined: JoinedServer, includeDisabled: boolean): object {
  const { server, gate } = joined;
  const tools = [...toolsIn(joined.lastPagesOf('tools') ?? []).values()].flatMap((tool) => {
    const { name, summary } = tool;
    const refusal = gate.refusalOf(name);
    if (refusal !== undefined && (!includeDisabled || refusal.code === 'TOOL_CHANGED')) return [];
    const enabled = refusal === undefined;
    return [{ name, summary, enabled, tags: gate.tagsOf(name), ...taskOf(tool), ...changeOf(name, server) }];
  });
  return { server: joined.name, ...failureOf(server), tools };
}

/** The results of a search. If several servers have the same tool, their descriptions tell them apart. */
export function foundTools(results: readonly FoundTool[], servers: readonly JoinedServer[]): object[] {
  const words = distinguishingDescriptions(results, new Map(servers.map((joined) => [joined.name, joined])));
  return results.map((found) => {
    const serverDescription = words.get(found);
    return { ...foundTool(found), ...(serverDescription && { serverDescription }) };
  });
}

/** Descriptions that distinguish servers with equal-looking tools; none if the descriptions are equal too. */
function distinguishingDescriptions(
  results: readonly FoundTool[],
  servers: ReadonlyMap<string, JoinedServer>,
): ReadonlyMap<FoundTool, string> {
  const alike = new Map<string, FoundTool[]>();
  for (const found of results) {
    const looks = JSON.stringify([found.tool.name, found.tool.summary]);
    const others = alike.get(looks);
    if (others === undefined) alike.set(looks, [found]);
    else others.push(found);
  }
  const described = [...alike.values()].map((group) =>
    group.map((found): [FoundTool, string] => {
      const joined = group.length > 1 ? servers.get(found.joined.name) : undefined;
      return [found, joined === undefined ? '' : descriptionOf(joined)];
    }),
  );
  return new Map(described.filter((group) => new Set(group.map(([, words]) => words)).size > 1).flat());
}

function foundTool({ joined, tool, relevance }: FoundTool): object {
  const { server, alias } = joined;
  const { name, summary, ui } = tool;
  return {
    server: joined.name,
    tool: name,
    summary,
    relevance: Math.round(relevance * 100) / 100,
    tags: server.gate.tagsOf(name),
    ...(ui !== undefined && { _meta: { ui: uiWithOutwardPage(ui, alias) } }),
    ...taskOf(tool),
    ...changeOf(name, server),
    ...failureOf(server),
  };
}

export function toolDetails(tool: KnownTool, joined: JoinedServer): object {
  const { server, alias } = joined;
  const { name } = tool;
  const { description, inputSchema, outputSchema, annotations, _meta } = tool.decode();
  return {
    server: joined.name,
    tool: name,
    description,
    inputSchema,
    outputSchema,
    annotations,
    _meta: withOutwardPage(_meta, alias),
    tags: server.gate.tagsOf(name),
    ...taskOf(tool),
    ...changeOf(name, server),
    ...failureOf(server),
  };
}

/** Finds a tool by name. Throws if the server lacks it or it may not be called. */
export function permittedTool(name: string, joined: JoinedServer): KnownTool {
  const { name: server, gate } = joined;
  const pages = joined.lastPagesOf('tools') ?? [];
  const tools = toolsIn(pages);
  const tool = tools.get(name);
  if (tool === undefined && isToolOfApps(name, pages)) throw forAppsOnly({ server, tool: name });
  if (tool === undefined)
    throw noSuchTool({ server, tool: name }, permittedAmong(tools.keys(), gate), refreshHint(joined));
  const refusal = gate.refusalOf(name);
  if (refusal !== undefined) throw refusal;
  return tool;
}

/** Yields names one by one, because a hint needs only a few of thousands. */
function* permittedAmong(names: Iterable<string>, gate: ToolGate): Iterable<string> {
  for (const name of names) if (gate.refusalOf(name) === undefined) yield name;
}

/** Marks a tool that can only be called as a task. */
function taskOf({ needsTask }: KnownTool): object {
  return needsTask ? { taskSupport: 'required' } : {};
}

/** Marks a tool that has changed since it was first seen or accepted. */
function changeOf(tool: string, { gate }: Server): object {
  return gate.isChanged(tool) ? { changed: true } : {};
}

/** Marks a server that cannot be started at present, so that its answer is old. */
function failureOf({ isDown }: Server): object {
  return isDown ? { status: 'failed' } : {};
}

// --- the purpose of a server in one line ---

const LONGEST = 120;
/** Markdown marks for headings, lists and emphasis. */
const MARKS = /^[#>*_\-\s]+|[*_`]+/g;
const SENTENCE_END = /(?<=[.!?\u3002])(?:\s|$)/u;

/** The description from the config, else the server's own; '' if there is neither. */
export function descriptionOf({ server, profile, session }: JoinedServer): string {
  if (server.description !== '') return server.description;
  const initializeResult = (profile ?? server.known.lastProfileFor(server.keyFor(session)))?.initializeResult;
  if (initializeResult === undefined) return '';
  const { description, title, name } = serverInfoOf(initializeResult);
  const said = [description, title === name ? '' : title, instructionsOf(initializeResult)].map(firstSentence);
  return said.find((words) => words !== '') ?? '';
}

function firstSentence(text: unknown): string {
  const lines = textOf(text)
    .slice(0, 20 * LONGEST)
    .split(/\r?\n/);
  const line = lines.map((one) => one.replace(MARKS, '').trim()).find((one) => one !== '') ?? '';
  const [sentence = ''] = line.split(SENTENCE_END);
  return shortened(sentence, LONGEST);
}
