// What the tools of one server looked like when they were first seen, or when somebody has last agreed to them; and which
// of them are others since. A tool that goes keeps its place here, or it could come back as another one.

import type { ListPage, ToolListing } from '../core/server-knowledge.ts';
import { definitionsIn, digestOf, hashOfText } from './tool-definitions.ts';

export interface SeenDefinition {
  readonly hash: string;
  /** Undefined if it was too long to keep. */
  readonly text: string | undefined;
}

export interface SeenTool {
  /** What counts; undefined if nobody knows any more what that was. */
  readonly accepted: SeenDefinition | undefined;
  /** What it is now, if that is something else. */
  readonly current: SeenDefinition | undefined;
  /** It has come after the first list, and nobody has agreed to it. */
  readonly isNew: boolean;
}

export interface SeenBefore {
  readonly tools: ReadonlyMap<string, SeenTool>;
  readonly digest: string | undefined;
  readonly isLost: boolean;
}

export interface SeenToolsPorts {
  /** There is something to keep. */
  readonly save: (seen: SeenTools) => void;
  /** Other tools than before are changed ones; `names` are those that were not. */
  readonly changed: (seen: SeenTools, names: readonly string[]) => void;
}

/** Of one server, and all their names together. What it adds beyond them is not watched. */
const MOST_TOOLS = 10_000;
const MOST_NAMES = 1024 * 1024;
/** What is kept word by word, of one tool and of all of a server's; in UTF-16 units. */
const LONGEST_TEXT = 64 * 1024;
const MOST_TEXT = 1024 * 1024;

const NOTHING: SeenBefore = { tools: new Map(), digest: undefined, isLost: false };
/** What was known cannot be read any more: whatever there is now counts as changed. */
export const LOST: SeenBefore = { ...NOTHING, isLost: true };

export class SeenTools {
  readonly server: string;
  readonly #ports: SeenToolsPorts;
  readonly #tools: Map<string, SeenTool>;
  #digest: string | undefined;
  #isLost: boolean;
  #textKept = 0;
  #namesKept = 0;
  #changed: ReadonlySet<string>;

  constructor(server: string, ports: SeenToolsPorts, { tools, digest, isLost }: SeenBefore = NOTHING) {
    this.server = server;
    this.#ports = ports;
    this.#tools = new Map(tools);
    this.#digest = digest;
    this.#isLost = isLost;
    for (const tool of tools.values()) this.#textKept += textIn(tool);
    for (const name of tools.keys()) this.#namesKept += name.length;
    this.#changed = this.#changedNow();
  }

  /** The names of the tools that are others than they were; another set whenever these are others. */
  get changed(): ReadonlySet<string> {
    return this.#changed;
  }

  get tools(): ReadonlyMap<string, SeenTool> {
    return this.#tools;
  }

  get before(): SeenBefore {
    return { tools: this.#tools, digest: this.#digest, isLost: this.#isLost };
  }

  /** The server, or one of its instances, lists its tools like this. */
  learn(pages: readonly ListPage[], { isWhole, isOnly }: ToolListing): void {
    const digest = digestOf(pages);
    if (digest === this.#digest) return;
    const definitions = definitionsIn(pages);
    const outcomes = new Set([...definitions].map(([name, text]) => this.#learnTool(name, text, isOnly)));
    const isSettled = isWhole && !outcomes.has('undecided');
    if (isSettled) this.#digest = digest;
    if (isSettled || outcomes.has('learnt')) this.#ports.save(this);
    this.#tellChanged();
  }

  #learnTool(name: string, text: string, isOnly: boolean): 'known' | 'learnt' | 'undecided' {
    const hash = hashOfText(text);
    const known = this.#tools.get(name);
    if (known === undefined) {
      if (this.#tools.size >= MOST_TOOLS || this.#namesKept + name.length > MOST_NAMES) return 'known';
      this.#set(name, this.#asSeenFirst(this.#kept(hash, text)));
    } else if (known.accepted?.hash !== hash) {
      if (known.current?.hash === hash) return 'known';
      this.#set(name, { ...known, current: this.#kept(hash, text) });
    } else {
      if (known.current === undefined) return 'known';
      if (!isOnly) return 'undecided'; // another instance may still have the other one
      this.#set(name, { ...known, current: undefined });
    }
    return 'learnt';
  }

  #asSeenFirst(definition: SeenDefinition): SeenTool {
    if (this.#isLost) return { accepted: undefined, current: definition, isNew: false };
    return { accepted: definition, current: undefined, isNew: this.#digest !== undefined };
  }

  /**
   * Somebody agrees to tools as they were shown, by their hashes. Returns those that are others meanwhile, and are left
   * as they are.
   */
  accept(shown: ReadonlyMap<string, string>): string[] {
    const others: string[] = [];
    for (const [name, hash] of shown) {
      const tool = this.#tools.get(name);
      const accepted = tool?.current ?? tool?.accepted;
      if (accepted === undefined || accepted.hash !== hash) others.push(name);
      else this.#set(name, { accepted, current: undefined, isNew: false });
    }
    if (others.length < shown.size && this.#changedNow().size === 0) this.#isLost = false;
    this.#ports.save(this);
    this.#tellChanged();
    return others;
  }

  #set(name: string, tool: SeenTool): void {
    const before = this.#tools.get(name);
    if (before === undefined) this.#namesKept += name.length;
    this.#textKept += textIn(tool) - textIn(before);
    this.#tools.set(name, tool);
  }

  #kept(hash: string, text: string): SeenDefinition {
    const isKept = text.length <= LONGEST_TEXT && this.#textKept + text.length <= MOST_TEXT;
    return { hash, text: isKept ? text : undefined };
  }

  #changedNow(): ReadonlySet<string> {
    return new Set([...this.#tools].filter(([, { current }]) => current !== undefined).map(([name]) => name));
  }

  #tellChanged(): void {
    const before = this.#changed;
    const now = this.#changedNow();
    const young = [...now].filter((name) => !before.has(name));
    if (young.length === 0 && now.size === before.size) return;
    this.#changed = now;
    this.#ports.changed(this, young);
  }
}

function textIn(tool: SeenTool | undefined): number {
  return (tool?.accepted?.text?.length ?? 0) + (tool?.current?.text?.length ?? 0);
}
