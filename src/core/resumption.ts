// Sessions whose connection drops: which are kept, for how long, and how a client resumes one. Sits between the
// handshake and the links. Sessions, calls and views notice nothing.

import { createHash, randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import type { MethodRole } from '../protocol/era.ts';
import type { ResumeRequest } from '../protocol/initialize.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { invariant } from '../util/invariant.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { isRequestId } from '../wire/request-id.ts';
import { ResumableLink } from '../wire/resumable-link.ts';
import { type LeavingReason, leavingNotice } from '../wire/resume-notices.ts';
import type { Events } from './events.ts';
import type { ResumptionPorts } from './handshake.ts';
import { Pause } from './pressure.ts';
import type { Session } from './session.ts';

/** The most request ids that a client may announce as repeated; no client has more under way. */
const MOST_REPEATED = 100_000;

/** The services of the connection manager that resumption needs. */
interface ResumptionOptions {
  readonly limits: Limits;
  readonly events: Events;
  readonly clock: Clock;
  readonly handlerOf: (session: Session) => LinkHandler;
  /** Runs a task for a session; an error in it ends the session. */
  readonly contain: (session: Session, task: () => void) => void;
  /** True while sessions may wait for their clients. */
  readonly mayPark: () => boolean;
  /** The session has lost its connection and is not counted as connected; or it has one again. */
  readonly parked: (session: Session) => void;
  readonly unparked: (session: Session) => void;
  /** Another session has taken the connection: nothing is left of this one. */
  readonly dissolved: (session: Session) => void;
  readonly giveUp: (session: Session, why: string) => void;
  readonly cutOff: (session: Session, why: string) => void;
}

/** Keeps sessions without a connection, and gives them the next connection of their client. */
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

  /** The session is over; returns true if it was parked. */
  forget(session: Session): boolean {
    return this.#parked.forget(session);
  }

  count(session: Session, first: Frame): void {
    const { link } = session;
    if (link instanceof ResumableLink) return link.recount(first);
    const { contain } = this.#options;
    const handler = {
      ...this.#options.handlerOf(session),
      dropped: () => contain(session, () => this.#onDropped(session)),
      heard: () => contain(session, () => this.#parked.confirm(session)),
      grown: () => contain(session, () => this.#parked.grown(session)),
      openRequests: () => openPlaces(session),
    };
    const mostKept = this.#options.limits.maxResumeBytesPerClient;
    session.becomeResumable(new ResumableLink(link, first, { handler, mostKept }));
  }

  admit(session: Session): string {
    const { link } = session;
    invariant(link instanceof ResumableLink, 'a resumable session is counted from its handshake on');
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
    session.liveness.comesBack();
    link.goOn(carrier, request.first, request.received);
  }

  #onDropped(session: Session): void {
    if (session.isOpen && this.#options.mayPark() && this.#parked.park(session)) this.#options.parked(session);
    else session.link.destroy();
  }

  /** The plain link of a client that does not resume, although an earlier `initialize` may have wanted to. */
  plainLink({ link }: Session): Link {
    return link instanceof ResumableLink ? link.giveCarrier() : link;
  }

  notice(session: Session, role: MethodRole, params: Readonly<Record<string, unknown>>): void {
    if (role === 'bridge-received') return this.#onReceived(session, params.bytes);
    if (role === 'bridge-leave') return this.#onLeave(session);
    if (role === 'bridge-again') return this.#onAgain(session, params.ids);
    this.#options.events.incident.tell('badFrames', session);
  }

  /** A ping was sent: its answer confirms all bytes before it, so little is kept for a silent client. */
  pinged({ link }: Session): void {
    if (link instanceof ResumableLink) link.asked();
  }

  answeredPing({ link }: Session): void {
    if (link instanceof ResumableLink) link.answered();
  }

  #onReceived(session: Session, bytes: unknown): void {
    const { link } = session;
    if (!(link instanceof ResumableLink)) return;
    const isSound = typeof bytes === 'number' && Number.isSafeInteger(bytes) && link.acknowledge(bytes);
    if (!isSound) this.#options.events.incident.tell('badFrames', session);
  }

  #onLeave(session: Session): void {
    if (session.link instanceof ResumableLink) session.link.letGo();
    this.#parked.forget(session);
  }

  /** The client announces requests that may have been carried out already and are about to be sent again. */
  #onAgain(session: Session, ids: unknown): void {
    if (!Array.isArray(ids)) return this.#options.events.incident.tell('badFrames', session);
    if (session.announceRepeated((ids as unknown[]).filter(isRequestId)) > MOST_REPEATED)
      this.#options.cutOff(session, 'it announced too many repeated requests');
  }

  /**
   * The daemon stops: whatever the client sends from here on is for the next daemon, except answers to this one's
   * questions.
   */
  stopListening(session: Session): void {
    const { link } = session;
    if (!(link instanceof ResumableLink) || !link.isResumable) return;
    link.stopCounting();
    session.beginLeaving();
    // A client without a connection does not come back to this daemon.
    if (!link.isCarried) session.abandonQuestions();
    if (session.questions.size > 0) session.pauses.remove(Pause.leaving);
    else session.pauses.add(Pause.leaving);
  }

  /**
   * Tells the client how many of its bytes were read and which requests went no further; false if it cannot use that.
   */
  tellLeaving(session: Session, reason: LeavingReason, unsent: readonly string[]): boolean {
    const { link } = session;
    if (!(link instanceof ResumableLink) || !link.isResumable) return false;
    if (link.isCarried) session.output.notify(leavingNotice(link.receivedBytes, reason, unsent));
    return true;
  }
}

