// Ranks tools by how well they fit a question and each of its wishes. It multiplies two measures of the same words: the
// share of the question that a tool covers, by the best place of each word, and BM25, by all places of each word.
//
//   fit = covered × (1 − NAME_SHARE + NAME_SHARE × named) × bm25, less for a tool that does another kind of thing

import type { AskedWish, AskedWord, Question } from './question.ts';
import { ACTIONS, isOtherAction } from './tool-actions.ts';
import {
  IN_LEAD,
  IN_NAME,
  IN_OPENING,
  IN_PARAMETERS,
  IN_REST,
  IN_SHARED_NAME,
  IN_TAGS,
  IN_TITLE,
  type IndexedServer,
  type KnownWord,
  PLACE_BITS,
  PLURAL,
  type ServerPlace,
  type ToolIndex,
} from './tool-index.ts';

/** The quality of a word that is not exactly the asked one. */
const SYNONYM = 0.75;
const COMPLETION = 0.7;
const COMPLETION_OF_KNOWN = 0.45;
const CORRECTION = 0.75;
const PART_OF_PHRASE = 0.6;
/** The least quality at which a word counts as part of the name. */
const LEAST_NAMING = 0.5;

const PLACE_WEIGHTS: readonly (readonly [place: number, weight: number])[] = [
  [IN_NAME, 0.85],
  [IN_TITLE, 0.6],
  [IN_TAGS, 0.6],
  [IN_OPENING, 0.55],
  [IN_LEAD, 0.42],
  [IN_PARAMETERS, 0.3],
  [IN_REST, 0.2],
];
/** The part of the remaining fit that a second match for the same asked word adds. */
const SECOND_WORD = 0.5;
const SERVER_NAMED = 0.9;
const SERVER_HALF_NAMED = 0.5;
const SERVER_DESCRIBED = 0.25;
/** The least weight of a server's name in a question, however common the word is. */
const LEAST_SERVER_WEIGHT = 0.7;
const LEAST_WEIGHT = 0.12;
/** The weight of a word that no tool has. */
const UNKNOWN_WEIGHT = 0.3;
const NAME_SHARE = 0.25;
/** Factor for a tool that does another kind of action. */
const OTHER_ACTION = 0.7;
/** Factor for a tool that calls itself deprecated. */
const DEPRECATED = 0.6;
/** Factor for a singular in the name if the question has a plural, or the other way round. */
const OTHER_NUMBER = 0.95;

/** BM25: how often a word counts in each place, and how soon more of it adds little. */
const TIMES_IN_NAME = 4;
const TIMES_IN_TITLE = 2;
const TIMES_IN_PARAMETERS = 0.3;
const TIMES_IN_TEXT = 1;
const TIMES_IN_REST = 0.7;
const TIMES_IN_SERVER = 1.5;
const TIMES_IN_ABOUT = 0.5;
const SATURATION = 2;
/** The part of a description's length that counts. */
const LENGTH_SHARE = 0.6;
/** The quality of a synonym in BM25. */
const TIMES_OF_SYNONYM = 0.5;

const PLACES = 1 << PLACE_BITS;
const STRONG_PLACES = IN_NAME | IN_TITLE | IN_TAGS | IN_OPENING | IN_LEAD;

const weightsOf = (weight: (places: number) => number): Float64Array =>
  Float64Array.from({ length: PLACES }, (_, places) => weight(places));
const has = (places: number, place: number, value: number): number => ((places & place) === 0 ? 0 : value);

/** The weight of each combination of places: each place adds a part of what the others leave open. */
const WEIGHT_OF = weightsOf(
  (places) => 1 - PLACE_WEIGHTS.reduce((open, [place, weight]) => (places & place ? open * (1 - weight) : open), 1),
);
/** How often a word counts, for each combination of places. */
const TIMES_OF = weightsOf(
  (places) =>
    has(places, IN_NAME | IN_SHARED_NAME, TIMES_IN_NAME) +
    has(places, IN_TITLE, TIMES_IN_TITLE) +
    has(places, IN_TAGS, TIMES_IN_TITLE) +
    has(places, IN_PARAMETERS, TIMES_IN_PARAMETERS),
);
const TIMES_IN_TEXT_OF = weightsOf(
  (places) =>
    has(places, IN_OPENING, TIMES_IN_TEXT) +
    // A shared word of the name got this place instead of its own; it does not stand in the text.
    (places & IN_SHARED_NAME ? 0 : has(places, IN_LEAD, TIMES_IN_TEXT)) +
    has(places, IN_REST, TIMES_IN_REST),
);

