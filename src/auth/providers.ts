// What the SDK's OAuth flow asks of us: one provider for the daemon, which only ever refreshes, and one for a person who
// signs in.

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
  /** What there is to be kept. */
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

/** Nobody is there to sign in: what needs that ends the flow. */
export class RefreshProvider extends Provider {
  /** Never used, but without one the SDK takes us for a program that signs in as itself. */
  readonly redirectUrl = 'http://127.0.0.1/callback';

  tokens(): OAuthTokens | undefined {
    return this.signedIn.tokens;
  }

  /** The server knows nothing of them any more. */
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
  /** The page where the person signs in. */
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

  /** The SDK would ask once more, with a code that no longer counts. */
  invalidateCredentials(scope: string): void {
    const what = scope === 'all' ? 'this client' : 'the code that it has given';
    throw new BridgeError('AUTH_FAILED', `it does not accept ${what}`);
  }

  tokens(): undefined {
    return undefined; // whoever signs in wants new ones
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
