// Results that were cut, kept in full as long as the settings say and there is room. Each belongs to one owner, and no
// other owner learns of it. An owner may take half of the room, and so may a principal if there are several. When room
// runs out, the oldest result is dropped from the largest owner of the largest principal.
//
//   in memory ── more than results.maxMemoryBytes, the oldest first ──▶ being written ──▶ in a file
//       └─────────────── its time is up, its owner has gone, no room ──────────┴──────────────┴─▶ gone

import { randomBytes } from 'node:crypto';
import type { Events } from '../core/events.ts';
import type { Session } from '../core/session.ts';
import { principalKey } from '../model/principal.ts';
import type { ResultsSettings } from '../model/settings.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Span } from '../wire/json-members.ts';

/** The interval at which all results are checked. */
const TICK_MS = 5000;
/** Charged for each besides its bytes: its entry and its file. */
const EACH_BYTES = 4096;
/** The pause after a file could not be written. */
const PAUSE_MS = 60_000;
const ID_BYTES = 9;

/** A session, or a text for clients without one. */
export type ResultOwner = object | string;

/** The part of {@link ResultFiles} that is used here. */
export interface FilesOfResults {
  write(bytes: Buffer): Promise<string>;
  read(path: string): Promise<Buffer>;
  remove(path: string): Promise<void>;
}

/** A result in its own buffer, followed by a newline, and the position of its content there. */
export interface WholeResult {
  readonly bytes: Buffer;
  /** The position of the content's list, with its brackets. */
  readonly at: Span;
  readonly structured: Span | undefined;
}

export interface KeptResult {
  readonly id: string;
  readonly owner: ResultOwner;
  readonly at: Span;
  readonly structured: Span | undefined;
  readonly size: number;
  readonly untilMs: number;
}

interface Kept extends KeptResult {
  bytes: Buffer | undefined;
  file: string | undefined;
  isBeingWritten: boolean;
  isGone: boolean;
}

interface Taken {
  /** The principal of the owner. */
  readonly share: string;
  bytes: number;
  readonly results: Set<Kept>;
}

interface KeptResultsContext {
  readonly settings: () => ResultsSettings;
  /** Undefined to keep only what fits into memory. */
  readonly files: FilesOfResults | undefined;
  readonly events: Events;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

export class KeptResults {
  readonly #context: KeptResultsContext;
  /** Oldest first. */
  readonly #byId = new Map<string, Kept>();
  readonly #byOwner = new Map<ResultOwner, Taken>();
  #memoryBytes = 0;
  #diskBytes = 0;
  #tick: Timer | undefined;
  /** The time before which no file is written. */
  #pausedUntilMs = 0;
  #hasWarned = false;

