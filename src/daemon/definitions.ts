// The server definitions for each directory: those of the bridge's config, and those that discovery found. Each
// directory is searched once, and again when a file has changed.

import { createHash } from 'node:crypto';
import type { ReloadReport } from '../control/report.ts';
import { OPENED_HERE } from '../downstream/instance-runner.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import type { ServerSource } from './server-source.ts';

export interface FoundServers {
  readonly servers: ReadonlyMap<string, ServerDefinition>;
  /** The number of definitions that wait for approval. */
  readonly pending: number;
  /** The missing inputs, by the servers that need them. */
  readonly missing?: Readonly<Record<string, readonly string[]>>;
  /** Faults of files and entries, in words for people. */
  readonly faults: readonly string[];
}

export interface DefinitionsOptions {
  /** Finds the servers for a directory. Never rejects. */
  readonly find: (dir: string) => Promise<FoundServers>;
  /** The directory for clients that do not name theirs. */
  readonly home: string;
  /** The directories of connected clients and running servers. */
  readonly dirsInUse: () => Iterable<string>;
  /** Called when a directory is forgotten. */
  readonly leave: (dir: string) => void;
}

const NOTHING: FoundServers = { servers: new Map(), pending: 0, faults: [] };
/** The number of unused directories that are remembered for a while. */
const MOST_DIRECTORIES = 64;

export class Definitions implements ServerSource {
  readonly comeByThemselves = OPENED_HERE.comeByThemselves;
  readonly open = OPENED_HERE.open;
  readonly #options: DefinitionsOptions;
  readonly #found = new Map<string, FoundServers>();
  readonly #finding = new Map<string, Promise<void>>();
  /** Directories that were unused at the last check. */
  #unused = new Set<string>();
  /** Counts the reloads. The result of a search that began before a reload is dropped. */
  #generation = 0;
  #reloading: Promise<ReloadReport> | undefined;

  constructor(options: DefinitionsOptions) {
    this.#options = options;
  }

  /** Finds the definitions of a directory; undefined if they are known already. */
  prepare(cwd: string | undefined): Promise<void> | undefined {
    const dir = cwd ?? this.#options.home;
    this.#unused.delete(dir);
    if (this.#found.has(dir)) return undefined;
    const finding = this.#finding.get(dir) ?? this.#find(dir);
    this.#finding.set(dir, finding);
    return finding;
  }

  /** The servers of a directory by name. */
  of(cwd: string | undefined): ReadonlyMap<string, ServerDefinition> {
    return (this.#found.get(cwd ?? this.#options.home) ?? NOTHING).servers;
  }

  /** The number of definitions there that wait for approval; undefined if unknown. */
  pendingIn(cwd: string): number | undefined {
    return this.#found.get(cwd)?.pending;
  }

  /** The inputs that are missing there, by server; undefined if unknown. */
  missingIn(cwd: string): FoundServers['missing'] {
    return this.#found.get(cwd)?.missing;
  }

  /** The servers of all directories; a name may occur more than once. */
  *all(): Iterable<ServerDefinition> {
    for (const { servers } of this.#found.values()) yield* servers.values();
  }

  /** The directories whose servers are known. */
  get dirs(): readonly string[] {
    return [...this.#found.keys()];
  }

  get faults(): readonly string[] {
    return [...new Set([...this.#found.values()].flatMap(({ faults }) => faults))];
  }

  async #find(dir: string): Promise<void> {
    let found: FoundServers;
    let generation: number;
    do {
      generation = this.#generation;
      found = await this.#options.find(dir);
    } while (generation !== this.#generation);
    this.#finding.delete(dir);
    this.#found.set(dir, found);
    this.#forgetUnused(dir);
  }

  #forgetUnused(newest: string): void {
    if (this.#found.size <= MOST_DIRECTORIES) return;
    const used = new Set([this.#options.home, newest, ...this.#options.dirsInUse()]);
    for (const dir of this.#found.keys()) if (!used.has(dir)) this.#forget(dir);
  }

  /** Forgets the directories that are unused now and were at the previous call; returns true if there were any. */
  forgetLeft(): boolean {
    const used = new Set([this.#options.home, ...this.#options.dirsInUse()]);
    const unused = [...this.#found.keys()].filter((dir) => !used.has(dir));
    const left = unused.filter((dir) => this.#unused.has(dir));
    this.#unused = new Set(unused);
    for (const dir of left) this.#forget(dir);
    return left.length > 0;
  }

  #forget(dir: string): void {
    this.#found.delete(dir);
    this.#options.leave(dir);
  }

  /** Searches all used directories again; returns the differences. */
  async reload(): Promise<ReloadReport> {
    // A search under way may have read files before the change, so another one follows it.
    while (this.#reloading !== undefined) await this.#reloading;
    this.#reloading = this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  async #reload(): Promise<ReloadReport> {
    this.#generation++;
    const known = new Set(this.#found.keys());
    const inUse = new Set([this.#options.home, ...this.#options.dirsInUse()]);
    const before = new Map(this.#found);
    for (const dir of known) if (!inUse.has(dir)) this.#forget(dir);
    const dirs = [...inUse].filter((dir) => known.has(dir));
    const found = await Promise.all(dirs.map(async (dir) => [dir, await this.#options.find(dir)] as const));
    // Directories that were added meanwhile are new already, and stay.
    for (const [dir, servers] of found) this.#found.set(dir, servers);
    return { ...differences(before, this.#found), faults: this.faults };
  }
}

type Found = ReadonlyMap<string, FoundServers>;

function differences(before: Found, after: Found): Omit<ReloadReport, 'faults'> {
  const changes = { added: new Set<string>(), changed: new Set<string>(), removed: new Set<string>() };
  for (const [dir, { servers: old }] of before) {
    const servers = after.get(dir)?.servers ?? old;
    for (const [name, definition] of servers) {
      const known = old.get(name);
      if (known === undefined) changes.added.add(name);
      else if (isOther(known, definition)) changes.changed.add(name);
    }
    for (const name of old.keys()) if (!servers.has(name)) changes.removed.add(name);
  }
  return { added: [...changes.added], changed: [...changes.changed], removed: [...changes.removed] };
}

function isOther(a: ServerDefinition, b: ServerDefinition): boolean {
  return identityOf(a) !== identityOf(b) || gatedBy(a) !== gatedBy(b);
}

/** The identity of a definition: equal identities mean the same server. It contains secrets. */
export function identityOf(definition: ServerDefinition): string {
  const known = identities.get(definition);
  if (known !== undefined) return known;
  const identity = identityIn(definition);
  identities.set(definition, identity);
  return identity;
}

/** Cached, because each change of other hosts' servers needs the identities of all. */
const identities = new WeakMap<ServerDefinition, string>();

function identityIn(definition: ServerDefinition): string {
  const { filters: _, alsoNamed: __, ...own } = definition;
  if (own.transport !== 'bus') return JSON.stringify(own);
  const { anyOf: ___, ...ofBus } = own;
  return createHash('sha256').update(JSON.stringify(ofBus)).digest('base64'); // there may be thousands, with long descriptions
}

/** The part of a definition that decides who may use which tools. A running instance does not depend on it. */
export function gatedBy(definition: ServerDefinition): string {
  const { filters, alsoNamed } = definition;
  return JSON.stringify([filters, alsoNamed, definition.transport === 'bus' ? definition.anyOf : undefined]);
}
