// Finds misleading URLs. Programs silently repair malformed URLs, and people read them differently:
// `https://evil.example\@api.github.com` looks like the second host, but contacts the first.

import { domainToUnicode } from 'node:url';
import { expectUriError } from '../util/expected-error.ts';
import { parsedUrl } from '../util/parsed-url.ts';

/** The misleading part of a URL; undefined if the text shows the URL as it is contacted. */
export function urlDeceit(text: string): string | undefined {
  if (/[\p{Cc}\p{Cf}\p{Z}\\]/u.test(text)) return 'it has a backslash, white space or a character that is not seen';
  const [, authority, path = ''] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)([^?#]*)/i.exec(text) ?? [];
  if (authority === undefined) return 'it needs // and a host behind its scheme';
  const parsed = new URL(text);
  const at = authority.lastIndexOf('@');
  if (authority.indexOf('@') !== at) return 'it has more than one @ before its host';
  if (!isHost(authority.slice(at + 1), parsed)) return `its host is not written as it is asked, ${parsed.host}`;
  // A path may be escaped or not, but escapes must not hide steps up.
  if (decoded(path === '' ? '/' : path) !== decoded(parsed.pathname)) return 'its path is not written as it is asked';
  return undefined;
}

/** True if the text is the host, in any case, with or without its default port, and in its own script. */
function isHost(written: string, { protocol, host, hostname }: URL): boolean {
  const port = ['https:', 'wss:'].includes(protocol) ? ':443' : ':80';
  const lower = written.toLowerCase();
  const bare = lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
  return bare === host || bare === host.replace(hostname, domainToUnicode(hostname));
}

function decoded(path: string): string {
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch (error) {
      expectUriError(error);
      return escapes;
    }
  });
}

/**
 * The host of a URL, for people. If a variable is part of the host, it is shown as written, because its value may be
 * secret.
 */
export function hostOfUrl(filled: string, written: string): string | undefined {
  const [, authority = ''] = /^[a-z][a-z0-9+.-]*:[\\/]*([^/?#\\]*)/i.exec(written) ?? [undefined, written];
  if (/[$%{]/.test(authority)) return authority.slice(authority.lastIndexOf('@') + 1) || authority;
  return parsedUrl(filled)?.host;
}