  constructor(context: KeptResultsContext) {
    this.#context = context;
    context.events.clientLeft.on((client) => this.#leave(client));
  }

  /** The number of results, and their bytes. */
  get report(): { readonly count: number; readonly memoryBytes: number; readonly diskBytes: number } {
    return { count: this.#byId.size, memoryBytes: this.#memoryBytes, diskBytes: this.#diskBytes };
  }

  /** Keeps a result; undefined if there is no room even after dropping others. `share` is the owner's principal. */
  keep(owner: ResultOwner, { bytes, at, structured }: WholeResult, share = ''): KeptResult | undefined {
    const { clock, settings } = this.#context;
    const size = bytes.length;
    if (!this.#makeRoom(owner, share, size + EACH_BYTES)) return undefined;
    const id = randomBytes(ID_BYTES).toString('base64url');
    const untilMs = clock.now() + settings().keepMs;
    const where = { file: undefined, isBeingWritten: false, isGone: false };
    const kept: Kept = { ...{ id, owner, bytes, at, structured, size, untilMs }, ...where };
    this.#byId.set(id, kept);
    const taken = this.#byOwner.get(owner) ?? { share, bytes: 0, results: new Set<Kept>() };
    this.#byOwner.set(owner, taken);
    taken.results.add(kept);
    taken.bytes += chargeOf(kept);
    this.#memoryBytes += size;
    this.#tick ??= clock.after(TICK_MS, () => this.#onTick());
    this.#writeOldest();
    return kept;
  }

  /** True if this owner has a result. */
  hasAnyOf(owner: ResultOwner): boolean {
    return this.#byOwner.has(owner);
  }

  /** Finds a result of this owner. */
  find(owner: ResultOwner, id: string): KeptResult | undefined {
    const kept = this.#byId.get(id);
    return kept === undefined || kept.owner !== owner || this.#context.clock.now() >= kept.untilMs ? undefined : kept;
  }

  /** The bytes of a found result; undefined if it has gone meanwhile. */
  async bytesOf({ id }: KeptResult): Promise<Buffer | undefined> {
    const kept = this.#byId.get(id);
    if (kept?.bytes !== undefined) return kept.bytes;
    if (kept?.file === undefined) return undefined;
    try {
      return await this.#context.files?.read(kept.file);
    } catch (error) {
      if (!kept.isGone) this.#warn('a kept result cannot be read', error);
      return undefined;
    }
  }

  // --- room ---

  #makeRoom(owner: ResultOwner, share: string, size: number): boolean {
    const { maxMemoryBytes, maxDiskBytes } = this.#context.settings();
    const most = maxMemoryBytes + (this.#context.files === undefined ? 0 : maxDiskBytes);
    // Results may arrive faster than files are written.
    const mostInMemory = this.#mayWrite ? 2 * maxMemoryBytes : maxMemoryBytes;
    if (size > most / 2 || size > mostInMemory) return false;
    for (let own = this.#byOwner.get(owner); own !== undefined && own.bytes + size > most / 2; )
      this.#forget(first(own.results));
    for (let others = this.#othersThan(share); others.isAny && others.own + size > most / 2; ) {
      this.#forget(this.#oldestOfHeaviest((kept) => this.#byOwner.get(kept.owner)?.share === share));
      others = this.#othersThan(share);
    }
    while (this.#chargedBytes + size > most) this.#forget(this.#oldestOfHeaviest(() => true));
    while (this.#memoryBytes + size > mostInMemory && this.#memoryBytes > 0)
      this.#forget(this.#oldestOfHeaviest(isInMemory));
    return true;
  }

  get #mayWrite(): boolean {
    return this.#context.files !== undefined && this.#context.clock.now() >= this.#pausedUntilMs;
  }

  get #chargedBytes(): number {
    return this.#memoryBytes + this.#diskBytes + this.#byId.size * EACH_BYTES;
  }

  /** The bytes of a principal, and whether others have any. */
  #othersThan(share: string): { readonly own: number; readonly isAny: boolean } {
    let own = 0;
    let isAny = false;
    for (const taken of this.#byOwner.values()) {
      if (taken.share === share) own += taken.bytes;
      else isAny = true;
    }
    return { own, isAny };
  }

  /** The oldest matching result of the largest owner of the largest principal. */
  #oldestOfHeaviest(isMeant: (kept: Kept) => boolean): Kept | undefined {
    const ofShare = new Map<string, number>();
    for (const { share, bytes } of this.#byOwner.values()) ofShare.set(share, (ofShare.get(share) ?? 0) + bytes);
    const inShare = ({ share }: Taken): number => ofShare.get(share) ?? 0;
    const owners = [...this.#byOwner.values()].sort(
      (one, other) => inShare(other) - inShare(one) || other.bytes - one.bytes,
    );
    for (const { results } of owners) for (const kept of results) if (isMeant(kept)) return kept;
    return undefined;
  }

  /** Drops a result because there is no room. */
  #forget(kept: Kept | undefined): void {
    if (kept === undefined) return;
    this.#context.events.incident.tell('resultsForgotten', undefined);
    this.#drop(kept);
  }

  #leave(client: object): void {
    for (const kept of this.#byOwner.get(client)?.results ?? []) this.#drop(kept);
  }

  #drop(kept: Kept): void {
    const { owner, bytes, file, size } = kept;
    if (!this.#byId.delete(kept.id)) return;
    kept.isGone = true;
    const taken = this.#byOwner.get(owner);
    taken?.results.delete(kept);
    if (taken !== undefined) taken.bytes -= chargeOf(kept);
    if (taken?.results.size === 0) this.#byOwner.delete(owner);
    if (bytes !== undefined) this.#memoryBytes -= size;
    if (file !== undefined) this.#removeFile(file, size);
    kept.bytes = undefined;
  }

  #onTick(): void {
    const { clock } = this.#context;
    this.#tick = undefined;
    for (const kept of [...this.#byId.values()]) if (clock.now() >= kept.untilMs) this.#drop(kept);
    if (this.#byId.size > 0) this.#tick = clock.after(TICK_MS, () => this.#onTick());
    this.#writeOldest();
  }

  // --- files ---

  /** Writes the oldest results to files until the rest fits into memory. */
  #writeOldest(): void {
    const { files, settings } = this.#context;
    if (files === undefined || !this.#mayWrite) return;
    let left = this.#memoryBytes;
    for (const kept of this.#byId.values()) {
      if (left <= settings().maxMemoryBytes) return;
      if (kept.bytes === undefined) continue;
      left -= kept.size;
      if (!kept.isBeingWritten) void this.#write(kept, kept.bytes, files);
    }
  }

  async #write(kept: Kept, bytes: Buffer, files: FilesOfResults): Promise<void> {
    kept.isBeingWritten = true;
    try {
      const file = await files.write(bytes);
      this.#diskBytes += kept.size;
      if (kept.isGone) return this.#removeFile(file, kept.size);
      kept.file = file;
      kept.bytes = undefined;
      this.#memoryBytes -= kept.size;
      this.#hasWarned = false;
    } catch (error) {
      this.#warn('results cannot be kept in files', error);
      this.#pausedUntilMs = this.#context.clock.now() + PAUSE_MS;
    } finally {
      kept.isBeingWritten = false;
    }
  }

  #removeFile(file: string, size: number): void {
    this.#diskBytes -= size;
    this.#context.files?.remove(file).catch((error: unknown) => this.#warn('a kept result cannot be removed', error));
  }

  /** Warns that files fail, once until a file could be written again. */
  #warn(what: string, error: unknown): void {
    if (!this.#hasWarned) this.#context.logger.warn(what, { error: messageOf(error) });
    this.#hasWarned = true;
  }
}

const chargeOf = ({ size }: Kept): number => size + EACH_BYTES;
const isInMemory = ({ bytes }: Kept): boolean => bytes !== undefined;

function first<Item>(items: Iterable<Item>): Item | undefined {
  for (const item of items) return item;
  return undefined;
}

/** The principal whose share of the room a client's results use. */
export function shareOf({ principal }: Session): string {
  return principalKey(principal);
}

/**
 * The owner of a client's results: its session. Requests of 2026 over HTTP have no fixed one, because each may come on
 * another connection: there the owner is the client name with its principal.
 */
export function ownerOf({ era, host, link, principal, name }: Session): ResultOwner {
  if (era.hasHandshake || link.streams === undefined) return host;
  return `${principalKey(principal)} ${name}`;
}
