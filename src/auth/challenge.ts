// The challenge in a server's refusal: `WWW-Authenticate: Bearer …` (RFC 6750, section 3; RFC 9728, section 5). The
// server writes it, so malformed parts count as absent.

import { parsedUrl } from '../util/parsed-url.ts';

export interface Challenge {
  readonly error: string | undefined;
  /** The scope that the request needs. */
  readonly scope: string | undefined;
  /** The address of the server's metadata. */
  readonly resourceMetadataUrl: URL | undefined;
}

/** A scheme, or a parameter with its value, quoted or not. */
const PART = /[\s,]*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/y;

/** Reads the challenge for a bearer token. Every member is undefined if there is none. */
export function challengeOf({ headers }: Response): Challenge {
  const parameters = bearerParameters(headers.get('www-authenticate') ?? '');
  return {
    error: parameters.get('error'),
    scope: parameters.get('scope'),
    resourceMetadataUrl: parsedUrl(parameters.get('resource_metadata') ?? ''),
  };
}

/** The parameters of the first Bearer challenge; one header may hold several challenges. */
function bearerParameters(header: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  let isBearer = false;
  PART.lastIndex = 0;
  for (let part = PART.exec(header); part !== null; part = PART.exec(header)) {
    const [, name = '', quoted, plain] = part;
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain;
    if (value !== undefined) {
      if (isBearer && !parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
      continue;
    }
    if (isBearer) break;
    isBearer = name.toLowerCase() === 'bearer';
  }
  return parameters;
}
