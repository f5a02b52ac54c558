// The registry of clients: takes them in, has them named and looked after, and lets them go.
// A session leaves it exactly once, whoever ends it: the client, a limit, or the daemon.

import { randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import type { LivenessSettings } from '../model/liveness-settings.ts';
import { cutShort, INTERNAL_ERROR, INVALID_REQUEST, rpcError } from '../protocol/rpc-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Carrier, Link, LinkHandler } from '../wire/link.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import type { Call } from './call.ts';
import type { Counters } from './counters.ts';
import { Faults } from './faults.ts';
import { Pause } from './pressure.ts';
import { Resumption } from './resumption.ts';
import { Router, type RouterContext } from './router.ts';
import { Session } from './session.ts';
import type { ServerDirectory } from './view.ts';

/** Refused clients that are given time to read why. */
const MOST_LINGERING = 16;

interface ConnectionManagerOptions extends RouterContext {
  readonly liveness: LivenessSettings;
  /** There are descriptors for one more client. */
  readonly hasRoom?: () => boolean;
}

export class ConnectionManager {
  readonly #options: ConnectionManagerOptions;
  readonly #limits: Limits;
  readonly #logger: Logger;
  readonly #faults: Faults;
  readonly #router: Router;
  readonly #resumption: Resumption;
  readonly #sessions = new Set<Session>();
  readonly #ids = new ClientIds();
  readonly #watch: ClientWatch;
  /** Sessions that are not closing. */
  #openCount = 0;
  #isDraining = false;
  #whenEmpty: (() => void)[] = [];

  constructor(options: ConnectionManagerOptions) {
    this.#options = options;
    this.#limits = options.limits;
    this.#logger = options.logger;
    this.#faults = new Faults(options);
    this.#resumption = new Resumption({
      ...options,
      handlerOf: (session) => this.#handlerOf(session),
      contain: (session, task) => this.contain(session, task),
      mayPark: () => !this.#isDraining,
      parked: (session) => {
        this.#openCount--;
        session.backlog.beginAnew();
        options.messaging.wentAway(session);
      },
      unparked: () => void this.#openCount++,
      dissolved: (session) => this.#dissolve(session),
      giveUp: (session, why) => this.#giveUp(session, why),
      cutOff: (session, why) => this.cutOff(session, why),
    });
    this.#router = new Router(options, this, this.#resumption);
    this.#watch = new ClientWatch({
      ...options,
      sessions: this.#sessions,
      resumption: this.#resumption,
      faults: this.#faults,
      contain: (session, task) => this.contain(session, task),
      cutOff: (session, why) => this.cutOff(session, why),
    });
  }

  /** Whatever is done for one client, or because of it: an error of ours ends no one's session but its own. */
  contain(session: Session, task: () => void): void {
    this.#faults.contain(task, (error) => this.#onFault(session, error));
  }

  #onFault(session: Session, error: unknown): void {
    this.#faults.note('a client could not be served', error, { clientId: session.clientId });
    this.cutOff(session, 'the bridge failed over it');
  }

  /** All clients but those of the role `control`. */
  clients(): Session[] {
    return [...this.#sessions].filter((session) => session.isOpen && session.role !== 'control');
  }

  /** Whether its client is away, and may come back. */
  isParked(session: Session): boolean {
    return this.#resumption.isParked(session);
  }

  get parkedCount(): number {
    return this.#resumption.parkedCount;
  }

  /** What is kept for those who are away. */
  get parkedBytes(): number {
    return this.#resumption.parkedBytes;
  }

  /** Whether nobody is connected, be it for a question of the role `control`, and nobody may come back. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0;
  }

  accept(link: Carrier): void {
    const { counters, clock } = this.#options;
    const session = new Session(link, {
      counters,
      limits: this.#limits,
      leave: (leaving) => this.#leave(leaving, this.#limits.stallTimeoutMs),
      now: { date: new Date(), ms: clock.now() },
    });
    const refusal = this.#refusalNow();
    this.#sessions.add(session);
    this.#openCount++;
    link.start(this.#handlerOf(session));
    if (refusal === undefined) counters.clientsAccepted++;
    else this.#refuse(session, refusal);
  }

  #handlerOf(session: Session): LinkHandler {
    return {
      frame: (b, start, end) => this.take(session, b, start, end),
      overflowed: () => this.contain(session, () => this.#router.overflowed(session)),
      badFrame: (reason) => {
        if (reason === 'not-utf8') this.contain(session, () => this.#router.notUtf8(session));
      },
      ended: () => this.contain(session, () => this.#onEnded(session)),
      closed: () => this.contain(session, () => this.#forget(session)),
      drained: () => this.contain(session, () => this.#onDrained(session)),
      failed: (error) => this.#onFault(session, error),
    };
  }

  /** A frame has come. Whatever a client may send to find a fault of ours, it ends no one's connection but its own. */
  take(session: Session, b: Buffer, start: number, end: number): void {
    try {
      this.#router.frame(session, b, start, end);
    } catch (error) {
      this.#faults.note('a message could not be dealt with', error, { clientId: session.clientId });
      this.cutOff(session, 'what it sent could not be dealt with');
    }
  }

  #refusalNow(): string | undefined {
    if (this.#isDraining) return 'The bridge is shutting down';
    if (this.#openCount >= this.#limits.maxClients)
      return `The bridge has ${this.#limits.maxClients} clients already, its limit`;
    if (this.#options.hasRoom?.() === false) return 'The bridge has no descriptors left for another client';
    return undefined;
  }

  #refuse(session: Session, message: string): void {
    this.#options.counters.clientsRefused++;
    session.output.fail('null', rpcError(INTERNAL_ERROR, message));
    if (this.#sessions.size - this.#openCount < MOST_LINGERING) return this.#leave(session, TICK_MS);
    // At once, or those who come in one turn would take all descriptors that are kept to tell them so.
    this.#retire(session);
    session.output.flush();
    session.link.destroy();
  }

  /** Gives a client its id: the one it asked for, if nobody has it. */
  nameClient(session: Session, wanted: string | undefined): string {
    return this.#ids.give(session, wanted);
  }

  /** Ends a session that broke a rule; what was already written to it still goes out. */
  cutOff(session: Session, reason: string): void {
    if (!session.isOpen) return;
    this.#options.counters.clientsCutOff++;
    this.#logger.warn('client cut off', { clientId: session.clientId, name: session.name, reason });
    this.#leave(session, TICK_MS);
  }

  /** Stops serving it, and closes its link when all is taken, or nothing has been for as long as it may take. */
  #leave(session: Session, patienceMs: number): void {
    if (!session.isOpen) return;
    this.#retire(session);
    session.patienceMs = patienceMs;
    session.link.end();
  }

  #onDrained(session: Session): void {
    session.drained();
    for (const instance of session.instances()) instance.drained();
  }

  /** No new calls are taken: the daemon is about to go. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  #onEnded(session: Session): void {
    session.hasEnded = true;
    // Its answers would have come before the end.
    for (const question of [...session.questions.values()]) question.abandon();
    if (session.state === 'connecting') this.#leave(session, this.#limits.stallTimeoutMs);
    else session.endWhenAnswered();
  }

  /** It is no client: what becomes of its link is the business of whoever gets it. */
  release(session: Session): Link {
    this.#retire(session);
    this.#sessionGone(session);
    session.pauses.remove(Pause.held);
    return this.#resumption.plainLink(session);
  }

  /** From here on nothing is done for it any more. */
  #retire(session: Session): void {
    if (session.state === 'closing') return;
    session.transition('closing');
    this.#openCount--;
    // A step that fails is no reason to keep what the others would have let go.
    const step = (task: () => void): void => this.contain(session, task);
    step(() => {
      if (this.#resumption.forget(session)) this.#openCount++; // it did not count while it was away
    });
    session.held = undefined;
    step(() => session.backlog.release());
    const calls = [...session.calls.values()];
    // All of them first: the end of one lets others be sent, or answered by the bridge itself.
    for (const call of calls) step(() => call.owner.withdraw(call));
    for (const call of calls) {
      call.record?.settle('client-gone');
      step(() => call.owner.abandon(call));
    }
    // Also on instances that it does not use any more.
    for (const instance of new Set(session.tasks.values())) step(() => instance.tasks.abandon(session));
    step(() => session.view?.leave());
    for (const question of [...session.questions.values()]) step(() => question.abandon());
    step(() => session.roots.abandon());
    step(() => this.#options.messaging.left(session));
    step(() => this.#ids.takeBack(session));
  }

  /** Its client does not come back, or not to it. */
  #giveUp(session: Session, reason: string): void {
    this.#logger.info('session given up', { clientId: session.clientId, name: session.name, reason });
    this.#retire(session);
    session.link.destroy();
  }

  /** Its connection is another session's from here on, and it has had nothing else yet. */
  #dissolve(session: Session): void {
    session.transition('closing');
    this.#openCount--;
    this.#sessions.delete(session);
  }

  #forget(session: Session): void {
    this.#retire(session);
    this.#sessionGone(session);
  }

  #sessionGone(session: Session): void {
    this.#sessions.delete(session);
    if (this.#sessions.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** The config says other things of clients now. */
  clientSettingsChanged(): void {
    const { clientSettings } = this.#options;
    if (clientSettings === undefined) return;
    for (const session of this.#sessions)
      if (session.view !== undefined) session.settings = clientSettings.of(session.identity);
  }

  /** There are other servers now, or some are defined otherwise. */
  serversChanged(): void {
    for (const session of this.#sessions)
      this.contain(session, () => session.view?.serversChanged(this.#options.servers));
  }

  // --- the end ---

  /** Takes nobody in any more; resolves when all that was asked is answered, or after the time limit. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#stopListening();
    this.#options.messaging.endWaits();
    const deadline = this.#options.clock.now() + this.#limits.drainTimeoutMs;
    while (this.#openCalls() > 0 && this.#options.clock.now() < deadline) {
      await new Promise<void>((resolve) => this.#options.clock.after(20, resolve));
      this.#stopListening();
    }
  }

  /** Looked at again and again: one is asked something, another can be resumed only now. */
  #stopListening(): void {
    for (const session of this.#sessions) this.contain(session, () => this.#resumption.stopListening(session));
  }

  #openCalls(): number {
    let open = 0;
    for (const session of this.#sessions)
      if (!this.isParked(session)) open += session.calls.size + (session.held === undefined ? 0 : 1);
    return open;
  }

  /** Nothing more of it is sent; returns what was sent to nobody. */
  #withdraw(session: Session): ReadonlySet<Call> {
    const calls = [...session.calls.values()];
    const unsent = new Set(calls.filter((call) => !call.owner.wasSent(call)));
    for (const call of calls) this.contain(session, () => call.owner.withdraw(call));
    return unsent;
  }

  /** Tells it that the daemon goes, and answers what it has asked. */
  #dismiss(session: Session, reason: LeavingReason, unsent: ReadonlySet<Call>): void {
    this.#router.abandon(session);
    // Who can ask the next daemon is not told that it failed: that decides what may be done once more.
    const ids = [...unsent].map(({ id }) => JSON.stringify(id));
    if (this.#resumption.tellLeaving(session, reason, ids)) return;
    for (const call of session.calls.values()) {
      const error = cutShort(!unsent.has(call));
      call.record?.refused(error);
      session.output.fail(call.idText, error);
    }
  }

  /** Lets all clients go; resolves when the last one has left. */
  async close(reason: LeavingReason = 'stop'): Promise<void> {
    // Before any of them goes: the end of one lets calls of others be sent, whose clients are about to be told otherwise.
    const unsent = new Map([...this.#sessions].map((session) => [session, this.#withdraw(session)]));
    for (const session of this.#sessions) {
      this.contain(session, () => this.#dismiss(session, reason, unsent.get(session) ?? new Set()));
      this.#leave(session, TICK_MS);
    }
    // Who reads slowly has as long again for what is left as there was for the answers.
    const last = this.#options.clock.after(this.#limits.drainTimeoutMs, () => {
      for (const session of this.#sessions) session.link.destroy();
    });
    if (this.#sessions.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    last.cancel();
    this.#watch.end();
  }
}

// Which client has which id. Each has one that nobody else has, as far as it can be the one that it has asked for.

/** So many clients may want one id before they are told apart by chance instead of by counting. */
const MOST_NAMESAKES = 20;

class ClientIds {
  readonly #owners = new Map<string, Session>();

  /** Gives a client its id: the one it asked for, if nobody has it. */
  give(session: Session, wanted: string | undefined): string {
    const base = wanted ?? `client-${randomBytes(4).toString('hex')}`;
    let id = base;
    for (let n = 2; this.#owners.has(id); n++)
      id = `${base}-${n < MOST_NAMESAKES ? n : randomBytes(4).toString('hex')}`;
    this.#owners.set(id, session);
    return id;
  }

  /** The client has gone. */
  takeBack(session: Session): void {
    if (this.#owners.get(session.clientId) === session) this.#owners.delete(session.clientId);
  }
}

// Looks after all clients and servers once a second: calls and questions whose time is up, and what has to be done about a
// client that has not shaken hands, takes nothing, or is silent. What that is, liveness.ts decides.

interface ClientWatchPorts {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly liveness: LivenessSettings;
  readonly servers: Pick<ServerDirectory, 'servers'>;
  readonly sessions: ReadonlySet<Session>;
  readonly resumption: Resumption;
  readonly faults: Faults;
  /** Runs what is done for a session, whose own end an error in it is. */
  readonly contain: (session: Session, task: () => void) => void;
  readonly cutOff: (session: Session, reason: string) => void;
}

class ClientWatch {
  readonly #ports: ClientWatchPorts;
  readonly #tick: Timer;
  #pings = 0;

  constructor(ports: ClientWatchPorts) {
    this.#ports = ports;
    this.#tick = ports.clock.every(TICK_MS, () => this.#lookAfterAll());
  }

  end(): void {
    this.#tick.cancel();
  }

  #lookAfterAll(): void {
    const { clock, servers, sessions, resumption, faults, contain } = this.#ports;
    const nowMs = clock.now();
    for (const session of sessions) contain(session, () => this.#lookAfter(session, nowMs));
    faults.contain(
      () => resumption.tick(nowMs),
      (error) => faults.note('sessions whose clients are away could not be looked after', error),
    );
    for (const server of servers.servers()) for (const instance of server.instances) instance.tick(nowMs);
  }

  #lookAfter(session: Session, nowMs: number): void {
    const { limits, liveness, resumption } = this.#ports;
    for (const call of session.calls.values()) call.owner.tickCall(call, nowMs);
    session.roots.tick(nowMs);
    session.view?.tick(nowMs);
    if (resumption.isParked(session)) return;
    if (session.isOpen) this.#act(session, lookAt(session, nowMs, limits, liveness));
    else if (mayClose(session, nowMs)) session.link.destroy();
  }

  #act(session: Session, finding: LivenessFinding): void {
    const { counters, cutOff } = this.#ports;
    switch (finding) {
      case undefined:
        return;
      case 'handshake-timeout':
        counters.handshakeTimeouts++;
        session.output.fail('null', rpcError(INVALID_REQUEST, 'No initialize came in time'));
        return cutOff(session, 'no initialize came in time');
      case 'stalled':
        counters.clientsStalled++;
        cutOff(session, 'it takes nothing of what is meant for it');
        return session.link.destroy();
      case 'unresponsive':
        counters.clientsUnresponsive++;
        return cutOff(session, 'it does not answer pings');
      case 'probe':
        if (session.isOpen && session.calls.size > 0) session.output.probe();
        return;
      case 'ping':
        return this.#ping(session);
    }
  }

  #ping(session: Session): void {
    const id = `mcp-bridge/ping-${++this.#pings}`;
    session.unansweredPings.add(id);
    session.output.ask(id, 'ping');
    this.#ports.resumption.pinged(session);
  }
}

// The periodic look at a client: has it shaken hands, does it take what is meant for it, does it still answer?
// One coarse tick for all of them: thousands of timers would cost memory, and a second sooner or later does not matter.

const TICK_MS = 1000;

/** What is to be done with a client; the first that applies. */
export type LivenessFinding = 'handshake-timeout' | 'stalled' | 'unresponsive' | 'probe' | 'ping' | undefined;

export function lookAt(session: Session, nowMs: number, limits: Limits, settings: LivenessSettings): LivenessFinding {
  if (!session.hasTriedInitialize && nowMs - session.connectedMs >= limits.handshakeTimeoutMs)
    return 'handshake-timeout';
  if (isStalled(session, nowMs, limits.stallTimeoutMs)) return 'stalled';
  // What is not read cannot be heard either; a write tells.
  if (session.hasEnded || !session.pauses.isEmpty) return 'probe';
  if (session.hasSpoken) {
    session.hasSpoken = false;
    session.lastHeardMs = nowMs;
    // Whoever speaks is alive, also a client that does not know pings.
    session.unansweredPings.clear();
  }
  return isPingDue(session, nowMs, settings) ? pingOrGiveUp(session, settings) : undefined;
}

/** Whether nothing more can be hoped for of a client that is on its way out. */
function mayClose(session: Session, nowMs: number): boolean {
  return session.link.outbox.queuedBytes === 0 || isStalled(session, nowMs, session.patienceMs);
}

function isStalled(session: Session, nowMs: number, patienceMs: number): boolean {
  const { queuedBytes, takenBytes } = session.link.outbox;
  if (queuedBytes === 0 || takenBytes !== session.takenBytes) {
    session.takenBytes = takenBytes;
    session.stalledSinceMs = undefined;
    return false;
  }
  session.stalledSinceMs ??= nowMs;
  return nowMs - session.stalledSinceMs >= patienceMs;
}

function isPingDue(session: Session, nowMs: number, { pingPeriodMs }: LivenessSettings): boolean {
  if (pingPeriodMs === 0 || session.state !== 'ready') return false;
  return nowMs - session.lastHeardMs >= pingPeriodMs * (session.unansweredPings.size + 1);
}

function pingOrGiveUp(session: Session, settings: LivenessSettings): LivenessFinding {
  if (session.unansweredPings.size < settings.maxMissedPings) return 'ping';
  return session.hasAnsweredPing || settings.cutOffSilentClients ? 'unresponsive' : undefined;
}
