// The search over the tools of all servers. It adds and removes servers, and answers a question with the tools that fit
// best. It keeps words and names, never a description. The daemon loads it for the first search.

import { nextTurn } from '../util/next-turn.ts';
import { BestTools, mixed, type PickedTool } from './best-tools.ts';
import { type ExplainedTool, type ExplainedWord, Explanation, type MeantWord } from './explanation.ts';
import { QuestionReader, type WordGroups } from './question.ts';
import { type IndexedServer, type SearchableServer, type SearchableTool, ToolIndex, TurnPace } from './tool-index.ts';
import { type RankedTools, ToolRanking } from './tool-ranking.ts';

export interface ToolSearchOptions {
  /** Synonyms in addition to the built-in ones. */
  readonly synonyms?: WordGroups | undefined;
  /** Lets other work run while an index is built. */
  readonly yieldTurn?: (() => Promise<void>) | undefined;
}

export interface SearchOptions {
  /** Searches only the tools of this server. */
  readonly server?: string | undefined;
  readonly limit?: number | undefined;
  /** Decides for each tool if it may be found. */
  readonly accepts?: ((server: string, tool: string) => boolean) | undefined;
}

export interface ToolMatch {
  readonly server: string;
  readonly tool: string;
  /** From 0 to 1. A tool has 1 if its name was the question. */
  readonly relevance: number;
}

const USUAL_LIMIT = 10;
const MOST_RESULTS = 100;
/** After the first few answers, the limit is higher. */
const FEW = 5;
const CUT = 1.7;
const CUT_OF_MORE = 1.22;
/** The number of candidates for each wish. */
const CANDIDATES = 20;
/** The best relevance for words. Only an exact name reaches 1. */
const MOST_BY_WORDS = 0.99;
/** Relevance is rounded to this many steps, so that differences nobody sees do not decide the order. */
const STEPS = 10_000;
const LONGEST_NAME = 1000;
/** The marks between the names of a server and a tool: `github:create_issue`, `github__create_issue`. */
const SEPARATORS = /(?::|__|\/|\.|\s)\s*/g;

/** Characters of text between two turns: about a millisecond of work, garbage collection included. */
const TURN_CHARACTERS = 8192;

export class ToolSearch {
  #reader: QuestionReader;
  readonly #index: ToolIndex;
  readonly #ranking: ToolRanking;
  readonly #servers = new Map<string, IndexedServer>();
  /** The latest `set` of each server. */
  readonly #latest = new Map<string, symbol>();

