// The file with the sign-in to one server: the tokens, and the client that they belong to. The daemon and `mcp-bridge
// auth` share it. Every change needs the file's lock: else one process would lose the other's refresh token.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { inTurn } from '../local/lock-file.ts';
import { ensurePrivateTree, readPrivate, removePrivate, writePrivate } from '../local/private-file.ts';
import { stateDir } from '../local/state-dir.ts';
import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSyntaxError } from '../util/expected-error.ts';

export interface SignedIn {
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly tokens?: StoredOAuthTokens | undefined;
  /** The scope that the last sign-in asked for. */
  readonly asked?: string | undefined;
  /** More scopes that the server has asked for since. The next sign-in asks for them too. */
  readonly wanted?: string | undefined;
  /**
   * The address of the server's metadata, from the same refusal. A server that accepts requests without a token names
   * it nowhere else.
   */
  readonly metadataUrl?: string | undefined;
}

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
    } catch (error) {
      expectSyntaxError(error);
      throw new BridgeError('FILE_UNUSABLE', `${this.path} is not JSON`, { hint: 'Remove it, and sign in again.' });
    }
  }

  /** Replaces the file. Call it under the lock. */
  write(signedIn: SignedIn): void {
    writePrivate(this.path, `${JSON.stringify(signedIn)}\n`);
  }

  /** Removes the file. Call it under the lock. Returns true if the file existed. */
  remove(): boolean {
    return removePrivate(this.path);
  }

  locked<Result>(task: () => Result | Promise<Result>): Promise<Result> {
    ensurePrivateTree(this.#dir);
    return inTurn(this.path, task);
  }
}
