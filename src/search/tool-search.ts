// The search over the tools of all servers: adds and removes servers, and answers a question with the tools that fit best.
// It keeps words and names, never a description. The daemon loads it with the first search.

import { QuestionReader, type WordGroups } from './question.ts';
import {
  indexTools,
  type SearchableServer,
  type SearchableTool,
  type ServerTools,
  TurnPace,
  Vocabulary,
} from './tool-index.ts';
import { ToolRanking } from './tool-ranking.ts';

export interface ToolSearchOptions {
  /** Synonyms beside the built-in ones. */
  readonly synonyms?: WordGroups | undefined;
  /** Lets other work run while an index is built. */
  readonly yieldTurn?: (() => Promise<void>) | undefined;
}

export interface SearchOptions {
  /** Searches only the tools of this server. */
  readonly server?: string | undefined;
  readonly limit?: number | undefined;
  /** Decides about each tool if it may be found. */
  readonly accepts?: ((server: string, tool: string) => boolean) | undefined;
}

const USUAL_LIMIT = 10;
const MOST_RESULTS = 100;
/** The best relevance for words. Only an exact name reaches 1. */
const MOST_BY_WORDS = 0.99;

/** Relevance is rounded to this many steps, so that differences nobody sees do not decide the order. */
const STEPS = 10_000;
const LONGEST_NAME = 1000;

/** Characters of text between two turns: about a millisecond of work, garbage collection included. */
const TURN_CHARACTERS = 8192;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class ToolSearch {
  #reader: QuestionReader;
  readonly #pace: TurnPace;
  readonly #vocabulary = new Vocabulary();
  readonly #servers = new Map<string, ServerTools>();
  /** The latest `set` of each server. */
  readonly #latest = new Map<string, symbol>();
  #ranking: ToolRanking | undefined;

  constructor({ synonyms, yieldTurn }: ToolSearchOptions = {}) {
    this.#reader = new QuestionReader(synonyms);
    this.#pace = new TurnPace(TURN_CHARACTERS, yieldTurn ?? nextTurn);
  }

  /** Replaces the configured synonyms. The index stays as it is. */
  understand(synonyms: WordGroups): void {
    this.#reader = new QuestionReader(synonyms);
  }

  /** Replaces the tools of a server. Searches find the old ones until this is done. */
  async set(server: SearchableServer, tools: Iterable<SearchableTool>): Promise<void> {
    const { key = server.name } = server;
    const turn = Symbol(key);
    this.#latest.set(key, turn);
    const indexed = await indexTools(server, tools, this.#pace);
    await this.#vocabulary.add(indexed, this.#pace);
    if (this.#latest.get(key) !== turn) return this.#vocabulary.remove(indexed);
    this.remove(key);
    this.#servers.set(key, indexed);
  }

  remove(server: string): void {
    this.#latest.delete(server);
    this.#ranking = undefined;
    const before = this.#servers.get(server);
    if (before === undefined) return;
    this.#servers.delete(server);
    this.#vocabulary.remove(before);
  }

  /** Returns the best tools first; equally good ones are in the order of server and tool name. */
  search(query: string, { server, limit, accepts = () => true }: SearchOptions = {}): ToolMatch[] {
    const asked =
      limit === undefined ? undefined : Math.min(MOST_RESULTS, Math.max(1, Math.floor(limit) || USUAL_LIMIT));
    const best = new BestTools(USUAL_LIMIT, asked, accepts);
    const wanted = query.slice(0, LONGEST_NAME).trim();
    this.#ranking ??= new ToolRanking(this.#vocabulary, this.#servers.values());
    this.#ranking.rank(this.#reader.read(query), server);
    for (const indexed of this.#servers.values())
      if (server === undefined || indexed.key === server) this.#offer(indexed, this.#ranking, wanted, best);
    return best.found;
  }

  #offer(server: ServerTools, ranking: ToolRanking, wanted: string, best: BestTools): void {
    const names = namesIn(wanted, server.name);
    for (const [i, tool] of server.tools.entries()) {
      const relevance = names.includes(tool) ? 1 : MOST_BY_WORDS * Math.sqrt(ranking.fitOf(server, i));
      best.offer(server.key, tool, Math.round(relevance * STEPS) / STEPS);
    }
  }
}

/** Parts of a query that may be the name of a tool of this server: `create_issue`, `github:create_issue`, `github__create_issue`. */
function namesIn(wanted: string, server: string): string[] {
  const names = [wanted];
  if (wanted.startsWith(server)) names.push(wanted.slice(server.length).replace(/^(?::|__|\/|\.|\s)\s*/, ''));
  return names;
}

export interface ToolMatch {
  readonly server: string;
  readonly tool: string;
  /** From 0 to 1. A tool whose name was the question has 1. */
  readonly relevance: number;
}

/** A tool below this part of the best relevance is left out. Behind the first few the bound is higher, unless a limit was asked for. */
const LEAST_OF_BEST = 0.7;
const LEAST_OF_MORE = 0.9;
const FEW = 5;

/** The best few of all tools that are offered, in an order that does not depend on the order of the offers. */
class BestTools {
  readonly #limit: number;
  readonly #few: number;
  readonly #accepts: (server: string, tool: string) => boolean;
  readonly #found: ToolMatch[] = [];

  /** `asked` is the limit in the request, if it has one. */
  constructor(usual: number, asked: number | undefined, accepts: (server: string, tool: string) => boolean) {
    this.#limit = asked ?? usual;
    this.#few = asked ?? FEW;
    this.#accepts = accepts;
  }

  /** Calls `accepts` only for a tool that would be among the best. */
  offer(server: string, tool: string, relevance: number): void {
    const last = this.#found.length === this.#limit ? this.#found.at(-1) : undefined;
    if (relevance <= 0 || relevance < (last?.relevance ?? 0)) return;
    const offered = { server, tool, relevance };
    if (last !== undefined && inOrder(offered, last) > 0) return;
    if (!this.#accepts(server, tool)) return;
    const place = this.#found.findIndex((found) => inOrder(offered, found) < 0);
    this.#found.splice(place < 0 ? this.#found.length : place, 0, offered);
    if (this.#found.length > this.#limit) this.#found.pop();
  }

  get found(): ToolMatch[] {
    const best = this.#found[0]?.relevance ?? 0;
    return this.#found.filter(
      ({ relevance }, i) => relevance >= best * (i < this.#few ? LEAST_OF_BEST : LEAST_OF_MORE),
    );
  }
}

function inOrder(a: ToolMatch, b: ToolMatch): number {
  return b.relevance - a.relevance || compare(a.server, b.server) || compare(a.tool, b.tool);
}

/** Compares code units: the rules of a language differ between machines. */
function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
