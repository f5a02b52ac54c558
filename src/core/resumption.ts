// What becomes of a session when its connection drops, and when its client comes back. It stands between the handshake,
// the links, and the registry of those that are away; sessions, calls and views know nothing of it.

import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import { invariant } from '../util/invariant.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import { isRequestId } from '../wire/request-id.ts';
import { ResumableLink } from '../wire/resumable-link.ts';
import { type LeavingReason, leavingNotice } from '../wire/resume-notices.ts';
import type { Counters } from './counters.ts';
import type { MethodRole } from './era/era-2025.ts';
import type { ResumeRequest } from './era/initialize.ts';
import type { ResumptionPorts } from './handshake.ts';
import { ParkedSessions } from './parked-sessions.ts';
import { Pause } from './pauses.ts';
import type { Session } from './session.ts';

/** More requests than this nobody has had under way. */
const MOST_REPEATED = 100_000;

/** What the registry of clients does for it. */
export interface ResumptionOptions {
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
    if (link.isCarried) session.tell(leavingNotice(link.receivedBytes, reason, unsent));
    return true;
  }
}