/** The most open requests that a notice names; a client with more finds them itself. */
const MOST_NAMED = 256;

function openPlaces({ calls, isHolding }: Session): readonly number[] | undefined {
  if (isHolding || calls.size > MOST_NAMED) return undefined;
  const places: number[] = [];
  for (const { framePlace } of calls.values()) {
    if (framePlace === 0) return undefined; // it was held behind `initialize`
    places.push(framePlace);
  }
  return places;
}

const TOKEN_BYTES = 16;
/** Tokens that are not valid any more, kept with the reason for messages. */
const MOST_PAST = 1024;
/** Beyond this part of the limit, notices make room first. */
const NOTICES_PART = 2;
const USED = 'The token was used already';

interface Resumable {
  readonly session: Session;
  readonly link: ResumableLink;
  tokenHash: string;
  /**
   * The hash of the token before. It is valid until the client has shown that it has the new one: the answer may have
   * been lost.
   */
  earlierHash: string | undefined;
  /** Undefined while the session is connected. */
  parkedUntilMs: number | undefined;
  /** The session's share of the bytes of all parked sessions, and of their notices. */
  parkedBytes: number;
  noticeBytes: number;
}

interface ParkedSessionsOptions {
  readonly limits: Limits;
  readonly events: Events;
  readonly clock: Clock;
  /** Gives a session up: its client has not come back in time, or too much waits for it. */
  readonly giveUp: (session: Session, why: string) => void;
}

/**
 * The sessions that can be resumed, by their tokens, and the parked ones among them. A token is a secret. Only its hash
 * is kept, so that neither the memory nor the time of a search reveals it.
 */
class ParkedSessions {
  readonly #options: ParkedSessionsOptions;
  readonly #bySession = new Map<Session, Resumable>();
  readonly #byHash = new Map<string, Resumable>();
  /** In the order in which they were parked. */
  readonly #parked = new Set<Resumable>();
  #parkedBytes = 0;
  #noticeBytes = 0;
  /** The reasons why past tokens are invalid, by hash. */
  readonly #past = new Map<string, string>();

  constructor(options: ParkedSessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** The bytes kept for all parked sessions. */
  get bytes(): number {
    return this.#parkedBytes;
  }

  has(session: Session): boolean {
    return this.#bySession.get(session)?.parkedUntilMs !== undefined;
  }

  /** Makes the session resumable; returns its token. */
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
    resumable.tokenHash = hashOfToken(token);
    this.#byHash.set(resumable.tokenHash, resumable);
    return token;
  }

  /** Makes the session not resumable; returns true if it was parked. */
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

