// The tools of one server as the search keeps them: their names, and for each word in which of them it stands and how
// prominently. Built once, in slices; never changed. It keeps no description.

import { isDeprecated } from './deprecation.ts';
import { actionOf } from './tool-actions.ts';
import { spelledWordsOf, wordsOf } from './tool-words.ts';
import type { TurnPace } from './turn-pace.ts';
import { isPlural, stemOf } from './word-stem.ts';

export interface SearchableTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly parameters: readonly string[];
  readonly tags: readonly string[];
}

/** Where in a tool a word stands: bits of a posting. */
export const IN_NAME = 1;
export const IN_TITLE = 2;
export const IN_TAGS = 4;
export const IN_PARAMETERS = 8;
/** Of the description: what it begins with mostly says what the tool is for. */
export const IN_OPENING = 16;
export const IN_LEAD = 32;
export const IN_REST = 64;
/** Of a name: more than one is meant. */
export const PLURAL = 128;

/** A posting is the number of a tool, and this many bits of where. */
export const PLACE_BITS = 8;
/** As many characters of text take as long. */
const WORK_OF_NAME = 16;
export const WORK_OF_WORD = 8;
/** Of a string that shares the memory of a longer one, which it would keep. */
const LEAST_SHARED = 13;

const OPENING_WORDS = 8;
const LEAD_WORDS = 24;
const MOST_WORDS = 300;
const MOST_CHARACTERS = 4000;
const MOST_NAME_CHARACTERS = 256;
const MOST_PARAMETERS = 64;
const MOST_TAGS = 32;
/** A word in more of a server's names than this is the server's, and says nothing about a tool. */
const SHARED_NAME_WORD = 0.6;
const LEAST_TOOLS_TO_SHARE = 4;

/** What is known of the server itself. */
export interface SearchableServer {
  /** What it goes by, where several have its name. */
  readonly key?: string;
  readonly name: string;
  readonly description: string;
}

export interface ServerTools {
  readonly key: string;
  readonly name: string;
  /** Of the server's name. */
  readonly words: ReadonlySet<string>;
  /** Of its description. */
  readonly aboutWords: ReadonlySet<string>;
  readonly tools: readonly string[];
  /** How many words each tool's name has that are not the server's. */
  readonly nameLengths: Uint8Array;
  /** What kind of thing each tool does, by its name. */
  readonly actions: Uint8Array;
  /** The numbers of those that say that they should not be used any more. */
  readonly deprecated: ReadonlySet<number>;
  /** Where in `postings` each word begins. */
  readonly starts: ReadonlyMap<string, number>;
  /** Of each word how many there are, and then each: the number of the tool, and where in it the word stands. */
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

  /** Returns what it took, in characters. */
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

  /** `slack` of `slack_post_message`, `browser` of `browser_click`. */
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

/** A copy where the engine would otherwise keep the whole description that a word was cut from. */
function owned(word: string): string {
  return word.length < LEAST_SHARED ? word : Buffer.from(word).toString();
}
