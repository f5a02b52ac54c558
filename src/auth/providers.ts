// The providers that the SDK's OAuth flow asks for: one for the daemon, which only refreshes tokens, and one for a person who signs
// in. They hold what is to be stored, and write no file.

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { OAuthSettings } from '../model/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { SignedIn } from './token-file.ts';

abstract class Provider implements OAuthClientProvider {
  abstract readonly redirectUrl: string;
  protected readonly settings: OAuthSettings;
  /** The tokens and the client that are to be stored. */
  signedIn: SignedIn;

  constructor(settings: OAuthSettings, signedIn: SignedIn) {
    this.settings = settings;
    this.signedIn = signedIn;
  }

  get clientMetadata(): OAuthClientMetadata {
    const { scope } = this.settings;
    return {
      client_name: 'mcp-bridge',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...(scope === undefined ? {} : { scope }),
    };
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    const { clientId, clientSecret } = this.settings;
    if (clientId === undefined) return this.signedIn.client;
    return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  }

  abstract tokens(): OAuthTokens | undefined;

  saveTokens(tokens: OAuthTokens): void {
    this.signedIn = { ...this.signedIn, tokens };
  }

  abstract redirectToAuthorization(url: URL): void;
  abstract saveCodeVerifier(verifier: string): void;
  abstract codeVerifier(): string;
}

/** Refreshes tokens. No person is there, so a step that needs one ends the flow. */
export class RefreshProvider extends Provider {
  /** Never used. Without it the SDK takes the bridge for a program that signs in as itself. */
  readonly redirectUrl = 'http://127.0.0.1/callback';

  tokens(): OAuthTokens | undefined {
    return this.signedIn.tokens;
  }

  /** Called when the server does not know the client or the tokens any more. */
  invalidateCredentials(): void {
    this.signedIn = {};
    throw this.#nobodyThere();
  }

  redirectToAuthorization(): void {
    throw this.#nobodyThere();
  }

  saveCodeVerifier(): void {
    // The flow ends with redirectToAuthorization.
  }

  codeVerifier(): string {
    throw this.#nobodyThere();
  }

  #nobodyThere(): BridgeError {
    return new BridgeError('AUTH_FAILED', 'A person has to sign in');
  }
}

export class SignInProvider extends Provider {
  readonly redirectUrl: string;
  readonly #state: string;
  /** The page at which the person signs in. */
  page: URL | undefined;
  #verifier = '';

  constructor(settings: OAuthSettings, redirectUrl: string, state: string) {
    super(settings, {});
    this.redirectUrl = redirectUrl;
    this.#state = state;
  }

  state(): string {
    return this.#state;
  }

  saveClientInformation(client: OAuthClientInformationMixed): void {
    if (this.settings.clientId === undefined) this.signedIn = { ...this.signedIn, client };
  }

  /** Ends the flow: the SDK would ask again with a code that has been used. */
  invalidateCredentials(scope: string): void {
    const what = scope === 'all' ? 'this client' : 'the code that it has given';
    throw new BridgeError('AUTH_FAILED', `it does not accept ${what}`);
  }

  tokens(): undefined {
    return undefined; // a person who signs in wants new tokens
  }

  redirectToAuthorization(url: URL): void {
    this.page = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
