// The tools of one server as they were first seen or last accepted, and which have changed since. A tool that disappears is
// remembered, or it could come back with another definition unnoticed.

import type { ListPage, ToolListing } from '../core/server-knowledge.ts';
import { definitionsIn, digestOf, hashOfText } from './tool-definitions.ts';

export interface SeenDefinition {
  readonly hash: string;
  /** Undefined for a text that was too long to keep. */
  readonly text: string | undefined;
}

export interface SeenTool {
  /** The definition that was first seen or accepted; undefined if it was lost. */
  readonly accepted: SeenDefinition | undefined;
  /** The definition now, if it differs. */
  readonly current: SeenDefinition | undefined;
  /** It appeared after the first list, and nobody has accepted it. */
  readonly isNew: boolean;
}

export interface SeenBefore {
  readonly tools: ReadonlyMap<string, SeenTool>;
  readonly digest: string | undefined;
  readonly isLost: boolean;
}

export interface SeenToolsPorts {
  /** Something has changed that is to be kept. */
  readonly save: (seen: SeenTools) => void;
  /** The set of changed tools is another one; `names` are those that have joined it. */
  readonly changed: (seen: SeenTools, names: readonly string[]) => void;
}

/** The most tools of one server, and characters of all their names. Tools beyond these limits are not watched. */
const MOST_TOOLS = 10_000;
const MOST_NAMES = 1024 * 1024;
/** The longest text that is kept of one tool, and of all tools of a server, in UTF-16 units. */
const LONGEST_TEXT = 64 * 1024;
const MOST_TEXT = 1024 * 1024;

const NOTHING: SeenBefore = { tools: new Map(), digest: undefined, isLost: false };
/** The state after its file was lost: every tool counts as changed. */
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

  /** Names of changed tools. The set is replaced whenever it changes. */
  get changed(): ReadonlySet<string> {
    return this.#changed;
  }

  get tools(): ReadonlyMap<string, SeenTool> {
    return this.#tools;
  }

  get before(): SeenBefore {
    return { tools: this.#tools, digest: this.#digest, isLost: this.#isLost };
  }

  /** Takes in a list of tools, from the server or one of its instances. */
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
      if (!isOnly) return 'undecided'; // another instance may still have the changed one
      this.#set(name, { ...known, current: undefined });
    }
    return 'learnt';
  }

  #asSeenFirst(definition: SeenDefinition): SeenTool {
    if (this.#isLost) return { accepted: undefined, current: definition, isNew: false };
    return { accepted: definition, current: undefined, isNew: this.#digest !== undefined };
  }

  /**
   * Accepts tools by the hashes that were shown. Returns tools that have changed again meanwhile; they are left as they are.
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