  constructor({ synonyms, yieldTurn }: ToolSearchOptions = {}) {
    this.#reader = new QuestionReader(synonyms);
    this.#index = new ToolIndex(new TurnPace(TURN_CHARACTERS, yieldTurn ?? nextTurn));
    this.#ranking = new ToolRanking(this.#index);
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
    const indexed = await this.#index.add(server, tools);
    if (this.#latest.get(key) !== turn) return this.#index.remove(indexed);
    this.remove(key);
    this.#servers.set(key, indexed);
    this.#index.show(indexed);
  }

  remove(server: string): void {
    this.#latest.delete(server);
    const before = this.#servers.get(server);
    if (before === undefined) return;
    this.#servers.delete(server);
    this.#index.hide(before);
    this.#index.remove(before);
  }

  /** Returns the best tools first; equally good ones are in the order of server name and tool name. */
  search(query: string, { server, limit, accepts }: SearchOptions = {}): ToolMatch[] {
    const only = server === undefined ? undefined : this.#servers.get(server);
    if (server !== undefined && only === undefined) return [];
    const most = limit === undefined ? USUAL_LIMIT : Math.min(MOST_RESULTS, Math.floor(limit) || USUAL_LIMIT);
    const mayBeFound = this.#decidedOnce(accepts);
    const named = this.#named(query, only).filter(({ number }) => mayBeFound(number));
    const known = new Set(named.map(({ number }) => number));
    const found = this.#found(query, only, Math.max(1, most), (tool) => !known.has(tool) && mayBeFound(tool));
    const all = [...named.sort(this.#inOrder), ...found.picked].slice(0, Math.max(1, most));
    // With several wishes, later answers are for other wishes; they are not weaker answers to the first.
    const isCut = limit === undefined && (named.length > 0 || found.wishes < 2);
    return (isCut ? withoutWeak(all) : all).map((picked) => this.#match(picked));
  }

  /** Explains why some tools are found, and how the search reads the words of the question. */
  explain(
    query: string,
    tools: readonly ExplainedTool[],
  ): { readonly words: readonly MeantWord[]; readonly of: readonly (readonly ExplainedWord[])[] } {
    const numbers = tools.map(({ server, text }) =>
      this.#index.named(text.name).find((number) => this.#index.serverOf(number)?.key === server),
    );
    const wanted = new Map<number, { readonly server: IndexedServer; readonly text: SearchableTool }>();
    for (const [i, { text }] of tools.entries()) {
      const number = numbers[i];
      const server = number === undefined ? undefined : this.#index.serverOf(number);
      if (number !== undefined && server !== undefined) wanted.set(number, { server, text });
    }
    const explanation = new Explanation(wanted);
    this.#ranking.rank(this.#reader.read(query), undefined, explanation.take);
    const of = numbers.map((number) => (number === undefined ? [] : explanation.wordsOf(number)));
    return { words: explanation.words, of };
  }

  /** The best tools by words. The relevance never rises along the list, even if a later tool answers only one wish. */
  #found(
    query: string,
    only: IndexedServer | undefined,
    most: number,
    accepts: (tool: number) => boolean,
  ): { readonly picked: readonly PickedTool[]; readonly wishes: number } {
    const { whole, wishes } = this.#ranking.rank(this.#reader.read(query), only);
    const best = this.#bestOf(whole, Math.max(most, CANDIDATES), accepts);
    if (wishes.length === 0) return { picked: best.slice(0, most), wishes: 1 };
    const candidates = new Map(best.map((picked) => [picked.number, picked]));
    for (const wish of wishes)
      for (const picked of this.#bestOf(wish, CANDIDATES, accepts))
        if (picked.relevance > (candidates.get(picked.number)?.relevance ?? 0)) candidates.set(picked.number, picked);
    const inOrder = [...candidates.values()].sort(this.#inOrder).map(({ number }) => number);
    let least = 1;
    const picked = mixed(inOrder, whole, wishes, most).map((number) => {
      least = Math.min(least, candidates.get(number)?.relevance ?? 0);
      return { number, relevance: least };
    });
    return { picked, wishes: wishes.length };
  }

  #bestOf(ranked: RankedTools, most: number, accepts: (tool: number) => boolean): readonly PickedTool[] {
    const best = new BestTools(most, this.#inOrder);
    let least = 0;
    for (let i = 0; i < ranked.count; i++) {
      const number = ranked.tools[i] ?? 0;
      const fit = ranked.fitOf(number, least);
      if (fit <= least) continue;
      const relevance = relevanceOf(fit);
      if (relevance > 0) best.offer({ number, relevance }, accepts);
      least = fitBelow(best.least);
    }
    return best.picked;
  }

  /** The tools whose name is the question. */
  #named(query: string, only: IndexedServer | undefined): PickedTool[] {
    const wanted = query.slice(0, LONGEST_NAME).trim();
    const isAmong = (number: number): boolean => only === undefined || this.#index.serverOf(number) === only;
    const found = new Set(this.#index.named(wanted).filter(isAmong));
    for (const { index, 0: separator } of wanted.matchAll(SEPARATORS)) {
      const server = wanted.slice(0, index);
      for (const number of this.#index.named(wanted.slice(index + separator.length)))
        if (this.#index.serverOf(number)?.name === server && isAmong(number)) found.add(number);
    }
    return [...found].map((number) => ({ number, relevance: 1 }));
  }

  #decidedOnce(accepts: SearchOptions['accepts']): (tool: number) => boolean {
    if (accepts === undefined) return () => true;
    const decided = new Map<number, boolean>();
    return (number) => {
      const before = decided.get(number);
      if (before !== undefined) return before;
      const { server, tool } = this.#match({ number, relevance: 0 });
      const mayBeFound = accepts(server, tool);
      decided.set(number, mayBeFound);
      return mayBeFound;
    };
  }

  #match({ number, relevance }: PickedTool): ToolMatch {
    const server = this.#index.serverOf(number);
    return { server: server?.key ?? '', tool: server?.tools[number - server.base] ?? '', relevance };
  }

  readonly #inOrder = (a: PickedTool, b: PickedTool): number => {
    if (a.relevance !== b.relevance) return b.relevance - a.relevance;
    const [one, other] = [this.#match(a), this.#match(b)];
    return compare(one.server, other.server) || compare(one.tool, other.tool);
  };
}

/** Raises fits for people: a fit is a product of shares, so it looks small. */
function relevanceOf(fit: number): number {
  return Math.round(MOST_BY_WORDS * Math.sqrt(Math.sqrt(fit)) * STEPS) / STEPS;
}

/** A fit that certainly gives less than this relevance. */
function fitBelow(relevance: number): number {
  return (Math.max(0, relevance - 1 / STEPS) / MOST_BY_WORDS) ** 4;
}

/**
 * Drops answers that are far behind the first one; the surer the first one is, the more. An agent pays for each answer,
 * and also for a missing one.
 */
function withoutWeak(picked: readonly PickedTool[]): readonly PickedTool[] {
  const best = picked[0]?.relevance ?? 0;
  return picked.filter(({ relevance }, i) => relevance >= best ** (i < FEW ? CUT : CUT_OF_MORE));
}

/** Compares code units: language rules differ between machines. */
function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
