// Follows calls from beginning to end while somebody watches; otherwise it does not listen. If there are more calls per
// second than the watchers want to see, it only counts the rest. It never keeps arguments or results.

import { randomBytes } from 'node:crypto';
import { type CallOutcome, outcomeOfAnswer, outcomeOfCode } from '../core/audit-trail.ts';
import type { Events, ObservedCall, ObservedClient, WaitReason } from '../core/events.ts';
import type { CallRole } from '../protocol/era.ts';
import { codeIn } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { bounded } from './bounded-text.ts';
import type { CallEvent, CallReport } from './event-report.ts';

/** The maximum number of ended calls that are kept. */
const MOST_RECENT = 1000;
/** The maximum number of calls followed at a time. */
const MOST_FOLLOWED = 10_000;
const LONGEST_NAME = 200;

interface FollowedCallsOptions {
  readonly events: Events;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly date: () => number;
  readonly happened: (event: CallEvent, call: FollowedCall) => void;
}

export class FollowedCalls {
  readonly #options: FollowedCallsOptions;
  readonly #followed = new Map<object, FollowedCall>();
  readonly #names = new CallNames();
  /** Ended calls in a ring; `#next` is the index of the oldest. */
  #recent: CallReport[] = [];
  #next = 0;
  #stops: readonly (() => void)[] = [];
  #sinceMs: number | undefined;
  /** Calls that may still be followed until the budget is renewed. */
  #budget = 0;
  /** The client whose tool request is being looked at, and the followed call for it, if any. */
  #wantedBy: ObservedClient | undefined;
  #wanted: FollowedCall | undefined;
  /** Calls that began since it listens, and how many of them are not followed; zero while it does not listen. */
  begun = 0;
  leftOut = 0;

  constructor(options: FollowedCallsOptions) {
    this.#options = options;
  }

