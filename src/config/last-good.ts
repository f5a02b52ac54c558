// The last good content of each config file. A starting daemon uses it if somebody is just writing the file, or if the
// file is a program that fails on this Node. The copy may hold secrets, so only this user can read it.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ensurePrivateTree, readPrivate, writePrivate } from '../local/private-file.ts';
import { membersOf } from '../util/json-value.ts';

export interface KeptConfig {
  readonly content: unknown;
  /** The time of reading, in ISO 8601. */
  readonly at: string;
}

export class LastGoodConfigs {
  readonly #dir: string;
  readonly #failed: (error: unknown) => void;

  /** `failed` is called when the content cannot be kept; the config itself is used anyway. */
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

  /** The kept content; undefined if the file was never good, or if the copy cannot be read. */
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
