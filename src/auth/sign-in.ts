// Signs a person in to a server, in a browser, with the SDK's OAuth flow, and stores the tokens. Only `mcp-bridge auth`
// loads it. Its errors never quote a server's answer.

import { randomBytes } from 'node:crypto';
import {
  auth,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { type CallbackAnswer, CallbackServer } from './callback-server.ts';
import { challengeOf } from './challenge.ts';
import { SignInProvider } from './providers.ts';
import { joinedScope } from './scope.ts';
import { NotReached, patientFetch, settingsOf } from './sign-in-request.ts';
import { type SignedIn, TokenFile } from './token-file.ts';

export interface SignInOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Shows the sign-in page. `more` is the scope that the server wants beyond an earlier sign-in. */
  readonly show: (page: string, more: string | undefined) => void;
}

/** Signs in; resolves when the tokens are stored. */
export async function signIn(definition: RemoteServer, options: SignInOptions): Promise<void> {
  const settings = settingsOf(definition, options.environment);
  const file = new TokenFile(definition, options.environment);
  const earlier = file.read();
  const callback = await CallbackServer.open(settings.callbackPort);
  const state = randomBytes(32).toString('base64url');
  const provider = new SignInProvider(settings, earlier, { redirectUrl: callback.url, state });
  try {
    const flow = await flowFor(definition, earlier);
    await step(definition, () => auth(provider, flow));
    const answer = callback.answer(state, options.clock);
    options.show(pageOf(provider), earlier.tokens === undefined ? undefined : earlier.wanted);
    const { code, issuer } = await answerFor(definition, provider, await answer);
    await step(definition, () => auth(provider, { ...flow, authorizationCode: code, ...issuer }));
  } finally {
    callback.close();
  }
  await file.locked(() => file.write(provider.signedIn));
}

/**
 * The options for the flow, from the server's refusal of a request without a token. The scope includes that of an
 * earlier sign-in: a new one must not take away what was granted.
 */
async function flowFor({ url, oauth }: RemoteServer, earlier: SignedIn): Promise<Parameters<typeof auth>[1]> {
  const ping = { jsonrpc: '2.0', id: 0, method: 'ping' };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  // If the server cannot be reached, the sign-in itself fails, and says why.
  const response = await patientFetch(url, { method: 'POST', headers, body: JSON.stringify(ping) }).catch(
    () => undefined,
  );
  await response?.body?.cancel();
  const challenge = response?.status === 401 ? challengeOf(response) : undefined;
  const scope = joinedScope(oauth.scope ?? challenge?.scope, earlier.asked, earlier.wanted);
  const resourceMetadataUrl = challenge?.resourceMetadataUrl ?? parsedUrl(earlier.metadataUrl ?? '');
  return {
    serverUrl: url,
    fetchFn: patientFetch,
    ...(scope === undefined ? {} : { scope }),
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
  };
}

async function step({ name }: RemoteServer, task: () => unknown): Promise<void> {
  try {
    await task();
  } catch (error) {
    throw new BridgeError('AUTH_FAILED', `Signing in to ${name} has failed: ${reasonOf(error)}`, {
      cause: error,
      hint: hintFor(error),
    });
  }
}

/**
 * The code of the answer. It first checks the sender: another server's answer counts for nothing, not even its error.
 */
async function answerFor(definition: RemoteServer, { discovered }: SignInProvider, answer: CallbackAnswer) {
  const metadata = discovered?.authorizationServerMetadata;
  await step(definition, () =>
    validateAuthorizationResponseIssuer({
      iss: answer.issuer,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
    }),
  );
  if (answer.code === undefined) throw refused(answer.error);
  return { code: answer.code, issuer: answer.issuer === undefined ? {} : { iss: answer.issuer } };
}

/** An OAuth error code; a server may have made one up. */
const ERROR_CODE = /^[\w.-]{1,64}$/;

function refused(error: string | undefined): BridgeError {
  const why = error !== undefined && ERROR_CODE.test(error) ? error : 'no code came back';
  return new BridgeError('AUTH_FAILED', `The sign-in was refused: ${why}`);
}

/** The reason without the server's own text, which the SDK's errors hold. */
function reasonOf(error: unknown): string {
  if (error instanceof BridgeError || error instanceof NotReached) return error.message;
  if (error instanceof IssuerMismatchError) return MISMATCHES[error.kind];
  if (error instanceof InsecureTokenEndpointError) return 'the address for its tokens is not https';
  const message = messageOf(error);
  if (message.startsWith('Protected resource ')) return 'its metadata is for another server';
  const status = /\bHTTP (\d{3})\b/.exec(message)?.[0];
  if (status !== undefined) return status;
  if (error instanceof OAuthError && ERROR_CODE.test(error.code)) return error.code;
  const code = error instanceof Error ? systemCode(error.cause) : undefined;
  if (code !== undefined) return code;
  return 'its answers are not those of OAuth';
}

const MISMATCHES: Readonly<Record<IssuerMismatchError['kind'], string>> = {
  metadata: 'its authorization server says that it is another one (issuer)',
  authorization_response: 'the answer does not name the authorization server that was asked (iss)',
};

function hintFor(error: unknown): string {
  if (error instanceof BridgeError && error.hint !== undefined) return error.hint;
  if (error instanceof IssuerMismatchError)
    return 'Its operator has made a mistake, or somebody is after your sign-in. Ask the operator.';
  return 'Check that the server has OAuth. If it does not let clients register, set its oauth.clientId.';
}

/** The sign-in page, if it is on the web: with another scheme, a server could start any program on this machine. */
function pageOf({ page }: SignInProvider): string {
  if (page?.protocol === 'https:' || page?.protocol === 'http:') return page.href;
  throw new BridgeError('AUTH_FAILED', 'The server names a sign-in page whose URL is neither http nor https');
}
