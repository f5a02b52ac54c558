// What is known of the servers and tools behind the view `discover`, as its tools answer it.

import type { JoinedLeg } from '../core/joined-lists.ts';
import { type KnownTool, toolsIn } from './known-tools.ts';
import { noSuchTool } from './tool-refusal.ts';

/** As `list_mcp_servers` has it. */
export function serverSummary({ leg }: JoinedLeg): object {
  const { name, description, gate } = leg.server;
  const pages = leg.pagesOf('tools');
  const tools = pages === undefined ? undefined : [...toolsIn(pages).keys()];
  const enabled = tools?.filter((tool) => gate.refusalOf(tool) === undefined);
  return {
    name,
    description,
    toolCount: tools?.length ?? null,
    enabledCount: enabled?.length ?? null,
    status: statusOf(leg.backend),
  };
}

function statusOf(backend: JoinedLeg['leg']['backend']): string {
  if (backend?.isOpen === true) return 'connected';
  return backend?.hasFailed === true ? 'failed' : 'idle';
}

/** As `list_tools` has it. */
export function toolsListed({ leg }: JoinedLeg, includeDisabled: boolean): object {
  const { name: server, gate } = leg.server;
  const tools = [...toolsIn(leg.pagesOf('tools') ?? []).values()].map(({ name, summary }) => {
    const enabled = gate.refusalOf(name) === undefined;
    return { name, summary, enabled, tags: gate.tagsOf(name) };
  });
  return { server, tools: tools.filter(({ enabled }) => enabled || includeDisabled) };
}

/** As `get_tool_details` has it. */
export function detailsOf(name: string, joined: JoinedLeg): object {
  const { server } = joined.leg;
  const { description, inputSchema, outputSchema, annotations } = permittedTool(name, joined).definition;
  const tags = server.gate.tagsOf(name);
  return { server: server.name, tool: name, description, inputSchema, outputSchema, annotations, tags };
}

/** Throws unless the server has it, and it may be called. */
export function permittedTool(name: string, { leg }: JoinedLeg): KnownTool {
  const { name: server, gate } = leg.server;
  const tools = toolsIn(leg.pagesOf('tools') ?? []);
  const tool = tools.get(name);
  const permitted = (): string[] => [...tools.keys()].filter((other) => gate.refusalOf(other) === undefined);
  if (tool === undefined) throw noSuchTool({ server, tool: name }, permitted());
  const refusal = gate.refusalOf(name);
  if (refusal !== undefined) throw refusal;
  return tool;
}
