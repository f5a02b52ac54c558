// `bridge/tools`: the known tools of servers, with the rules that apply to each; for a single server, with full
// definitions. It starts no server.

import { definitionsIn, hashOfText } from '../catalog/tool-definitions.ts';
import type { Server } from '../core/server.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { nextTurn } from '../util/next-turn.ts';
import { bounded } from './bounded-text.ts';
import type { KnownToolList, ToolReport, ToolsReport } from './report.ts';
import { type ServersHere, unknownServer } from './servers-here.ts';

const LONGEST_DESCRIPTION = 300;

/** Answers for one server with definitions, or for all without. Other work may run between two servers. */
export async function toolsOf(here: ServersHere, server: unknown): Promise<ToolsReport> {
  const name = textOf(server);
  if (name !== '' && !here.names.includes(name)) return { servers: [], unknown: unknownServer(name, here) };
  const servers: KnownToolList[] = [];
  for (const one of name === '' ? here.names : [name]) {
    servers.push(listOf(one, here.find(one), name !== ''));
    if (name === '') await nextTurn();
  }
  return { servers, unknown: null };
}

function listOf(name: string, server: Server | undefined, isWhole: boolean): KnownToolList {
  const pages = server?.known.lastTools;
  if (server === undefined || pages === undefined) return { server: name, isKnown: false, tools: [] };
  const tools = [...definitionsIn(pages)].map(([tool, text]) => reportOf(server, tool, text, isWhole));
  return { server: name, isKnown: true, tools };
}

function reportOf({ gate }: Server, name: string, text: string, isWhole: boolean): ToolReport {
  const definition: unknown = JSON.parse(text.split('\n')[0] ?? text); // if a name is listed twice, the first one
  const { description, title } = membersOf(definition);
  const refusal = gate.refusalOf(name);
  return {
    name,
    title: typeof title === 'string' ? bounded(title) : null,
    description: bounded(textOf(description), isWhole ? Number.MAX_SAFE_INTEGER : LONGEST_DESCRIPTION),
    bytes: Buffer.byteLength(text),
    hash: hashOfText(text),
    refusal: refusal === undefined ? null : { code: refusal.code, message: refusal.message, hint: refusal.hint ?? '' },
    isChanged: gate.isChanged(name),
    tags: [...gate.tagsOf(name)],
    ...(isWhole && isRecord(definition) && { definition }),
  };
}
