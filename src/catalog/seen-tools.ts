// The tools of one server as first seen or last accepted, and the ones that have changed since. It remembers a tool
// that disappears: else it could return with another definition unnoticed. While nothing changes, the tools are kept
// deflated: there may be thousands of servers, and their tools would be most of the daemon's memory for them.

import type { ListPage, ToolListing } from '../core/server-knowledge.ts';
import { invariant } from '../util/invariant.ts';
import { packedText, unpackedText } from '../util/packed-text.ts';
import { decodeSeen, encodeSeen, type SeenBefore, type SeenDefinition, type SeenTool } from './seen-tools-file.ts';
import { definitionsIn, digestOf, hashOfText } from './tool-definitions.ts';

export interface SeenToolsPorts {
  /** Called when something has changed that must be stored. */
  readonly save: (seen: SeenTools) => void;
  /** Called when the set of changed tools is another one; `names` are the new members. */
  readonly changed: (seen: SeenTools, names: readonly string[]) => void;
}

/**
 * The maximum number of tools of one server, and of characters in their names. Tools beyond these limits are not
 * watched.
 */
const MOST_TOOLS = 10_000;
const MOST_NAMES = 1024 * 1024;
/** The longest text kept of one tool, and of all tools of a server, in UTF-16 units. */
const LONGEST_TEXT = 64 * 1024;
const MOST_TEXT = 1024 * 1024;

const NONE: ReadonlySet<string> = new Set();
const NOTHING: SeenBefore = { tools: new Map(), digest: undefined, isLost: false };
/** The state after its file was lost: every tool counts as changed. */
export const LOST: SeenBefore = { ...NOTHING, isLost: true };

export class SeenTools {
  readonly server: string;
  readonly #ports: SeenToolsPorts;
  /** Undefined while the tools are packed, because nobody works with them. */
  #tools: Map<string, SeenTool> | undefined;
  /** The state as in its file, deflated; undefined after it has changed. */
  #packed: Buffer | undefined;
  #digest: string | undefined;
  #isLost: boolean;
  #textKept = 0;
  #namesKept = 0;
  #changed: ReadonlySet<string> = NONE;
  #hasNew = false;

  constructor(server: string, ports: SeenToolsPorts, { tools, digest, isLost }: SeenBefore = NOTHING) {
    this.server = server;
    this.#ports = ports;
    this.#tools = new Map(tools);
    this.#digest = digest;
    this.#isLost = isLost;
    for (const tool of tools.values()) this.#textKept += textIn(tool);
    for (const name of tools.keys()) this.#namesKept += name.length;
    this.#look(tools);
  }

  /** Names of changed tools. The set is replaced whenever it changes. */
  get changed(): ReadonlySet<string> {
    return this.#changed;
  }

  /** True while changed or new tools wait for a person to accept them. */
  get hasNews(): boolean {
    return this.#changed.size > 0 || this.#hasNew;
  }

  get tools(): ReadonlyMap<string, SeenTool> {
    return this.#tools ?? this.#unpacked();
  }

