// URL patterns of policy rules: a star stands for anything, in the scheme, the host or the path, and never reaches
// beyond the part that it stands in. A pattern without a path fits every path.

import { expectUriError } from '../util/expected-error.ts';

export interface UrlPattern {
  readonly scheme: string;
  readonly host: string;
  /** Undefined for every path. */
  readonly path: string | undefined;
}

/** Undefined for a text that no URL can fit. */
export function urlPattern(text: string): UrlPattern | undefined {
  const [, scheme = '*', rest = ''] = /^(?:([^:/?#]*):\/\/)?(.*)$/s.exec(text) ?? [];
  if (!text.includes('://') && !text.startsWith('*')) return undefined;
  const [, authority = '', path] = /^([^/?#]*)(.*)$/s.exec(rest) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host === '' || /\s/.test(host)) return undefined;
  return {
    scheme: scheme.toLowerCase(),
    host: withoutDefaultPort(scheme, host.toLowerCase()).replace(/\.(?=:|$)/, ''),
    path: path === undefined || path === '' ? undefined : path,
  };
}

export function fitsUrl(url: string, pattern: UrlPattern): boolean {
  if (!URL.canParse(url)) return false;
  const parsed = new URL(url);
  const host = parsed.host.toLowerCase().replace(/\.(?=:|$)/, '');
  if (!fitsGlob(parsed.protocol.slice(0, -1), pattern.scheme) || !fitsGlob(host, pattern.host)) return false;
  if (pattern.path === undefined) return true;
  const path = pattern.path.includes('?') ? `${parsed.pathname}${parsed.search}` : parsed.pathname;
  return [path, decoded(path)].some((text) => fitsGlob(text, pattern.path ?? '*'));
}

/** The same path may be written with escapes. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    expectUriError(error);
    return path;
  }
}

function withoutDefaultPort(scheme: string, host: string): string {
  const port = { http: ':80', ws: ':80', https: ':443', wss: ':443' }[scheme.toLowerCase()];
  return port !== undefined && host.endsWith(port) ? host.slice(0, -port.length) : host;
}

/** In time that grows with the product of the lengths, whatever the pattern. */
export function fitsGlob(text: string, pattern: string): boolean {
  let at = 0;
  let p = 0;
  let star = -1;
  let retry = 0;
  while (at < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      retry = at;
    } else if (pattern[p] === text[at]) {
      p++;
      at++;
    } else if (star >= 0) {
      p = star + 1;
      at = ++retry;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
