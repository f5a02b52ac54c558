// The subjects of wire v1: mcp.v1.req.{tenant}.{user}.{server}.{method tokens}.{name}. They decide what the bus lets a
// daemon publish. So nothing here may map two names to one, and nothing that came is trusted to be well formed.

import { createHash } from 'node:crypto';

const PREFIX = 'mcp.v1';
/** The token for a method without a name, and for a name that cannot be a token. */
const NO_NAME = '_';
const TOKEN = /^[A-Za-z0-9_-]+$/;
const BETWEEN = '-at-';
const HASH_LETTERS = 8;
/** The end of a hashed token. A name with such an end is hashed too, because otherwise two names could collide. */
const HASHED = /-[0-9a-f]{8}$/;

/** The beginning of the subjects on which NATS says which leases it has stored. */
export const LEASE_BEGIN = `${PREFIX}.lease.`;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Returns the token of a name. No two names share a token. */
export function tokenOf(name: string): string {
  if (TOKEN.test(name) && !name.includes(BETWEEN) && !HASHED.test(name) && name !== NO_NAME) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LETTERS);
  return `${name.replaceAll(BETWEEN, '_at_').replace(/[^A-Za-z0-9_-]/g, '_')}-${hash}`;
}

/** Returns the token of a server on a host, or on any host. */
export function serverToken(name: string, host?: string): string {
  return host === undefined ? tokenOf(name) : `${tokenOf(name)}${BETWEEN}${tokenOf(host)}`;
}

/** Returns the last token: the name of a tool, prompt or resource, if it can be a token. */
export function nameToken(name: string | undefined): string {
  return name !== undefined && TOKEN.test(name) ? name : NO_NAME;
}

export interface RequestSubject {
  readonly tenant: string;
  /** The asking user. */
  readonly user: string;
  readonly server: string;
  readonly method: string;
  /** The token of the name. */
  readonly name: string;
}

export function requestSubject({ tenant, user, server, method, name }: RequestSubject): string {
  return `${PREFIX}.req.${tenant}.${user}.${server}.${method.replaceAll('/', '.')}.${name}`;
}

/** True if each part of a method can be a token of a subject. */
export function isBusMethod(method: string): boolean {
  return method.split('/').every(isToken);
}

/** Returns the pattern for the requests of all users to one server. */
export function requestPattern(tenant: string, server: string): string {
  return `${PREFIX}.req.${tenant}.*.${server}.>`;
}

/** Reads the server from a subject of `requestPattern`; undefined for another subject. */
export function serverOfPattern(subject: string): string | undefined {
  const [, server] = /^mcp\.v1\.req\.[^.]+\.\*\.([^.]+)\.>$/.exec(subject) ?? [];
  return server;
}

/** Returns the subject of the permission that a denied subject needs: one for all requests to a server. */
export function permissionFor(subject: string): string {
  const [request] = /^mcp\.v1\.req\.[^.]+\.[^.]+\.[^.]+\.(?=[^>])/.exec(subject) ?? [];
  return request === undefined ? subject : `${request}>`;
}

/** Reads a subject; undefined if it is not that of a request. */
export function parsedSubject(subject: string): RequestSubject | undefined {
  const [first, version, kind, tenant, user, server, ...rest] = subject.split('.');
  const name = rest.pop();
  if (`${first}.${version}` !== PREFIX || kind !== 'req' || rest.length === 0) return undefined;
  if (tenant === undefined || user === undefined || server === undefined || name === undefined) return undefined;
  if (![tenant, user, server, ...rest, name].every(isToken)) return undefined;
  return { tenant, user, server, method: rest.join('/'), name };
}

interface HostSubject {
  readonly tenant: string;
  /** The user who speaks. */
  readonly user: string;
  /** The host that is spoken to. */
  readonly host: string;
}

/**
 * Returns the beginning of the subjects that only one host hears. NATS binds a daemon to its name by what the daemon
 * may subscribe to.
 */
function hostSubject({ tenant, user, host }: HostSubject): string {
  return `${PREFIX}.host.${tenant}.${user}.${tokenOf(host)}`;
}

/** Returns the subject on which the owner of a call hears more about it. */
export function controlSubject(to: HostSubject, reply: string): string {
  return `${hostSubject(to)}.call.${inboxName(reply)}`;
}

/** Returns the pattern for all that callers say to one owner about calls under way. */
export function controlPattern(tenant: string, host: string): string {
  return `${hostSubject({ tenant, user: '*', host })}.call.>`;
}

/** Returns the subject on which a run of a host's daemon is asked if it is alive. */
export function pingSubject(to: HostSubject, run: string): string {
  return `${hostSubject(to)}.ping.${run}`;
}

/** Returns the key of the call that a control subject is about, from its user and the subject of its answers. */
export function controlKey(user: string, reply: string): string {
  return `${user} ${inboxName(reply)}`;
}

/** Reads the key of the call that a control subject is about. */
export function keyOfControl(subject: string): string {
  const [user = '', , , ...name] = subject.split('.').slice(4);
  return `${user} ${name.join('.')}`;
}

/** Returns the subject of an inbox without its first token, which all inboxes share. */
function inboxName(reply: string): string {
  return reply.slice(reply.indexOf('.') + 1);
}

const INBOX = /^_INBOX[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+$/;
const LONGEST_INBOX = 256;

/**
 * True for a subject where answers may go. With any other subject, a caller could make this daemon write there with its
 * own permissions.
 */
export function isInbox(subject: string): boolean {
  return subject.length <= LONGEST_INBOX && INBOX.test(subject);
}
