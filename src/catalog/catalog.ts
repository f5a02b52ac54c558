// What is known of the servers, kept from one run of the daemon to the next: one file for each definition, named by its
// hash, so that another command or URL begins with nothing.

import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { KnownServer } from '../core/known-server.ts';
import type { ServerDefinition } from '../core/server-definition.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { decodeKnown, encodeKnown } from './knowledge-file.ts';

export interface CatalogOptions {
  /** Where the files are; undefined to keep nothing. */
  readonly dir: string | undefined;
  /** How long what a server said holds while it does not run. */
  readonly ttlMs: number;
  readonly date: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Much is learnt at once; it is written once. */
const SETTLE_MS = 250;

export class Catalog {
  readonly #options: CatalogOptions;
  readonly #due = new Map<string, () => void>();
  #timer: Timer | undefined;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  /** What is known of a server that is defined like this. */
  knownOf(definition: ServerDefinition): KnownServer {
    const { dir, date, ttlMs } = this.#options;
    const path = dir === undefined ? undefined : join(dir, `${hashOf(definition)}.json`);
    const changed = (): void => this.#save(path, definition.name, known);
    const known: KnownServer = new KnownServer({ date, ttlMs, changed });
    if (path !== undefined) this.#load(path, known);
    return known;
  }

  #load(path: string, known: KnownServer): void {
    try {
      const content = readPrivate(path);
      if (content !== undefined && !decodeKnown(content, known))
        this.#warn(path, 'it is not in the form that is expected');
    } catch (error) {
      this.#warn(path, messageOf(error));
    }
  }

  #save(path: string | undefined, name: string, known: KnownServer): void {
    if (path === undefined) return;
    this.#due.set(path, () => {
      ensurePrivateTree(dirname(path));
      writePrivate(path, encodeKnown(name, known));
    });
    this.#timer ??= this.#options.clock.after(SETTLE_MS, () => this.flush());
  }

  /** Writes what is due. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const due = [...this.#due];
    this.#due.clear();
    for (const [path, write] of due) {
      try {
        write();
      } catch (error) {
        this.#warn(path, messageOf(error)); // it is learnt anew next time
      }
    }
  }

  #warn(file: string, reason: string): void {
    this.#options.logger.warn('a file of the catalog is of no use', { file, reason });
  }
}

/** Of all that decides what a server is. Its values may be secrets; a hash of them all shows none. */
function hashOf(definition: ServerDefinition): string {
  const decisive =
    definition.transport === 'stdio'
      ? [
          definition.transport,
          definition.command,
          definition.args,
          sorted(definition.env),
          definition.cwd ?? definition.dir,
        ]
      : [definition.transport, definition.url, sorted(definition.headers), definition.headersHelper, definition.oauth];
  return createHash('sha256').update(JSON.stringify(decisive)).digest('hex').slice(0, 32);
}

function sorted(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}