/** A known word that stands for an asked one. */
export interface WordMatch {
  readonly word: KnownWord;
  readonly quality: number;
  readonly times: number;
}

/** Called for each word that is ranked, before the next one. Only an explanation listens. */
export type WordListener = (asked: AskedWord, weight: number, matches: readonly WordMatch[]) => void;

/** The scores of all tools for some words; kept for the next question. */
class Scores {
  readonly covered: Float64Array;
  readonly times: Float64Array;
  readonly named: Float64Array;
  /** The tools with a score. */
  readonly tools: Uint32Array;
  count = 0;
  /** The weight of all words. */
  mass = 0;
  /** The actions that the words ask for. */
  actions: number[] = [];

  constructor(capacity: number) {
    this.covered = new Float64Array(capacity);
    this.times = new Float64Array(capacity);
    this.named = new Float64Array(capacity);
    this.tools = new Uint32Array(capacity);
  }

  clear(): void {
    for (let i = 0; i < this.count; i++) {
      const tool = this.tools[i] ?? 0;
      this.covered[tool] = 0;
      this.times[tool] = 0;
      this.named[tool] = 0;
    }
    this.count = 0;
    this.mass = 0;
    this.actions = [];
  }

  add(tool: number, covered: number, times: number, named: number): void {
    const before = this.covered[tool] ?? 0;
    if (before === 0) this.tools[this.count++] = tool;
    this.covered[tool] = before + covered;
    this.times[tool] = (this.times[tool] ?? 0) + times;
    this.named[tool] = (this.named[tool] ?? 0) + named;
  }
}

/** The ranking of all tools for a question or a wish; valid until the next question. */
export interface RankedTools {
  /** The tools with a fit, in no order: the first `count` numbers. */
  readonly tools: Uint32Array;
  readonly count: number;
  /** The weight of the words. */
  readonly mass: number;
  /** The fit from 0 to 1; also 0 for a tool that certainly fits no better than `least`. */
  fitOf(tool: number, least?: number): number;
}

export class ToolRanking {
  readonly #index: ToolIndex;
  #capacity = 0;
  #whole = new Scores(0);
  #wishes: Scores[] = [];
  /** The best fit of each tool for the current word; next, how often the tool has it, and how well its name does. */
  #best = new Float64Array(0);
  #times = new Float64Array(0);
  #naming = new Float64Array(0);
  /** The tools that have the current word. */
  #marked = new Uint32Array(0);
  #count = 0;
  /** Only tools from `#from` up to `#to` are ranked. */
  #from = 0;
  #to = 0;
  #size = 0;

  constructor(index: ToolIndex) {
    this.#index = index;
  }

