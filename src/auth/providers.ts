// The providers that the SDK's OAuth flow needs: one for the daemon, which only refreshes tokens, and one for a person
// who signs in. They hold the data to store, and write no file.

import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { OAuthSettings } from '../model/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { joinedScope } from './scope.ts';
import type { SignedIn } from './token-file.ts';

abstract class Provider implements OAuthClientProvider {
  abstract readonly redirectUrl: string;
  protected readonly settings: OAuthSettings;
  /** The tokens and the client to store. */
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

  clientInformation(context?: OAuthClientInformationContext): StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret } = this.settings;
    if (clientId === undefined || this.isRegistered) return this.signedIn.client;
    return {
      client_id: clientId,
      ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
      ...(context === undefined ? {} : { issuer: context.issuer }),
    };
  }

  /** True if the server does not know the client of the settings, so a registered one is used. */
  protected abstract readonly isRegistered: boolean;

  abstract tokens(): StoredOAuthTokens | undefined;

  saveTokens(tokens: StoredOAuthTokens): void {
    this.signedIn = { ...this.signedIn, tokens };
  }

  abstract saveAuthorizationServerUrl(issuer: string): void;
  abstract redirectToAuthorization(url: URL): void;
  abstract saveCodeVerifier(verifier: string): void;
  abstract codeVerifier(): string;
}

/** Refreshes tokens. No person is present, so a step that needs one ends the flow. */
export class RefreshProvider extends Provider {
  /** Never used. Without it the SDK would take the bridge for a program that signs in as itself. */
  readonly redirectUrl = 'http://127.0.0.1/callback';
  /** True if only a person can continue. */
  isPersonNeeded = false;

  protected get isRegistered(): boolean {
    return isDocument(this.settings.clientId) && this.signedIn.client !== undefined;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.signedIn.tokens;
  }

  /**
   * Ends the flow if the server now has another authorization server: the tokens of the old one are not meant for it.
   */
  saveAuthorizationServerUrl(issuer: string): void {
    const given = this.signedIn.tokens?.issuer;
    if (given === undefined || isSameIssuer(given, issuer)) return;
    this.isPersonNeeded = true;
    throw this.#nobodyThere();
  }

  /** Called when the server no longer knows the client or the tokens. */
  invalidateCredentials(): void {
    const { asked, wanted, metadataUrl } = this.signedIn;
    this.signedIn = { asked, wanted, metadataUrl };
    throw this.#nobodyThere();
  }

  redirectToAuthorization(): void {
    throw this.#nobodyThere();
  }

  saveCodeVerifier(): void {
    // redirectToAuthorization ends the flow.
  }

  codeVerifier(): string {
    throw this.#nobodyThere();
  }

  #nobodyThere(): BridgeError {
    return new BridgeError('AUTH_FAILED', 'A person has to sign in');
  }
}

export interface SignInAddress {
  readonly redirectUrl: string;
  readonly state: string;
}

/** Signs a person in. The result of an earlier sign-in stays as it is, whatever happens to this one. */
export class SignInProvider extends Provider {
  readonly redirectUrl: string;
  readonly #state: string;
  readonly #earlier: SignedIn;
  /** The page at which the person signs in. */
  page: URL | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor(settings: OAuthSettings, earlier: SignedIn, { redirectUrl, state }: SignInAddress) {
    super(settings, {});
    this.#earlier = earlier;
    this.redirectUrl = redirectUrl;
    this.#state = state;
  }

  /** The authorization server of the sign-in, with its own metadata. */
  get discovered(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  protected get isRegistered(): boolean {
    const metadata = this.#discovered?.authorizationServerMetadata;
    const readsDocuments = metadata?.client_id_metadata_document_supported === true;
    const registers = metadata?.registration_endpoint !== undefined;
    return isDocument(this.settings.clientId) && !readsDocuments && registers;
  }

  state(): string {
    return this.#state;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  /** Ends the flow if another authorization server than the client's own would see the client of the settings. */
  saveAuthorizationServerUrl(issuer: string): void {
    const former = this.#earlier.tokens?.issuer;
    const { clientId } = this.settings;
    if (clientId === undefined || isDocument(clientId) || former === undefined || isSameIssuer(former, issuer)) return;
    throw new BridgeError(
      'AUTH_FAILED',
      'its authorization server is another one now, and oauth.clientId is a client of the former',
      { hint: 'If that is right, forget the former sign-in with --logout, and sign in again.' },
    );
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    if (this.settings.clientId === undefined || this.isRegistered) this.signedIn = { ...this.signedIn, client };
  }

  /** Ends the flow: the SDK would send a used code again. */
  invalidateCredentials(scope: string): void {
    const what = scope === 'tokens' ? 'the code that it has given' : 'this client';
    throw new BridgeError('AUTH_FAILED', `it does not accept ${what}`);
  }

  tokens(): undefined {
    return undefined; // a person who signs in wants new tokens
  }

  redirectToAuthorization(url: URL): void {
    this.page = url;
    this.signedIn = { ...this.signedIn, asked: joinedScope(url.searchParams.get('scope') ?? undefined) };
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}

/** True if the id is the address of a document that describes the client. */
function isDocument(clientId: string | undefined): boolean {
  const url = parsedUrl(clientId ?? '');
  return url?.protocol === 'https:' && url.pathname !== '/';
}

/** Compares issuers like the SDK: its URLs end in a slash, and a server's own text often does not. */
function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '');
}
