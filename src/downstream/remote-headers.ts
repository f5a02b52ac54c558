// The headers that a server at a URL is asked with: texts of its definition, with variables of the environment in them.

import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { RemoteServer } from '../core/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Environment } from './child-env.ts';
import { fillIn } from './variables.ts';

export type HeaderMap = Readonly<Record<string, string>>;

/** Notes in `used` which variables are in them. */
export function configuredHeaders(
  { name: server, headers }: RemoteServer,
  environment: Environment,
  used: Map<string, string>,
): HeaderMap {
  const filled = Object.entries(headers).map(([name, value]) => {
    const place = `The header ${name} of server ${server}`;
    const text = fillIn(value, environment, place, used);
    if (!isHeader(name, text))
      throw new BridgeError('SERVER_START_FAILED', `${place} is none that HTTP allows`, { server });
    return [name, text] as const;
  });
  return Object.fromEntries(filled);
}

/** Whether HTTP can carry it: `fetch` would repeat the value in its error. */
export function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** The later ones count; upper and lower case are the same. */
export function mergedHeaders(...maps: readonly HeaderMap[]): HeaderMap {
  const merged = new Headers();
  for (const map of maps) for (const [name, value] of Object.entries(map)) merged.set(name, value);
  return Object.fromEntries(merged);
}
