// The headers that a server at a URL is asked with: texts of its definition, with variables of the environment in them.

import type { RemoteServer } from '../model/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { decoded } from '../util/given-secrets.ts';
import { fillIn } from '../util/variables.ts';
import type { Environment } from './child-env.ts';

export type HeaderMap = Readonly<Record<string, string>>;

/** Notes in `used` which variables are in them. */
export function configuredHeaders(
  { name: server, headers, isFilledIn }: RemoteServer,
  environment: Environment,
  used: Map<string, string>,
): HeaderMap {
  const filled = Object.entries(headers).map(([name, value]) => {
    const place = `The header ${name} of server ${server}`;
    const text = isFilledIn ? value : fillIn(value, environment, place, used);
    if (!isHeader(name, text))
      throw new BridgeError('SERVER_START_FAILED', `${place} is none that HTTP allows`, { server });
    return [name, text] as const;
  });
  return Object.fromEntries(filled);
}

/** As in RFC 9110, 5.1 and 5.5. Node's own check would load its HTTP with the daemon. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether HTTP can carry it: `fetch` would repeat the value in its error. */
export function isHeader(name: string, value: string): boolean {
  return NAME.test(name) && VALUE.test(value);
}

/** The later ones count; upper and lower case are the same. */
export function mergedHeaders(...maps: readonly HeaderMap[]): HeaderMap {
  const merged = new Headers();
  for (const map of maps) for (const [name, value] of Object.entries(map)) merged.set(name, value);
  return Object.fromEntries(merged);
}

/** What a URL says of who asks, as a header: `fetch` refuses a URL that has it. */
export function urlWithUser(url: string): { readonly url: string; readonly authorization: string | undefined } {
  if (!URL.canParse(url)) return { url, authorization: undefined };
  const bare = new URL(url);
  const { username, password } = bare;
  if (username === '' && password === '') return { url, authorization: undefined };
  bare.username = '';
  bare.password = '';
  const user = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  return { url: bare.href, authorization: `Basic ${user}` };
}
