// Ranks tools by how well they fit a question. Each asked word counts by its best place in the tool and by how rare it is.
// The sum is the share of the question that the tool covers; the share of its name that the question covers adds to it.
//
//   fit = covered × (1 − NAME_SHARE + NAME_SHARE × named), less for a tool that does another kind of thing or is deprecated

import type { AskedWord, Question } from './question.ts';
import { isOtherAction, NO_ACTION } from './tool-actions.ts';
import {
  IN_LEAD,
  IN_NAME,
  IN_OPENING,
  IN_PARAMETERS,
  IN_REST,
  IN_TAGS,
  IN_TITLE,
  type KnownWord,
  PLACE_BITS,
  PLURAL,
  type ServerTools,
  type Vocabulary,
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
/** The part of the remaining fit that a second word for the same asked word adds. */
const SECOND_WORD = 0.5;
const SERVER_NAMED = 0.9;
const SERVER_HALF_NAMED = 0.5;
const SERVER_DESCRIBED = 0.25;
/** The least weight of a server's name in a question, however common the word is. */
const LEAST_SERVER_WEIGHT = 0.7;
const LEAST_WEIGHT = 0.12;
const FAINT = 0.25;
/** The weight of a word that no tool has. */
const UNKNOWN_WEIGHT = 0.15;
const NAME_SHARE = 0.25;
/** Factor for a tool that does another kind of action. */
const OTHER_ACTION = 0.7;
/** Factor for a tool that calls itself deprecated. */
const DEPRECATED = 0.6;
/** Factor for a singular in the name where the question has a plural, or the other way round. */
const OTHER_NUMBER = 0.95;

const PLACES = 1 << PLACE_BITS;
const STRONG_PLACES = IN_NAME | IN_TITLE | IN_TAGS | IN_OPENING | IN_LEAD;

/** The weight of each combination of places: each place adds a part of what the others leave open. */
const WEIGHT_OF = Float64Array.from(
  { length: PLACES },
  (_, places) => 1 - PLACE_WEIGHTS.reduce((open, [place, weight]) => (places & place ? open * (1 - weight) : open), 1),
);

interface Candidate {
  readonly word: KnownWord;
  readonly quality: number;
}

export class ToolRanking {
  readonly #vocabulary: Vocabulary;
  readonly #bases = new Map<ServerTools, number>();
  readonly #size: number;
  /** The weight of all asked words. */
  #whole = 0;
  #action = NO_ACTION;
  readonly #covered: Float64Array;
  readonly #named: Float64Array;
  /** The best fit of each tool for the current word. */
  readonly #best: Float64Array;
  readonly #naming: Float64Array;

  /** A ranking serves one set of servers; a new set needs a new ranking. */
  constructor(vocabulary: Vocabulary, servers: Iterable<ServerTools>) {
    this.#vocabulary = vocabulary;
    let size = 0;
    for (const server of servers) {
      this.#bases.set(server, size);
      size += server.tools.length;
    }
    this.#size = size;
    this.#covered = new Float64Array(size);
    this.#named = new Float64Array(size);
    this.#best = new Float64Array(size);
    this.#naming = new Float64Array(size);
  }

  /** Ranks all tools, or those of one server. */
  rank({ asked, action }: Question, only: string | undefined): void {
    this.#covered.fill(0);
    this.#named.fill(0);
    this.#whole = 0;
    this.#action = action;
    const among = [...this.#bases].filter(([server]) => only === undefined || server.key === only);
    for (const word of asked) this.#whole += this.#look(word, among);
  }

  /** The fit of a tool to the question that was ranked last, from 0 to 1. */
  fitOf(server: ServerTools, tool: number): number {
    const i = (this.#bases.get(server) ?? 0) + tool;
    const covered = this.#covered[i] ?? 0;
    if (covered === 0) return 0;
    const named = Math.min(1, (this.#named[i] ?? 0) / Math.max(1, server.nameLengths[tool] ?? 1));
    const isOther = isOtherAction(server.actions[tool] ?? NO_ACTION, this.#action);
    const standing = (isOther ? OTHER_ACTION : 1) * (server.deprecated.has(tool) ? DEPRECATED : 1);
    return (covered / this.#whole) * (1 - NAME_SHARE + NAME_SHARE * named) * standing;
  }

  /** Adds the fit of one asked word to each tool. Returns the weight of the word. */
  #look(asked: AskedWord, among: readonly (readonly [ServerTools, number])[]): number {
    this.#best.fill(0);
    this.#naming.fill(0);
    const eligible = new Set(among.map(([server]) => server));
    const size = among.reduce((sum, [server]) => sum + server.tools.length, 0);
    const counts = this.#candidatesFor(asked).map((candidate) => this.#mark(candidate, eligible, asked.isPlural));
    const isServer = this.#markServers(asked, among);
    const rarity = rarityOf(counts.find((count) => count > 0) ?? 0, size);
    const weight = (isServer ? Math.max(LEAST_SERVER_WEIGHT, rarity) : rarity) * (asked.isFaint ? FAINT : 1);
    this.#takeBest(weight);
    return weight;
  }

  #takeBest(weight: number): void {
    for (let i = 0; i < this.#size; i++) {
      const best = this.#best[i] ?? 0;
      if (best === 0) continue;
      this.#covered[i] = (this.#covered[i] ?? 0) + weight * best;
      this.#named[i] = (this.#named[i] ?? 0) + (this.#naming[i] ?? 0);
    }
  }

  /** Known words that match an asked one. Exact matches come first. */
  #candidatesFor({ own, others }: AskedWord): Candidate[] {
    const candidates = new Map<KnownWord, number>();
    const add = (word: KnownWord | undefined, quality: number): void => {
      if (word !== undefined && (candidates.get(word) ?? 0) < quality) candidates.set(word, quality);
    };
    const [single, ...more] = own;
    if (more.length > 0) for (const part of own) add(this.#vocabulary.get(part), PART_OF_PHRASE);
    else if (single !== undefined) this.#addLike(single, add);
    for (const other of others) add(this.#vocabulary.get(other), more.length > 0 ? 1 : SYNONYM);
    return [...candidates].map(([word, quality]) => ({ word, quality }));
  }

  #addLike(text: string, add: (word: KnownWord | undefined, quality: number) => void): void {
    const known = this.#vocabulary.get(text);
    add(known, 1);
    const completions = this.#vocabulary.completionsOf(text);
    const quality = known === undefined ? COMPLETION : COMPLETION_OF_KNOWN;
    for (const word of completions) add(word, (quality * (text.length + 2)) / (word.text.length + 2));
    if (known === undefined) for (const word of this.#vocabulary.correctionsOf(text)) add(word, CORRECTION);
  }

  /** Returns the number of tools in which the word has a prominent place. */
  #mark({ word, quality }: Candidate, eligible: ReadonlySet<ServerTools>, isPlural: boolean): number {
    let count = 0;
    for (const [server, start] of word.places) {
      if (!eligible.has(server)) continue;
      const base = this.#bases.get(server) ?? 0;
      const end = start + (server.postings[start] ?? 0);
      for (let i = start + 1; i <= end; i++) {
        const posting = server.postings[i] ?? 0;
        const tool = base + (posting >>> PLACE_BITS);
        const places = posting & (PLACES - 1);
        if ((places & STRONG_PLACES) !== 0) count++;
        const isOtherNumber = (places & IN_NAME) !== 0 && ((places & PLURAL) !== 0) !== isPlural;
        const fit = quality * (WEIGHT_OF[places] ?? 0) * (isOtherNumber ? OTHER_NUMBER : 1);
        this.#best[tool] = together(this.#best[tool] ?? 0, fit);
        if ((places & IN_NAME) !== 0 && quality >= LEAST_NAMING && quality > (this.#naming[tool] ?? 0))
          this.#naming[tool] = quality;
      }
    }
    return count;
  }

  /** Adds the fit of a server's name to all its tools. Returns true if the word names a server. */
  #markServers({ own }: AskedWord, among: readonly (readonly [ServerTools, number])[]): boolean {
    let isNamed = false;
    for (const [server, base] of among) {
      const fit = serverFit(server, own);
      if (fit === 0) continue;
      if (fit === SERVER_NAMED) isNamed = true;
      for (let tool = base; tool < base + server.tools.length; tool++)
        if (fit > (this.#best[tool] ?? 0)) this.#best[tool] = fit;
    }
    return isNamed;
  }
}

function together(one: number, other: number): number {
  const [less, more] = one < other ? [one, other] : [other, one];
  return more + SECOND_WORD * less * (1 - more);
}

function serverFit({ words, aboutWords }: ServerTools, own: readonly string[]): number {
  if (own.some((word) => words.has(word))) return words.size === 1 ? SERVER_NAMED : SERVER_HALF_NAMED;
  return own.some((word) => aboutWords.has(word)) ? SERVER_DESCRIBED : 0;
}

/** From 1 for a word of one tool down to almost 0 for a word of all tools. */
function rarityOf(count: number, size: number): number {
  if (count === 0) return UNKNOWN_WEIGHT;
  const rarity = Math.log(1 + (size - count + 0.5) / (count + 0.5)) / Math.log(1 + (size + 0.5) / 0.5);
  return Math.min(1, Math.max(LEAST_WEIGHT, rarity));
}
