// The files that discoveries have read, kept so that the next one reads only what has changed. If a file breaks, its
// last valid content counts. Nothing is watched here: a path without a reported change is assumed to be unchanged.

import { posix, win32 } from 'node:path';
import type { Diagnostic } from './diagnostic.ts';
import type { DocumentReading } from './document.ts';
import { LOST } from './source-reader.ts';

export interface SourceMemoryOptions {
  /**
   * Called before each path is read for the first time, so that the caller can watch it without missing a change.
   * Reading waits for the result.
   */
  readonly asked?: (path: string) => Promise<void> | void;
  /** The number of working directories whose last discovery is kept; the oldest is dropped first. */
  readonly mostDirectories?: number;
  /** Keeps the fallback content for longer than this memory lives. */
  readonly keeper?: SourceKeeper;
}

const MOST_DIRECTORIES = 256;

/** A memory of one user's files on one machine, shared by discoveries in any number of directories. */
export class SourceMemory {
  readonly #asked: NonNullable<SourceMemoryOptions['asked']>;
  readonly #mostDirectories: number;
  readonly #keeper: SourceKeeper | undefined;
  readonly #places = new Map<string, SourcePlace>();
  /** The last discovery in each working directory. */
  readonly #last = new Map<string, SourceVisit>();
  #running = 0;

  constructor({ asked = () => undefined, mostDirectories = MOST_DIRECTORIES, keeper }: SourceMemoryOptions = {}) {
    this.#asked = asked;
    this.#mostDirectories = mostDirectories;
    this.#keeper = keeper;
  }