  /** Ranks all tools, or those of one server: for the question as a whole, and for each wish if there are several. */
  rank(
    { wishes }: Question,
    only?: IndexedServer,
    listener?: WordListener,
  ): { readonly whole: RankedTools; readonly wishes: readonly RankedTools[] } {
    this.#makeRoom();
    this.#from = only?.base ?? 0;
    this.#to = only === undefined ? this.#index.end : only.base + only.tools.length;
    this.#size = only === undefined ? this.#index.size : only.tools.length;
    this.#whole.clear();
    for (const scores of this.#wishes) scores.clear();
    while (wishes.length > 1 && this.#wishes.length < wishes.length) this.#wishes.push(new Scores(this.#capacity));
    for (const [i, wish] of wishes.entries())
      this.#rankWish(wish, wishes.length > 1 ? this.#wishes[i] : undefined, listener);
    const some = wishes.length > 1 ? this.#wishes.slice(0, wishes.length) : [];
    return { whole: this.#ranked(this.#whole), wishes: some.map((scores) => this.#ranked(scores)) };
  }

  #makeRoom(): void {
    const { end } = this.#index;
    if (end <= this.#capacity && end * 4 >= this.#capacity) return;
    const capacity = end + (end >> 2);
    this.#capacity = capacity;
    this.#whole = new Scores(capacity);
    this.#wishes = [];
    this.#best = new Float64Array(capacity);
    this.#times = new Float64Array(capacity);
    this.#naming = new Float64Array(capacity);
    this.#marked = new Uint32Array(capacity);
  }

  #rankWish({ asked, action }: AskedWish, scores: Scores | undefined, listener: WordListener | undefined): void {
    scores?.actions.push(action);
    this.#whole.actions.push(action);
    for (const word of asked) {
      const weight = this.#look(word, listener);
      if (scores !== undefined) scores.mass += weight;
      if (!word.isRepeated) this.#whole.mass += weight;
      this.#take(weight, word.isRepeated ? undefined : this.#whole, scores);
    }
  }

  #ranked(scores: Scores): RankedTools {
    const { tools, count, mass, covered, times, named, actions } = scores;
    const { nameLength, action, isDeprecated } = this.#index.traits;
    const standings = Float64Array.from({ length: ACTIONS }, (_, does) =>
      actions.every((asked) => isOtherAction(does, asked)) ? OTHER_ACTION : 1,
    );
    const fitOf = (tool: number, least = 0): number => {
      // The remaining factors are at most 1, so most tools end here.
      const bound = ((covered[tool] ?? 0) / mass) * ((times[tool] ?? 0) / mass);
      if (bound <= least) return 0;
      const naming = Math.min(1, (named[tool] ?? 0) / Math.max(1, nameLength[tool] ?? 1));
      const standing = (standings[action[tool] ?? 0] ?? 1) * (isDeprecated[tool] === 1 ? DEPRECATED : 1);
      return bound * (1 - NAME_SHARE + NAME_SHARE * naming) * standing;
    };
    return { tools, count, mass, fitOf };
  }

  /** Marks the tools that have an asked word. Returns the weight of the word. */
  #look(asked: AskedWord, listener: WordListener | undefined): number {
    const candidates = this.#candidatesFor(asked);
    let rarest = 0;
    let isServer = false;
    for (const candidate of candidates) {
      const count = this.#mark(candidate, asked.isPlural);
      if (rarest === 0) rarest = count;
    }
    for (const { word } of candidates)
      if (word.servers !== undefined && asked.own.includes(word.text)) isServer = this.#markServers(word) || isServer;
    const rarity = rarityOf(rarest, this.#size);
    const weight = (isServer ? Math.max(LEAST_SERVER_WEIGHT, rarity) : rarity) * asked.share;
    listener?.(asked, weight, candidates);
    return weight;
  }

  #take(weight: number, whole: Scores | undefined, scores: Scores | undefined): void {
    for (let i = 0; i < this.#count; i++) {
      const tool = this.#marked[i] ?? 0;
      const times = this.#times[tool] ?? 0;
      const covered = weight * (this.#best[tool] ?? 0);
      const counted = (weight * times) / (times + SATURATION);
      const naming = this.#naming[tool] ?? 0;
      whole?.add(tool, covered, counted, naming);
      scores?.add(tool, covered, counted, naming);
      this.#best[tool] = 0;
      this.#times[tool] = 0;
      this.#naming[tool] = 0;
    }
    this.#count = 0;
  }

  /** Known words that match an asked one. Exact matches come first. */
  #candidatesFor({ own, others }: AskedWord): readonly WordMatch[] {
    const { vocabulary } = this.#index;
    const candidates = new Map<KnownWord, WordMatch>();
    const add = (word: KnownWord | undefined, quality: number, times = quality): void => {
      if (word !== undefined && (candidates.get(word)?.quality ?? 0) < quality)
        candidates.set(word, { word, quality, times });
    };
    const [single, ...more] = own;
    if (more.length > 0) for (const part of own) add(vocabulary.get(part), PART_OF_PHRASE);
    else if (single !== undefined) this.#addLike(single, add);
    for (const other of others)
      add(vocabulary.get(other), more.length > 0 ? 1 : SYNONYM, more.length > 0 ? 1 : TIMES_OF_SYNONYM);
    return [...candidates.values()];
  }

