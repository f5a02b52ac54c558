// What becomes of a session when its connection drops, and when its client comes back. It stands between the handshake,
// the links, and the registry of those that are away; sessions, calls and views know nothing of it.

import { createHash, randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import type { MethodRole } from '../protocol/era-2025.ts';
import type { ResumeRequest } from '../protocol/initialize.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { invariant } from '../util/invariant.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { isRequestId } from '../wire/request-id.ts';
import { ResumableLink } from '../wire/resumable-link.ts';
import { type LeavingReason, leavingNotice } from '../wire/resume-notices.ts';
import type { Counters } from './counters.ts';
import type { ResumptionPorts } from './handshake.ts';
import { Pause } from './pressure.ts';
import type { Session } from './session.ts';

/** More requests than this nobody has had under way. */
const MOST_REPEATED = 100_000;

/** What the registry of clients does for it. */
interface ResumptionOptions {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly handlerOf: (session: Session) => LinkHandler;
  /** Runs what is done for a session, whose own end an error in it is. */
  readonly contain: (session: Session, task: () => void) => void;
  /** Whether sessions may still wait for their clients. */
  readonly mayPark: () => boolean;
  /** It has no connection any more, and does not count as one; or it has one again. */
  readonly parked: (session: Session) => void;
  readonly unparked: (session: Session) => void;
  /** Its connection is another session's now: nothing is left of it. */
  readonly dissolved: (session: Session) => void;
  readonly giveUp: (session: Session, why: string) => void;
  readonly cutOff: (session: Session, why: string) => void;
}

export class Resumption implements ResumptionPorts {
  readonly #options: ResumptionOptions;
  readonly #parked: ParkedSessions;

  constructor(options: ResumptionOptions) {
    this.#options = options;
    this.#parked = new ParkedSessions(options);
  }

  get parkedCount(): number {
    return this.#parked.size;
  }

  get parkedBytes(): number {
    return this.#parked.bytes;
  }

  isParked(session: Session): boolean {
    return this.#parked.has(session);
  }

  tick(nowMs: number): void {
    this.#parked.tick(nowMs);
  }

  /** The session is over; whether it was parked. */
  forget(session: Session): boolean {
    return this.#parked.forget(session);
  }

  // --- the handshake ---

  count(session: Session, first: Frame): void {
    const { link } = session;
    if (link instanceof ResumableLink) return link.recount(first);
    const { contain } = this.#options;
    const handler = {
      ...this.#options.handlerOf(session),
      dropped: () => contain(session, () => this.#onDropped(session)),
      heard: () => contain(session, () => this.#parked.confirm(session)),
      grown: () => contain(session, () => this.#parked.grown(session)),
    };
    session.link = new ResumableLink(link, first, { handler, mostKept: this.#options.limits.maxResumeBytesPerClient });
  }

  admit(session: Session): string {
    const { link } = session;
    invariant(link instanceof ResumableLink, 'who can resume is counted from its handshake on');
    return this.#parked.admit(session, link);
  }

  keep({ link }: Session): void {
    if (link instanceof ResumableLink) link.keep();
  }

  resume(
    fresh: Session,
    request: ResumeRequest & { readonly first: Frame },
    answer: (resumed: Session, meta: object) => void,
  ): void {
    const session = this.#parked.find(request);
    const { link } = session;
    invariant(link instanceof ResumableLink, 'a session with a token has a link that can go on');
    const wasParked = this.#parked.has(session);
    answer(session, {
      'mcp-bridge/resumeToken': this.#parked.resumed(request),
      'mcp-bridge/received': link.receivedBytes,
      'mcp-bridge/graceMs': this.#options.limits.resumeGraceMs,
    });
    const carrier = fresh.link instanceof ResumableLink ? fresh.link.giveCarrier() : fresh.link;
    this.#options.dissolved(fresh);
    if (wasParked) this.#options.unparked(session);
    session.hasSpoken = true;
    session.stalledSinceMs = undefined;
    link.goOn(carrier, request.first, request.received);
  }

  #onDropped(session: Session): void {
    if (session.isOpen && this.#options.mayPark() && this.#parked.park(session)) this.#options.parked(session);
    else session.link.destroy();
  }

  /** The link without what counts and keeps, for who makes no use of that: an `initialize` before may have wanted it. */
  plainLink({ link }: Session): Link {
    return link instanceof ResumableLink ? link.giveCarrier() : link;
  }

  // --- what the client says of it ---

  notice(session: Session, role: MethodRole, params: Readonly<Record<string, unknown>>): void {
    if (role === 'bridge-received') return this.#onReceived(session, params.bytes);
    if (role === 'bridge-leave') return this.#onLeave(session);
    if (role === 'bridge-again') return this.#onAgain(session, params.ids);
    this.#options.counters.badFrames++;
  }

  /** The answer to a ping says that everything before it has come: of who is silent, nothing is kept for long. */
  pinged({ link }: Session): void {
    if (link instanceof ResumableLink) link.asked();
  }

  answeredPing({ link }: Session): void {
    if (link instanceof ResumableLink) link.answered();
  }

  #onReceived({ link }: Session, bytes: unknown): void {
    if (!(link instanceof ResumableLink)) return;
    const isSound = typeof bytes === 'number' && Number.isSafeInteger(bytes) && link.acknowledge(bytes);
    if (!isSound) this.#options.counters.badFrames++;
  }

  #onLeave(session: Session): void {
    if (session.link instanceof ResumableLink) session.link.letGo();
    this.#parked.forget(session);
  }

  /** Requests that may have been carried out already are about to come. */
  #onAgain(session: Session, ids: unknown): void {
    if (!Array.isArray(ids)) return void this.#options.counters.badFrames++;
    session.repeated ??= new Set();
    for (const id of ids as unknown[]) if (isRequestId(id)) session.repeated.add(id);
    if (session.repeated.size > MOST_REPEATED) this.#options.cutOff(session, 'it says too many requests come again');
  }

  // --- the daemon goes ---

  /** What it sends from here on is for the next daemon, but for answers to what it was asked by this one. */
  stopListening(session: Session): void {
    const { link } = session;
    if (!(link instanceof ResumableLink) || !link.isResumable) return;
    link.stopCounting();
    session.isLeaving = true;
    // Who is away does not come back to this daemon.
    if (!link.isCarried) for (const question of [...session.questions.values()]) question.abandon();
    if (session.questions.size > 0) session.pauses.remove(Pause.leaving);
    else session.pauses.add(Pause.leaving);
  }

  /** Tells it how much of what it has sent was taken, and what of that went no further; false if it cannot make use of that. */
  tellLeaving(session: Session, reason: LeavingReason, unsent: readonly string[]): boolean {
    const { link } = session;
    if (!(link instanceof ResumableLink) || !link.isResumable) return false;
    if (link.isCarried) session.output.notify(leavingNotice(link.receivedBytes, reason, unsent));
    return true;
  }
}

// The sessions that can be resumed: by which token each of them is, which of them are parked because their clients are
// away, and when those are given up. A token is a secret; only its hash is kept, so that neither a look at the memory nor
// the time that a search takes tells anything of it.

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

interface ParkedSessionsOptions {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly clock: Clock;
  /** Its client does not come back in time, or more waits for it than may. */
  readonly giveUp: (session: Session, why: string) => void;
}

class ParkedSessions {
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

// Why a request is not carried out that comes again after the bridge was started again: what may do harm twice is not
// done twice.

/** `server`: who may have carried it out, if that is one. */
export function outcomeUnknown(server?: string): BridgeError {
  return new BridgeError(
    'OUTCOME_UNKNOWN',
    'The bridge was restarted while this call was under way; whether it was done is not known',
    { ...(server !== undefined && { server }), hint: 'Look at what it was to change before it is called again.' },
  );
}
