// The sessions that can be resumed: by which token each of them is, which of them are parked because their clients are
// away, and when those are given up. A token is a secret; only its hash is kept, so that neither a look at the memory nor
// the time that a search takes tells anything of it.

import { createHash, randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { invariant } from '../util/invariant.ts';
import type { ResumableLink } from '../wire/resumable-link.ts';
import type { Counters } from './counters.ts';
import type { ResumeRequest } from './era/initialize.ts';
import type { Session } from './session.ts';

const TOKEN_BYTES = 16;
/** Tokens that are of no use any more, of which it is known why; for messages. */
const MOST_PAST = 1024;
/** The part of what is kept for all of them from which on what nobody has asked for makes room first. */
const NOTICES_PART = 2;
const USED = 'The token was used already';

interface Resumable {
  readonly session: Session;
  readonly link: ResumableLink;
  tokenHash: string;
  /** Of the token before, which counts until the client shows that it has the new one: the answer may have been lost. */
  earlierHash: string | undefined;
  /** Undefined while it is connected. */
  parkedUntilMs: number | undefined;
  /** What of the bytes of all parked ones is its own, and of their notices. */
  parkedBytes: number;
  noticeBytes: number;
}

export interface ParkedSessionsOptions {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly clock: Clock;
  /** Its client does not come back in time, or more waits for it than may. */
  readonly giveUp: (session: Session, why: string) => void;
}

export class ParkedSessions {
  readonly #options: ParkedSessionsOptions;
  readonly #bySession = new Map<Session, Resumable>();
  readonly #byHash = new Map<string, Resumable>();
  /** The one that was parked first stands first. */
  readonly #parked = new Set<Resumable>();
  #parkedBytes = 0;
  #noticeBytes = 0;
  /** What has become of tokens. */
  readonly #past = new Map<string, string>();

  constructor(options: ParkedSessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** What is kept for all of them. */
  get bytes(): number {
    return this.#parkedBytes;
  }

  has(session: Session): boolean {
    return this.#bySession.get(session)?.parkedUntilMs !== undefined;
  }

  /** The session can be resumed from now on; returns by which token. */
  admit(session: Session, link: ResumableLink): string {
    this.forget(session);
    const resumable: Resumable = {
      session,
      link,
      tokenHash: '',
      earlierHash: undefined,
      parkedUntilMs: undefined,
      parkedBytes: 0,
      noticeBytes: 0,
    };
    this.#bySession.set(session, resumable);
    return this.#renewToken(resumable);
  }

  #renewToken(resumable: Resumable): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    resumable.tokenHash = hashOf(token);
    this.#byHash.set(resumable.tokenHash, resumable);
    return token;
  }

  /** It cannot be resumed any more, if it ever could; whether it was parked. */
  forget(session: Session): boolean {
    const resumable = this.#bySession.get(session);
    if (resumable === undefined) return false;
    const wasParked = resumable.parkedUntilMs !== undefined;
    this.#unpark(resumable);
    this.#bySession.delete(session);
    this.#retire(resumable.tokenHash, 'The session has been given up');
    if (resumable.earlierHash !== undefined) this.#retire(resumable.earlierHash, USED);
    return wasParked;
  }

  #retire(hash: string, why: string): void {
    this.#byHash.delete(hash);
    this.#past.set(hash, why);
    const [oldest] = this.#past.keys();
    if (this.#past.size > MOST_PAST && oldest !== undefined) this.#past.delete(oldest);
  }

  /** The client was heard on the connection that got the newest token. */
  confirm(session: Session): void {
    const resumable = this.#bySession.get(session);
    if (resumable?.earlierHash === undefined) return;
    this.#retire(resumable.earlierHash, USED);
    resumable.earlierHash = undefined;
  }

  /** Its connection has dropped: keeps it for a while; false if there is no room for it. */
  park(session: Session): boolean {
    const { limits, counters, clock } = this.#options;
    const resumable = this.#bySession.get(session);
    if (resumable === undefined) return false;
    if (this.#parked.size >= limits.maxParkedClients || !this.#hasRoomFor(resumable.link.keptBytes)) {
      counters.sessionsNotKept++;
      return false;
    }
    resumable.parkedUntilMs = clock.now() + limits.resumeGraceMs;
    this.#parked.add(resumable);
    this.#weigh(resumable);
    this.#makeRoom();
    return true;
  }

  /** Who has more kept than any other makes no room for itself at their cost. */
  #hasRoomFor(bytes: number): boolean {
    if (this.#parkedBytes + bytes <= this.#options.limits.maxParkedBytes || this.#isFullOfNotices) return true;
    return (this.#fullest('parkedBytes')?.parkedBytes ?? 0) > bytes;
  }

  #weigh(resumable: Resumable): void {
    const { keptBytes } = resumable.link;
    const { noticeBytes } = resumable.session;
    this.#parkedBytes += keptBytes - resumable.parkedBytes;
    this.#noticeBytes += noticeBytes - resumable.noticeBytes;
    resumable.parkedBytes = keptBytes;
    resumable.noticeBytes = noticeBytes;
  }

  #unpark(resumable: Resumable): void {
    this.#parked.delete(resumable);
    this.#parkedBytes -= resumable.parkedBytes;
    this.#noticeBytes -= resumable.noticeBytes;
    resumable.parkedBytes = 0;
    resumable.noticeBytes = 0;
    resumable.session.noticeBytes = 0;
    resumable.parkedUntilMs = undefined;
  }

  /** More waits for it than a moment ago. */
  grown(session: Session): void {
    const resumable = this.#bySession.get(session);
    if (resumable?.parkedUntilMs === undefined) return;
    this.#weigh(resumable);
    if (resumable.link.hasLost) this.#giveUp(resumable);
    this.#makeRoom();
  }

  /** At the cost of the fullest, and not of whoever happens to come last. */
  #makeRoom(): void {
    while (this.#parkedBytes > this.#options.limits.maxParkedBytes)
      this.#giveUp(this.#fullest(this.#isFullOfNotices ? 'noticeBytes' : 'parkedBytes'));
  }

  /** Notices have their part before answers have to make room for them: no flood of them costs anybody else an answer. */
  get #isFullOfNotices(): boolean {
    return this.#noticeBytes > this.#options.limits.maxParkedBytes / NOTICES_PART;
  }

  /** Looked for only when there is too much. */
  #fullest(of: 'parkedBytes' | 'noticeBytes'): Resumable | undefined {
    let fullest: Resumable | undefined;
    for (const resumable of this.#parked) if (fullest === undefined || resumable[of] > fullest[of]) fullest = resumable;
    return fullest;
  }

  #giveUp(resumable: Resumable | undefined): void {
    invariant(resumable !== undefined, 'what is kept is kept for somebody');
    this.#options.counters.sessionsNotKept++;
    this.#options.giveUp(resumable.session, 'more waits for it than is kept');
    this.#unpark(resumable);
  }

  /** Gives up those whose time is over. */
  tick(nowMs: number): void {
    for (const { session, parkedUntilMs } of this.#parked) {
      if (parkedUntilMs === undefined || nowMs < parkedUntilMs) return;
      this.#options.counters.sessionsExpired++;
      this.#options.giveUp(session, 'its client has not come back');
    }
  }

  /** The session that is wanted; throws why it cannot go on there. */
  find({ token, received }: ResumeRequest): Session {
    const hash = hashOf(token);
    const resumable = this.#byHash.get(hash);
    if (resumable === undefined) throw refused(this.#past.get(hash) ?? 'The token is unknown');
    const why = resumable.link.whyNotFrom(received);
    if (why !== undefined) throw refused(why);
    return resumable.session;
  }

  /** The session that was found by this token goes on; returns its next token. */
  resumed({ token }: ResumeRequest): string {
    const given = hashOf(token);
    const resumable = this.#byHash.get(given);
    if (resumable === undefined) throw refused('The session has been given up');
    this.#unpark(resumable);
    for (const hash of [resumable.tokenHash, resumable.earlierHash])
      if (hash !== undefined && hash !== given) this.#retire(hash, USED);
    resumable.earlierHash = given;
    this.#options.counters.sessionsResumed++;
    return this.#renewToken(resumable);
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

function refused(why: string): BridgeError {
  return new BridgeError('RESUME_REFUSED', why, {
    hint: 'Send initialize without a token; what was under way may be announced with bridge/again.',
  });
}
