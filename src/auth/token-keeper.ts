// The daemon's access to the tokens of one server. It reads the tokens that `mcp-bridge auth` has stored, refreshes
// them once for all waiting requests, and notes what another sign-in must ask for. It never asks a person.

import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { type Challenge, challengeOf } from './challenge.ts';
import { RefreshProvider } from './providers.ts';
import { isAskable, joinedScope, missingScope } from './scope.ts';
import { patientFetch, settingsOf } from './sign-in-request.ts';
import { type SignedIn, TokenFile } from './token-file.ts';

export interface TokenKeeperOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called before a secret is used, to hide it from all texts. */
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

  /** Returns a new token in place of the refused one; undefined if a person must sign in. */
  renewed(refused: string | undefined, response: Response): Promise<string | undefined> {
    this.#renewal ??= this.#renew(refused, response).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** The stored token, if somebody has signed in since the refusal. */
  replaced(refused: string | undefined): string | undefined {
    const token = this.#read().tokens?.access_token;
    return token === refused ? undefined : token;
  }

  /**
   * Notes the scope that a refused request needs beyond the sign-in. Resolves to true if a new sign-in may bring it. It
   * cannot if the last one asked for all of it: the server or the person has refused that.
   */
  async noteNeeds(response: Response): Promise<boolean> {
    const challenge = challengeOf(response);
    const scope = neededScope(challenge);
    if (scope === undefined || !this.#isToAsk(scope, this.#read())) return false;
    return this.#file.locked(() => {
      const signedIn = this.#read();
      if (!this.#isToAsk(scope, signedIn)) return true; // somebody was faster: the next request knows more
      const wanted = joinedScope(signedIn.wanted, missingScope(scope, signedIn.asked));
      const metadataUrl = challenge.resourceMetadataUrl?.href;
      if (wanted !== signedIn.wanted || metadataUrl !== signedIn.metadataUrl)
        this.#file.write({ ...signedIn, wanted, metadataUrl });
      this.#signedIn = undefined;
      return true;
    });
  }

  #isToAsk(scope: string, { asked, wanted }: SignedIn): boolean {
    return missingScope(scope, asked) !== undefined && isAskable(joinedScope(asked, wanted, scope) ?? '');
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
    const { auth } = await import('@modelcontextprotocol/client');
    const provider = new RefreshProvider(settingsOf(this.#definition, this.#options.environment), signedIn);
    const { resourceMetadataUrl } = challengeOf(response);
    const serverUrl = this.#definition.url;
    const told = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
    // By then the provider has dropped what the server no longer accepts.
    let failure: unknown;
    await auth(provider, { serverUrl, fetchFn: patientFetch, ...told }).catch((error: unknown) => {
      failure = error;
    });
    if (provider.isPersonNeeded) return undefined;
    const refused = signedIn.tokens?.access_token;
    if (provider.signedIn.tokens?.access_token === refused) throw notNow(this.#definition.name, failure);
    this.#file.write(provider.signedIn);
    return this.#take(provider.signedIn).tokens?.access_token;
  }
}

/** The scope that a refused request needs. Some servers omit the error that RFC 6750 requires with it. */
function neededScope({ error, scope }: Challenge): string | undefined {
  return error === undefined || error === 'insufficient_scope' ? joinedScope(scope) : undefined;
}

/** The error for a failed refresh. The sign-in itself may still be good. */
function notNow(server: string, cause: unknown): BridgeError {
  return new BridgeError('SERVER_UNREACHABLE', `The sign-in to server ${server} could not be renewed now`, {
    cause,
    server,
    hint: `Its authorization server does not answer as it should (${reasonOf(cause)}). The next call tries it again.`,
  });
}

/** Names the failure in the bridge's own words: the SDK's messages quote the server. */
function reasonOf(error: unknown): string {
  const status = /\bHTTP (\d{3})\b/.exec(messageOf(error))?.[0];
  if (status !== undefined) return status;
  if (!(error instanceof Error)) return 'it has given no tokens';
  return systemCode(error.cause) ?? systemCode(error) ?? error.name;
}