  /** Returns the state as its file has it, and keeps it packed. */
  packed(): string {
    const text = this.#packed && unpackedText(this.#packed);
    if (text !== undefined) return text;
    const written = encodeSeen(this.server, { tools: this.tools, digest: this.#digest, isLost: this.#isLost });
    this.#packed = packedText(written);
    this.#tools = undefined;
    return written;
  }

  #unpacked(): Map<string, SeenTool> {
    const state = this.#packed && decodeSeen(unpackedText(this.#packed));
    invariant(state !== undefined, 'what was packed can be read');
    return new Map(state.tools);
  }

  /** Takes in a list of tools, from the server or one of its instances. */
  learn(pages: readonly ListPage[], { isWhole, isOnly }: ToolListing): void {
    const digest = digestOf(pages);
    if (digest === this.#digest) return;
    const definitions = definitionsIn(pages);
    this.#work((tools) => {
      const outcomes = new Set([...definitions].map(([name, text]) => this.#learnTool(tools, name, text, isOnly)));
      const isSettled = isWhole && !outcomes.has('undecided');
      if (isSettled) this.#digest = digest;
      return isSettled || outcomes.has('learnt');
    });
  }

  /** Runs a task that may change the tools; true if something has changed. */
  #work(task: (tools: Map<string, SeenTool>) => boolean): void {
    const tools = this.#tools ?? this.#unpacked();
    if (task(tools)) {
      this.#tools = tools;
      this.#packed = undefined;
      this.#ports.save(this);
    }
    this.#tellChanged(tools);
  }

  #learnTool(
    tools: Map<string, SeenTool>,
    name: string,
    text: string,
    isOnly: boolean,
  ): 'known' | 'learnt' | 'undecided' {
    const hash = hashOfText(text);
    const known = tools.get(name);
    if (known === undefined) {
      if (tools.size >= MOST_TOOLS || this.#namesKept + name.length > MOST_NAMES) return 'known';
      this.#set(tools, name, this.#asSeenFirst(this.#kept(hash, text)));
    } else if (known.accepted?.hash !== hash) {
      if (known.current?.hash === hash) return 'known';
      this.#set(tools, name, { ...known, current: this.#kept(hash, text) });
    } else {
      if (known.current === undefined) return 'known';
      if (!isOnly) return 'undecided'; // another instance may still have the changed one
      this.#set(tools, name, { ...known, current: undefined });
    }
    return 'learnt';
  }

  #asSeenFirst(definition: SeenDefinition): SeenTool {
    if (this.#isLost) return { accepted: undefined, current: definition, isNew: false };
    return { accepted: definition, current: undefined, isNew: this.#digest !== undefined };
  }

  /**
   * Accepts tools by the hashes that were shown. Returns the tools that have changed again meanwhile; those stay as
   * they are.
   */
  accept(shown: ReadonlyMap<string, string>): string[] {
    const others: string[] = [];
    this.#work((tools) => {
      for (const [name, hash] of shown) {
        const tool = tools.get(name);
        const accepted = tool?.current ?? tool?.accepted;
        if (accepted === undefined || accepted.hash !== hash) others.push(name);
        else this.#set(tools, name, { accepted, current: undefined, isNew: false });
      }
      if (others.length < shown.size && changedIn(tools).size === 0) this.#isLost = false;
      return true;
    });
    return others;
  }

  #set(tools: Map<string, SeenTool>, name: string, tool: SeenTool): void {
    const before = tools.get(name);
    if (before === undefined) this.#namesKept += name.length;
    this.#textKept += textIn(tool) - textIn(before);
    tools.set(name, tool);
  }

  #kept(hash: string, text: string): SeenDefinition {
    const isKept = text.length <= LONGEST_TEXT && this.#textKept + text.length <= MOST_TEXT;
    return { hash, text: isKept ? text : undefined };
  }

  #tellChanged(tools: ReadonlyMap<string, SeenTool>): void {
    const before = this.#changed;
    this.#look(tools);
    const young = [...this.#changed].filter((name) => !before.has(name));
    if (young.length > 0 || this.#changed.size !== before.size) this.#ports.changed(this, young);
  }

  /** Notes the tools that a person should see. Replaces the set of changed tools only if it differs. */
  #look(tools: ReadonlyMap<string, SeenTool>): void {
    const changed = changedIn(tools);
    if (changed.size !== this.#changed.size || [...changed].some((name) => !this.#changed.has(name)))
      this.#changed = changed;
    this.#hasNew = [...tools.values()].some(({ isNew }) => isNew);
  }
}

function changedIn(tools: ReadonlyMap<string, SeenTool>): ReadonlySet<string> {
  return new Set([...tools].filter(([, { current }]) => current !== undefined).map(([name]) => name));
}

function textIn(tool: SeenTool | undefined): number {
  return (tool?.accepted?.text?.length ?? 0) + (tool?.current?.text?.length ?? 0);
}
