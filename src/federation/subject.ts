// The subjects of wire v1: mcp.v1.req.{tenant}.{user}.{server}.{method tokens}.{name}. What the bus lets a daemon publish is decided
// by them, so nothing here may make two names one, and nothing that came is trusted to be well formed.

import { createHash } from 'node:crypto';

const PREFIX = 'mcp.v1';
/** The token of a method without a name, and of a name that no token can be. */
const NO_NAME = '_';
const TOKEN = /^[A-Za-z0-9_-]+$/;
const BETWEEN = '-at-';
const HASH_LETTERS = 8;
/** The end of a token that was made of another name: a name that ends like this is made one too, or two names could meet. */
const HASHED = /-[0-9a-f]{8}$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** The token of a name. No two names have the same one. */
export function tokenOf(name: string): string {
  if (TOKEN.test(name) && !name.includes(BETWEEN) && !HASHED.test(name) && name !== NO_NAME) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LETTERS);
  return `${name.replaceAll(BETWEEN, '_at_').replace(/[^A-Za-z0-9_-]/g, '_')}-${hash}`;
}

/** The token of a server on a host, or on any host. */
export function serverToken(name: string, host?: string): string {
  return host === undefined ? tokenOf(name) : `${tokenOf(name)}${BETWEEN}${tokenOf(host)}`;
}

/** The last token: the name of a tool, prompt or resource, where a token can be that. */
export function nameToken(name: string | undefined): string {
  return name !== undefined && TOKEN.test(name) ? name : NO_NAME;
}

export interface RequestSubject {
  readonly tenant: string;
  /** The user who asks. */
  readonly user: string;
  readonly server: string;
  readonly method: string;
  /** A token. */
  readonly name: string;
}

export function requestSubject({ tenant, user, server, method, name }: RequestSubject): string {
  return `${PREFIX}.req.${tenant}.${user}.${server}.${method.replaceAll('/', '.')}.${name}`;
}

/** True if each part of a method can be a token of a subject. */
export function isBusMethod(method: string): boolean {
  return method.split('/').every(isToken);
}

/** The requests of all users to one server. */
export function requestPattern(tenant: string, server: string): string {
  return `${PREFIX}.req.${tenant}.*.${server}.>`;
}

/** Reads a subject; undefined if it is no request's. */
export function parsedSubject(subject: string): RequestSubject | undefined {
  const [first, version, kind, tenant, user, server, ...rest] = subject.split('.');
  const name = rest.pop();
  if (`${first}.${version}` !== PREFIX || kind !== 'req' || rest.length === 0) return undefined;
  if (tenant === undefined || user === undefined || server === undefined || name === undefined) return undefined;
  if (![tenant, user, server, ...rest, name].every(isToken)) return undefined;
  return { tenant, user, server, method: rest.join('/'), name };
}

const INBOX = /^_INBOX[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+$/;
const LONGEST_INBOX = 256;

/** True for a subject where answers may go. A caller that names another one would have this daemon write there with its own permissions. */
export function isInbox(subject: string): boolean {
  return subject.length <= LONGEST_INBOX && INBOX.test(subject);
}
