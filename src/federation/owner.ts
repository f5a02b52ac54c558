// The owner's side: answers requests of other hosts for the servers that are offered. It checks what a request says of itself, and hands
// it to the core as that of a client. A request that came twice is one call; its answer is kept until the caller has it.

import { OTHER_HOSTS, type Places } from '../model/places.ts';
import type { BusPrincipal } from '../model/principal.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { certainId, INTERNAL_ERROR, rpcError } from '../protocol/rpc-error.ts';
import { everyOnTime, type Timer } from '../util/clock.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Carrier } from '../wire/link.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import { type BusHeaders, FixedHeaders, type ReceivedMessage } from './bus.ts';
import { CallStream } from './call-stream.ts';
import {
  bufferOf,
  callPlaceIn,
  errorResponse,
  frameKindOf,
  HEADER,
  headerText,
  WIRE_CODE,
  WIRE_VERSION,
} from './frames.ts';
import { Intake, type IntakeWork, type Sender } from './intake.ts';
import type { OwnedCall } from './owned-call.ts';
import { isFencedOff, type OwnerContext } from './owner-context.ts';
import {
  controlKey,
  controlPattern,
  isInbox,
  keyOfControl,
  parsedSubject,
  type RequestSubject,
  requestPattern,
  serverToken,
} from './subject.ts';

/** The least time that a call has to be answered before its caller is told that it has begun; the most is twice as long. */
const ACK_MS = 20;
const TICK_MS = 1000;
/** The most of one host, of all hosts that are on no list, of one user, and of all together. A host is named by its own word, a user by the subject. */
interface StreamBounds {
  readonly ofHost: number;
  readonly unlisted: number;
  readonly ofUser: number;
  readonly all: number;
}
const STREAMS: StreamBounds = { ofHost: 256, unlisted: 256, ofUser: 1536, all: 2048 };
/** The bounds at servers that give each stream an instance of its own: a process, as a rule. */
const INSTANCES: StreamBounds = { ofHost: 128, unlisted: 32, ofUser: 256, all: 512 };
/** The most streams that one host, or all that are on no list, and one user may begin between two ticks: each costs a session. */
const MOST_NEW_OF_HOST = 256;
const MOST_NEW_OF_USER = 512;
/** The most requests of one sender that are told between two ticks that there was no room for them. Others have to ask again. */
const MOST_TOLD = 64;
/** The most senders for which that is counted. */
const MOST_UNSERVED = 1024;
/** The most bytes of requests that wait, and of answers that wait, for the same. */
const MOST_BYTES_OF_HOST = 64 * 1024 * 1024;
const MOST_BYTES_UNLISTED = 64 * 1024 * 1024;
const MOST_BYTES_OF_USER = 192 * 1024 * 1024;
const MOST_BYTES = 256 * 1024 * 1024;
/** A stream that has only listened for so long gives way where no idle one does. Its home comes back, and its own gets as long a time. */
const LISTENED_MS = 60_000;
/** The most subjects that are remembered, and their length. */
const MOST_SUBJECTS = 256;
const MOST_SUBJECT_LETTERS = 256;
/** The most ended streams that are remembered. */
const MOST_ENDED = 4096;
/** No caller asks again after this time for what it has asked on a stream that has ended. */
const LATEST_MS = 600_000;

export interface OwnerOptions extends OwnerContext {
  readonly uid: number;
  readonly pacer: ReadPacer;
  /** The places of clients that have no connection of their own. */
  readonly places: Places;
  readonly failed: (error: unknown) => void;
  /** The run of a host that is on the list of hosts. */
  readonly runOf: (host: string) => string | undefined;
  /** Makes a session for a link, with this one view. */
  readonly accept: (link: Carrier, principal: BusPrincipal, view: string) => unknown;
  /** A request was refused for what it is. */
  readonly refused: (
    who: Pick<BusPrincipal, 'user' | 'host'> & { readonly server: string },
    why: string,
    count?: number,
  ) => void;
}

export interface OfferedName {
  readonly name: string;
  /** True if requests to any host that offers it may come here. False for one that remembers: each client has an instance of its own. */
  readonly isForAny: boolean;
}

const envelope = new Envelope(ERA_2026.keys);

