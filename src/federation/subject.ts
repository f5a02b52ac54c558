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

/** The beginning of the subjects on which NATS says which leases it has stored. */
export const LEASE_BEGIN = `${PREFIX}.lease.`;

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

/** The server in the subject of `requestPattern`; undefined if it is another subject. */
export function serverOfPattern(subject: string): string | undefined {
  const [, server] = /^mcp\.v1\.req\.[^.]+\.\*\.([^.]+)\.>$/.exec(subject) ?? [];
  return server;
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

interface HostSubject {
  readonly tenant: string;
  /** The user who says something. */
  readonly user: string;
  /** The host that is told. */
  readonly host: string;
}

/** The beginning of the subjects on which one host alone is told something: what NATS lets a daemon subscribe to binds it to its name. */
function hostSubject({ tenant, user, host }: HostSubject): string {
  return `${PREFIX}.host.${tenant}.${user}.${tokenOf(host)}`;
}

/** The subject on which the owner of a call is told more about it. */
export function controlSubject(to: HostSubject, reply: string): string {
  return `${hostSubject(to)}.call.${inboxName(reply)}`;
}

/** All that callers say to one owner about calls that are under way. */
export function controlPattern(tenant: string, host: string): string {
  return `${hostSubject({ tenant, user: '*', host })}.call.>`;
}

/** The subject on which a run of the daemon of a host is asked if it is there. */
export function pingSubject(to: HostSubject, run: string): string {
  return `${hostSubject(to)}.ping.${run}`;
}

/** Names the call that a control subject is about, by its user and the subject of its answers. */
export function controlKey(user: string, reply: string): string {
  return `${user} ${inboxName(reply)}`;
}

/** The key of the call that a control subject is about. */
export function keyOfControl(subject: string): string {
  const [user = '', , , ...name] = subject.split('.').slice(4);
  return `${user} ${name.join('.')}`;
}

/** The subject of an inbox without its first token, which is the same in all. */
function inboxName(reply: string): string {
  return reply.slice(reply.indexOf('.') + 1);
}

const INBOX = /^_INBOX[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+$/;
const LONGEST_INBOX = 256;

/** True for a subject where answers may go. A caller that names another one would have this daemon write there with its own permissions. */
export function isInbox(subject: string): boolean {
  return subject.length <= LONGEST_INBOX && INBOX.test(subject);
}
