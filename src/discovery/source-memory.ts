// What discoveries have read of a machine, kept from one to the next, so that only what has changed is read again. It
// watches nothing: whoever does says what changed. What it does not hear of, it believes to be as it was.

import { posix, win32 } from 'node:path';
import {
  type Aspect,
  type Aspects,
  type Observation,
  type SourceKeeper,
  type SourceLook,
  SourcePlace,
} from './source-place.ts';

export interface SourceMemoryOptions {
  /**
   * Hears of each path before it is read for the first time: who watches it from then on misses nothing. It is waited
   * for, if it takes time.
   */
  readonly asked?: (path: string) => Promise<void> | void;
  /** Of how many working directories the last discovery counts; the one that was longest ago goes first. */
  readonly mostDirectories?: number;
  /** Keeps what to fall back on for longer than this memory lives. */
  readonly keeper?: SourceKeeper;
}

const MOST_DIRECTORIES = 256;

/** Of the files of one machine and one user; discoveries in any number of working directories share it. */
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
   * Something else may stand at this path now, and at all paths below it and those that lead to them; the directory
   * that it is in may have other names in it.
   */
  changed(path: string): void {
    const isMeant = within(path);
    for (const [known, place] of this.#places) {
      const isAffected = isMeant(known) || (place.realpath !== undefined && isMeant(place.realpath));
      if (isAffected || (this.#running > 0 && place.mayLeadAnywhere())) place.forget();
    }
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

  /** Those of `watched` that the last discovery in this working directory has asked for. */
  pathsOf(cwd: string): string[] {
    return [...(this.#last.get(cwd)?.paths() ?? [])];
  }

  /** Whether there was a discovery in this working directory that counts. */
  knows(cwd: string): boolean {
    return this.#last.has(cwd);
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

/** One discovery's way through the memory. */
export class SourceVisit {
  readonly #claim: (path: string) => SourcePlace;
  readonly #release: (path: string) => void;
  readonly #places = new Map<string, SourcePlace>();

  constructor(claim: (path: string) => SourcePlace, release: (path: string) => void) {
    this.#claim = claim;
    this.#release = release;
  }

  /** What is known of the path, or what `looking` finds out if nothing is. */
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

/** Whatever the platform: that a name with a backslash in it is taken for two costs no more than a reading. */
function within(dir: string): (path: string) => boolean {
  const bare = dir.replace(/[\\/]$/, '');
  const isEnd = (char: string | undefined): boolean => char === undefined || char === '/' || char === '\\';
  return (path) => path.startsWith(bare) && isEnd(path[bare.length]);
}