export class Owner {
  readonly #options: OwnerOptions;
  /** By the token on the bus. */
  readonly #offers = new Map<string, { readonly name: string; readonly end: () => void }>();
  readonly #streams = new Map<string, CallStream>();
  /** The names of offered servers. */
  #offered: ReadonlySet<string> = new Set();
  /** Those of them that have an instance for each client. */
  #dedicated: ReadonlySet<string> = new Set();
  readonly #subjects = new Map<string, RequestSubject>();
  /** The headers of each frame for callers that count. */
  readonly #ownHeaders: FixedHeaders;
  /** When streams have ended, by their keys, the oldest first. */
  readonly #ended = new Map<string, number>();
  /** The time when the last one of those ended that are forgotten. */
  #forgottenMs = Number.NEGATIVE_INFINITY;
  /** Hosts that give no sign of life, and the time until which their calls go on. */
  readonly #silent = new Map<string, number>();
  /** Streams of hosts that have said goodbye: the run that has, and the time when they end, whoever is under that name by then. */
  readonly #left = new Map<CallStream, { readonly run: string; readonly untilMs: number }>();
  /** The streams that were begun since the last tick, by user and host, and by user. Those of hosts that are on no list count together. */
  readonly #new = new Map<string, number>();
  readonly #intake: Intake;
  /** The requests since the last tick for which there was no room, by their senders. */
  readonly #unserved = new Map<string, { readonly who: Sender; readonly server: string; count: number }>();
  readonly #tick: Timer;
  /** Calls that take what their callers say about them, by user and reply subject. */
  readonly #controlled = new Map<string, (message: ReceivedMessage) => void>();
  readonly #endControl: () => void;
  #isAckDue = false;
  /** Calls whose callers have not been told that they have begun: those of the last look and before, and those since. */
  #waiting = new Set<OwnedCall>();
  #fresh = new Set<OwnedCall>();
  /** All calls that were ever begun, for reports. */
  begun = 0;

