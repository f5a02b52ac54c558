// The index of the search. For each word it has the tools with their places, and the servers that have the word in name
// or description. One list per word serves all servers, so the cost of a search depends on tools, not on servers. It
// keeps no description.

import { actionOf } from './tool-actions.ts';
import { isPlural, spelledWordsOf, stemOf, wordsOf } from './tool-words.ts';
import { Vocabulary, type VocabularyWord } from './vocabulary.ts';

export interface SearchableTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly parameters: readonly string[];
  readonly tags: readonly string[];
}

/** A server as the search needs it. */
export interface SearchableServer {
  /** Tells the server apart from others with the same name. */
  readonly key?: string;
  readonly name: string;
  readonly description: string;
}

/** Places of a word in a tool, as bits of a posting. */
export const IN_NAME = 1;
export const IN_TITLE = 2;
export const IN_TAGS = 4;
export const IN_PARAMETERS = 8;
/** Parts of the description. Its beginning usually says what the tool is for. */
export const IN_OPENING = 16;
export const IN_LEAD = 32;
export const IN_REST = 64;
/** The name has the word as a plural. */
export const PLURAL = 128;
/** The word is in the tool's name and in most names of the server: `slack` of `slack_post_message`. */
export const IN_SHARED_NAME = 256;

/** A posting is the number of a tool, shifted by this many bits; the bits hold the places. */
export const PLACE_BITS = 9;

const OPENING_WORDS = 8;
const LEAD_WORDS = 24;
const MOST_WORDS = 300;
const MOST_CHARACTERS = 4000;
const MOST_NAME_CHARACTERS = 256;
const MOST_PARAMETERS = 64;
const MOST_TAGS = 32;
/** A word in a larger share of a server's tool names says nothing about a single tool. */
const SHARED_NAME_WORD = 0.6;
const LEAST_TOOLS_TO_SHARE = 4;

/** Costs for the pace, as the number of characters of text that take the same time. */
const WORK_OF_NAME = 16;
const WORK_OF_WORD = 8;
/** From this length on, a substring shares the memory of its original text and would keep all of it. */
const LEAST_SHARED = 13;

/** A word of some tools or servers. */
export interface KnownWord extends VocabularyWord {
  /** The number of each tool that has the word, shifted, with its places; in no order. */
  readonly postings: number[];
  /** The servers with the word in their name or description; undefined for most words. */
  servers: ServerPlace[] | undefined;
}

export interface ServerPlace {
  readonly server: IndexedServer;
  /** True if the word is in the server's name, not only in its description. */
  readonly isName: boolean;
}

/** A server whose tools have the numbers from `base` on. */
export interface IndexedServer {
  readonly key: string;
  readonly name: string;
  /** The number of words in its name. */
  readonly nameLength: number;
  readonly base: number;
  readonly tools: readonly string[];
  /** The words of its tools, its name and its description. */
  readonly words: readonly KnownWord[];
}

/** Traits of a tool, by its number. */
export interface ToolTraits {
  /** 1 if its server can be found. While a server is replaced, the index has its tools twice. */
  readonly isLive: Uint8Array;
  /** The number of words in its name, without those that all names of the server share. */
  readonly nameLength: Uint8Array;
  /** The number of words in its description. */
  readonly textLength: Uint16Array;
  /** The kind of action that its name says. */
  readonly action: Uint8Array;
  readonly isDeprecated: Uint8Array;
}

export class ToolIndex {
  readonly vocabulary = new Vocabulary<KnownWord>((text) => ({ text, postings: [], servers: undefined }));
  readonly #pace: TurnPace;
  readonly #numbers = new FreeNumbers();
  #traits = traitsFor(0);
  /** The server of each tool, by the tool's number. */
  readonly #servers: (IndexedServer | undefined)[] = [];
  /** The numbers of tools that can be found, by name. */
  readonly #named = new Map<string, number[]>();
  #size = 0;
  #textLength = 0;

  constructor(pace: TurnPace) {
    this.#pace = pace;
  }

  /** The number of tools that can be found. */
  get size(): number {
    return this.#size;
  }

  /** One more than the highest tool number. */
  get end(): number {
    return this.#numbers.end;
  }

