// Files of kept results that do not fit into memory, in a private directory of one daemon. They are removed when the
// daemon ends; those of a killed daemon when the next one on its socket starts, or a day later.

import { createHash, randomBytes } from 'node:crypto';
import { constants, existsSync, rmSync } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateTree } from '../local/private-file.ts';
import { expectSystemError } from '../util/expected-error.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** No setting keeps a result longer. */
const OLDEST_MS = 86_400_000;
const NEWLINE = Buffer.from('\n');

export class ResultFiles {
  readonly #parent: string;
  readonly #dir: string;
  #isMade = false;

  /** `parent` has one directory per daemon, named after the daemon's socket. */
  constructor(parent: string, socketPath: string) {
    this.#parent = parent;
    this.#dir = join(parent, createHash('sha256').update(socketPath).digest('hex').slice(0, 16));
  }

  /** Removes the files of killed daemons. */
  async clear(nowMs: number): Promise<void> {
    this.close();
    if (!existsSync(this.#parent)) return;
    for (const dir of await readdir(this.#parent)) await this.#clearOld(join(this.#parent, dir), nowMs);
  }

  async #clearOld(dir: string, nowMs: number): Promise<void> {
    try {
      for (const name of await readdir(dir)) {
        const file = join(dir, name);
        if (nowMs - (await stat(file)).mtimeMs > OLDEST_MS) await rm(file, { force: true });
      }
    } catch (error) {
      expectSystemError(error); // its daemon has removed it meanwhile
    }
  }

  /** Writes the bytes, without their newline; returns the file name. */
  async write(bytes: Buffer): Promise<string> {
    if (!this.#isMade) ensurePrivateTree(this.#dir);
    this.#isMade = true;
    const path = join(this.#dir, randomBytes(12).toString('hex'));
    const file = await open(path, CREATE, 0o600);
    try {
      await file.writeFile(bytes.subarray(0, bytes.length - NEWLINE.length));
    } finally {
      await file.close();
    }
    return path;
  }

  /** Reads a file, and adds a newline to its bytes. */
  async read(path: string): Promise<Buffer> {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { size } = await file.stat();
      const bytes = Buffer.allocUnsafeSlow(size + NEWLINE.length);
      let at = 0;
      while (at < size) {
        const { bytesRead } = await file.read(bytes, at, size - at, at);
        if (bytesRead === 0) throw new Error(`${path} has become shorter`);
        at += bytesRead;
      }
      bytes.set(NEWLINE, size);
      return bytes;
    } finally {
      await file.close();
    }
  }

  remove(path: string): Promise<void> {
    return rm(path, { force: true });
  }

  /** Removes all files. */
  close(): void {
    rmSync(this.#dir, { recursive: true, force: true });
    this.#isMade = false;
  }
}
