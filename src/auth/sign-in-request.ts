// The requests of refresh and sign-in, and the settings for both. No request waits forever, and every answer has a size
// limit.

import type { OAuthSettings, RemoteServer } from '../model/server-definition.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { fillIn } from '../util/variables.ts';
import { GrowingBytes, TooLong } from '../wire/growing-bytes.ts';

const ANSWER_TIMEOUT_MS = 30_000;
/** The longest answer with metadata, a registration or tokens, after decompression. */
const MOST_ANSWER_BYTES = 256 << 10;

/** Calls `fetch` with limits for the time and for the length of the answer. */
export async function patientFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await asked(url, init);
  if (response.body === null) return response;
  const bytes = new GrowingBytes(MOST_ANSWER_BYTES);
  try {
    for await (const piece of response.body) bytes.add(piece); // an error here cancels the rest
  } catch (error) {
    throw error instanceof TooLong ? tooLong() : error;
  }
  const { b, start, end } = bytes.takeFrame();
  return new Response(new Uint8Array(b.subarray(start, end)), response);
}

/**
 * Names the host that could not be reached, and the reason. It is a TypeError, because the SDK takes any other error
 * for an answer and goes on.
 */
export class NotReached extends TypeError {}

async function asked(url: string | URL, init: RequestInit | undefined): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  } catch (error) {
    const { protocol, hostname, port } = new URL(url);
    const place = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
    if (error instanceof Error && error.name === 'TimeoutError')
      throw new NotReached(`${place} has not answered within ${ANSWER_TIMEOUT_MS / 1000} s`, { cause: error });
    if (!(error instanceof TypeError)) throw error;
    const why = systemCode(error.cause) ?? messageOf(error.cause ?? error);
    throw new NotReached(`${place} could not be reached: ${why}`, { cause: error });
  }
}

function tooLong(): BridgeError {
  return new BridgeError('AUTH_FAILED', `an answer was longer than ${MOST_ANSWER_BYTES >> 10} KiB`);
}

/** The settings of the server, with the variables of its secret filled in. */
export function settingsOf(
  { name, oauth }: RemoteServer,
  environment: Readonly<Record<string, string | undefined>>,
): OAuthSettings {
  if (oauth.clientSecret === undefined) return oauth;
  const place = `The oauth.clientSecret of server ${name}`;
  return { ...oauth, clientSecret: fillIn(oauth.clientSecret, environment, place, new Map()) };
}
