// `http`: reads the address and who may connect there. It refuses settings that would let in more clients than they
// say. A fault makes it stricter: an unreadable value counts as the stricter one, and nothing listens if the whole is
// unsafe.

import { isIPv4, isIPv6 } from 'node:net';
import { type HttpAddress, type HttpSettings, NO_HTTP } from '../model/http-settings.ts';
import { HTTP } from '../model/settings.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { type Reader, readSettings } from './reader.ts';

const PLACE = 'http';
const ADDRESS_RULE = 'an address such as 127.0.0.1:4810, [::1]:4810 or unix:/path';

/** Reads an address; undefined if the text is none. */
function httpAddress(text: string, resolvePath: (path: string) => string): HttpAddress | undefined {
  const [, path] = /^unix:(.+)$/s.exec(text) ?? [];
  if (path !== undefined) return { kind: 'unix', path: resolvePath(path) };
  const [, v6, other, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  const host = v6 ?? (other === 'localhost' ? '127.0.0.1' : other);
  if (host === undefined || !(v6 === undefined ? isIPv4(host) : isIPv6(host))) return undefined;
  return { kind: 'tcp', host, port, isLoopback: isLoopback(host) };
}

function isLoopback(host: string): boolean {
  return isIPv4(host) ? host.startsWith('127.') : new URL(`http://[${host}]`).hostname === '[::1]';
}

interface Unsafe {
  /** The name of the setting, below `http`. */
  readonly key: string;
  readonly problem: string;
  readonly hint: string;
}

/** The reason why it is unsafe to listen with these settings; undefined if it is safe. */
function unsafeIn({ listen, needsToken, allowsRemote, isBehindProxy, tls }: HttpSettings): Unsafe | undefined {
  if (listen?.kind !== 'tcp') return undefined;
  const others = !listen.isLoopback;
  if (others && !allowsRemote)
    return {
      key: 'listen',
      problem: 'is an address that other machines reach',
      hint: 'listen on 127.0.0.1, or set http.allowRemote to true',
    };
  if (!needsToken && (others || isBehindProxy))
    return {
      key: 'tokens',
      problem: 'may be false only where other machines cannot reach the bridge',
      hint: others ? 'remove it, or listen on 127.0.0.1' : 'remove it, or http.behindProxy',
    };
  if (others && tls === undefined && !isBehindProxy)
    return {
      key: 'tls',
      problem: 'is missing: over plain HTTP anyone on the way reads the tokens',
      hint: 'name a certificate and its key, or set http.behindProxy to true if a proxy speaks TLS',
    };
  return undefined;
}

const KEYS = [...Object.keys(HTTP), 'listen', 'allowedHosts', 'allowedOrigins', 'authorization', 'tls'];

export function httpSettingsOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): HttpSettings {
  if (value === undefined) return NO_HTTP;
  const section = reader.section(value, PLACE);
  reader.keys(section, PLACE, KEYS);
  const { tokens, allowRemote, behindProxy } = readSettings(reader, section, PLACE, HTTP);
  const settings: HttpSettings = {
    listen: listenOf(reader, section.listen, resolvePath),
    needsToken: tokens,
    allowsRemote: allowRemote,
    isBehindProxy: behindProxy,
    allowedHosts: namesOf(reader, section.allowedHosts, 'allowedHosts', hostOf),
    allowedOrigins: namesOf(reader, section.allowedOrigins, 'allowedOrigins', originOf),
    authorization: authorizationOf(reader, section.authorization),
    tls: tlsOf(reader, section.tls, resolvePath),
  };
  const unsafe = unsafeIn(settings);
  if (unsafe === undefined) return settings;
  reader.fault(`${PLACE}.${unsafe.key}`, unsafe.problem, unsafe.hint);
  return { ...settings, listen: undefined };
}

