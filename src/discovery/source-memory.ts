// What discoveries have read of a machine, kept from one to the next, so that only what has changed is read again. It
// watches nothing: whoever does says what changed. What it does not hear of, it believes to be as it was.

import { posix, win32 } from 'node:path';
import type { Diagnostic } from './diagnostic.ts';
import type { Reading } from './document.ts';

/** What may be asked of a path. */
export interface Aspects {
  readonly json: Reading;
  readonly toml: Reading;
  readonly yaml: Reading;
  readonly names: readonly string[];
  readonly text: string | undefined;
  readonly realpath: string;
  readonly presence: boolean;
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
}

type Observe<Value> = () => Promise<Observation<Value>>;

/** One aspect of one path. */
class Note<Value> {
  #current: Promise<Observation<Value>> | undefined;
  #isPending = false;
  #turn = 0;
  #last: { readonly turn: number; readonly good: Observation<Value> | undefined } = { turn: 0, good: undefined };

  get isPending(): boolean {
    return this.#isPending;
  }

  recall(observe: Observe<Value>): Promise<Observation<Value>> {
    this.#current ??= this.#begin(observe, ++this.#turn);
    return this.#current;
  }

  /** What is being read at the moment is for those who wait for it, and for nobody after them. */
  forget(): void {
    this.#current = undefined;
  }

  #begin(observe: Observe<Value>, turn: number): Promise<Observation<Value>> {
    this.#isPending = true;
    const ended = (): void => {
      if (turn === this.#turn) this.#isPending = false;
    };
    const observing = this.#observed(observe, turn);
    observing.then(ended, () => {
      ended();
      if (turn === this.#turn) this.#current = undefined;
    });
    return observing;
  }

  async #observed(observe: Observe<Value>, turn: number): Promise<Observation<Value>> {
    const seen = await observe();
    if (seen.fault !== undefined) return afterFault(seen, seen.fault, this.#last.good);
    // One that was begun before may end after.
    if (turn > this.#last.turn) this.#last = { turn, good: seen.isGood ? seen : undefined };
    return seen;
  }
}

function afterFault<Value>(
  seen: Observation<Value>,
  fault: Diagnostic,
  good: Observation<Value> | undefined,
): Observation<Value> {
  if (good === undefined) return { ...seen, diagnostics: [...seen.diagnostics, fault] };
  const told = { ...fault, message: `${fault.message} What was read of it before still counts.` };
  return { value: good.value, diagnostics: [...seen.diagnostics, told], isGood: true };
}

type Notes = { [Name in Aspect]?: Note<Aspects[Name]> };

/** All that is known of one path, for as long as a discovery that counts has asked for it. */
class Place {
  readonly #notes: Notes = {};
  /** How many discoveries have asked for it. */
  claims = 0;
  /** Where it leads to, if somebody has asked. */
  realpath: string | undefined;

  noteOf<Name extends Aspect>(aspect: Name): Note<Aspects[Name]> {
    const notes: { [Key in Name]?: Note<Aspects[Key]> } = this.#notes;
    notes[aspect] ??= new Note<Aspects[Name]>();
    return notes[aspect];
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

export interface SourceMemoryOptions {
  /** Hears of each path before it is read for the first time: who watches it from then on misses nothing. */
  readonly asked?: (path: string) => void;
  /** Of how many working directories the last discovery counts; the one that was longest ago goes first. */
  readonly mostDirectories?: number;
}

const MOST_DIRECTORIES = 256;

/** Of the files of one machine and one user; discoveries in any number of working directories share it. */
export class SourceMemory {
  readonly #asked: (path: string) => void;
  readonly #mostDirectories: number;
  readonly #places = new Map<string, Place>();
  /** The last discovery in each working directory. */
  readonly #last = new Map<string, SourceVisit>();

  constructor({ asked = () => undefined, mostDirectories = MOST_DIRECTORIES }: SourceMemoryOptions = {}) {
    this.#asked = asked;
    this.#mostDirectories = mostDirectories;
  }

  /**
   * Something else may stand at this path now, and at all paths below it and those that lead to them; the directory
   * that it is in may have other names in it.
   */
  changed(path: string): void {
    const isMeant = within(path);
    for (const [known, place] of this.#places)
      if (isMeant(known) || isMeant(place.realpath ?? known) || place.mayLeadAnywhere()) place.forget();
    for (const { dirname, join, sep } of [posix, win32]) this.#places.get(join(dirname(path), sep))?.forget();
  }

  /** Everything is read anew; what was good is still what counts where something is broken. */
  changedAll(): void {
    for (const place of this.#places.values()) place.forget();
  }

  /**
   * Every path that the discoveries that count have asked for, there or not, and where those lead to that are links.
   * One with a separator at its end is a directory whose names were asked for.
   */
  watched(): ReadonlySet<string> {
    return new Set(this.#places.keys());
  }

  /** Nobody works in this directory any more. */
  leave(cwd: string): void {
    this.#last.get(cwd)?.end();
    this.#last.delete(cwd);
  }

  /** One discovery in this working directory: what it has asked for counts in place of what the last one did. */
  async visit<Result>(cwd: string, discover: (visit: SourceVisit) => Promise<Result>): Promise<Result> {
    const visit = new SourceVisit(
      (path) => this.#claim(path),
      (path) => this.#release(path),
    );
    try {
      const result = await discover(visit);
      this.#keep(cwd, visit);
      return result;
    } catch (error) {
      visit.end();
      throw error;
    }
  }

  #keep(cwd: string, visit: SourceVisit): void {
    this.leave(cwd);
    this.#last.set(cwd, visit);
    const [oldest] = this.#last.keys();
    if (this.#last.size > this.#mostDirectories && oldest !== undefined) this.leave(oldest);
  }

  #claim(path: string): Place {
    const known = this.#places.get(path);
    const place = known ?? new Place();
    place.claims++;
    if (known !== undefined) return place;
    this.#places.set(path, place);
    this.#asked(path);
    return place;
  }

  #release(path: string): void {
    const place = this.#places.get(path);
    if (place !== undefined && --place.claims === 0) this.#places.delete(path);
  }
}

/** One discovery's way through the memory. */
export class SourceVisit {
  readonly #claim: (path: string) => Place;
  readonly #release: (path: string) => void;
  readonly #places = new Map<string, Place>();

  constructor(claim: (path: string) => Place, release: (path: string) => void) {
    this.#claim = claim;
    this.#release = release;
  }

  /** What is known of the path, or what `observe` finds out if nothing is. */
  async recall<Name extends Aspect>(
    aspect: Name,
    path: string,
    observe: Observe<Aspects[Name]>,
  ): Promise<Observation<Aspects[Name]>> {
    const place = this.#placeAt(path);
    const seen = await place.noteOf(aspect).recall(observe);
    if (aspect === 'realpath') place.realpath = seen.value as Aspects['realpath'];
    if (place.realpath !== undefined) this.#placeAt(place.realpath);
    return seen;
  }

  end(): void {
    for (const path of this.#places.keys()) this.#release(path);
    this.#places.clear();
  }

  #placeAt(path: string): Place {
    const known = this.#places.get(path);
    if (known !== undefined) return known;
    const place = this.#claim(path);
    this.#places.set(path, place);
    return place;
  }
}

/** Whatever the platform: that a name with a backslash in it is taken for two costs no more than a reading. */
function within(dir: string): (path: string) => boolean {
  const bare = dir.replace(/(?<=.)[\\/]$/, '');
  const below = [`${bare === '/' ? '' : bare}/`, `${bare}\\`];
  return (path) => path === dir || path === bare || below.some((start) => path.startsWith(start));
}
