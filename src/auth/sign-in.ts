// A person signs in to a server: in a browser, with the SDK's OAuth flow. Loaded by `mcp-bridge auth` alone.

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
  /** Called with the page to sign in at. */
  readonly show: (page: string) => void;
}

/** Resolves when the tokens are stored. */
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

/** What the server says of how to sign in, with its refusal of whoever has not. */
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
      hint: 'Does the server have OAuth, and does it let clients register? Else name one in its oauth.clientId.',
    });
  }
}

/** Without the answers of the server, which the SDK's errors hold. */
function reasonOf(error: unknown): string {
  if (error instanceof BridgeError || error instanceof NotReached) return error.message;
  const status = /\bHTTP (\d{3})\b/.exec(messageOf(error))?.[0];
  if (status !== undefined) return status;
  if (error instanceof OAuthError) return error.errorCode;
  const code = error instanceof Error ? systemCode(error.cause) : undefined;
  if (code !== undefined) return code;
  return 'its answers are not those of OAuth';
}

/** A server could name any other program of this machine by another scheme. */
function pageOf({ page }: SignInProvider): string {
  if (page?.protocol === 'https:' || page?.protocol === 'http:') return page.href;
  throw new BridgeError('AUTH_FAILED', 'The page to sign in at is not on the web');
}