  /** The time since which calls are followed, since 1970; undefined while they are not. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** Ended calls, newest first. */
  recent(): CallReport[] {
    return [...this.#recent.slice(this.#next), ...this.#recent.slice(0, this.#next)].reverse();
  }

  /** The followed call; undefined if it is not followed. */
  of(call: ObservedCall): FollowedCall | undefined {
    return this.#followed.get(call);
  }

  /** The name of a call, followed or not. A call that waits for a retry is known by its suspension. */
  nameOf(call: object): string {
    return this.#followed.get(call)?.call ?? this.#names.of(call);
  }

  /** True if this is the name of a call. */
  isNamed(call: object, name: string): boolean {
    return (this.#followed.get(call)?.call ?? this.#names.known(call)) === name;
  }

  renewBudget(calls: number): void {
    this.#budget = calls;
  }

  start(): void {
    if (this.#sinceMs !== undefined) return;
    this.#sinceMs = this.#options.date();
    this.#stops = [...this.#hearBeginnings(), ...this.#hearSteps(), ...this.#hearEnds()];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#sinceMs = undefined;
    this.begun = 0;
    this.leftOut = 0;
    this.#followed.clear();
    this.#recent = [];
    this.#next = 0;
    this.#wanted = undefined;
    this.#wantedBy = undefined;
  }

  #hearBeginnings(): (() => void)[] {
    const { events } = this.#options;
    return [
      events.toolWanted.on((session, frame, envelope) => {
        this.#wantedBy = session;
        this.#wanted = this.#mayFollow() ? this.#begin(session, 'call') : undefined;
        this.#wanted?.read(frame, envelope);
      }),
      events.toolAimed.on((session, { server, tool }) => {
        if (this.#wantedBy === session) this.#wanted?.aim(server, tool);
      }),
      events.errorWritten.on((session, error) => {
        if (this.#wantedBy === session) this.#wanted?.fail(error);
      }),
      events.callBegun.on((call) => {
        if (this.#wantedBy === call.session) this.#adopt(call);
        else if (this.#mayFollow()) this.#follow(call, this.#begin(call.session, call.plan.role));
      }),
      events.toolTaken.on(() => {
        const refused = this.#wanted;
        this.#wanted = undefined;
        this.#wantedBy = undefined;
        if (refused !== undefined) this.#end(refused); // otherwise it would be a call by now
      }),
    ];
  }

  #mayFollow(): boolean {
    this.begun++;
    if (this.#budget > 0 && this.#followed.size < MOST_FOLLOWED) {
      this.#budget--;
      return true;
    }
    this.leftOut++;
    return false;
  }

  #begin(session: ObservedClient, role: CallRole): FollowedCall {
    const { clock, date } = this.#options;
    return new FollowedCall(this.#names.next(), session, { role, begunMs: clock.now(), at: date() });
  }

  /** Notes that a tool request has become a call. */
  #adopt(call: ObservedCall): void {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    this.#wantedBy = undefined;
    if (wanted !== undefined) this.#follow(call, wanted);
  }

  #follow(call: ObservedCall, followed: FollowedCall): void {
    followed.request = bounded(call.idText);
    this.#followed.set(call, followed);
  }

  #hearSteps(): (() => void)[] {
    const { events } = this.#options;
    return [
      events.callRouted.on((call, server) => this.#of(call)?.reach(server, call.nameText)),
      events.callWaiting.on((call, why) => {
        const followed = this.#of(call);
        if (followed === undefined) return;
        followed.wait(why, this.#options.clock.now());
        this.#tell(followed, { kind: 'call.waiting', ...this.#named(followed), for: why });
      }),
      events.callSent.on((call, server) => {
        const followed = this.#of(call);
        if (followed === undefined) return;
        followed.reach(server, call.nameText);
        followed.send(this.#options.clock.now());
        this.#tell(followed, { kind: 'call.sent', ...this.#named(followed) });
      }),
      events.callProgressed.on((call) => {
        const followed = this.#of(call);
        if (followed === undefined) return;
        const count = ++followed.progress;
        this.#tell(followed, { kind: 'call.progress', ...this.#named(followed), count });
      }),
      events.serverAnswered.on((call) => {
        const followed = this.#of(call);
        if (followed === undefined) return;
        followed.leaveServer(this.#options.clock.now());
        this.#tell(followed, { kind: 'call.answered', ...this.#named(followed) });
      }),
      events.serverSilent.on((call) => this.#of(call)?.leaveServer(this.#options.clock.now())),
      events.callContinued.on((retry, call) => {
        const followed = this.#of(retry);
        this.#followed.delete(retry);
        if (followed !== undefined) this.#followed.set(call, followed);
      }),
    ];
  }

  #hearEnds(): (() => void)[] {
    const { events } = this.#options;
    return [
      events.callAnswered.on((call, b, envelope) => this.#of(call)?.settle(outcomeOfAnswer(b, envelope))),
      events.callSuspended.on((call) => {
        const followed = this.#of(call);
        if (followed === undefined) return;
        followed.settle('asked');
        this.#tell(followed, { kind: 'call.suspended', ...this.#named(followed) });
      }),
      events.callAnsweredHere.on((call) => this.#of(call)?.settle('ok')),
      events.callFailed.on((call, error) => this.#of(call)?.fail(error)),
      events.callGivenUp.on((call, why) => this.#of(call)?.settle(why)),
      events.callEnded.on((call) => {
        const followed = this.#followed.get(call);
        if (followed === undefined) return;
        this.#followed.delete(call);
        this.#end(followed);
      }),
    ];
  }

  #of(call: ObservedCall): FollowedCall | undefined {
    return this.#followed.get(call);
  }

  #named({ call, session, server, tool }: FollowedCall) {
    return { at: this.#options.date(), call, client: session.clientId, server, tool };
  }

  /** Reports the beginning only together with the first event, because only then the call's target is known. */
  #tell(followed: FollowedCall, event: CallEvent): void {
    const { happened } = this.#options;
    if (!followed.isTold) {
      followed.isTold = true;
      const { session, request, role, requestBytes, at } = followed;
      const begun = { clientName: bounded(session.name), request, role, requestBytes };
      happened({ kind: 'call.begun', ...this.#named(followed), at, ...begun }, followed);
    }
    happened(event, followed);
  }

  #end(followed: FollowedCall): void {
    const report = followed.report(this.#options.clock.now());
    const { at: begunAt, ...rest } = report;
    this.#tell(followed, { kind: 'call.ended', at: this.#options.date(), begunAt, ...rest });
    if (this.#recent.length < MOST_RECENT) this.#recent.push(report);
    else {
      this.#recent[this.#next] = report;
      this.#next = (this.#next + 1) % MOST_RECENT;
    }
  }
}

/** Names of calls. None is used twice, even after a restart: an old page must not cancel another call. */
class CallNames {
  readonly #prefix = randomBytes(4).toString('hex');
  readonly #unfollowed = new WeakMap<object, string>();
  #last = 0;

  next(): string {
    return `${this.#prefix}-${++this.#last}`;
  }

  of(call: object): string {
    const name = this.#unfollowed.get(call) ?? this.next();
    this.#unfollowed.set(call, name);
    return name;
  }

  known(call: object): string | undefined {
    return this.#unfollowed.get(call);
  }
}

interface Beginning {
  readonly role: CallRole;
  readonly begunMs: number;
  readonly at: number;
}

/** A call that is followed. */
export class FollowedCall {
  readonly call: string;
  readonly session: ObservedClient;
  readonly role: CallRole;
  readonly begunMs: number;
  readonly at: number;
  /** The id of its request, in JSON. */
  request = '';
  server: string | null = null;
  tool: string | null = null;
  requestBytes: number | null = null;
  progress = 0;
  isTold = false;
  /** The watches that have decided whether to show it. */
  readonly shownBy = new Map<object, boolean>();
  readonly #waits = new Set<WaitReason>();
  /** The time since which it waits; undefined while it does not wait. */
  #waitsSinceMs: number | undefined;
  #waitedMs = 0;
  /** The time at which it was sent; undefined while no server has it. */
  #sentMs: number | undefined;
  #serverMs: number | undefined;
  #outcome: CallOutcome | undefined;
  #code = '';
  #sentBefore = -1;

  constructor(call: string, session: ObservedClient, { role, begunMs, at }: Beginning) {
    this.call = call;
    this.session = session;
    this.role = role;
    this.begunMs = begunMs;
    this.at = at;
  }

  get waits(): readonly WaitReason[] {
    return [...this.#waits];
  }

  /** Reads the tool request. */
  read({ b, start, end }: Frame, envelope: Envelope): void {
    this.requestBytes = end - start;
    this.request = envelope.has(Field.id) ? bounded(envelope.raw(b, Field.id)) : '';
    if (envelope.has(Field.name) && !envelope.ambiguous.includes(Field.name))
      this.tool = nameIn(envelope.raw(b, Field.name));
  }

  /** Notes the target of a call through another tool; '' for a missing name. */
  aim(server: string, tool: string): void {
    if (server !== '') this.server = bounded(server);
    if (tool !== '') this.tool = bounded(tool);
  }

  /** Notes the server, and its own name of the tool; '' if the client uses the same name. */
  reach(server: string, nameText: string): void {
    this.server = server;
    if (nameText !== '' && this.role === 'call') this.tool = nameIn(nameText);
  }

  wait(why: WaitReason, nowMs: number): void {
    this.#waits.add(why);
    this.#waitsSinceMs ??= nowMs;
  }

  send(nowMs: number): void {
    this.#waitedMs = this.waitedMsAt(nowMs);
    this.#waitsSinceMs = undefined;
    this.#sentMs = nowMs;
  }

  leaveServer(nowMs: number): void {
    if (this.#sentMs === undefined) return;
    this.#serverMs = (this.#serverMs ?? 0) + nowMs - this.#sentMs;
    this.#sentMs = undefined;
  }

  /** The time that it spent waiting, for the reasons in `waits`. */
  waitedMsAt(nowMs: number): number {
    return this.#waitedMs + (this.#waitsSinceMs === undefined ? 0 : nowMs - this.#waitsSinceMs);
  }

  /** The time that servers worked on it; undefined if it was never sent. */
  serverMsAt(nowMs: number): number | undefined {
    const atServer = this.#sentMs === undefined ? undefined : nowMs - this.#sentMs;
    return this.#serverMs === undefined && atServer === undefined ? undefined : (this.#serverMs ?? 0) + (atServer ?? 0);
  }

  fail(error: BridgeError | string): void {
    const code = typeof error === 'string' ? codeIn(error) : error.code;
    this.settle(outcomeOfCode(code), code);
  }

  /** Sets the outcome. Only the first one counts, because later ones follow from it. */
  settle(outcome: CallOutcome, code = ''): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#code = code;
    this.#sentBefore = this.session.output.writtenBytes;
  }

  report(nowMs: number): CallReport {
    const { call, session, request, role, server, tool, at, progress, requestBytes } = this;
    return {
      ...{ call, client: session.clientId, clientName: bounded(session.name), request, role, server, tool, at },
      outcome: this.#outcome ?? 'ok',
      code: this.#code === '' ? null : bounded(this.#code),
      totalMs: nowMs - this.begunMs,
      waitedMs: this.waitedMsAt(nowMs),
      serverMs: this.serverMsAt(nowMs) ?? null,
      waits: this.waits,
      ...{ progress, requestBytes },
      answerBytes: this.#sentBefore < 0 ? 0 : Math.max(0, session.output.writtenBytes - this.#sentBefore),
    };
  }
}

/** The name in a JSON string in latin1; unchanged if it is no string. */
export function nameIn(json: string): string {
  if (json.length > LONGEST_NAME * 6) return bounded(json);
  try {
    const name: unknown = JSON.parse(Buffer.from(json, 'latin1').toString());
    return bounded(typeof name === 'string' ? name : json);
  } catch (error) {
    expectSyntaxError(error);
    return bounded(json);
  }
}
