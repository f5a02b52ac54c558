// Signs a person in to a server, in a browser, with the SDK's OAuth flow, and stores the tokens. Loaded by `mcp-bridge auth` alone.
// No text of the server's answers gets into an error.

import { randomBytes } from 'node:crypto';
import { auth, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { CallbackServer } from './callback-server.ts';
import { SignInProvider } from './providers.ts';
import { NotReached, patientFetch, settingsOf } from './sign-in-request.ts';
import { TokenFile } from './token-file.ts';

export interface SignInOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Shows the page at which to sign in. */
  readonly show: (page: string) => void;
}

/** Signs in; resolves when the tokens are stored. */
export async function signIn(definition: RemoteServer, options: SignInOptions): Promise<void> {
  const settings = settingsOf(definition, options.environment);
  const callback = await CallbackServer.open(settings.callbackPort);
  const state = randomBytes(32).toString('base64url');
  const provider = new SignInProvider(settings, callback.url, state);
  try {
    const flow = await flowFor(definition);
    await step(definition, () => auth(provider, flow));
    const code = callback.code(state, options.clock);
    options.show(pageOf(provider));
    const authorizationCode = await code;
    await step(definition, () => auth(provider, { ...flow, authorizationCode }));
  } finally {
    callback.close();
  }
  const file = new TokenFile(definition, options.environment);
  await file.locked(() => file.write(provider.signedIn));
}

/** The options for the flow, from the answer with which the server refuses a request without a token. */
async function flowFor({ url, oauth }: RemoteServer): Promise<Parameters<typeof auth>[1]> {
  const ping = { jsonrpc: '2.0', id: 0, method: 'ping' };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  // A server that cannot be reached fails the sign-in itself, which says why.
  const response = await patientFetch(url, { method: 'POST', headers, body: JSON.stringify(ping) }).catch(
    () => undefined,
  );
  await response?.body?.cancel();
  const told = response?.status === 401 ? extractWWWAuthenticateParams(response) : {};
  const scope = oauth.scope ?? told.scope;
  return {
    serverUrl: url,
    fetchFn: patientFetch,
    ...(scope === undefined ? {} : { scope }),
    ...(told.resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: told.resourceMetadataUrl }),
  };
}

async function step({ name }: RemoteServer, task: () => Promise<unknown>): Promise<void> {
  try {
    await task();
  } catch (error) {
    throw new BridgeError('AUTH_FAILED', `Signing in to ${name} has failed: ${reasonOf(error)}`, {
      cause: error,
      hint: 'Check that the server has OAuth. If it does not let clients register, set its oauth.clientId.',
    });
  }
}

/** The reason without the text of the server's answers, which the SDK's errors hold. */
function reasonOf(error: unknown): string {
  if (error instanceof BridgeError || error instanceof NotReached) return error.message;
  const status = /\bHTTP (\d{3})\b/.exec(messageOf(error))?.[0];
  if (status !== undefined) return status;
  if (error instanceof OAuthError) return error.errorCode;
  const code = error instanceof Error ? systemCode(error.cause) : undefined;
  if (code !== undefined) return code;
  return 'its answers are not those of OAuth';
}

/** The page to sign in at, if it is on the web: by another scheme a server could start any program of this machine. */
function pageOf({ page }: SignInProvider): string {
  if (page?.protocol === 'https:' || page?.protocol === 'http:') return page.href;
  throw new BridgeError('AUTH_FAILED', 'The page that the server names to sign in at is not on the web');
}