  constructor(options: OwnerOptions) {
    this.#options = options;
    const { bus, tenant, host, run, clock } = options;
    this.#intake = new Intake(options);
    this.#ownHeaders = new FixedHeaders({ [HEADER.owner]: `${host} ${run}` });
    this.#tick = everyOnTime(clock, TICK_MS, () => this.tick());
    this.#endControl = bus.subscribe(controlPattern(tenant, host), (message) =>
      this.#controlled.get(keyOfControl(message.subject))?.(message),
    );
  }

  #listenTo(key: string, take: (message: ReceivedMessage) => void): () => void {
    this.#controlled.set(key, take);
    return () => {
      if (this.#controlled.get(key) === take) this.#controlled.delete(key);
    };
  }

  /** Offers exactly these servers from now on. */
  offer(names: readonly OfferedName[]): void {
    const { host } = this.#options;
    this.#dedicated = new Set(names.filter(({ isForAny }) => !isForAny).map(({ name }) => name));
    const wanted = new Map<string, string>();
    for (const { name, isForAny } of names) {
      wanted.set(serverToken(name, host), name);
      if (isForAny) wanted.set(serverToken(name), name);
    }
    for (const [token, { name, end }] of this.#offers) {
      if (wanted.get(token) === name) continue;
      end();
      this.#offers.delete(token);
    }
    for (const [token, name] of wanted)
      if (!this.#offers.has(token)) this.#offers.set(token, this.#listen(token, name));
    this.#offered = new Set(wanted.values());
    for (const stream of [...this.#streams.values()]) if (!this.#offered.has(stream.server)) stream.end();
  }

  /** Calls that are under way go on. */
  takeNoMore(): void {
    for (const { end } of this.#offers.values()) end();
    this.#offers.clear();
    this.#offered = new Set();
  }

  #listen(token: string, name: string) {
    const { bus, tenant } = this.#options;
    // The queue also holds the second connection of one daemon off a request.
    const work: IntakeWork = {
      serve: (message) => this.#take(name, message),
      senderOf: (message) => this.#turnOf(message),
      isInVain: (message) => this.#isInVain(name, message),
      refuse: (message, who) => this.#onNoRoom(name, message, who),
    };
    const take = (message: ReceivedMessage): void => this.#intake.take(message, work);
    return { name, end: bus.subscribe(requestPattern(tenant, token), take, { queue: token }) };
  }

  /** The sender for whose turn a request waits. All hosts that are on no list are one, in which their users take turns. */
  #turnOf({ subject, headers }: ReceivedMessage): Sender {
    const known = this.#subjectIn(subject);
    if (known === undefined) return NOBODY;
    const who = senderOf(known, headers);
    return this.#isListed(who.host) ? who : { user: '', host: who.user };
  }

  /** True for what a sender says about a new stream, while it may begin none: to refuse it costs less than to let it wait. */
  #isInVain(server: string, { subject, headers }: ReceivedMessage): boolean {
    const known = this.#subjectIn(subject);
    if (known === undefined) return true;
    const who = senderOf(known, headers);
    return (
      this.#busyWith(who) !== undefined && !this.#streams.has(streamKey(who, server, callPlaceIn(headers)?.stream))
    );
  }

  /** One that was sent before may have begun, so it is told nothing. */
  #onNoRoom(server: string, message: ReceivedMessage, who: Sender): void {
    const { headers, reply } = message;
    const sender = `${who.user} ${who.host}`;
    const unserved = this.#unserved.get(sender) ?? { who, server, count: 0 };
    unserved.count++;
    if (unserved.count === 1 && this.#unserved.size < MOST_UNSERVED) this.#unserved.set(sender, unserved);
    if (unserved.count > MOST_TOLD || !this.#unserved.has(sender) || reply === undefined || !isInbox(reply)) return;
    if (headers[HEADER.again] === undefined)
      this.#fail(
        message,
        rpcError(INTERNAL_ERROR, `Too much of host ${who.host} waits already; ask again later`, {
          retryAfterMs: TICK_MS,
        }),
      );
  }

  /** The number of streams of calls, and of calls that are not answered. */
  get load(): { readonly streams: number; readonly calls: number } {
    let calls = 0;
    for (const stream of this.#streams.values()) calls += stream.openCount;
    return { streams: this.#streams.size, calls };
  }

  /** The bytes that are held for callers. */
  get heldBytes(): number {
    let bytes = 0;
    for (const stream of this.#streams.values()) bytes += stream.heldBytes;
    return bytes;
  }

  /** A host gives no sign of life: it is maybe cut off for a moment, and wants its answers when it is back. */
  hostSilent(host: string): void {
    this.#silent.set(host, this.#options.clock.now() + this.#options.limits.resumeGraceMs);
  }

  /**
   * A run of a host has said goodbye, or another one is there: it asks nothing more, and may wait for what it has asked. The next run may have asked
   * before anybody has heard of it, so a stream on which more is asked is the next one's.
   */
  hostLeft(host: string, run: string): void {
    this.hostSilent(host);
    const untilMs = this.#options.clock.now() + this.#options.limits.resumeGraceMs;
    for (const stream of this.#streamsOf(host)) {
      if (stream.openCount === 0) stream.end();
      else if (!this.#left.has(stream)) this.#left.set(stream, { run, untilMs });
    }
  }

  /** A host is gone: nobody takes answers there any more. */
  hostGone(host: string): void {
    this.#silent.delete(host);
    for (const stream of this.#streamsOf(host)) stream.end();
  }

  #streamsOf(host: string): CallStream[] {
    return [...this.#streams.values()].filter(({ principal }) => principal.host === host);
  }

  close(): void {
    this.#tick.cancel();
    this.#intake.close();
    this.#endControl();
    this.offer([]);
    for (const stream of [...this.#streams.values()]) stream.end();
  }

  // --- requests ---

  /** Takes a message on the subject of an offered server. */
  #take(server: string, message: ReceivedMessage): void {
    const subject = this.#subjectIn(message.subject);
    if (subject === undefined || subject.tenant !== this.#options.tenant) return;
    const { headers, reply } = message;
    const place = callPlaceIn(headers);
    const who = senderOf(subject, headers);
    const key = streamKey(who, server, place?.stream);
    const known = this.#streams.get(key);
    if (reply === undefined) {
      if (frameKindOf(headers) === 'end') known?.end(); // the caller leaves
      return;
    }
    if (!isInbox(reply)) return this.#options.refused({ ...who, server }, 'its answer is to go to no inbox');
    if (headers[HEADER.wire] !== WIRE_VERSION)
      return this.#refuse(message, { server, who }, WIRE_CODE.mismatch, `${HEADER.wire} is not ${WIRE_VERSION}`);
    const isNumbered = headers[HEADER.acceptPart] === '1';
    if (isNumbered && place === undefined)
      return this.#refuse(message, { server, who }, WIRE_CODE.mismatch, `${HEADER.call} is missing or wrong`);
    if (place !== undefined && known !== undefined && isNumbered) {
      const call = known.calls.get(place.number);
      if (call !== undefined) return call.again(reply, headers);
      if (known.mayHaveBegun(place.number)) return this.#unknown(message, 'it is not known any more');
    }
    // What was asked before may have been done: by the daemon before this one, or on a stream that is forgotten by now.
    const isForgotten = known === undefined && this.#options.clock.now() - this.#forgottenMs < LATEST_MS;
    if (headers[HEADER.again] !== undefined && (isForgotten || !this.#isOfThisRun(headers)))
      return this.#unknown(message, 'the daemon there has forgotten it');
    // What was begun on a stream that has ended may have been done, whoever has the lease by now.
    if (this.#ended.has(key)) return this.#unknown(message, 'its connection was ended');
    if (isFencedOff(server, headers, this.#options))
      return this.#fail(message, rpcError(WIRE_CODE.nobody, `Host ${this.#options.host} does not serve ${server} now`));
    if (known === undefined && !this.#offered.has(server))
      // it was, when the request came
      return this.#fail(
        message,
        rpcError(WIRE_CODE.nobody, `Host ${this.#options.host} does not offer ${server} any more`),
      );
    const busy = known === undefined ? this.#busyWith(who) : undefined;
    if (busy !== undefined)
      return this.#refuse(message, { server, who }, INTERNAL_ERROR, busy, { retryAfterMs: TICK_MS });
    const stream = known ?? this.#newStream(key, server, who, place !== undefined);
    if (stream === undefined) {
      const why = `There is no room for one more client of host ${who.host}: all that are here have calls under way, or have begun to listen a moment ago`;
      return this.#refuse(message, { server, who }, INTERNAL_ERROR, why);
    }
    this.#left.delete(stream);
    stream.begin(subject, message, isNumbered ? place : undefined);
  }

  /** Callers ask for the same again and again: what was read of a subject is remembered for a while. */
  #subjectIn(text: string): RequestSubject | undefined {
    const known = this.#subjects.get(text);
    if (known !== undefined) return known;
    const subject = parsedSubject(text);
    if (subject === undefined || text.length > MOST_SUBJECT_LETTERS) return subject;
    if (this.#subjects.size >= MOST_SUBJECTS) this.#subjects.clear();
    this.#subjects.set(text, subject);
    return subject;
  }

  #isListed(host: string): boolean {
    return this.#options.runOf(host) !== undefined;
  }

  #isOfThisRun(headers: BusHeaders): boolean {
    return headers[HEADER.again]?.split(' ')[1] === this.#options.run;
  }

  /** The name under which the new streams of a host are counted. */
  #countedAs({ user, host }: Sender): string {
    return this.#isListed(host) ? `${user} ${host}` : '';
  }

  /** Why a sender may begin no stream before the next tick. */
  #busyWith(who: Sender): string | undefined {
    const begunBy = (name: string): number => this.#new.get(name) ?? 0;
    if (begunBy(this.#countedAs(who)) >= MOST_NEW_OF_HOST)
      return `Host ${who.host} begins too many connections at once`;
    if (begunBy(who.user) < MOST_NEW_OF_USER) return undefined;
    return `The hosts of user ${who.user} begin too many connections at once`;
  }

  #newStream(key: string, server: string, { user, host }: Sender, isCounted: boolean): CallStream | undefined {
    const { tenant, uid, places } = this.#options;
    if (!this.#hasRoomForStream({ user, host }, server)) return undefined;
    for (const name of [this.#countedAs({ user, host }), user]) this.#new.set(name, (this.#new.get(name) ?? 0) + 1);
    const asking = { client: undefined };
    const principal: BusPrincipal = { kind: 'bus', uid, pid: undefined, tenant, user, host, asking };
    const stream = new CallStream(
      { server, principal },
      {
        ...this.#options,
        ownHeaders: this.#ownHeaders,
        ended: () => {
          this.#streams.delete(key);
          places.giveBack(OTHER_HOSTS);
          this.#left.delete(stream);
          if (isCounted) this.#noteEnded(key);
        },
        refused: (message, code, why) => this.#refuse(message, { server, who: principal }, code, why),
        noted: (why) => this.#options.refused({ user, host, server }, why),
        caller: `${user} ${host}`,
        callerHost: host,
        makeRoom: () => this.#makeRoom({ user, host }),
        begun: (call) => this.#begun(call),
        settled: (call) => this.#fresh.delete(call) || this.#waiting.delete(call),
        hasRoomFor: (bytes) => this.#hasRoomFor({ user, host }, bytes),
        listen: (reply, take) => this.#listenTo(controlKey(user, reply), take),
      },
    );
    this.#streams.set(key, stream);
    places.take(OTHER_HOSTS);
    return stream;
  }

  /** Remembers a stream that has ended: a request of it that comes late, or twice, begins nothing. */
  #noteEnded(key: string): void {
    this.#ended.set(key, this.#options.clock.now());
    if (this.#ended.size <= MOST_ENDED) return;
    for (const [oldest, endedMs] of this.#ended) {
      this.#ended.delete(oldest);
      this.#forgottenMs = endedMs;
      return;
    }
  }

  /** True if a caller may have one more stream at a server. Where each client has an instance of its own, fewer may. */
  #hasRoomForStream(who: Sender, server: string): boolean {
    const isDedicated = (one: string): boolean => this.#dedicated.has(one);
    if (isDedicated(server) && !this.#isWithin(INSTANCES, who, (stream) => isDedicated(stream.server))) return false;
    if (!this.#isWithin(STREAMS, who, () => true)) return false;
    return this.#options.places.hasRoom(OTHER_HOSTS) || this.#endOne(ofMost([...this.#streams.values()]));
  }

  /**
   * True if there is room for one more of the streams that count. At a bound, the one that has been idle longest gives way: of those that count there, or of
   * the user with most.
   */
  #isWithin(bounds: StreamBounds, who: Sender, counts: (stream: CallStream) => boolean): boolean {
    const { ofHost, unlisted, ofUser, all } = this.#sums(who, (stream) => (counts(stream) ? 1 : 0));
    const streams = [...this.#streams.values()].filter(counts);
    if (ofHost >= bounds.ofHost)
      return this.#endOne(streams.filter(({ principal: { user, host } }) => user === who.user && host === who.host));
    if (!this.#isListed(who.host) && unlisted >= bounds.unlisted)
      return this.#endOne(streams.filter(({ principal }) => !this.#isListed(principal.host)));
    if (ofUser < bounds.ofUser && all < bounds.all) return true;
    if (ofUser >= bounds.ofUser) return this.#endOne(streams.filter(({ principal }) => principal.user === who.user));
    return this.#endOne(ofMost(streams));
  }

  /** Ends the stream on which nothing has been under way for longest, else the one that has only listened for longest. False if there is none. */
  #endOne(streams: readonly CallStream[]): boolean {
    const untilMs = this.#options.clock.now() - LISTENED_MS;
    const [idle] = streams
      .filter(({ openCount }) => openCount === 0)
      .toSorted((one, other) => one.usedMs - other.usedMs);
    const [one] = idle === undefined ? listening(streams, untilMs) : [idle];
    one?.end();
    return one !== undefined;
  }

  #hasRoomFor(who: Sender, bytes: number): boolean {
    const { ofHost, unlisted, ofUser, all } = this.#sums(who, ({ heldBytes }) => heldBytes);
    if (!this.#isListed(who.host) && unlisted + bytes > MOST_BYTES_UNLISTED) return false;
    return ofHost + bytes <= MOST_BYTES_OF_HOST && ofUser + bytes <= MOST_BYTES_OF_USER && all + bytes <= MOST_BYTES;
  }

  /** Sums over the streams of a caller's host, of hosts that are on no list, of the caller's user, and of all. */
  #sums({ user, host }: Sender, of: (stream: CallStream) => number) {
    const sums = { ofHost: 0, unlisted: 0, ofUser: 0, all: 0 };
    for (const stream of this.#streams.values()) {
      const { principal } = stream;
      const count = of(stream);
      sums.all += count;
      if (principal.user === user) sums.ofUser += count;
      if (principal.user === user && principal.host === host) sums.ofHost += count;
      if (!this.#isListed(principal.host)) sums.unlisted += count;
    }
    return sums;
  }

  /** Forgets answers that were sent to a caller's host and may have come there. */
  #makeRoom({ user, host }: Sender): void {
    for (const stream of this.#streams.values())
      if (stream.principal.user === user && stream.principal.host === host) stream.forgetSent();
  }

  #begun(call: OwnedCall): void {
    this.begun++;
    this.#fresh.add(call);
    if (!this.#isAckDue) this.#acknowledgeLater();
  }

  /** Looks twice at each call: of many short ones that are under way at a time, one look would acknowledge each that it happens to see. */
  #acknowledgeLater(): void {
    this.#isAckDue = true;
    this.#options.clock.after(ACK_MS, () => {
      const due = this.#waiting;
      this.#waiting = this.#fresh;
      this.#fresh = new Set();
      this.#isAckDue = this.#waiting.size > 0;
      if (this.#isAckDue) this.#acknowledgeLater();
      for (const one of due) one.acknowledge();
    });
  }

  #refuse(
    message: ReceivedMessage,
    { server, who }: { readonly server: string; readonly who: Pick<BusPrincipal, 'user' | 'host'> },
    code: number,
    why: string,
    data?: Readonly<Record<string, unknown>>,
  ): void {
    this.#options.refused({ user: who.user, host: who.host, server }, why);
    this.#fail(message, rpcError(code, why, data));
  }

  #unknown(message: ReceivedMessage, why: string): void {
    this.#fail(message, rpcError(WIRE_CODE.streamLost, `Nothing is known of the call: ${why}`));
  }

  #fail({ reply = '', data }: ReceivedMessage, error: string): void {
    const b = bufferOf(data);
    const isRead = envelope.scan(b, 0, b.length, this.#options.limits.maxDepth) || envelope.has(Field.id);
    const id = isRead ? certainId(envelope, b) : 'null';
    const { bus, host, run } = this.#options;
    // It has no number: it is no frame of a call that has begun.
    const headers = { [HEADER.frame]: 'err', [HEADER.owner]: `${host} ${run}` };
    bus.publish({ subject: reply, headers, data: errorResponse(id, error) });
  }

  #tellUnserved(): void {
    for (const { who, server, count } of this.#unserved.values()) {
      const { user, host } = who.user === '' ? { user: who.host, host: '' } : who;
      this.#options.refused({ user, host, server }, 'too much of it waits', count);
    }
    this.#unserved.clear();
  }

  /** Called once a second. */
  tick(): void {
    const nowMs = this.#options.clock.now();
    this.#new.clear();
    this.#tellUnserved();
    for (const stream of [...this.#streams.values()]) stream.tick(nowMs);
    for (const [stream, { run, untilMs }] of [...this.#left]) {
      if (this.#options.runOf(stream.principal.host) === run) this.#left.delete(stream);
      else if (nowMs >= untilMs) stream.end();
    }
    for (const [host, untilMs] of this.#silent) {
      if (this.#isListed(host)) this.#silent.delete(host);
      else if (nowMs >= untilMs) this.hostGone(host);
    }
  }
}

/** Those of the user with most. */
function ofMost(streams: readonly CallStream[]): readonly CallStream[] {
  const byUser = new Map<string, CallStream[]>();
  for (const stream of streams) {
    const of = byUser.get(stream.principal.user);
    if (of === undefined) byUser.set(stream.principal.user, [stream]);
    else of.push(stream);
  }
  const [most = []] = [...byUser.values()].toSorted((one, other) => other.length - one.length);
  return most;
}

/** Those that do nothing but listen, at least since then. The one that has done so for longest comes first. */
function listening(streams: readonly CallStream[], untilMs: number): CallStream[] {
  const sinceMs = ({ listensSinceMs = Number.POSITIVE_INFINITY }: CallStream): number => listensSinceMs;
  return streams.filter((one) => sinceMs(one) <= untilMs).toSorted((one, other) => sinceMs(one) - sinceMs(other));
}

const NOBODY: Sender = { user: '', host: '' };

/** The key of a stream of calls. User and stream are tokens; only the host, which comes last, may be any text. */
function streamKey({ user, host }: Sender, server: string, stream = ''): string {
  return `${user} ${stream} ${server.length} ${server} ${host}`;
}

/** The sender by its own word, but for the user, which is in the subject. */
function senderOf({ user }: RequestSubject, headers: BusHeaders): Sender {
  return { user, host: (headerText(headers[HEADER.host]) ?? '').slice(0, 128) };
}
