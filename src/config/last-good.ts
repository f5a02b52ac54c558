// What a config file said when it was last good, for a daemon that starts when it is not: somebody is in the middle of
// writing it, or it is a program that fails on this Node. The file may hold secrets, so it is for this user alone.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { membersOf } from '../util/json-value.ts';

export interface KeptConfig {
  readonly content: unknown;
  /** When it was read, as in ISO 8601. */
  readonly at: string;
}

export class LastGoodConfigs {
  readonly #dir: string;
  readonly #failed: (error: unknown) => void;

  /** `failed` hears of what cannot be kept: that is no reason to do without the config itself. */
  constructor(stateDir: string, failed: (error: unknown) => void) {
    this.#dir = join(stateDir, 'last-good-config');
    this.#failed = failed;
  }

  keep(file: string, content: unknown, now: Date): void {
    try {
      const text = JSON.stringify({ version: 1, file, at: now.toISOString(), content });
      ensurePrivateTree(this.#dir);
      writePrivate(this.#pathOf(file), `${text}\n`);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Undefined if it was never good, or what was kept cannot be read. */
  kept(file: string): KeptConfig | undefined {
    try {
      const { version, file: own, at, content } = membersOf(JSON.parse(readPrivate(this.#pathOf(file)) ?? 'null'));
      return version === 1 && own === file && typeof at === 'string' ? { content, at } : undefined;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  #pathOf(file: string): string {
    return join(this.#dir, `${createHash('sha256').update(file).digest('hex').slice(0, 16)}.json`);
  }
}
