// What is known of the servers, kept from one run of the daemon to the next: one file for each definition, named by its
// hash, so that another command or URL begins with nothing.

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
  /** Where the files are; undefined to keep nothing. */
  readonly dir: string | undefined;
  /** How long what a server said holds while it does not run. */
  readonly ttlMs: number;
  readonly date: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** It can all be learnt anew. */
const KEPT_MS = 30 * 24 * 3_600_000;

export class Catalog {
  readonly #options: CatalogOptions;
  readonly #files = new FilesInUse();
  readonly #writes: SettledWrites;

  constructor(options: CatalogOptions) {
    this.#options = options;
    const failed = (path: string, reason: string): void => this.#warn(path, reason); // it is learnt anew next time
    this.#writes = new SettledWrites({ clock: options.clock, failed });
  }

  /** What is known of a server that is defined like this. */
  knownOf(definition: ServerDefinition, listeners: Pick<KnowledgeContext, 'toolsListed'> = {}): KnownServer {
    const { dir, date } = this.#options;
    // What comes by itself runs, or is not there at all, and may be another program the next time.
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
      const content = readPrivate(path);
      if (content === undefined) return;
      noteUse(path, this.#options.date());
      if (!decodeKnown(content, known)) this.#warn(path, 'it is not in the form that is expected');
    } catch (error) {
      this.#warn(path, messageOf(error));
    }
  }

  #save(path: string | undefined, name: string, known: KnownServer): void {
    if (path !== undefined) this.#writes.add(path, () => encodeKnown(name, known));
  }

  /** Where its files are; nothing if it keeps none. */
  get swept(): SweptDirectory[] {
    const { dir } = this.#options;
    return dir === undefined ? [] : [{ dir, keptMs: KEPT_MS, inUse: () => this.#files.paths }];
  }

  /** Writes what is due. */
  flush(): void {
    this.#writes.flush();
  }

  #warn(file: string, reason: string): void {
    this.#options.logger.warn('a file of the catalog is of no use', { file, reason });
  }
}
