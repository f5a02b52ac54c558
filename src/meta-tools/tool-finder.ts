// Searches the tools that one client sees. The first search loads and fills the index; it is dropped some minutes after
// the last. Clients may see different tools of one server, so each list is indexed separately.

import { FairTurns } from '../core/fair-turns.ts';
import type { JoinedServer } from '../core/joined-lists.ts';
import type { ListPage } from '../core/server-knowledge.ts';
import type { ToolGate } from '../model/tool-gate.ts';
import type { ExplainedWord, MeantWord } from '../search/explanation.ts';
import type { WordGroups } from '../search/question.ts';
import type { RankableTool } from '../search/ranker-thread.ts';
import type { SearchableTool } from '../search/tool-index.ts';
import type { ToolMatch, ToolSearch } from '../search/tool-search.ts';
import type { Clock } from '../util/clock.ts';
import { type KnownTool, toolsIn } from './known-tools.ts';
import type { OwnRanker } from './own-ranker.ts';

export interface SearchedServer {
  readonly joined: Pick<JoinedServer, 'name' | 'alias' | 'gate' | 'server'>;
  readonly pages: readonly ListPage[];
  /** Returns the server's purpose; called when its tools are indexed. */
  readonly about?: () => string;
}

/** One result of a search. */
export interface FoundTool {
  readonly joined: SearchedServer['joined'];
  readonly tool: KnownTool;
  /** From 0 to 1. */
  readonly relevance: number;
}

/** The results of a search with their reasons. */
export interface ExplainedFind {
  readonly found: readonly (FoundTool & { readonly words: readonly ExplainedWord[] })[];
  /** The words of the query, with everything they may mean. */
  readonly words: readonly MeantWord[];
}

export interface FindOptions {
  readonly servers: readonly SearchedServer[];
  readonly limit: number | undefined;
  /** The asking client: searches of different owners alternate. */
  readonly owner: object;
}

interface RankedFind {
  readonly owner: object;
  readonly limit: number | undefined;
  readonly accepts: (key: string, tool: string) => boolean;
  readonly byKey: ReadonlyMap<string, SearchedServer>;
}

interface IndexedList {
  readonly key: string;
  /** The gate whose tags are in the index. */
  gate: ToolGate | undefined;
  done: Promise<void>;
}

export interface ToolFinderOptions {
  /** The config's present synonyms. */
  readonly synonyms?: () => WordGroups;
  /** The file of the user's own ranker; undefined without one. */
  readonly ranker?: () => string | undefined;
  /** Called once if a ranker cannot be used. */
  readonly rankerFailed?: (file: string, reason: string) => void;
  readonly clock: Clock;
}

/** The number of search results that the user's own ranker may reorder. */
const RANKED = 50;
const USUAL_LIMIT = 10;
/** Rebuilding the index takes some hundredths of a second for a few hundred tools. */
const KEPT_MS = 10 * 60_000;

