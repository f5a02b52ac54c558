// What discovery knows of one path, aspect by aspect: what it found there last, and what to fall back on where that is
// broken.

import type { Diagnostic } from './diagnostic.ts';
import type { DocumentReading } from './document.ts';
import { LOST } from './source-text.ts';

/** What may be asked of a path. */
export interface Aspects {
  readonly json: DocumentReading;
  readonly toml: DocumentReading;
  readonly yaml: DocumentReading;
  readonly names: readonly string[];
  readonly text: string | undefined;
  readonly realpath: string;
  readonly presence: boolean;
  readonly privacy: boolean;
}

export type Aspect = keyof Aspects;

/** What was found at a path, and what there is to say about it. */
export interface Observation<Value> {
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
  /** Whether it is something to fall back on when what comes next is broken. */
  readonly isGood: boolean;
  /** Why it cannot be used, though something is there. */
  readonly fault?: Diagnostic;
  /** What the value can be made of once more; without it, the value is JSON. Nobody holds it for long. */
  readonly origin?: unknown;
}

/** How one aspect of one path is looked at. */
export interface SourceLook<Value> {
  observe(): Promise<Observation<Value>>;
  /** The value, out of what it was made of, or of its JSON. */
  revive(origin: unknown): Promise<Value>;
}

/** Where it is kept what to fall back on, for whoever begins anew where this process has ended. */
export interface SourceKeeper {
  /** With undefined, there is nothing to fall back on any more. */
  keep(aspect: Aspect, path: string, origin: unknown): void;
  /** Undefined if nothing is kept. */
  kept(aspect: Aspect, path: string): unknown;
  forget(path: string): void;
}

/** Of one aspect of one path. */
interface Remains {
  keep(origin: unknown): void;
  kept(): unknown;
  /** Settles when it may be looked at. */
  readonly ready: Promise<void> | undefined;
}

/** One aspect of one path. */
class Note<Value> {
  readonly #remains: Remains;
  #current: Promise<Observation<Value>> | undefined;
  #isPending = false;
  #turn = 0;
  #last: { readonly turn: number; readonly good: Observation<Value> | undefined } = { turn: 0, good: undefined };

  constructor(remains: Remains) {
    this.#remains = remains;
  }

  get isPending(): boolean {
    return this.#isPending;
  }

  recall(looking: SourceLook<Value>): Promise<Observation<Value>> {
    this.#current ??= this.#begin(looking, ++this.#turn);
    return this.#current;
  }

  /** What is being read at the moment is for those who wait for it, and for nobody after them. */
  forget(): void {
    this.#current = undefined;
  }

  #begin(looking: SourceLook<Value>, turn: number): Promise<Observation<Value>> {
    this.#isPending = true;
    const ended = (): void => {
      if (turn === this.#turn) this.#isPending = false;
    };
    const observing = this.#observed(looking, turn);
    observing.then(ended, () => {
      ended();
      if (turn === this.#turn) this.#current = undefined;
    });
    return observing;
  }

  async #observed(looking: SourceLook<Value>, turn: number): Promise<Observation<Value>> {
    if (this.#remains.ready !== undefined) await this.#remains.ready;
    const { origin, ...seen } = await looking.observe();
    if (seen.fault !== undefined)
      return afterFault(seen, seen.fault, this.#last.good ?? (await this.#revived(looking)));
    // One that was begun before may end after.
    if (turn > this.#last.turn) {
      this.#last = { turn, good: seen.isGood ? seen : undefined };
      this.#remains.keep(seen.isGood ? (origin ?? seen.value) : undefined);
    }
    return seen;
  }

  /** What was good in an earlier process. */
  async #revived(looking: SourceLook<Value>): Promise<Observation<Value> | undefined> {
    const origin = this.#remains.kept();
    if (origin === undefined) return undefined;
    return { value: await looking.revive(origin), diagnostics: [], isGood: true };
  }
}

function afterFault<Value>(
  seen: Observation<Value>,
  fault: Diagnostic,
  good: Observation<Value> | undefined,
): Observation<Value> {
  if (good === undefined) return { ...seen, diagnostics: [...seen.diagnostics, fault] };
  const problem = fault.message.endsWith(LOST) ? fault.message.slice(0, -LOST.length).trimEnd() : fault.message;
  const told = { ...fault, message: `${problem} What was read of it before still counts.` };
  return { value: good.value, diagnostics: [...seen.diagnostics, told], isGood: true };
}

type Notes = { [Name in Aspect]?: Note<Aspects[Name]> };

/** All that is known of one path, for as long as a discovery that counts has asked for it. */
export class SourcePlace {
  readonly #notes: Notes = {};
  readonly #path: string;
  readonly #keeper: SourceKeeper | undefined;
  /** Settles when whoever watches it does. */
  readonly #ready: Promise<void> | undefined;
  /** How many discoveries have asked for it. */
  claims = 0;
  /** Where it leads to, if somebody has asked. */
  realpath: string | undefined;

  constructor(path: string, keeper: SourceKeeper | undefined, ready: Promise<void> | undefined) {
    this.#path = path;
    this.#keeper = keeper;
    this.#ready = ready;
  }

  noteOf<Name extends Aspect>(aspect: Name): Note<Aspects[Name]> {
    const notes: { [Key in Name]?: Note<Aspects[Key]> } = this.#notes;
    notes[aspect] ??= new Note<Aspects[Name]>(this.#remainsOf(aspect));
    return notes[aspect];
  }

  #remainsOf(aspect: Aspect): Remains {
    return {
      keep: (origin) => this.#keeper?.keep(aspect, this.#path, origin),
      kept: () => this.#keeper?.kept(aspect, this.#path),
      ready: this.#ready,
    };
  }

  forget(): void {
    this.realpath = undefined;
    for (const note of this.#all()) note.forget();
  }

  /** While a path is read for the first time, nobody knows yet where it leads. */
  mayLeadAnywhere(): boolean {
    return this.realpath === undefined && this.#all().some(({ isPending }) => isPending);
  }

  #all(): Note<unknown>[] {
    return Object.values(this.#notes) as Note<unknown>[];
  }
}
