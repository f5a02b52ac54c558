// How much the server of one instance is to log: as much as the client wants that wants most, and each client gets only
// what it asked for. As with subscriptions, what the server is told is decided when a request is sent, and put right when
// that ends otherwise than was hoped for.

import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';
import type { SharedPorts } from './subscriptions.ts';
import { type Ending, Told } from './told.ts';

/** Least verbose last. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
export function isLevel(level: string): boolean {
  return LEVELS.includes(level);
}

/** For clients that have not asked for a level, while others have. */
const DEFAULT_LEVEL = LEVELS.indexOf('info');
const NO_LEVEL = LEVELS.length;

/** One client's, which it takes along to other instances. */
interface Reader {
  readonly session: Session;
  /** Where it reads; undefined once it has gone. */
  home: LogLevels | undefined;
  /** The least that it gets; undefined before a level was granted to it. */
  level: number | undefined;
  /** How often it has asked for one, and which time it got the level that it has. */
  asked: number;
  granted: number;
  /** By the time that it has asked: what this instance has been asked, and has not answered. */
  readonly asking: Map<number, { readonly level: number; readonly at: LogLevels }>;
}

export class LogLevels {
  readonly #ports: SharedPorts;
  readonly #readers = new Map<Session, Reader>();
  readonly #told = new Told<string>(undefined);

  constructor(ports: SharedPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#readers.size;
  }

  get areSet(): boolean {
    for (const { level } of this.#readers.values()) if (level !== undefined) return true;
    return false;
  }

  /** Whether a client gets a log message; one of a level that nobody knows goes to all. */
  admits(session: Session, level: string): boolean {
    const index = LEVELS.indexOf(level);
    return index < 0 || index >= (this.#readers.get(session)?.level ?? DEFAULT_LEVEL);
  }

  // --- what clients ask for ---

  /** Whether it is the server's to answer: nobody else wants more of it, or it is a level that nobody knows. */
  isForServer(session: Session, level: string): boolean {
    return LEVELS.indexOf(level) <= this.#mostVerbose(session);
  }

  /** The most verbose level that is wished or asked for, be it but for one client's. */
  #mostVerbose(but?: Session): number {
    let most = NO_LEVEL;
    for (const reader of this.#readers.values())
      if (reader.session !== but) most = Math.min(most, this.#wishOf(reader));
    return most;
  }

  /** What a client wants once all is granted that it has asked for here. */
  #wishOf({ level = NO_LEVEL, granted, asking }: Reader): number {
    let wish = level;
    for (const [time, asked] of asking) if (time > granted && asked.at === this) wish = asked.level;
    return wish;
  }

  /** A client's request is being sent; returns who is told how it ends. */
  ask(session: Session, text: string): (ending: Ending) => void {
    const reader = this.#reader(session);
    const level = LEVELS.indexOf(text);
    const isKnown = level >= 0;
    const number = this.#told.sent(isKnown ? text : undefined);
    const time = ++reader.asked;
    if (isKnown) reader.asking.set(time, { level, at: this });
    return (ending) => {
      this.#told.ended(number, ending);
      reader.asking.delete(time);
      if (ending === 'result' && isKnown) grant(reader, level, time);
      if (reader.home !== undefined) reader.home.#answered(reader);
      this.#settle();
    };
  }

  /** The client gets it without a request of its own to the server. */
  set(session: Session, text: string): void {
    const reader = this.#reader(session);
    grant(reader, LEVELS.indexOf(text), ++reader.asked);
    this.#settle();
  }

  #reader(session: Session): Reader {
    const asking = new Map<number, { readonly level: number; readonly at: LogLevels }>();
    const fresh = { session, home: this, level: undefined, asked: 0, granted: 0, asking };
    const reader = this.#readers.get(session) ?? fresh;
    this.#readers.set(session, reader);
    return reader;
  }

  #answered(reader: Reader): void {
    const { session, level, asking } = reader;
    const isVoid = level === undefined && asking.size === 0;
    if (isVoid && this.#readers.get(session) === reader) this.#readers.delete(session);
    this.#settle();
  }

  // --- what the server is told ---

  /** Has the server log what is wished, unless it will once it has done what it was asked. */
  #settle(): void {
    const level = LEVELS[this.#mostVerbose()];
    if (level === undefined || this.#told.isGoingToBe(level)) return;
    this.#told.assume(level);
    this.#ports.ask(requestFor(level));
  }

  /** What a server that was started again is told. */
  opened(): OwnRequest[] {
    const level = LEVELS[this.#mostVerbose()];
    this.#told.assume(level);
    return level === undefined ? [] : [requestFor(level)];
  }

  // --- comings and goings ---

  forget(session: Session): void {
    const reader = this.#readers.get(session);
    if (reader === undefined) return;
    reader.home = undefined;
    this.#leave(session);
  }

  /** The client uses another instance from now on. */
  handOver(session: Session, to: LogLevels): void {
    const reader = this.#readers.get(session);
    if (reader === undefined) return;
    to.forget(session);
    reader.home = to;
    to.#readers.set(session, reader);
    to.#settle();
    this.#leave(session);
  }

  #leave(session: Session): void {
    this.#readers.delete(session);
    this.#settle();
  }
}

function grant(reader: Reader, level: number, time: number): void {
  if (time < reader.granted) return; // it has asked for another one since
  reader.granted = time;
  reader.level = level;
}

function requestFor(level: string): OwnRequest {
  return { method: 'logging/setLevel', params: { level } };
}