  #addLike(text: string, add: (word: KnownWord | undefined, quality: number, times?: number) => void): void {
    const { vocabulary } = this.#index;
    const known = vocabulary.get(text);
    add(known, 1);
    for (const word of vocabulary.completionsOf(text)) {
      const share = (text.length + 2) / (word.text.length + 2);
      if (known === undefined) add(word, COMPLETION * share);
      else add(word, COMPLETION_OF_KNOWN * share, 0);
    }
    if (known === undefined) for (const word of vocabulary.correctionsOf(text)) add(word, CORRECTION);
  }

  /** Returns the number of tools in which the word has a prominent place. */
  #mark({ word, quality, times }: WordMatch, isPlural: boolean): number {
    const { isLive, textLength } = this.#index.traits;
    const usual = this.#index.usualTextLength;
    let count = 0;
    for (const posting of word.postings) {
      const tool = posting >>> PLACE_BITS;
      if (isLive[tool] !== 1 || tool < this.#from || tool >= this.#to) continue;
      const places = posting & (PLACES - 1);
      if ((places & STRONG_PLACES) !== 0) count++;
      const isOtherNumber = (places & IN_NAME) !== 0 && ((places & PLURAL) !== 0) !== isPlural;
      const fit = quality * (WEIGHT_OF[places] ?? 0) * (isOtherNumber ? OTHER_NUMBER : 1);
      const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * (textLength[tool] ?? 0)) / usual;
      const inText = (TIMES_IN_TEXT_OF[places] ?? 0) / length;
      this.#markTool(tool, fit, times * ((TIMES_OF[places] ?? 0) + inText));
      if ((places & IN_NAME) !== 0 && quality >= LEAST_NAMING && quality > (this.#naming[tool] ?? 0))
        this.#naming[tool] = quality;
    }
    return count;
  }

  #markTool(tool: number, fit: number, times: number): void {
    const best = this.#best[tool] ?? 0;
    if (best === 0) this.#marked[this.#count++] = tool;
    this.#best[tool] = together(best, fit);
    this.#times[tool] = (this.#times[tool] ?? 0) + times;
  }

  /** Adds the fit of a server's name or description to all its tools; true if the word names a server. */
  #markServers({ servers }: KnownWord): boolean {
    const { isLive } = this.#index.traits;
    let isNamed = false;
    for (const place of servers ?? []) {
      const { server, isName } = place;
      const { base, tools } = server;
      if (tools.length === 0 || base < this.#from || base >= this.#to || isLive[base] !== 1) continue;
      const fit = serverFit(place);
      if (fit === SERVER_NAMED) isNamed = true;
      for (let tool = base; tool < base + tools.length; tool++) {
        const best = this.#best[tool] ?? 0;
        if (best === 0) this.#marked[this.#count++] = tool;
        if (fit > best) this.#best[tool] = fit;
        this.#times[tool] = (this.#times[tool] ?? 0) + (isName ? TIMES_IN_SERVER : TIMES_IN_ABOUT);
      }
    }
    return isNamed;
  }
}

/** The weight of a word by its places in a tool. */
export function weightOf(places: number): number {
  return WEIGHT_OF[places] ?? 0;
}

/** The weight of a word by its place in a server's name or description. */
export function serverFit({ server: { nameLength }, isName }: ServerPlace): number {
  if (!isName) return SERVER_DESCRIBED;
  return nameLength === 1 ? SERVER_NAMED : SERVER_HALF_NAMED;
}

function together(one: number, other: number): number {
  const less = Math.min(one, other);
  const more = Math.max(one, other);
  return more + SECOND_WORD * less * (1 - more);
}

/** From 1 for a word of one tool down to almost 0 for a word of all tools. */
function rarityOf(count: number, size: number): number {
  if (count === 0) return UNKNOWN_WEIGHT;
  const rarity = Math.log(1 + (size - count + 0.5) / (count + 0.5)) / Math.log(1 + (size + 0.5) / 0.5);
  return Math.min(1, Math.max(LEAST_WEIGHT, rarity));
}
