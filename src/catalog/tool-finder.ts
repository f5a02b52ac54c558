// The search over the tools of the servers that a client sees. It is loaded, and its index filled, when somebody first
// searches. Different clients may see different tools of one server, so each list is in the index by itself.

import type { ListPage } from '../core/known-server.ts';
import type { Server } from '../core/server.ts';
import type { ToolGate } from '../core/tool-gate.ts';
import { membersOf } from '../util/json-value.ts';
import { type KnownTool, toolsIn } from './known-tools.ts';
import type { SynonymGroups } from './question.ts';
import type { SearchableTool } from './server-tools.ts';
import type { ToolSearch } from './tool-search.ts';

export interface SearchedServer {
  readonly server: Server;
  readonly pages: readonly ListPage[];
}

export interface FoundTool {
  readonly server: Server;
  readonly tool: KnownTool;
  /** From 0 to 1. */
  readonly relevance: number;
}

export interface FindOptions {
  readonly servers: readonly SearchedServer[];
  readonly limit: number | undefined;
}

interface IndexedList {
  readonly key: string;
  /** Whose tags are in the index. */
  gate: ToolGate | undefined;
  done: Promise<void>;
}

export class ToolFinder {
  #search: Promise<ToolSearch> | undefined;
  readonly #lists = new WeakMap<readonly ListPage[], IndexedList>();
  /** Lists that nobody has any more leave the index. */
  readonly #gone = new FinalizationRegistry<string>((key) => void this.#search?.then((search) => search.remove(key)));
  #nextKey = 1;
  /** As the config has them now. */
  readonly #synonyms: () => SynonymGroups;
  #understood: SynonymGroups = [];

  constructor(synonyms: () => SynonymGroups = () => []) {
    this.#synonyms = synonyms;
  }

  async find(query: string, { servers, limit }: FindOptions): Promise<FoundTool[]> {
    this.#search ??= import('./tool-search.ts').then(({ ToolSearch }) => new ToolSearch());
    const search = await this.#search;
    const synonyms = this.#synonyms();
    if (synonyms !== this.#understood) search.understand(synonyms);
    this.#understood = synonyms;
    const byKey = new Map<string, SearchedServer>();
    for (const searched of servers) {
      const list = this.#listed(searched, search);
      await list.done;
      byKey.set(list.key, searched);
    }
    const accepts = (key: string, tool: string): boolean =>
      byKey.get(key)?.server.gate.refusalOf(tool) === undefined && byKey.has(key);
    return search.search(query, { limit, accepts }).flatMap(({ server: key, tool: name, relevance }) => {
      const searched = byKey.get(key);
      const tool = searched && toolsIn(searched.pages).get(name);
      return searched === undefined || tool === undefined ? [] : [{ server: searched.server, tool, relevance }];
    });
  }

  #listed({ server, pages }: SearchedServer, search: ToolSearch): IndexedList {
    const list = this.#lists.get(pages) ?? this.#newList(pages);
    if (list.gate === server.gate) return list;
    list.gate = server.gate;
    const { name, description, gate } = server;
    list.done = search.set({ key: list.key, name, description }, searchable(toolsIn(pages).values(), gate));
    return list;
  }

  #newList(pages: readonly ListPage[]): IndexedList {
    const list: IndexedList = { key: `${this.#nextKey++}`, gate: undefined, done: Promise.resolve() };
    this.#lists.set(pages, list);
    this.#gone.register(pages, list.key);
    return list;
  }
}

/** Each is decoded when it is its turn: all at once would keep everybody waiting. */
function* searchable(tools: Iterable<KnownTool>, gate: ToolGate): Generator<SearchableTool> {
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  for (const tool of tools) {
    const { title, description, inputSchema } = tool.decode();
    const parameters = Object.keys(membersOf(membersOf(inputSchema).properties));
    const tags = gate.tagsOf(tool.name);
    yield { name: tool.name, title: text(title), description: text(description), parameters, tags };
  }
}
