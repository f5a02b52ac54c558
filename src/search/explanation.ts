// Explains why a tool is found: its words, the words of the question that they stand for, their places, and their
// worth. It is made only on request.

import type { AskedWord } from './question.ts';
import {
  IN_NAME,
  IN_PARAMETERS,
  IN_SHARED_NAME,
  IN_TAGS,
  IN_TITLE,
  type IndexedServer,
  type KnownWord,
  PLACE_BITS,
  type SearchableTool,
} from './tool-index.ts';
import { serverFit, type WordMatch, weightOf } from './tool-ranking.ts';
import { spelledWordsOf, stemOf } from './tool-words.ts';

/** One word of a question that a tool or its server has. */
export interface ExplainedWord {
  /** The word as it was asked. */
  readonly word: string;
  /** The word as the tool spells it, or its stem if the tool's text was not given. */
  readonly matched: string;
  readonly field: 'name' | 'title' | 'tags' | 'description' | 'parameters' | 'server';
  /** The part of the question that this word answers, from 0 to 1. */
  readonly weight: number;
  readonly how: 'exact' | 'stem' | 'synonym' | 'beginning' | 'typo' | 'phrase';
}

/** A word of a question, and every word that the search accepts for it. */
export interface MeantWord {
  readonly word: string;
  readonly meant: readonly string[];
}

/** A tool to explain. Its text shows the spelling of its words. */
export interface ExplainedTool {
  readonly server: string;
  readonly text: SearchableTool;
}

const PLACE_MASK = (1 << PLACE_BITS) - 1;
const STEPS = 1000;

interface WordInTool {
  readonly asked: AskedWord;
  readonly word: KnownWord;
  readonly places: number;
  readonly isServer: boolean;
  readonly worth: number;
}

/** Collects the matches of some tools while a question is ranked. */
export class Explanation {
  readonly #wanted: ReadonlyMap<number, { readonly server: IndexedServer; readonly text: SearchableTool }>;
  readonly #found = new Map<number, Map<AskedWord, WordInTool>>();
  readonly #meant: MeantWord[] = [];
  #mass = 0;

  constructor(wanted: ReadonlyMap<number, { readonly server: IndexedServer; readonly text: SearchableTool }>) {
    this.#wanted = wanted;
  }

  /** Takes one word of the question, with its matches. */
  readonly take = (asked: AskedWord, weight: number, matches: readonly WordMatch[]): void => {
    if (asked.isRepeated) return;
    this.#mass += weight;
    this.#meant.push({ word: asked.text, meant: matches.map(({ word }) => word.text) });
    for (const { word, quality } of matches) {
      for (const posting of word.postings) {
        const places = posting & PLACE_MASK;
        const tool = posting >>> PLACE_BITS;
        if (this.#wanted.has(tool))
          this.#put(tool, { asked, word, places, isServer: false, worth: weight * quality * weightOf(places) });
      }
      if (asked.own.includes(word.text)) this.#takeServers(asked, word, weight);
    }
  };

  get words(): readonly MeantWord[] {
    return this.#meant;
  }

  /** The words of a tool, the most important first. */
  wordsOf(tool: number): ExplainedWord[] {
    const text = this.#wanted.get(tool)?.text;
    const found = [...(this.#found.get(tool)?.values() ?? [])].sort((a, b) => b.worth - a.worth);
    return found.map(({ asked, word, places, isServer, worth }) => {
      const field = isServer ? 'server' : fieldOf(places);
      const matched = isServer || text === undefined ? word.text : writtenIn(textsOf(text, field), word.text);
      const weight = Math.round((STEPS * worth) / this.#mass) / STEPS;
      return { word: asked.text, matched, field, weight, how: howOf(asked, word.text, matched) };
    });
  }

  #takeServers(asked: AskedWord, word: KnownWord, weight: number): void {
    for (const [tool, { server }] of this.#wanted)
      for (const place of word.servers ?? [])
        if (place.server === server)
          this.#put(tool, { asked, word, places: 0, isServer: true, worth: weight * serverFit(place) });
  }

  /** Keeps the best place of a word. */
  #put(tool: number, found: WordInTool): void {
    const words = this.#found.get(tool) ?? new Map<AskedWord, WordInTool>();
    this.#found.set(tool, words);
    if (found.worth > (words.get(found.asked)?.worth ?? 0)) words.set(found.asked, found);
  }
}

function fieldOf(places: number): ExplainedWord['field'] {
  if ((places & (IN_NAME | IN_SHARED_NAME)) !== 0) return 'name';
  if ((places & IN_TITLE) !== 0) return 'title';
  if ((places & IN_TAGS) !== 0) return 'tags';
  return places === IN_PARAMETERS ? 'parameters' : 'description';
}

function textsOf(text: SearchableTool, field: ExplainedWord['field']): readonly string[] {
  if (field === 'tags') return text.tags;
  if (field === 'parameters') return text.parameters;
  if (field === 'title') return [text.title ?? ''];
  return [field === 'name' ? text.name : (text.description ?? '')];
}

function writtenIn(texts: readonly string[], stem: string): string {
  return texts.flatMap(spelledWordsOf).find((word) => stemOf(word) === stem) ?? stem;
}

function howOf({ text, own, others }: AskedWord, stem: string, matched: string): ExplainedWord['how'] {
  if (own.length > 1) return 'phrase';
  if (own[0] === stem) return matched === text ? 'exact' : 'stem';
  if (others.includes(stem)) return 'synonym';
  return stem.startsWith(own[0] ?? '') ? 'beginning' : 'typo';
}