  /**
   * Notes a change at this path: everything at it, below it, and at links to it may differ, and the names in its parent
   * directory too.
   */
  changed(path: string): void {
    const isMeant = within(path);
    for (const [known, place] of this.#places) {
      const isAffected = isMeant(known) || (place.realpath !== undefined && isMeant(place.realpath));
      if (isAffected || (this.#running > 0 && place.mayLeadAnywhere())) place.forget();
    }
    for (const { dirname, join, sep } of [posix, win32]) this.#places.get(join(dirname(path), sep))?.forget();
  }

  /** Has everything read again; for broken files the last valid content still counts. */
  changedAll(): void {
    for (const place of this.#places.values()) place.forget();
  }

  /**
   * Every path that the current discoveries asked for, existing or not, and the targets of links. A separator at the
   * end means that the names in a directory were asked for.
   */
  watched(): ReadonlySet<string> {
    return new Set(this.#places.keys());
  }

  /** The part of `watched` that the last discovery in this directory asked for. */
  pathsOf(cwd: string): string[] {
    return [...(this.#last.get(cwd)?.paths() ?? [])];
  }

  /** Forgets a directory that nobody works in any more. */
  leave(cwd: string): void {
    this.#last.get(cwd)?.end();
    this.#last.delete(cwd);
  }

  /** Runs a discovery in this directory: its paths replace those of the last one there. */
  async visit<Result>(cwd: string, discover: (visit: SourceVisit) => Promise<Result>): Promise<Result> {
    const visit = new SourceVisit(
      (path) => this.#claim(path),
      (path) => this.#release(path),
    );
    this.#running++;
    try {
      const result = await discover(visit);
      this.#keep(cwd, visit);
      return result;
    } catch (error) {
      visit.end();
      throw error;
    } finally {
      this.#running--;
    }
  }

  #keep(cwd: string, visit: SourceVisit): void {
    this.leave(cwd);
    this.#last.set(cwd, visit);
    const [oldest] = this.#last.keys();
    if (this.#last.size > this.#mostDirectories && oldest !== undefined) this.leave(oldest);
  }

  #claim(path: string): SourcePlace {
    const known = this.#places.get(path);
    const place = known ?? new SourcePlace(path, this.#keeper, this.#asked(path) ?? undefined);
    place.claims++;
    if (known === undefined) this.#places.set(path, place);
    return place;
  }

  #release(path: string): void {
    const place = this.#places.get(path);
    if (place === undefined || --place.claims > 0) return;
    this.#places.delete(path);
    this.#keeper?.forget(path);
  }
}

/** The paths that one discovery asks for. */
export class SourceVisit {
  readonly #claim: (path: string) => SourcePlace;
  readonly #release: (path: string) => void;
  readonly #places = new Map<string, SourcePlace>();

  constructor(claim: (path: string) => SourcePlace, release: (path: string) => void) {
    this.#claim = claim;
    this.#release = release;
  }

  /** The known value of a path, or the one that `looking` finds. */
  async recall<Name extends Aspect>(
    aspect: Name,
    path: string,
    looking: SourceLook<Aspects[Name]>,
  ): Promise<Observation<Aspects[Name]>> {
    const place = this.#placeAt(path);
    const seen = await place.noteOf(aspect).recall(looking);
    if (aspect === 'realpath') place.realpath = seen.value as Aspects['realpath'];
    if (place.realpath !== undefined) this.#placeAt(place.realpath);
    return seen;
  }

  paths(): Iterable<string> {
    return this.#places.keys();
  }

  end(): void {
    for (const path of this.#places.keys()) this.#release(path);
    this.#places.clear();
  }

  #placeAt(path: string): SourcePlace {
    const known = this.#places.get(path);
    if (known !== undefined) return known;
    const place = this.#claim(path);
    this.#places.set(path, place);
    return place;
  }
}

/**
 * A test for paths inside a directory, on any platform. A backslash in a name may be misread, which only costs one
 * reading.
 */
function within(dir: string): (path: string) => boolean {
  const bare = dir.replace(/[\\/]$/, '');
  const isEnd = (char: string | undefined): boolean => char === undefined || char === '/' || char === '\\';
  return (path) => path.startsWith(bare) && isEnd(path[bare.length]);
}

/** The questions that discovery asks about a path. */
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

/** The value found at a path, with its diagnostics. */
export interface Observation<Value> {
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
  /** True if it can be the fallback when the next content is broken. */
  readonly isGood: boolean;
  /** The reason why existing content cannot be used. */
  readonly fault?: Diagnostic;
  /** The data from which the value can be rebuilt; without it, the value itself is JSON. It is not kept for long. */
  readonly origin?: unknown;
}

/** The way to look at one aspect of one path. */
export interface SourceLook<Value> {
  observe(): Promise<Observation<Value>>;
  /** Rebuilds the value from its origin or its JSON. */
  revive(origin: unknown): Promise<Value>;
}

/** Keeps the last valid contents of files for the next process. */
export interface SourceKeeper {
  /** Keeps an origin; undefined drops the fallback. */
  keep(aspect: Aspect, path: string, origin: unknown): void;
  /** The kept origin; undefined if there is none. */
  kept(aspect: Aspect, path: string): unknown;
  forget(path: string): void;
}

/** The kept value of one aspect of one path. */
interface Remains {
  keep(origin: unknown): void;
  kept(): unknown;
  /** Settles when the path may be read. */
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

  /** Forgets the current reading: its result is only for those who wait for it already. */
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
    // An earlier reading may end later.
    if (turn > this.#last.turn) {
      this.#last = { turn, good: seen.isGood ? seen : undefined };
      this.#remains.keep(seen.isGood ? (origin ?? seen.value) : undefined);
    }
    return seen;
  }

  /** The valid value from an earlier process. */
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
  const told = { ...fault, message: `${problem} What was read of it before is still used.` };
  return { value: good.value, diagnostics: [...seen.diagnostics, told], isGood: true };
}

type Notes = { [Name in Aspect]?: Note<Aspects[Name]> };

/** Everything known about one path, as long as a current discovery has asked for it. */
export class SourcePlace {
  readonly #notes: Notes = {};
  readonly #path: string;
  readonly #keeper: SourceKeeper | undefined;
  /** Settles when the path is being watched. */
  readonly #ready: Promise<void> | undefined;
  /** The number of discoveries that asked for it. */
  claims = 0;
  /** The real path, once somebody has asked. */
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

  /** True during the first reading of a path, when it is unknown where it leads. */
  mayLeadAnywhere(): boolean {
    return this.realpath === undefined && this.#all().some(({ isPending }) => isPending);
  }

  #all(): Note<unknown>[] {
    return Object.values(this.#notes) as Note<unknown>[];
  }
}