export class ToolFinder {
  #search: Promise<ToolSearch> | undefined;
  #lists = new WeakMap<readonly ListPage[], IndexedList>();
  readonly #clock: Clock;
  #usedMs = 0;
  /** Removes lists from the index that no client uses any more. */
  readonly #gone = new FinalizationRegistry<string>((key) => {
    void this.#search?.then((search) => search.remove(key));
    this.#ranker?.forget(key);
  });
  #nextKey = 1;
  /** A search takes milliseconds, and a client may request hundreds at once. */
  readonly turns = new FairTurns();
  readonly #synonyms: () => WordGroups;
  #understood: WordGroups = [];
  readonly #rankerFile: () => string | undefined;
  readonly #rankerFailed: (file: string, reason: string) => void;
  #ranker: OwnRanker | undefined;

  constructor({ synonyms = () => [], ranker = () => undefined, rankerFailed, clock }: ToolFinderOptions) {
    this.#synonyms = synonyms;
    this.#rankerFile = ranker;
    this.#rankerFailed = rankerFailed ?? (() => undefined);
    this.#clock = clock;
  }

  async find(query: string, options: FindOptions): Promise<FoundTool[]> {
    return (await this.#found(query, options)).found;
  }

  /** Finds tools, with the words of the query that each one has. */
  async explained(query: string, options: FindOptions): Promise<ExplainedFind> {
    const { search, found, keys } = await this.#found(query, options);
    const tools = found.map(({ joined, tool }, i) => ({
      server: keys[i] ?? '',
      text: { name: tool.name, ...tool.words, tags: joined.server.gate.tagsOf(tool.name) },
    }));
    const { words, of } = search.explain(query, tools);
    return { words, found: found.map((one, i) => ({ ...one, words: of[i] ?? [] })) };
  }

  async #found(
    query: string,
    { servers, limit, owner }: FindOptions,
  ): Promise<{ readonly search: ToolSearch; readonly found: FoundTool[]; readonly keys: string[] }> {
    const search = await this.#loaded();
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
      byKey.get(key)?.joined.gate.refusalOf(tool) === undefined && byKey.has(key);
    const matches = await this.#ranked(query, search, { limit, accepts, byKey, owner });
    const found: FoundTool[] = [];
    const keys: string[] = [];
    for (const { server: key, tool: name, relevance } of matches) {
      const searched = byKey.get(key);
      const tool = searched && toolsIn(searched.pages).get(name);
      if (searched === undefined || tool === undefined) continue;
      found.push({ joined: searched.joined, tool, relevance });
      keys.push(key);
    }
    return { search, found, keys };
  }

  /** Asks the search, and the user's own ranker if there is one. */
  async #ranked(query: string, search: ToolSearch, asked: RankedFind): Promise<readonly ToolMatch[]> {
    const { limit, accepts, byKey, owner } = asked;
    const searched = (most: number | undefined): Promise<readonly ToolMatch[]> =>
      this.turns.run(owner, () => search.search(query, { limit: most, accepts }));
    const file = this.#rankerFile();
    if (file === undefined) {
      this.#ranker?.close();
      this.#ranker = undefined;
      return searched(limit);
    }
    const found = await searched(RANKED);
    // A query that is a tool's exact name needs no ranker.
    if (found[0]?.relevance === 1) return searched(limit);
    const { OwnRanker } = await import('./own-ranker.ts');
    this.#ranker ??= new OwnRanker({ clock: this.#clock, failed: this.#rankerFailed });
    const lists = [...byKey].map(([key, { joined, pages }]) => ({ key, tools: () => rankable(joined, pages) }));
    const fused = await this.#ranker.fused(file, { query, lists, found });
    if (fused === found) return searched(limit);
    return fused.filter(({ server, tool }) => accepts(server, tool)).slice(0, limit ?? USUAL_LIMIT);
  }

  #loaded(): Promise<ToolSearch> {
    this.#usedMs = this.#clock.now();
    if (this.#search === undefined) this.#letGoAfter(KEPT_MS);
    this.#search ??= import('../search/tool-search.ts').then(({ ToolSearch }) => new ToolSearch());
    return this.#search;
  }

  #letGoAfter(delayMs: number): void {
    this.#clock.after(delayMs, () => {
      const leftMs = this.#usedMs + KEPT_MS - this.#clock.now();
      if (leftMs > 0) return this.#letGoAfter(leftMs);
      this.#search = undefined;
      this.#lists = new WeakMap();
      this.#understood = [];
      this.#ranker?.close();
      this.#ranker = undefined;
    });
  }

  #listed({ joined: { server }, pages, about }: SearchedServer, search: ToolSearch): IndexedList {
    const list = this.#lists.get(pages) ?? this.#newList(pages);
    if (list.gate === server.gate) return list;
    list.gate = server.gate;
    const { name, gate } = server;
    const description = about?.() ?? server.description;
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

function* rankable({ name }: SearchedServer['joined'], pages: readonly ListPage[]): Generator<RankableTool> {
  for (const tool of toolsIn(pages).values()) {
    const { title, description } = tool.words;
    yield { server: name, tool: tool.name, title, description };
  }
}

/** Reads one tool at a time, because reading all at once would block all clients. */
function* searchable(tools: Iterable<KnownTool>, gate: ToolGate): Generator<SearchableTool> {
  for (const tool of tools) yield { name: tool.name, ...tool.words, tags: gate.tagsOf(tool.name) };
}
