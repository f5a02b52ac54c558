// The index of the search. Each server has a table of its own: for each word the tools that have it, and where in the tool.
// The vocabulary joins the words of all servers. Tables are built in slices and never changed; no description is kept.

import { actionOf } from './tool-actions.ts';
import { isPlural, spelledWordsOf, stemOf, wordsOf } from './tool-words.ts';

export interface SearchableTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly parameters: readonly string[];
  readonly tags: readonly string[];
}

/** Places of a word in a tool, as bits of a posting. */
export const IN_NAME = 1;
export const IN_TITLE = 2;
export const IN_TAGS = 4;
export const IN_PARAMETERS = 8;
/** Parts of the description. Its beginning mostly says what the tool is for. */
export const IN_OPENING = 16;
export const IN_LEAD = 32;
export const IN_REST = 64;
/** The word stands in the name as a plural. */
export const PLURAL = 128;

/** A posting is the number of a tool, shifted by this many bits of places. */
export const PLACE_BITS = 8;
/** Costs for the pace, in characters of text that take as long. */
const WORK_OF_NAME = 16;
const WORK_OF_WORD = 8;
/** From this length on a substring shares the memory of the text that it was cut from, and would keep all of it. */
const LEAST_SHARED = 13;

const OPENING_WORDS = 8;
const LEAD_WORDS = 24;
const MOST_WORDS = 300;
const MOST_CHARACTERS = 4000;
const MOST_NAME_CHARACTERS = 256;
const MOST_PARAMETERS = 64;
const MOST_TAGS = 32;
/** A word in a larger share of a server's tool names says nothing about one tool. */
const SHARED_NAME_WORD = 0.6;
const LEAST_TOOLS_TO_SHARE = 4;

/** A server, as the search needs it. */
export interface SearchableServer {
  /** Tells it apart from others of the same name. */
  readonly key?: string;
  readonly name: string;
  readonly description: string;
}

export interface ServerTools {
  readonly key: string;
  readonly name: string;
  /** Words of the server's name. */
  readonly words: ReadonlySet<string>;
  /** Words of its description. */
  readonly aboutWords: ReadonlySet<string>;
  readonly tools: readonly string[];
  /** The number of words in each tool's name, without those that all names of the server share. */
  readonly nameLengths: Uint8Array;
  /** The kind of action of each tool, by its name. */
  readonly actions: Uint8Array;
  /** The numbers of tools that call themselves deprecated. */
  readonly deprecated: ReadonlySet<number>;
  /** The place in `postings` where each word begins. */
  readonly starts: ReadonlyMap<string, number>;
  /** For each word the number of its postings, then the postings. */
  readonly postings: Uint32Array;
}

export async function indexTools(
  server: SearchableServer,
  tools: Iterable<SearchableTool>,
  pace: TurnPace,
): Promise<ServerTools> {
  const draft = new Draft();
  for (const tool of tools) await pace.spend(draft.add(tool));
  return draft.finish(server, pace);
}

class Draft {
  readonly names: string[] = [];
  readonly #nameWords: (readonly string[])[] = [];
  readonly #deprecated = new Set<number>();
  readonly #lists = new Map<string, number[]>();

  /** Returns the work that it took, in characters. */
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
    if (isDeprecated(description)) this.#deprecated.add(number);
    return description.length + 32 * (parameters.length + 4);
  }

  #putName(name: string, number: number): void {
    const words = spelledWordsOf(name.slice(0, MOST_NAME_CHARACTERS));
    for (const word of words) this.#put(stemOf(word), number, isPlural(word) ? IN_NAME | PLURAL : IN_NAME);
    this.#nameWords.push([...new Set(words.map(stemOf))]);
  }

  #putDescription(description: string, number: number): void {
    const words = wordsOf(description).slice(0, MOST_WORDS);
    for (const [i, word] of words.entries()) {
      const place = i < OPENING_WORDS ? IN_OPENING : i < LEAD_WORDS ? IN_LEAD : IN_REST;
      this.#put(word, number, place);
    }
  }

  #put(word: string, number: number, place: number): void {
    const list = this.#lists.get(word);
    if (list === undefined) return void this.#lists.set(owned(word), [(number << PLACE_BITS) | place]);
    const last = list.length - 1;
    const before = list[last] ?? 0;
    if (before >>> PLACE_BITS === number) list[last] = before | place;
    else list.push((number << PLACE_BITS) | place);
  }

  async finish({ name, key = name, description }: SearchableServer, pace: TurnPace): Promise<ServerTools> {
    const words = new Set(wordsOf(name.slice(0, MOST_NAME_CHARACTERS)));
    const shared = this.#sharedNameWords(words);
    for (const word of shared) this.#takeOutOfNames(word);
    await pace.spend(this.names.length * WORK_OF_NAME);
    return {
      key,
      name,
      words,
      aboutWords: new Set(wordsOf(description.slice(0, MOST_CHARACTERS))),
      tools: this.names,
      nameLengths: Uint8Array.from(this.#nameWords, (own) => own.filter((word) => !shared.has(word)).length),
      actions: Uint8Array.from(this.#nameWords, (own) => actionOf(own.filter((word) => !shared.has(word)))),
      deprecated: this.#deprecated,
      ...(await this.#flatten(pace)),
    };
  }

  /** Words that most names begin with: `slack` of `slack_post_message`, `browser` of `browser_click`. */
  #sharedNameWords(serverWords: ReadonlySet<string>): ReadonlySet<string> {
    const counts = new Map<string, number>();
    for (const word of this.#nameWords.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
    const most = this.names.length * SHARED_NAME_WORD;
    const isShared = ([word, count]: [string, number]): boolean =>
      this.names.length < LEAST_TOOLS_TO_SHARE ? serverWords.has(word) && this.#isAlwaysFirst(word) : count > most;
    return new Set([...counts].filter(isShared).map(([word]) => word));
  }

  #isAlwaysFirst(word: string): boolean {
    return this.#nameWords.every((words) => words[0] === word && words.length > 1);
  }

  #takeOutOfNames(word: string): void {
    const list = this.#lists.get(word) ?? [];
    for (const [i, posting] of list.entries()) list[i] = (posting & ~(IN_NAME | PLURAL)) | IN_LEAD;
  }

  async #flatten(pace: TurnPace): Promise<Pick<ServerTools, 'starts' | 'postings'>> {
    const lists = [...this.#lists];
    const postings = new Uint32Array(lists.reduce((sum, [, list]) => sum + list.length + 1, 0));
    const starts = new Map<string, number>();
    let end = 0;
    for (const [word, list] of lists) {
      starts.set(word, end);
      postings[end] = list.length;
      postings.set(list, end + 1);
      end += list.length + 1;
      await pace.spend(WORK_OF_WORD);
    }
    return { starts, postings };
  }
}

