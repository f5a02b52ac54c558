// URL patterns of policy rules: a star matches anything within the scheme, the host or the path, but not beyond that
// part. A pattern without a path matches every path.

import { expectUriError } from '../util/expected-error.ts';
import { parsedUrl } from '../util/parsed-url.ts';

export interface UrlPattern {
  readonly scheme: string;
  readonly host: string;
  /** Undefined for every path. */
  readonly path: string | undefined;
}

/** Parses a pattern; undefined if no URL can match it. */
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
  const parsed = parsedUrl(url);
  if (parsed === undefined) return false;
  const host = parsed.host.toLowerCase().replace(/\.(?=:|$)/, '');
  if (!fitsGlob(parsed.protocol.slice(0, -1), pattern.scheme) || !fitsGlob(host, pattern.host)) return false;
  if (pattern.path === undefined) return true;
  const path = pattern.path.includes('?') ? `${parsed.pathname}${parsed.search}` : parsed.pathname;
  return [path, decoded(path)].some((text) => fitsGlob(text, pattern.path ?? '*'));
}

/** The path without escapes, because equal paths may be escaped differently. */
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

/** Matches in linear time, whatever the pattern. */
export function fitsGlob(text: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text === pattern;
  const end = text.length - last.length;
  if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
  // The first position of each part leaves most text for the parts after it.
  let at = first.length;
  for (const part of parts) {
    at = endOfFirst(part, text, at, end);
    if (at < 0) return false;
  }
  return true;
}

/** The end of the first occurrence of a part in `text` between two positions; -1 if none. `indexOf` is not linear. */
function endOfFirst(part: string, text: string, from: number, to: number): number {
  if (part.length > to - from) return -1;
  const borders = bordersOf(part);
  let matched = 0;
  for (let at = from; at <= to; at++) {
    if (matched === part.length) return at;
    if (at === to) return -1;
    while (matched > 0 && part[matched] !== text[at]) matched = borders[matched - 1] ?? 0;
    if (part[matched] === text[at]) matched++;
  }
  return -1;
}

/** The length of the longest border of each prefix: a proper prefix that is also its end (Knuth, Morris, Pratt). */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let length = 0;
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && part[length] !== part[at]) length = borders[length - 1] ?? 0;
    if (part[length] === part[at]) length++;
    borders[at] = length;
  }
  return borders;
}
