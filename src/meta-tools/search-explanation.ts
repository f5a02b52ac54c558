// The explanation of a search: why a tool stands where it stands. It asks the search again without each of the words, so it holds for
// whatever way tools are ranked. It is for people who look, costs many searches, and is never part of one.

import { BridgeError } from '../util/bridge-error.ts';
import type { FoundTool, SearchedServer, ToolFinder } from './tool-finder.ts';

interface ExplainedTool {
  readonly found: FoundTool;
  /** The part of the relevance that each word of the question brings, in their order; negative for one that lowers it. */
  readonly shares: readonly number[];
}

export interface ExplainedSearch {
  readonly tools: readonly ExplainedTool[];
  /** The words of the question. */
  readonly words: readonly { readonly word: string; readonly findsAny: boolean }[];
}

/** The most words of a question, and the most tools that are explained. */
const MOST_WORDS = 12;
const MOST_EXPLAINED = 10;

export async function explainedSearch(
  finder: ToolFinder,
  query: string,
  { servers, limit }: { readonly servers: readonly SearchedServer[]; readonly limit: number },
): Promise<ExplainedSearch> {
  const words = query
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, MOST_WORDS);
  const found = await finder.find(query, { servers, limit });
  const explained = found.slice(0, MOST_EXPLAINED);
  const without = await Promise.all(
    words.map((_, i) => relevances(finder, words.filter((_word, at) => at !== i).join(' '), servers, explained)),
  );
  const findsAny = await Promise.all(words.map((word) => finder.find(word, { servers, limit: 1, isByWords: true })));
  return {
    tools: found.map((tool, i) => ({
      found: tool,
      shares: i < MOST_EXPLAINED ? without.map((others) => tool.relevance - (others[i] ?? 0)) : [],
    })),
    words: words.map((word, i) => ({ word, findsAny: (findsAny[i]?.length ?? 0) > 0 })),
  };
}

/** The relevance of each of these tools to another question. Each is asked for alone, or the best ones would hide it. */
async function relevances(
  finder: ToolFinder,
  query: string,
  servers: readonly SearchedServer[],
  tools: readonly FoundTool[],
): Promise<number[]> {
  if (query === '') return tools.map(() => 0);
  const all: number[] = [];
  for (const { joined, tool } of tools) {
    const own = servers.filter(({ joined: { name } }) => name === joined.name);
    const alone = own.map(({ joined: one, pages }) => ({ joined: { ...one, gate: only(one.gate, tool.name) }, pages }));
    const [best] = await finder.find(query, { servers: alone, limit: 1, isByWords: true });
    all.push(best?.relevance ?? 0);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return all;
}

const NOT_ASKED_FOR = new BridgeError('TOOL_NOT_FOUND', 'This search is for another tool');

type Gate = SearchedServer['joined']['gate'];

/** The same rules, for one tool alone. */
function only(gate: Gate, tool: string): Gate {
  return {
    isOpen: false,
    refusalOf: (name) => (name === tool ? gate.refusalOf(name) : NOT_ASKED_FOR),
    isChanged: (name) => gate.isChanged(name),
    tagsOf: (name) => gate.tagsOf(name),
  };
}
