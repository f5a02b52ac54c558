// The daemon's access to the tokens of one server: reads what `mcp-bridge auth` has stored, and refreshes it once for all requests
// that need it. It never asks a person.

import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { RefreshProvider } from './providers.ts';
import { patientFetch, settingsOf } from './sign-in-request.ts';
import { type SignedIn, TokenFile } from './token-file.ts';

export interface TokenKeeperOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Hides a secret from all texts. Called before the secret is used. */
  readonly hide: (name: string, value: string) => void;
}

export class TokenKeeper {
  readonly #definition: RemoteServer;
  readonly #options: TokenKeeperOptions;
  readonly #file: TokenFile;
  #signedIn: SignedIn | undefined;
  #renewal: Promise<string | undefined> | undefined;

  constructor(definition: RemoteServer, options: TokenKeeperOptions) {
    this.#definition = definition;
    this.#options = options;
    this.#file = new TokenFile(definition, options.environment);
  }

  accessToken(): string | undefined {
    this.#signedIn ??= this.#read();
    return this.#signedIn.tokens?.access_token;
  }

  /** A new token in place of the refused one; undefined if a person has to sign in. */
  renewed(refused: string | undefined, response: Response): Promise<string | undefined> {
    this.#renewal ??= this.#renew(refused, response).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  #read(): SignedIn {
    return this.#take(this.#file.read());
  }

  #take(signedIn: SignedIn): SignedIn {
    const { access_token, refresh_token } = signedIn.tokens ?? {};
    if (access_token !== undefined) this.#options.hide('token', access_token);
    if (refresh_token !== undefined) this.#options.hide('token', refresh_token);
    this.#signedIn = signedIn;
    return signedIn;
  }

  async #renew(refused: string | undefined, response: Response): Promise<string | undefined> {
    const { tokens } = this.#read();
    if (tokens === undefined) return undefined;
    if (tokens.access_token !== refused) return tokens.access_token;
    return this.#file.locked(async () => {
      // Another process may have been faster.
      const signedIn = this.#read();
      if (signedIn.tokens?.access_token !== refused) return signedIn.tokens?.access_token;
      return signedIn.tokens?.refresh_token === undefined ? undefined : this.#refresh(signedIn, response);
    });
  }

  async #refresh(signedIn: SignedIn, response: Response): Promise<string | undefined> {
    const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/sdk/client/auth.js');
    const provider = new RefreshProvider(settingsOf(this.#definition, this.#options.environment), signedIn);
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    const serverUrl = this.#definition.url;
    const told = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
    // The provider has dropped by then what the server no longer accepts.
    let failure: unknown;
    await auth(provider, { serverUrl, fetchFn: patientFetch, ...told }).catch((error: unknown) => {
      failure = error;
    });
    if (provider.signedIn === signedIn) throw notNow(this.#definition.name, failure);
    this.#file.write(provider.signedIn);
    return this.#take(provider.signedIn).tokens?.access_token;
  }
}

/** The error for a refresh that failed. The sign-in itself may still be good. */
function notNow(server: string, cause: unknown): BridgeError {
  return new BridgeError('SERVER_UNREACHABLE', `The sign-in to server ${server} could not be renewed now`, {
    cause,
    server,
    hint: `Its authorization server does not answer as it should (${reasonOf(cause)}). The next call tries it again.`,
  });
}

/** Names the failure in the bridge's own words: the SDK's messages hold texts of the server. */
function reasonOf(error: unknown): string {
  const status = /\bHTTP (\d{3})\b/.exec(messageOf(error))?.[0];
  if (status !== undefined) return status;
  if (!(error instanceof Error)) return 'it has given no tokens';
  return systemCode(error.cause) ?? systemCode(error) ?? error.name;
}