  get traits(): ToolTraits {
    return this.#traits;
  }

  /** The usual number of words in a description. */
  get usualTextLength(): number {
    return Math.max(1, this.#textLength / Math.max(1, this.#size));
  }

  /** Adds the tools. They can be found after `show`. */
  async add(server: SearchableServer, tools: Iterable<SearchableTool>): Promise<IndexedServer> {
    const draft = new Draft();
    for (const tool of tools) await this.#pace.spend(draft.add(tool));
    const { name, key = name, description } = server;
    const serverWords = new Set(wordsOf(name.slice(0, MOST_NAME_CHARACTERS)));
    draft.settleNames(serverWords);
    await this.#pace.spend(draft.names.length * WORK_OF_NAME);
    const base = this.#numbers.take(draft.names.length);
    this.#makeRoom();
    this.#describe(draft, base);
    const words = new Set<KnownWord>();
    const indexed = { key, name, nameLength: serverWords.size, base, tools: draft.names };
    for (const [text, list] of draft.lists) {
      const word = this.vocabulary.wordFor(text);
      for (const posting of list) word.postings.push(posting + (base << PLACE_BITS));
      words.add(word);
      await this.#pace.spend(WORK_OF_WORD);
    }
    return this.#withServerWords(indexed, words, serverWords, wordsOf(description.slice(0, MOST_CHARACTERS)));
  }

  /** The server of a tool that can be found. */
  serverOf(tool: number): IndexedServer | undefined {
    return this.#servers[tool];
  }

  /** The tools with this name that can be found. */
  named(name: string): readonly number[] {
    return this.#named.get(name) ?? [];
  }

  show(server: IndexedServer): void {
    const { base, tools } = server;
    for (const [i, name] of tools.entries()) {
      this.#servers[base + i] = server;
      const alike = this.#named.get(name);
      if (alike === undefined) this.#named.set(name, [base + i]);
      else alike.push(base + i);
    }
    this.#traits.isLive.fill(1, base, base + tools.length);
    this.#size += tools.length;
    for (let tool = base; tool < base + tools.length; tool++) this.#textLength += this.#traits.textLength[tool] ?? 0;
  }

  hide({ base, tools }: IndexedServer): void {
    for (const [i, name] of tools.entries()) {
      const others = this.#named.get(name)?.filter((tool) => tool !== base + i) ?? [];
      if (others.length > 0) this.#named.set(name, others);
      else this.#named.delete(name);
    }
    this.#traits.isLive.fill(0, base, base + tools.length);
    this.#size -= tools.length;
    for (let tool = base; tool < base + tools.length; tool++) this.#textLength -= this.#traits.textLength[tool] ?? 0;
  }

  /** Removes a server that is not shown. */
  remove(server: IndexedServer): void {
    const { base, tools, words } = server;
    for (let tool = base; tool < Math.min(base + tools.length, this.#servers.length); tool++)
      this.#servers[tool] = undefined;
    for (const word of words) {
      removeBetween(word.postings, base << PLACE_BITS, (base + tools.length) << PLACE_BITS);
      const servers = word.servers?.filter((place) => place.server !== server);
      word.servers = servers?.length === 0 ? undefined : servers;
      if (word.postings.length === 0 && word.servers === undefined) this.vocabulary.remove(word);
    }
    this.#numbers.giveBack(base, tools.length);
    if (this.#servers.length > this.end) this.#servers.length = this.end;
  }

  #withServerWords(
    indexed: Omit<IndexedServer, 'words'>,
    words: Set<KnownWord>,
    nameWords: ReadonlySet<string>,
    aboutWords: readonly string[],
  ): IndexedServer {
    const list: KnownWord[] = [...words];
    const server = { ...indexed, words: list };
    for (const text of new Set([...nameWords, ...aboutWords])) {
      const word = this.vocabulary.wordFor(owned(text));
      const place = { server, isName: nameWords.has(text) };
      if (word.servers === undefined) word.servers = [place];
      else word.servers.push(place);
      if (!words.has(word)) list.push(word);
    }
    return server;
  }

  #describe({ nameLengths, actions, textLengths, deprecated }: Draft, base: number): void {
    const traits = this.#traits;
    traits.isLive.fill(0, base, base + nameLengths.length);
    traits.nameLength.set(nameLengths, base);
    traits.textLength.set(textLengths, base);
    traits.action.set(actions, base);
    traits.isDeprecated.set(deprecated, base);
  }

  #makeRoom(): void {
    if (this.end <= this.#traits.isLive.length) return;
    const wider = traitsFor(Math.max(64, this.end + (this.end >> 1)));
    wider.isLive.set(this.#traits.isLive);
    wider.nameLength.set(this.#traits.nameLength);
    wider.textLength.set(this.#traits.textLength);
    wider.action.set(this.#traits.action);
    wider.isDeprecated.set(this.#traits.isDeprecated);
    this.#traits = wider;
  }
}

function traitsFor(count: number): ToolTraits {
  return {
    isLive: new Uint8Array(count),
    nameLength: new Uint8Array(count),
    textLength: new Uint16Array(count),
    action: new Uint8Array(count),
    isDeprecated: new Uint8Array(count),
  };
}

/** Removes the numbers from `least` up to `most` (exclusive); they form one run. */
function removeBetween(numbers: number[], least: number, most: number): void {
  const isWithin = (value: number): boolean => value >= least && value < most;
  const from = numbers.findIndex(isWithin);
  if (from < 0) return;
  let to = from + 1;
  while (to < numbers.length && isWithin(numbers[to] ?? most)) to++;
  numbers.splice(from, to - from);
}

/** The tools of one server while they are read. Their numbers begin at 0. */
class Draft {
  readonly names: string[] = [];
  readonly lists = new Map<string, number[]>();
  readonly nameLengths: number[] = [];
  readonly actions: number[] = [];
  readonly textLengths: number[] = [];
  readonly deprecated: number[] = [];
  readonly #nameWords: (readonly string[])[] = [];

  /** Adds a tool. Returns the work of that, in characters. */
  add(tool: SearchableTool): number {
    const number = this.names.push(tool.name) - 1;
    const put = (text: string, most: number, place: number): void => {
      for (const word of wordsOf(text.slice(0, most))) this.#put(word, number, place);
    };
    this.#putName(tool.name, number);
    put(tool.title ?? '', MOST_NAME_CHARACTERS, IN_TITLE);
    const parameters = tool.parameters.slice(0, MOST_PARAMETERS);
    for (const parameter of parameters) put(parameter, MOST_NAME_CHARACTERS, IN_PARAMETERS);
    for (const tag of tool.tags.slice(0, MOST_TAGS)) put(tag, MOST_NAME_CHARACTERS, IN_TAGS);
    const description = (tool.description ?? '').slice(0, MOST_CHARACTERS);
    this.#putDescription(description, number);
    this.deprecated.push(isDeprecated(description) ? 1 : 0);
    return description.length + 32 * (parameters.length + 4);
  }

  /** Removes words that most names of the server begin with. */
  settleNames(serverWords: ReadonlySet<string>): void {
    const shared = this.#sharedNameWords(serverWords);
    for (const word of shared) this.#takeOutOfNames(word);
    for (const words of this.#nameWords) {
      const own = words.filter((word) => !shared.has(word));
      this.nameLengths.push(Math.min(own.length, 255));
      this.actions.push(actionOf(own));
    }
  }

  #putName(name: string, number: number): void {
    const words = spelledWordsOf(name.slice(0, MOST_NAME_CHARACTERS));
    for (const word of words) this.#put(stemOf(word), number, isPlural(word) ? IN_NAME | PLURAL : IN_NAME);
    this.#nameWords.push([...new Set(words.map(stemOf))]);
  }

  #putDescription(description: string, number: number): void {
    const words = wordsOf(description).slice(0, MOST_WORDS);
    this.textLengths.push(words.length);
    for (const [i, word] of words.entries()) {
      const place = i < OPENING_WORDS ? IN_OPENING : i < LEAD_WORDS ? IN_LEAD : IN_REST;
      this.#put(word, number, place);
    }
  }

  #put(word: string, number: number, place: number): void {
    const list = this.lists.get(word);
    if (list === undefined) return void this.lists.set(owned(word), [(number << PLACE_BITS) | place]);
    const last = list.length - 1;
    const before = list[last] ?? 0;
    if (before >>> PLACE_BITS === number) list[last] = before | place;
    else list.push((number << PLACE_BITS) | place);
  }

  /** Words that most names begin with: `slack` of `slack_post_message`, `browser` of `browser_click`. */
  #sharedNameWords(serverWords: ReadonlySet<string>): ReadonlySet<string> {
    const counts = new Map<string, number>();
    for (const word of this.#nameWords.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
    const most = this.names.length * SHARED_NAME_WORD;
    const isShared = ([word, count]: [string, number]): boolean =>
      this.names.length < LEAST_TOOLS_TO_SHARE
        ? serverWords.has(word) && this.#isAlwaysFirst(word, serverWords)
        : count > most;
    return new Set([...counts].filter(isShared).map(([word]) => word));
  }

  /** True if all names begin with the word, and say more than the name of the server. */
  #isAlwaysFirst(word: string, serverWords: ReadonlySet<string>): boolean {
    return this.#nameWords.every((words) => words[0] === word && words.some((other) => !serverWords.has(other)));
  }

  #takeOutOfNames(word: string): void {
    const list = this.lists.get(word) ?? [];
    for (const [i, posting] of list.entries())
      if ((posting & IN_NAME) !== 0) list[i] = (posting & ~(IN_NAME | PLURAL)) | IN_LEAD | IN_SHARED_NAME;
  }
}

/** Copies a word if the engine would otherwise keep the whole description that it came from. */
function owned(word: string): string {
  return word.length < LEAST_SHARED ? word : Buffer.from(word).toString();
}

const SIGNS = [
  /^\W*deprecated\b/i,
  /[[({*]\s*deprecated\b/i,
  /\bDEPRECATED\b/,
  /\b(?:tool|function|method|endpoint|command|this)\s+(?:is|was|has been)\s+(?:now\s+)?deprecated\b/i,
];

/** True if a tool calls itself deprecated. A deprecated package, field or server does not count. */
function isDeprecated(description: string): boolean {
  return /deprecated/i.test(description) && SIGNS.some((sign) => sign.test(description));
}

/** Gives out numbers for tools, one run for each server, and takes them back. */
class FreeNumbers {
  #end = 0;
  /** Free runs below the end, in order. */
  #runs: { readonly base: number; readonly count: number }[] = [];

  get end(): number {
    return this.#end;
  }

  take(count: number): number {
    const place = this.#runs.findIndex((run) => run.count >= count);
    const run = this.#runs[place];
    if (run === undefined) {
      this.#end += count;
      return this.#end - count;
    }
    const rest = { base: run.base + count, count: run.count - count };
    this.#runs.splice(place, 1, ...(rest.count > 0 ? [rest] : []));
    return run.base;
  }

  giveBack(base: number, count: number): void {
    if (count === 0) return;
    const after = this.#runs.findIndex((run) => run.base > base);
    const place = after < 0 ? this.#runs.length : after;
    const [before, next] = [this.#runs[place - 1], this.#runs[place]];
    const joinsBefore = before !== undefined && before.base + before.count === base;
    const joinsNext = next !== undefined && base + count === next.base;
    const from = joinsBefore ? before.base : base;
    const to = joinsNext ? next.base + next.count : base + count;
    this.#runs.splice(place - (joinsBefore ? 1 : 0), (joinsBefore ? 1 : 0) + (joinsNext ? 1 : 0), {
      base: from,
      count: to - from,
    });
    if (to === this.#end) {
      this.#runs.pop();
      this.#end = from;
    }
  }
}

// --- pace ---

/** Splits long work into short turns. It counts work instead of time, so it does the same on every machine. */
export class TurnPace {
  readonly #most: number;
  readonly #yieldTurn: () => Promise<void>;
  #done = 0;

  /** Other work runs after each `most` units of work. */
  constructor(most: number, yieldTurn: () => Promise<void>) {
    this.#most = most;
    this.#yieldTurn = yieldTurn;
  }

  async spend(work: number): Promise<void> {
    this.#done += work;
    if (this.#done < this.#most) return;
    this.#done = 0;
    await this.#yieldTurn();
  }
}
