// What both the refresh and the sign-in send, and with which settings.

import type { OAuthSettings, RemoteServer } from '../core/server-definition.ts';
import { fillIn } from '../util/variables.ts';

const ANSWER_TIMEOUT_MS = 30_000;

/** `fetch` that does not wait for ever. */
export function patientFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
}

/** With the variables of the secret filled in. */
export function settingsOf(
  { name, oauth }: RemoteServer,
  environment: Readonly<Record<string, string | undefined>>,
): OAuthSettings {
  if (oauth.clientSecret === undefined) return oauth;
  const place = `The oauth.clientSecret of server ${name}`;
  return { ...oauth, clientSecret: fillIn(oauth.clientSecret, environment, place, new Map()) };
}
