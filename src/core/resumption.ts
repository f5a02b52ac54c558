// Sessions whose connection has dropped: which are kept, for how long, and how a client resumes one. It stands between
// the handshake and the links; sessions, calls and views notice nothing.

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

/** The maximum number of request ids that a client may announce as repeated; no client has more under way. */
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
  /** Called when a session has lost its connection, so it no longer counts as connected; or has one again. */
  readonly parked: (session: Session) => void;
  readonly unparked: (session: Session) => void;
  /** Called when another session has taken over the connection, and nothing is left of this session. */
  readonly dissolved: (session: Session) => void;
  readonly giveUp: (session: Session, why: string) => void;
  readonly cutOff: (session: Session, why: string) => void;
}

/** Keeps sessions without a connection until their client connects again. */
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

  /** Forgets a session that has ended; returns true if it was parked. */
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

  /** The plain link of a client that does not resume, even if an earlier `initialize` asked for it. */
  plainLink({ link }: Session): Link {
    return link instanceof ResumableLink ? link.giveCarrier() : link;
  }

  notice(session: Session, role: MethodRole, params: Readonly<Record<string, unknown>>): void {
    if (role === 'bridge-received') return this.#onReceived(session, params.bytes);
    if (role === 'bridge-leave') return this.#onLeave(session);
    if (role === 'bridge-again') return this.#onAgain(session, params.ids);
    this.#options.events.incident.tell('badFrames', session);
  }

  /** Notes that a ping was sent: its answer confirms all bytes before it, so little is kept for a silent client. */
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

  /**
   * Notes the requests that the client announces: they may have been executed already, and are about to be sent again.
   */
  #onAgain(session: Session, ids: unknown): void {
    if (!Array.isArray(ids)) return this.#options.events.incident.tell('badFrames', session);
    if (session.announceRepeated((ids as unknown[]).filter(isRequestId)) > MOST_REPEATED)
      this.#options.cutOff(session, 'it announced too many repeated requests');
  }

  /**
   * Called when the daemon stops. Everything that the client sends after this is for the next daemon, except answers to
   * this daemon's questions.
   */
  stopListening(session: Session): void {
    const { link } = session;
    if (!(link instanceof ResumableLink) || !link.isResumable) return;
    link.stopCounting();
    session.beginLeaving();
    // A client without a connection does not return to this daemon.
    if (!link.isCarried) session.abandonQuestions();
    if (session.questions.size > 0) session.pauses.remove(Pause.leaving);
    else session.pauses.add(Pause.leaving);
  }

  /**
   * Tells the client how many of its bytes were read and which requests were never sent. Returns false if the client
   * cannot use that.
   */
  tellLeaving(session: Session, reason: LeavingReason, unsent: readonly string[]): boolean {
    const { link } = session;
    if (!(link instanceof ResumableLink) || !link.isResumable) return false;
    if (link.isCarried) session.output.notify(leavingNotice(link.receivedBytes, reason, unsent));
    return true;
  }
}

/** The maximum number of open requests that a notice names; a client with more finds them itself. */
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
/** The number of invalid tokens that are kept, with reasons for error messages. */
const MOST_PAST = 1024;
/** If notices take more than this fraction of the limit, they are dropped first. */
const NOTICES_PART = 2;
const USED = 'The token was used already';

interface Resumable {
  readonly session: Session;
  readonly link: ResumableLink;
  tokenHash: string;
  /**
   * The hash of the previous token. It stays valid until the client has shown that it knows the new one, because the
   * answer may have been lost.
   */
  earlierHash: string | undefined;
  /** Undefined while the session is connected. */
  parkedUntilMs: number | undefined;
  /** The bytes kept for this session, and how many of them are notices. */
  parkedBytes: number;
  noticeBytes: number;
}

interface ParkedSessionsOptions {
  readonly limits: Limits;
  readonly events: Events;
  readonly clock: Clock;
  /** Gives up a session: its client has not come back in time, or too much waits for it. */
  readonly giveUp: (session: Session, why: string) => void;
}

/**
 * The resumable sessions by token, and the parked ones among them. A token is a secret: only its hash is kept, so
 * neither memory nor search time reveals it.
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

  /** Makes a session resumable; returns its token. */
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

  /** Makes a session no longer resumable; returns true if it was parked. */
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

  /** Called when the client used the connection that got the newest token: the earlier token becomes invalid. */
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

  /** True if the bytes fit, or a session with more bytes can be dropped for them. */
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

  /** Called when more bytes wait for a parked session. */
  grown(session: Session): void {
    const resumable = this.#bySession.get(session);
    if (resumable?.parkedUntilMs === undefined) return;
    this.#weigh(resumable);
    if (resumable.link.hasLost) this.#giveUp(resumable);
    this.#makeRoom();
  }

  /** Gives up the sessions with the most bytes, not the newest. */
  #makeRoom(): void {
    while (this.#parkedBytes > this.#options.limits.maxParkedBytes)
      this.#giveUp(this.#fullest(this.#isFullOfNotices ? 'noticeBytes' : 'parkedBytes'));
  }

  /**
   * True if notices fill their part. They are dropped before answers, so that a flood of notices costs no other client
   * an answer.
   */
  get #isFullOfNotices(): boolean {
    return this.#noticeBytes > this.#options.limits.maxParkedBytes / NOTICES_PART;
  }

  /** Finds the largest by search, which is only needed when the limit is exceeded. */
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

  /** Notes that the session of this token was resumed; returns the next token. */
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
