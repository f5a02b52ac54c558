// What is kept of having signed in to one server: the tokens, and the client that they were given to. The daemon and
// `mcp-bridge auth` share the file; who changes it holds its lock, or one would lose the other's refresh token.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { RemoteServer } from '../core/server-definition.ts';
import { LockFile } from '../local/lock-file.ts';
import { ensurePrivateTree, readPrivate, removePrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';

export interface SignedIn {
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly tokens?: OAuthTokens | undefined;
}

/** A refresh is one request, or two. */
const LOCK_TIMEOUT_MS = 60_000;
const POLL_MS = 25;

export class TokenFile {
  readonly path: string;
  readonly #dir: string;

  constructor({ name, url }: Pick<RemoteServer, 'name' | 'url'>, environment: Parameters<typeof stateDir>[0]) {
    const hash = createHash('sha256').update(`${name}\n${url}`).digest('hex').slice(0, 32);
    this.#dir = join(stateDir(environment), 'auth');
    this.path = join(this.#dir, `${hash}.json`);
  }

  read(): SignedIn {
    const text = readPrivate(this.path);
    if (text === undefined) return {};
    try {
      return JSON.parse(text) as SignedIn;
    } catch {
      throw new BridgeError('FILE_UNUSABLE', `${this.path} is not JSON`, { hint: 'Remove it, and sign in again.' });
    }
  }

  /** Under the lock only. */
  write(signedIn: SignedIn): void {
    writePrivate(this.path, `${JSON.stringify(signedIn)}\n`);
  }

  /** Under the lock only. Whether there was anything. */
  remove(): boolean {
    return removePrivate(this.path);
  }

  async locked<Result>(task: () => Result | Promise<Result>): Promise<Result> {
    const lock = await this.#lock();
    try {
      return await task();
    } finally {
      lock.release();
    }
  }

  async #lock(): Promise<LockFile> {
    ensurePrivateTree(this.#dir);
    const deadline = performance.now() + LOCK_TIMEOUT_MS;
    while (performance.now() < deadline) {
      const lock = LockFile.take(`${this.path}.lock`);
      if (lock !== undefined) return lock;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new BridgeError('FILE_UNUSABLE', `${this.path} is held by another process`, { hint: 'Try it again.' });
  }
}
