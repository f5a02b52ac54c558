// The clients of the daemon: accepts connections, checks them once a second, and ends them. A session leaves exactly
// once, whether the client, a limit, or the daemon ends it.

import { randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import type { LivenessSettings } from '../model/liveness-settings.ts';
import type { Principal } from '../model/principal.ts';
import { OWN_METHODS } from '../protocol/era-2025.ts';
import { cutShort, INTERNAL_ERROR, rpcError } from '../protocol/rpc-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Carrier, Link, LinkHandler } from '../wire/link.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import type { Call } from './call.ts';
import type { Events } from './events.ts';
import { Faults } from './faults.ts';
import type { LivenessFinding } from './liveness.ts';
import { Pause } from './pressure.ts';
import { Resumption } from './resumption.ts';
import { Router, type RouterContext } from './router.ts';
import { Session } from './session.ts';
import type { ServerDirectory } from './view-choice.ts';
import { Views } from './views.ts';

/** The interval at which all clients and servers are checked. */
const TICK_MS = 1000;

/** The maximum number of refused clients that get time to read the reason. */
const MOST_LINGERING = 16;

interface ConnectionManagerOptions extends RouterContext {
  readonly liveness: LivenessSettings;
  /** True while enough file descriptors are left for one more client. */
  readonly hasRoom?: () => boolean;
  /** Called when many lists of other hosts were read in a row. */
  readonly manyListed?: () => void;
}

/** All sessions of the daemon, from accept to their end. */
export class ConnectionManager {
  readonly #options: ConnectionManagerOptions;
  readonly #limits: Limits;
  readonly #logger: Logger;
  readonly #faults: Faults;
  readonly #router: Router;
  readonly #resumption: Resumption;
  readonly #sessions = new Set<Session>();
  /** Connections that had sent nothing at the last check, oldest first. */
  readonly #silent = new Set<Session>();
  readonly #ids = new ClientIds();
  /** The views of all clients. */
  readonly views: Views;
  readonly #watch: ClientWatch;
  /** The number of sessions that are parts of a connection. */
  #partCount = 0;
  /** The number of sessions that are not closing, without the parts. */
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
        session.backlog.connectionDropped();
        options.messaging.wentAway(session);
        options.events.clientAway.tell(session);
      },
      unparked: () => void this.#openCount++,
      dissolved: (session) => this.#dissolve(session),
      giveUp: (session, why) => this.#giveUp(session, why),
      cutOff: (session, why) => this.cutOff(session, why),
    });
    this.views = new Views(options);
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

  /** Runs a task for one client. A fault of the bridge in it ends only this session. */
  contain(session: Session, task: () => void): void {
    this.#faults.contain(task, (error) => this.#onFault(session, error));
  }

  #onFault(session: Session, error: unknown): void {
    this.#faults.note('a client could not be served', error, { clientId: session.clientId });
    this.cutOff(session, 'the bridge has failed while serving it');
  }

  /** All clients except those of the role `control`. */
  clients(): Session[] {
    return [...this.#sessions].filter((session) => session.isOpen && session.role !== 'control' && !isSplit(session));
  }

  /** True while the session has no connection but its client may come back. */
  isParked(session: Session): boolean {
    return this.#resumption.isParked(session);
  }

  get parkedCount(): number {
    return this.#resumption.parkedCount;
  }

  /** The bytes kept for sessions without a connection. */
  get parkedBytes(): number {
    return this.#resumption.parkedBytes;
  }

  /** True if no session is left, not even of the role `control` or without a connection. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0;
  }

  /** Accepts a client. `fixedView`, if given, is its view, whatever it asks for. */
  accept(link: Carrier, principal: Principal, fixedView?: string): Session {
    const { events, clock } = this.#options;
    const session = new Session(link, {
      events,
      limits: this.#limits,
      leave: (leaving) => this.#leave(leaving, this.#limits.stallTimeoutMs),
      now: { date: new Date(), ms: clock.now() },
      ...{ principal, fixedView },
    });
    const refusal = this.#refusalNow() === undefined ? undefined : this.#refusal();
    this.#sessions.add(session);
    this.#openCount++;
    link.start(this.#handlerOf(session));
    if (refusal !== undefined) {
      this.#refuse(session, refusal);
      return session;
    }
    this.#silent.add(session);
    events.clientCame.tell(session);
    return session;
  }

  /** Makes a session for some of the requests of a connection; it ends with the connection at the latest. */
  makePart(host: Session, serverInfo: (session: Session) => string): Session {
    const { link, principal, fixedView, events } = host;
    const context = {
      ...{ events, limits: this.#limits, principal, fixedView },
      leave: () => undefined,
      now: { date: new Date(), ms: this.#options.clock.now() },
    };
    const session = new Session(link, context, { host, serverInfo });
    this.#sessions.add(session);
    this.#partCount++;
    return session;
  }

  endPart(session: Session): void {
    this.#retire(session);
    session.pauses.clear();
    if (this.#sessions.delete(session)) this.#partCount--;
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

  /** Takes a frame. A fault of the bridge ends only this client's connection. */
  take(session: Session, b: Buffer, start: number, end: number): void {
    try {
      this.#router.frame(session, b, start, end);
    } catch (error) {
      this.#faults.note('a message could not be handled', error, { clientId: session.clientId });
      this.cutOff(session, 'the bridge could not handle its message');
    }
  }

  /** The reason why one more client is refused, even if a silent one is ended for it. */
  #refusal(): string | undefined {
    if (!this.#isDraining) this.#endOneSilent();
    return this.#refusalNow();
  }

  /**
   * Ends the oldest silent connection to make room. Otherwise silent connections are kept: their clients may ask
   * without a handshake.
   */
  #endOneSilent(): void {
    const { clock, events } = this.#options;
    for (const session of this.#silent) {
      if (session.isOpen && !session.liveness.hasEverSpoken) {
        if (!session.liveness.isSilentFor(this.#limits.handshakeTimeoutMs, clock.now())) return;
        events.incident.tell('handshakeTimeouts', session);
        this.cutOff(session, 'it said nothing, and another client needs its place');
        session.link.destroy();
        return;
      }
      this.#silent.delete(session);
    }
  }

  #refusalNow(): string | undefined {
    const { maxClients: most } = this.#limits;
    if (this.#isDraining) return 'The bridge is shutting down';
    if (this.#openCount >= most) return `The bridge has ${most} clients already (limits.maxClients)`;
    if (this.#options.hasRoom?.() === false) return 'The bridge has no descriptors left for another client';
    return undefined;
  }

  #refuse(session: Session, message: string): void {
    this.#options.events.clientRefused.tell(session, message);
    session.output.fail('null', rpcError(INTERNAL_ERROR, message));
    if (this.#sessions.size - this.#partCount - this.#openCount < MOST_LINGERING) return this.#leave(session, TICK_MS);
    // Closed at once: many refused clients in one turn would use up the file descriptors reserved for refusing.
    this.#retire(session);
    session.output.flush();
    session.link.destroy();
  }

  /** Gives a client its id: the one it asked for, if that is free. */
  nameClient(session: Session, wanted: string | undefined): string {
    return this.#ids.give(session, wanted);
  }

  /** Ends a session that broke a rule; frames queued for it are still sent. */
  cutOff({ host: session }: Session, reason: string): void {
    if (!session.isOpen) return;
    this.#options.events.clientCutOff.tell(session, reason);
    this.#logger.warn('client cut off', { clientId: session.clientId, name: session.name, reason });
    this.#leave(session, TICK_MS);
  }

  /** Stops serving a session. Its link closes when all is read, or when the client reads nothing for `patienceMs`. */
  #leave(session: Session, patienceMs: number): void {
    if (!session.isOpen) return;
    this.#retire(session);
    session.liveness.waitFor(patienceMs);
    session.link.end();
  }

  #onDrained(session: Session): void {
    session.drained();
    for (const instance of session.instances()) instance.drained();
    for (const part of session.parts?.sessions() ?? []) this.#onDrained(part);
  }

  /** True once the daemon begins to end: it accepts no new calls. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  #onEnded(session: Session): void {
    session.noteClientEnded();
    session.abandonQuestions(); // a client that ends its side will not answer any more
    for (const part of session.parts?.sessions() ?? []) part.listens?.endAll(); // they would wait for ever
    if (session.state === 'connecting' && session.parts === undefined)
      this.#leave(session, this.#limits.stallTimeoutMs);
    else session.endWhenAnswered();
  }

  /** Forgets a session whose peer is a server; returns its link. */
  release(session: Session): Link {
    this.#retire(session);
    this.#sessionGone(session);
    session.pauses.remove(Pause.held);
    return this.#resumption.plainLink(session);
  }

  /** Ends everything under way for a session. Nothing more is done for it. */
  #retire(session: Session): void {
    if (session.state === 'closing') return;
    for (const part of session.parts?.sessions() ?? []) this.endPart(part);
    session.beginClosing();
    if (session.host === session) this.#openCount--;
    // Each step is contained, so that a fault in one does not skip the others.
    const step = (task: () => void): void => this.contain(session, task);
    step(() => {
      if (this.#resumption.forget(session)) this.#openCount++; // parked sessions were not counted
    });
    step(() => session.backlog.release());
    const calls = [...session.calls.values()];
    // Withdraws all calls first: the end of one may let others be sent, or be answered here.
    for (const call of calls) step(() => call.owner.withdraw(call));
    for (const call of calls) {
      this.#options.events.callGivenUp.tell(call, 'client-gone');
      step(() => call.owner.abandon(call));
    }
    // Instances that the client no longer uses may still work on its tasks.
    for (const instance of new Set(session.tasks.values())) step(() => instance.tasks.abandon(session));
    step(() => this.views.leave(session));
    for (const question of [...session.questions.values()]) step(() => question.abandon());
    step(() => session.roots.abandon());
    step(() => this.#options.messaging.left(session));
    step(() => this.#ids.takeBack(session));
    this.#options.events.clientLeft.tell(session);
  }

  /** Ends a parked session. */
  #giveUp(session: Session, reason: string): void {
    this.#logger.info('session given up', { clientId: session.clientId, name: session.name, reason });
    this.#retire(session);
    session.link.destroy();
  }

  /** Drops a new session after an older session has taken over its connection. */
  #dissolve(session: Session): void {
    session.beginClosing();
    this.#openCount--;
    this.#sessions.delete(session);
  }

  #forget(session: Session): void {
    this.#retire(session);
    this.#sessionGone(session);
  }

  #sessionGone(session: Session): void {
    this.#silent.delete(session);
    this.#sessions.delete(session);
    if (this.#sessions.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** Applies changed settings of clients. */
  clientSettingsChanged(): void {
    const { clientSettings } = this.#options;
    if (clientSettings === undefined) return;
    for (const session of this.#sessions) if (session.view !== undefined) session.applySettings(clientSettings);
  }

  /** Applies a changed set of servers. */
  serversChanged(): void {
    this.views.serversChanged((session, task) => this.contain(session, task));
  }

  /** Applies settings that decide which tools the bridge itself offers. */
  ownToolsChanged(): void {
    this.views.ownToolsChanged((session, task) => this.contain(session, task));
  }

  /** Refuses new clients and calls. Resolves when all calls are answered, or when the time limit ends. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#stopListening();
    this.#options.messaging.endWaits();
    this.#endListening();
    const deadline = this.#options.clock.now() + this.#limits.drainTimeoutMs;
    while (this.#openCalls() > 0 && this.#options.clock.now() < deadline) {
      await new Promise<void>((resolve) => this.#options.clock.after(20, resolve));
      this.#stopListening();
    }
  }

  /** Called repeatedly, because clients change during a drain: one gets a question, another becomes resumable. */
  #stopListening(): void {
    for (const session of this.#sessions) this.contain(session, () => this.#resumption.stopListening(session));
  }

  /** Ends the requests that last as long as their clients want. */
  #endListening(): void {
    for (const session of this.#sessions) this.contain(session, () => session.listens?.endAll());
  }

  #openCalls(): number {
    let open = 0;
    for (const session of this.#sessions)
      if (!this.isParked(session)) open += session.calls.size + (session.isHolding ? 1 : 0);
    return open;
  }

  /** Withdraws all calls of a session; returns those that were not sent to a server. */
  #withdraw(session: Session): ReadonlySet<Call> {
    const calls = [...session.calls.values()];
    const unsent = new Set(calls.filter((call) => !call.owner.wasSent(call)));
    for (const call of calls) this.contain(session, () => call.owner.withdraw(call));
    return unsent;
  }

  /** Tells a client that the daemon stops, and answers its calls. */
  #dismiss(session: Session, reason: LeavingReason, unsent: ReadonlySet<Call>): void {
    this.#router.abandon(session);
    // A client that can repeat its calls at the next daemon gets no errors: the client decides what is safe to repeat.
    const ids = [...unsent].map(({ id }) => JSON.stringify(id));
    if (this.#resumption.tellLeaving(session, reason, ids)) return;
    for (const call of session.calls.values()) {
      const error = cutShort(!unsent.has(call));
      this.#options.events.callFailed.tell(call, error);
      call.output.fail(call.idText, error);
    }
  }

  /** Ends all sessions; resolves when the last one has gone. */
  async close(reason: LeavingReason = 'stop'): Promise<void> {
    this.#endListening();
    // Withdraws all clients' calls first: the end of one session may let other calls be sent, which would fail anyway.
    const unsent = new Map([...this.#sessions].map((session) => [session, this.#withdraw(session)]));
    for (const session of [...this.#sessions]) {
      if (session.host !== session) continue;
      for (const one of [...(session.parts?.sessions() ?? []), session])
        this.contain(one, () => this.#dismiss(one, reason, unsent.get(one) ?? new Set()));
      this.#leave(session, TICK_MS);
    }
    // A client that reads slowly gets the same time once more.
    const last = this.#options.clock.after(this.#limits.drainTimeoutMs, () => {
      for (const session of this.#sessions) session.link.destroy();
    });
    if (this.#sessions.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
    last.cancel();
    this.#watch.end();
  }
}

function waitsForAnswers({ calls, parts }: Session): boolean {
  return calls.size > 0 || parts?.sessions().some((part) => part.calls.size > 0) === true;
}

/** True if a connection was used only by its parts. */
function isSplit({ parts, state }: Session): boolean {
  return parts !== undefined && state === 'connecting';
}

/** The number of clients with the same wanted id that get a counter added; further ones get random ids. */
const MOST_NAMESAKES = 20;

/** The ids of clients. No two clients share one. */
class ClientIds {
  readonly #owners = new Map<string, Session>();

  /** Gives a client its id: the one it asked for, if that is free. */
  give(session: Session, wanted: string | undefined): string {
    const base = wanted ?? `client-${randomBytes(4).toString('hex')}`;
    let id = base;
    for (let n = 2; this.#owners.has(id); n++)
      id = `${base}-${n < MOST_NAMESAKES ? n : randomBytes(4).toString('hex')}`;
    this.#owners.set(id, session);
    return id;
  }

  /** Frees the id of a client that has gone. */
  takeBack(session: Session): void {
    if (this.#owners.get(session.clientId) === session) this.#owners.delete(session.clientId);
  }
}

interface ClientWatchPorts {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly events: Events;
  readonly liveness: LivenessSettings;
  readonly servers: Pick<ServerDirectory, 'servers'>;
  readonly sessions: ReadonlySet<Session>;
  readonly resumption: Resumption;
  readonly faults: Faults;
  /** Runs a task for a session; a fault in it ends this session. */
  readonly contain: (session: Session, task: () => void) => void;
  readonly cutOff: (session: Session, reason: string) => void;
}

/**
 * Checks all clients and servers once a second: calls and questions whose time is up, and clients that read nothing or
 * are silent. One timer serves all: thousands of timers would cost memory, and a second more does not matter.
 */
class ClientWatch {
  readonly #ports: ClientWatchPorts;
  readonly #tick: Timer;
  #pings = 0;

  constructor(ports: ClientWatchPorts) {
    this.#ports = ports;
    this.#tick = ports.clock.every(TICK_MS, () => this.#tickAll());
  }

  end(): void {
    this.#tick.cancel();
  }

  #tickAll(): void {
    const { clock, servers, sessions, resumption, faults, contain } = this.#ports;
    const nowMs = clock.now();
    for (const session of sessions) contain(session, () => this.#tickSession(session, nowMs));
    faults.contain(
      () => resumption.tick(nowMs),
      (error) => faults.note('sessions without a connection could not be checked', error),
    );
    for (const server of servers.servers()) for (const instance of server.instances) instance.tick(nowMs);
  }

  #tickSession(session: Session, nowMs: number): void {
    const { limits, liveness, resumption } = this.#ports;
    for (const call of session.calls.values()) call.owner.tickCall(call, nowMs);
    session.roots.tick(nowMs);
    session.view?.tick(session, nowMs);
    if (resumption.isParked(session) || session.host !== session) return;
    if (session.isOpen) this.#act(session, session.liveness.look(nowMs, limits, liveness));
    else if (session.liveness.mayClose(nowMs)) session.link.destroy();
  }

  #act(session: Session, finding: LivenessFinding): void {
    const { events, cutOff } = this.#ports;
    switch (finding) {
      case undefined:
        return;
      case 'stalled':
        events.incident.tell('clientsStalled', session);
        cutOff(session, 'it reads nothing of what is sent to it');
        return session.link.destroy();
      case 'unresponsive':
        events.incident.tell('clientsUnresponsive', session);
        return cutOff(session, 'it does not answer pings');
      case 'probe':
        if (session.isOpen && waitsForAnswers(session)) session.output.probe();
        return;
      case 'ping':
        return this.#ping(session);
    }
  }

  #ping(session: Session): void {
    const id = `mcp-bridge/ping-${++this.#pings}`;
    session.liveness.pinged(id);
    session.output.ask(id, OWN_METHODS.ping);
    this.#ports.resumption.pinged(session);
  }
}
