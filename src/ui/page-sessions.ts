// The keys to the dashboard's port: codes that open a page once, and the sessions that codes are traded for. A session
// is a cookie and a key together. Nothing here is ever written to a file or a log.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A code must be used within this time. */
export const CODE_MS = 60_000;
/** The maximum number of pages of one dashboard; the oldest session ends first. */
const MOST_SESSIONS = 32;
/** The maximum number of unused codes. */
const MOST_CODES = 8;

export interface PageSession {
  /** The value of the cookie. The browser sends it by itself, to every port of this machine. */
  readonly cookie: string;
  /** The key. The page keeps it for its own origin, port included, and sends it as a header. */
  readonly key: string;
}

export class PageSessions {
  readonly #now: () => number;
  /** The digests of the codes, with the time when each code ends. */
  readonly #codes = new Map<string, number>();
  readonly #sessions: PageSession[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Makes a code for one page. */
  newCode(): string {
    const code = secret();
    this.#forgetOld();
    this.#codes.set(digestOf(code), this.#now() + CODE_MS);
    for (const oldest of this.#codes.keys()) {
      if (this.#codes.size <= MOST_CODES) break;
      this.#codes.delete(oldest);
    }
    return code;
  }

  /** Trades a code for a session; undefined for an unknown, used or expired code. */
  enter(code: string): PageSession | undefined {
    this.#forgetOld();
    // Compares digests, so that the time of the comparison tells nothing about the code.
    if (!this.#codes.delete(digestOf(code))) return undefined;
    const session = { cookie: secret(), key: secret() };
    this.#sessions.push(session);
    if (this.#sessions.length > MOST_SESSIONS) this.#sessions.shift();
    return session;
  }

  /** The session that has both this cookie and this key. */
  find(cookie: string | undefined, key: string | undefined): PageSession | undefined {
    if (cookie === undefined || key === undefined) return undefined;
    return this.#sessions.find((session) => isSame(session.cookie, cookie) && isSame(session.key, key));
  }

  #forgetOld(): void {
    for (const [digest, endsMs] of this.#codes) if (endsMs <= this.#now()) this.#codes.delete(digest);
  }
}

/** The name of the cookie. All ports of a host share cookies, so each port has its own name. */
export function cookieName(port: number): string {
  return `mcp-bridge-ui-${port}`;
}

/** The value of a cookie in the header; undefined if there is none. */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  const pair = (header ?? '').split(';').find((one) => one.trim().startsWith(`${name}=`));
  return pair?.trim().slice(name.length + 1);
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