/** Replaces the config's address by the one from the command line. Throws if the result is unsafe. */
export function withHttpAddress(settings: HttpSettings, text: string, cwdPath: (path: string) => string): HttpSettings {
  const listen = httpAddress(text, cwdPath);
  if (listen === undefined)
    throw new BridgeError('USAGE', `--http ${JSON.stringify(text)} is not ${ADDRESS_RULE}`, {
      hint: 'See: mcp-bridge serve --help',
    });
  const unsafe = unsafeIn({ ...settings, listen });
  if (unsafe === undefined) return { ...settings, listen };
  const { key, problem, hint } = unsafe;
  const subject = key === 'listen' ? `--http ${text}` : `With --http ${text}, http.${key} of the config`;
  throw new BridgeError('USAGE', `${subject} ${problem}`, { hint: `${hint[0]?.toUpperCase()}${hint.slice(1)}.` });
}

function listenOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): HttpAddress | undefined {
  const text = reader.text(value, `${PLACE}.listen`);
  if (text === undefined) return undefined;
  const address = httpAddress(text, resolvePath);
  if (address === undefined) reader.fault(`${PLACE}.listen`, `must be ${ADDRESS_RULE}`);
  return address;
}

/** Reads names. A name that is not understood lets nobody in. */
function namesOf(
  reader: Reader,
  value: unknown,
  key: string,
  nameOf: (text: string) => { readonly name: string } | { readonly problem: string },
): readonly string[] {
  return reader.texts(value, `${PLACE}.${key}`).flatMap((text: unknown, i) => {
    if (typeof text !== 'string') return [];
    const read = nameOf(text);
    if ('name' in read) return [read.name];
    reader.fault(`${PLACE}.${key}[${i}]`, read.problem);
    return [];
  });
}

function hostOf(given: string) {
  const text = given.toLowerCase();
  return /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(text)
    ? { name: text }
    : { problem: 'must be the name or the address of a host, without a port' };
}

function originOf(given: string) {
  const text = given.toLowerCase();
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*@]+$/.test(text)
    ? { name: text }
    : { problem: 'must be an origin such as https://app.example' };
}

/** Reads the section. With a fault, it lets nobody in. */
function authorizationOf(reader: Reader, value: unknown): HttpSettings['authorization'] {
  if (value === undefined) return undefined;
  const place = `${PLACE}.authorization`;
  const before = reader.errors;
  const section = reader.section(value, place);
  if (reader.errors > before) return undefined;
  reader.keys(section, place, ['issuer', 'resource', 'scopes', 'jwksUri']);
  const url = (key: string): string | undefined => {
    const text = reader.text(section[key], `${place}.${key}`);
    if (text === undefined || isTrusted(text)) return text;
    reader.fault(`${place}.${key}`, 'must be an https URL, without a query and a fragment');
    return undefined;
  };
  const [issuer, resource, jwksUri] = [url('issuer'), url('resource'), url('jwksUri')];
  const scopes = namesOf(reader, section.scopes, 'authorization.scopes', scopeOf);
  if (reader.errors > before) return undefined;
  if (issuer !== undefined && resource !== undefined) return { issuer, resource, scopes, jwksUri };
  reader.fault(place, 'needs an issuer and a resource');
  return undefined;
}

/**
 * True for a URL that can be trusted. Plain HTTP is allowed on this machine only: a machine in between could present
 * other keys.
 */
function isTrusted(text: string): boolean {
  const url = parsedUrl(text);
  if (url === undefined || url.hash !== '' || url.search !== '' || url.username !== '' || url.password !== '')
    return false;
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
}

function scopeOf(text: string) {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)
    ? { name: text }
    : { problem: 'must be a scope, without spaces and quotes' };
}

function tlsOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): HttpSettings['tls'] {
  if (value === undefined) return undefined;
  const place = `${PLACE}.tls`;
  const before = reader.errors;
  const section = reader.section(value, place);
  if (reader.errors > before) return undefined;
  reader.keys(section, place, ['cert', 'key']);
  const cert = reader.text(section.cert, `${place}.cert`);
  const key = reader.text(section.key, `${place}.key`);
  if (cert !== undefined && key !== undefined) return { cert: resolvePath(cert), key: resolvePath(key) };
  reader.fault(place, 'needs a cert and a key');
  return undefined;
}
