// What clients have set on a server that they share: whose wish it is, and what the server is to be told.
//
// A resource is subscribed to for as long as one client wants it. The log level is the most verbose that any client asked
// for, and each client gets only what it asked for. Both are told anew to a server that was started again.

import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';

/** Least verbose last. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
export function isLevel(level: string): boolean {
  return LEVELS.includes(level);
}

function isPartOf(whole: string, uri: string): boolean {
  if (!uri.startsWith(whole)) return false;
  return uri.length === whole.length || /[/:?#]$/.test(whole) || /[/?#]/.test(uri.charAt(whole.length));
}

/** What a subscription takes besides its URI. */
const SUBSCRIPTION_BYTES = 256;

/** For clients that have not asked for a level, while others have. */
const DEFAULT_LEVEL = LEVELS.indexOf('info');

export class SharedState {
  readonly #subscribers = new Map<string, Set<Session>>();
  /** Of each client that has subscribed to something. */
  readonly #subscribedBytes = new Map<Session, number>();
  readonly #levels = new Map<Session, number>();

  // --- subscriptions ---

  subscribed(session: Session, uri: string): void {
    const sessions = this.#subscribers.get(uri) ?? new Set();
    if (!sessions.has(session)) this.#charge(session, weightOf(uri));
    this.#subscribers.set(uri, sessions.add(session));
  }

  /** What the client would take with this one. */
  bytesWith(session: Session, uri: string): number {
    const bytes = this.#subscribedBytes.get(session) ?? 0;
    return this.hasSubscribed(session, uri) ? bytes : bytes + weightOf(uri);
  }

  #charge(session: Session, bytes: number): void {
    const all = (this.#subscribedBytes.get(session) ?? 0) + bytes;
    if (all > 0) this.#subscribedBytes.set(session, all);
    else this.#subscribedBytes.delete(session);
  }

  /** Takes the wish back; whether someone else still has it, so that the server must not be told. */
  unsubscribe(session: Session, uri: string): boolean {
    const sessions = this.#subscribers.get(uri);
    if (sessions === undefined) return false;
    if (sessions.delete(session)) this.#charge(session, -weightOf(uri));
    if (sessions.size === 0) this.#subscribers.delete(uri);
    return sessions.size > 0;
  }

  hasSubscribed(session: Session, uri: string): boolean {
    return this.#subscribers.get(uri)?.has(session) === true;
  }

  /** Who is to hear of it: a server may name a part of what was subscribed to. */
  subscribersOf(uri: string): Set<Session> {
    const found = new Set<Session>();
    for (const [subscribed, sessions] of this.#subscribers)
      if (isPartOf(subscribed, uri)) for (const session of sessions) found.add(session);
    return found;
  }

  // --- log levels ---

  /** The level that the server must have for this client to get what it asks for; undefined for no known level. */
  levelWith(session: Session, level: string): string | undefined {
    const asked = LEVELS.indexOf(level);
    if (asked < 0) return undefined;
    const others = [...this.#levels].filter(([other]) => other !== session).map(([, index]) => index);
    return LEVELS[Math.min(asked, ...others)];
  }

  /** Returns what the server is to be told for it. */
  setLevel(session: Session, level: string): OwnRequest[] {
    return this.#changingLevel(() => this.#levels.set(session, LEVELS.indexOf(level)));
  }

  #changingLevel(change: () => void): OwnRequest[] {
    const before = this.#level();
    change();
    const after = this.#level();
    return after === before ? [] : requestsFor(after, []);
  }

  get hasLevels(): boolean {
    return this.#levels.size > 0;
  }

  /** Whether a client gets a log message; one of a level that nobody knows goes to all. */
  admitsLog(session: Session, level: string): boolean {
    const index = LEVELS.indexOf(level);
    return index < 0 || index >= (this.#levels.get(session) ?? DEFAULT_LEVEL);
  }

  // --- comings and goings ---

  /** The client is gone, and its wishes with it; what the server is to be told. */
  forget(session: Session): OwnRequest[] {
    const requests: OwnRequest[] = [];
    for (const [uri, sessions] of this.#subscribers) {
      if (sessions.has(session) && !this.unsubscribe(session, uri))
        requests.push({ method: 'resources/unsubscribe', params: { uri } });
    }
    return [...requests, ...this.#changingLevel(() => this.#levels.delete(session))];
  }

  /** What one client wishes, for another instance to be told. */
  wishesOf(session: Session): OwnRequest[] {
    const uris = [...this.#subscribers].flatMap(([uri, sessions]) => (sessions.has(session) ? [uri] : []));
    return requestsFor(LEVELS[this.#levels.get(session) ?? -1], uris);
  }

  /** What a server that was started again has to be told. */
  wishes(): OwnRequest[] {
    return requestsFor(this.#level(), [...this.#subscribers.keys()]);
  }

  #level(): string | undefined {
    return this.#levels.size === 0 ? undefined : LEVELS[Math.min(...this.#levels.values())];
  }
}

function weightOf(uri: string): number {
  return Buffer.byteLength(uri) + SUBSCRIPTION_BYTES;
}

/** What a server is told of wishes that it does not know of. */
function requestsFor(level: string | undefined, uris: readonly string[]): OwnRequest[] {
  return [
    ...(level === undefined ? [] : [{ method: 'logging/setLevel', params: { level } }]),
    ...uris.map((uri) => ({ method: 'resources/subscribe', params: { uri } })),
  ];
}
