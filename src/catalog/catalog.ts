// Keeps the knowledge of servers between runs of the daemon. Each definition has one file, named by its hash, so a
// changed command or URL starts with nothing. It is a cache: losing it costs time, never correctness.

import { join } from 'node:path';
import { type KnowledgeContext, KnownServer } from '../core/server-knowledge.ts';
import { readPrivate } from '../local/private-file.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { hashOfDefinition } from './definition-hash.ts';
import { decodeKnown, encodeKnown } from './knowledge-file.ts';
import { SettledWrites } from './settled-writes.ts';
import { FilesInUse, noteUse, type SweptDirectory } from './sweeper.ts';

export interface CatalogOptions {
  /** The directory of the files; undefined to keep nothing. */
  readonly dir: string | undefined;
  /** The time that knowledge stays valid while its server does not run. */
  readonly ttlMs: number;
  readonly date: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called each time MANY more files have been read. */
  readonly manyRead?: () => void;
}

/** After so many files there is garbage worth collecting. */
const MANY = 256;

/** Short, because all of it can be learnt again. */
const KEPT_MS = 30 * 24 * 3_600_000;

export class Catalog {
  readonly #options: CatalogOptions;
  readonly #files = new FilesInUse();
  readonly #writes: SettledWrites;
  #filesRead = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    const failed = (path: string, reason: string): void => this.#warn(path, reason); // it is learnt again next time
    this.#writes = new SettledWrites({ clock: options.clock, isCache: true, failed });
  }

  /** Returns the knowledge of a server with this definition. */
  knownOf(definition: ServerDefinition, listeners: Pick<KnowledgeContext, 'toolsListed'> = {}): KnownServer {
    const { dir, date } = this.#options;
    // A server that connects by itself may be another program the next time.
    const ttlMs = definition.transport === 'dial-in' ? 0 : this.#options.ttlMs;
    const path = dir === undefined ? undefined : join(dir, `${hashOfDefinition(definition)}.json`);
    const changed = (): void => this.#save(path, definition.name, known);
    const known: KnownServer = new KnownServer({ date, ttlMs, changed, ...listeners });
    if (path === undefined) return known;
    this.#load(path, known);
    this.#files.add(path, known);
    return known;
  }

  #load(path: string, known: KnownServer): void {
    try {
      this.#writes.settle(path); // a server that has just gone may have left a pending write there
      const content = readPrivate(path);
      if (content === undefined) return;
      noteUse(path, this.#options.date());
      if (++this.#filesRead % MANY === 0) this.#options.manyRead?.();
      if (!decodeKnown(content, known)) this.#warn(path, 'it is not in the form that is expected');
    } catch (error) {
      this.#warn(path, messageOf(error));
    }
  }

  #save(path: string | undefined, name: string, known: KnownServer): void {
    if (path !== undefined) this.#writes.add(path, () => encodeKnown(name, known));
  }

  /** The directory to sweep, if there is one. */
  get swept(): SweptDirectory[] {
    const { dir } = this.#options;
    return dir === undefined ? [] : [{ dir, keptMs: KEPT_MS, inUse: () => this.#files.paths }];
  }

  /** Writes pending changes now. */
  flush(): void {
    this.#writes.flush();
  }

  #warn(file: string, reason: string): void {
    this.#options.logger.warn('a file of the catalog is of no use', { file, reason });
  }
}
