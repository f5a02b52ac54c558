// `bridge/search`: searches the known tools of a directory's servers, and gives the reasons for the order. It finds
// what a client without special rules could find, and starts no server.

import { bounded } from '../control/bounded-text.ts';
import type { SearchReport } from '../control/report.ts';
import { type ServersHere, unknownServer } from '../control/servers-here.ts';
import type { SearchedServer, ToolFinder } from '../meta-tools/tool-finder.ts';

interface SearchWanted {
  readonly finder: ToolFinder;
  readonly query: string;
  /** Searches only this server; '' for all. */
  readonly server: string;
  readonly limit: number;
}

/** All commands and pages of the user take turns as one. */
const ASKED_BY_USER = {};
const LONGEST_DESCRIPTION = 300;
const MOST_WORDS = 50;

export async function searchReport(
  here: ServersHere,
  { finder, query, server, limit }: SearchWanted,
): Promise<SearchReport> {
  const none = { hits: [], words: [], notSearched: [] };
  if (server !== '' && !here.names.includes(server)) return { ...none, unknown: unknownServer(server, here) };
  const names = server === '' ? here.names : [server];
  const servers = names.flatMap((name) => searchedIn(here, name));
  const searched = new Set(servers.map(({ joined }) => joined.name));
  const notSearched = names.filter((name) => !searched.has(name));
  if (query.trim() === '') return { ...none, notSearched, unknown: null };
  const { found, words } = await finder.explained(query, { servers, limit, owner: ASKED_BY_USER });
  const hits = found.map(({ joined, tool, relevance, words: matches }) => {
    const { title, description } = tool.words;
    return {
      ...{ server: joined.name, tool: tool.name, title: title === '' ? null : bounded(title) },
      description: bounded(description, LONGEST_DESCRIPTION),
      ...{ relevance, matches },
    };
  });
  const asked = words.slice(0, MOST_WORDS).map(({ word, meant }) => ({ word, meant, findsAny: meant.length > 0 }));
  return { hits, words: asked, notSearched, unknown: null };
}

function searchedIn(here: ServersHere, name: string): SearchedServer[] {
  const server = here.find(name);
  const pages = server?.known.lastTools;
  if (server === undefined || pages === undefined) return [];
  return [{ joined: { name, alias: name, gate: server.gate, server }, pages }];
}