/** Copies a word if the engine would otherwise keep the whole description that it was cut from. */
function owned(word: string): string {
  return word.length < LEAST_SHARED ? word : Buffer.from(word).toString();
}

const SIGNS = [
  /^\W*deprecated\b/i,
  /[[({*]\s*deprecated\b/i,
  /\bDEPRECATED\b/,
  /\b(?:tool|function|method|endpoint|command|this)\s+(?:is|was|has been)\s+(?:now\s+)?deprecated\b/i,
];

/** Checks if a tool calls itself deprecated. Its packages, fields or server may be deprecated without that. */
function isDeprecated(description: string): boolean {
  return /deprecated/i.test(description) && SIGNS.some((sign) => sign.test(description));
}

// --- the words of all servers ---

export interface KnownWord {
  readonly text: string;
  /** The servers that have it, each with the place in its postings where the word begins. */
  readonly places: Map<ServerTools, number>;
}

/** Shorter words begin too many others, or are too similar to each other. */
const LEAST_BEGINNING = 3;
const LEAST_MISTYPED = 3;
const MOST_COMPLETIONS = 8;
const MOST_CORRECTIONS = 4;

/** All words of all servers. Removing a server removes its places, and words that no other server has. */
export class Vocabulary {
  readonly #words = new Map<string, KnownWord>();
  /** Words by their first two letters and by their last two. A word with one typing error has one of the two right. */
  readonly #heads = new Map<string, Set<KnownWord>>();
  readonly #tails = new Map<string, Set<KnownWord>>();

  get(text: string): KnownWord | undefined {
    return this.#words.get(text);
  }

  async add(server: ServerTools, pace: TurnPace): Promise<void> {
    for (const [text, start] of server.starts) {
      const word = this.#words.get(text) ?? this.#addWord(text);
      word.places.set(server, start);
      await pace.spend(WORK_OF_WORD);
    }
  }

  remove(server: ServerTools): void {
    for (const text of server.starts.keys()) {
      const word = this.#words.get(text);
      if (word?.places.delete(server) === true && word.places.size === 0) this.#removeWord(word);
    }
  }

  /** Words that begin with this one, the shortest first. */
  completionsOf(text: string): KnownWord[] {
    if (text.length < LEAST_BEGINNING) return [];
    const longer = [...(this.#heads.get(headOf(text)) ?? [])].filter(
      (word) => word.text.length > text.length && word.text.startsWith(text),
    );
    return longer.sort(byLengthAndText).slice(0, MOST_COMPLETIONS);
  }

  /** Words that differ by one typing error: a wrong, missing or additional letter, or two that changed places. */
  correctionsOf(text: string): KnownWord[] {
    if (text.length < LEAST_MISTYPED) return [];
    const alike = [this.#heads.get(headOf(text)), this.#tails.get(tailOf(text))].flatMap((words) => [...(words ?? [])]);
    // With three letters only a missing one is corrected: most words that differ in one letter are other words.
    const least = text.length === LEAST_MISTYPED ? text.length + 1 : text.length - 1;
    const near = [...new Set(alike)].filter((word) => word.text.length >= least && isOneTypoAway(text, word.text));
    return near.sort(byLengthAndText).slice(0, MOST_CORRECTIONS);
  }

  #addWord(text: string): KnownWord {
    const word = { text, places: new Map<ServerTools, number>() };
    this.#words.set(text, word);
    addTo(this.#heads, headOf(text), word);
    addTo(this.#tails, tailOf(text), word);
    return word;
  }

  #removeWord(word: KnownWord): void {
    this.#words.delete(word.text);
    removeFrom(this.#heads, headOf(word.text), word);
    removeFrom(this.#tails, tailOf(word.text), word);
  }
}

const headOf = (text: string): string => text.slice(0, 2);
const tailOf = (text: string): string => text.slice(-2);

function byLengthAndText(a: KnownWord, b: KnownWord): number {
  return a.text.length - b.text.length || (a.text < b.text ? -1 : 1);
}

function addTo(groups: Map<string, Set<KnownWord>>, key: string, word: KnownWord): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([word]));
  else group.add(word);
}

function removeFrom(groups: Map<string, Set<KnownWord>>, key: string, word: KnownWord): void {
  const group = groups.get(key);
  group?.delete(word);
  if (group?.size === 0) groups.delete(key);
}

function isOneTypoAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  const [restA, restB] = [a.slice(from), b.slice(from)];
  if (a.length !== b.length) return a.length > b.length ? restA.slice(1) === restB : restB.slice(1) === restA;
  if (restA.slice(1) === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
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
