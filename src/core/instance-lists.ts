// What one instance lists itself, since it runs: read when it opens, and whenever it says that a list has changed. What is
// learnt of the server from it, for all of its instances and later ones, is KnownServer's business.

import type { Limits } from '../model/limits.ts';
import type { Logger } from '../util/logger.ts';
import type { Counters } from './counters.ts';
import { LIST_KINDS, type ListKind } from './era/era-2025.ts';
import type { InstanceKey } from './instance-key.ts';
import { type KnownServer, type ListPage, type ServerProfile, samePages } from './known-server.ts';
import { ListReader } from './list-reader.ts';
import { longKeysIn } from './listed-keys.ts';
import type { OwnAnswer } from './own-requests.ts';

export interface InstanceListsPorts {
  readonly server: string;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly logger: Logger;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly ask: (method: string, params: object, onAnswer: OwnAnswer) => void;
  /** A list is another one than it was, and has been read. */
  readonly learnt: (kind: ListKind) => void;
}

export class InstanceLists {
  readonly #ports: InstanceListsPorts;
  readonly #reader: ListReader;
  readonly #pages = new Map<ListKind, readonly ListPage[]>();
  /** How the server shows itself while the instance runs. */
  #profile: ServerProfile | undefined;

  constructor(ports: InstanceListsPorts) {
    this.#ports = ports;
    this.#reader = new ListReader(ports.limits.maxMessageBytes, ports.ask);
  }

  opened(profile: ServerProfile): void {
    this.#profile = profile;
    this.read(LIST_KINDS);
  }

  pagesOf(kind: ListKind): readonly ListPage[] | undefined {
    return this.#pages.get(kind);
  }

  read(kinds: readonly ListKind[]): void {
    if (this.#profile !== undefined) for (const kind of kinds) this.#read(kind, this.#profile);
  }

  #read(kind: ListKind, profile: ServerProfile): void {
    const { server, known, key, logger, learnt } = this.#ports;
    this.#reader.read(kind, profile, (pages) => {
      if (this.#profile !== profile) return;
      logger.debug('list read', { server, kind });
      const before = this.#pages.get(kind);
      this.#pages.set(kind, pages);
      const isNew = known.learnList(profile, kind, pages, key);
      if (isNew || before === undefined) this.#noteLongKeys(kind, pages);
      if (isNew || (before !== undefined && !samePages(before, pages))) learnt(kind);
    });
  }

  /** What is left out of joined lists because of it, so that somebody who misses it finds out why. */
  #noteLongKeys(kind: ListKind, pages: readonly ListPage[]): void {
    const { server, known, logger, counters } = this.#ports;
    const { count, first } = longKeysIn(kind, pages);
    if (!known.noteLongKeys(kind, count)) return; // another instance has said so
    counters.namesTooLong += count;
    logger.warn('names or URIs too long: left out of the views all and discover', { server, kind, count, first });
  }

  /** Asks for a list that the instance could not give before; resolves when that is read, or it has gone. */
  async readMissing(kind: ListKind): Promise<void> {
    if (!this.#pages.has(kind)) this.read([kind]);
    await this.#reader.whenRead(kind);
  }

  /** Has everything listed once more; resolves when it is, or the instance has gone. */
  readAllAgain(): Promise<ReadonlyMap<ListKind, string>> {
    this.read(LIST_KINDS);
    return this.whenListed();
  }

  /** Resolves when none of them is being read, with why those could not be that could not. */
  async whenListed(): Promise<ReadonlyMap<ListKind, string>> {
    const failures = new Map<ListKind, string>();
    const look = async (kind: ListKind): Promise<void> => {
      const failure = await this.#reader.whenRead(kind);
      if (failure !== undefined) failures.set(kind, failure);
    };
    await Promise.all(LIST_KINDS.map(look));
    return failures;
  }

  closed(): void {
    this.#profile = undefined;
    this.#pages.clear();
  }
}
