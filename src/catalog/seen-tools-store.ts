// Keeps the seen tools of all servers in the state directory, one file each: they are decisions, not a cache. An
// unreadable file does not count as missing: else the server's next change would pass for its first list.

import { join } from 'node:path';
import { readPrivate } from '../local/private-file.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { hashOfIdentity } from './definition-hash.ts';
import { LOST, SeenTools, type SeenToolsPorts } from './seen-tools.ts';
import { decodeSeen, type SeenBefore } from './seen-tools-file.ts';
import { SettledWrites } from './settled-writes.ts';
import { FilesInUse, noteUse, type SweptDirectory } from './sweeper.ts';

export interface SeenToolsStoreOptions {
  /** The directory of the files; undefined to keep nothing. */
  readonly dir: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly changed: SeenToolsPorts['changed'];
  /** The time of day, in milliseconds. */
  readonly date: () => number;
}

/** Long, because without the file any later change of the server counts as first seen. */
const KEPT_MS = 365 * 24 * 3_600_000;

export class SeenToolsStore {
  readonly #options: SeenToolsStoreOptions;
  /** Seen tools by their server's hash; several servers may share one. Unused ones are read again when needed. */
  readonly #known = new Map<string, WeakRef<SeenTools>>();
  readonly #files = new FilesInUse();
  readonly #writes: SettledWrites;

  constructor(options: SeenToolsStoreOptions) {
    this.#options = options;
    const { clock, logger } = options;
    const failed = (file: string, reason: string): void =>
      logger.warn('the file of seen tools cannot be written', { file, reason });
    this.#writes = new SettledWrites({ clock, isCache: false, failed });
  }

  of(definition: ServerDefinition): SeenTools {
    const { dir, changed } = this.#options;
    const { name } = definition;
    const hash = hashOfIdentity(definition);
    const known = this.#known.get(hash)?.deref();
    if (known !== undefined) return known;
    const path = dir === undefined ? undefined : join(dir, `${hash}.json`);
    const save = (seen: SeenTools): void => {
      if (path !== undefined) this.#writes.add(path, () => seen.packed());
    };
    const before = path === undefined ? undefined : this.#read(path, name);
    const seen = new SeenTools(name, { save, changed }, before);
    if (before !== undefined) seen.packed();
    this.#known.set(hash, new WeakRef(seen));
    if (path !== undefined) this.#files.add(path, seen);
    return seen;
  }

  #read(path: string, server: string): SeenBefore | undefined {
    try {
      const content = readPrivate(path);
      if (content === undefined) return undefined;
      noteUse(path, this.#options.date());
      const before = decodeSeen(content);
      return before ?? this.#lost(path, server, 'it is not in the form that is expected');
    } catch (error) {
      return this.#lost(path, server, messageOf(error));
    }
  }

  #lost(file: string, server: string, reason: string): SeenBefore {
    this.#options.logger.warn('the file of seen tools cannot be read: all tools count as changed', {
      server,
      file,
      reason,
    });
    return LOST;
  }

  /** The directory to sweep, if there is one. */
  get swept(): SweptDirectory[] {
    const { dir } = this.#options;
    return dir === undefined ? [] : [{ dir, keptMs: KEPT_MS, inUse: () => this.#files.paths }];
  }

  /** Writes pending changes now; false if that failed. */
  flush(): boolean {
    return this.#writes.flush();
  }
}