  /** The client was heard on the connection that got the newest token: the earlier token becomes invalid. */
  confirm(session: Session): void {
    const resumable = this.#bySession.get(session);
    if (resumable?.earlierHash === undefined) return;
    this.#retire(resumable.earlierHash, USED);
    resumable.earlierHash = undefined;
  }

  /** Keeps a session whose connection has dropped; false if there is no room. */
  park(session: Session): boolean {
    const { limits, events, clock } = this.#options;
    const resumable = this.#bySession.get(session);
    if (resumable === undefined) return false;
    if (this.#parked.size >= limits.maxParkedClients || !this.#hasRoomFor(resumable.link.keptBytes)) {
      events.incident.tell('sessionsNotKept', session);
      return false;
    }
    resumable.parkedUntilMs = clock.now() + limits.resumeGraceMs;
    this.#parked.add(resumable);
    this.#weigh(resumable);
    this.#makeRoom();
    return true;
  }

  /** True if the bytes fit, or a fuller session can make room for them. */
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
    resumable.session.forgetNotices();
    resumable.parkedUntilMs = undefined;
  }

  /** More bytes wait for a parked session. */
  grown(session: Session): void {
    const resumable = this.#bySession.get(session);
    if (resumable?.parkedUntilMs === undefined) return;
    this.#weigh(resumable);
    if (resumable.link.hasLost) this.#giveUp(resumable);
    this.#makeRoom();
  }

  /** Gives up the fullest sessions, not the latest. */
  #makeRoom(): void {
    while (this.#parkedBytes > this.#options.limits.maxParkedBytes)
      this.#giveUp(this.#fullest(this.#isFullOfNotices ? 'noticeBytes' : 'parkedBytes'));
  }

  /**
   * True if notices fill their part. They make room before answers do, so that a flood of them costs no other client an
   * answer.
   */
  get #isFullOfNotices(): boolean {
    return this.#noticeBytes > this.#options.limits.maxParkedBytes / NOTICES_PART;
  }

  /** Searched only when there is too much. */
  #fullest(of: 'parkedBytes' | 'noticeBytes'): Resumable | undefined {
    let fullest: Resumable | undefined;
    for (const resumable of this.#parked) if (fullest === undefined || resumable[of] > fullest[of]) fullest = resumable;
    return fullest;
  }

  #giveUp(resumable: Resumable | undefined): void {
    invariant(resumable !== undefined, 'kept bytes belong to a parked session');
    this.#options.events.incident.tell('sessionsNotKept', resumable.session);
    this.#options.giveUp(resumable.session, 'more bytes wait for it than are kept');
    this.#unpark(resumable);
  }

  /** Gives up the sessions whose time is over. */
  tick(nowMs: number): void {
    for (const { session, parkedUntilMs } of this.#parked) {
      if (parkedUntilMs === undefined || nowMs < parkedUntilMs) return;
      this.#options.events.incident.tell('sessionsExpired', session);
      this.#options.giveUp(session, 'its client has not come back');
    }
  }

  /** The session of a token; throws the reason why it cannot be resumed. */
  find({ token, received }: ResumeRequest): Session {
    const hash = hashOfToken(token);
    const resumable = this.#byHash.get(hash);
    if (resumable === undefined) throw refused(this.#past.get(hash) ?? 'The token is unknown');
    const why = resumable.link.whyNotFrom(received);
    if (why !== undefined) throw refused(why);
    return resumable.session;
  }

  /** The session of this token is resumed; returns the next token. */
  resumed({ token }: ResumeRequest): string {
    const given = hashOfToken(token);
    const resumable = this.#byHash.get(given);
    if (resumable === undefined) throw refused('The session has been given up');
    this.#unpark(resumable);
    for (const hash of [resumable.tokenHash, resumable.earlierHash])
      if (hash !== undefined && hash !== given) this.#retire(hash, USED);
    resumable.earlierHash = given;
    this.#options.events.clientBack.tell(resumable.session);
    return this.#renewToken(resumable);
  }
}

function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

function refused(why: string): BridgeError {
  return new BridgeError('RESUME_REFUSED', why, {
    hint: 'Send initialize without a token; announce the requests under way with bridge/again.',
  });
}
