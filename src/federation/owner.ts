// The owner's side: answers requests of other hosts for the servers that are offered. It checks what a request says
// about itself, and hands it to the core like that of a client. A request that came twice is one call; its answer is
// kept until the caller has it.

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

/**
 * A call gets at least this time to be answered before its caller is told that it has begun; at most twice this time.
 */
const ACK_MS = 20;
const TICK_MS = 1000;
/**
 * The maximum number of streams for one host, for all unlisted hosts together, for one user, and for all. The host is
 * only the sender's claim; the subject proves the user.
 */
interface StreamBounds {
  readonly ofHost: number;
  readonly unlisted: number;
  readonly ofUser: number;
  readonly all: number;
}
const STREAMS: StreamBounds = { ofHost: 256, unlisted: 256, ofUser: 1536, all: 2048 };
/** The bounds at servers that give each stream its own instance, usually a process. */
const INSTANCES: StreamBounds = { ofHost: 128, unlisted: 32, ofUser: 256, all: 512 };
/**
 * The maximum number of streams that one host (or all unlisted hosts together), and one user, may begin between two
 * ticks. Each stream costs a session.
 */
const MOST_NEW_OF_HOST = 256;
const MOST_NEW_OF_USER = 512;
/**
 * The maximum number of requests per sender, between two ticks, that are told that there was no room. The others get no
 * word and have to be sent again.
 */
const MOST_TOLD = 64;
/** The maximum number of senders that are counted for this. */
const MOST_UNSERVED = 1024;
/** The maximum bytes of waiting requests and waiting answers, for the same senders. */
const MOST_BYTES_OF_HOST = 64 * 1024 * 1024;
const MOST_BYTES_UNLISTED = 64 * 1024 * 1024;
const MOST_BYTES_OF_USER = 192 * 1024 * 1024;
const MOST_BYTES = 256 * 1024 * 1024;
/**
 * A stream that has only listened for so long gives way if no idle one can. Its home comes back, and the new stream
 * gets as much time.
 */
const LISTENED_MS = 60_000;
/** The maximum number of remembered subjects, and their maximum length. */
const MOST_SUBJECTS = 256;
const MOST_SUBJECT_LETTERS = 256;
/** The maximum number of ended streams that are remembered. */
const MOST_ENDED = 4096;
/** After this time no caller asks again about a request on an ended stream. */
const LATEST_MS = 600_000;

export interface OwnerOptions extends OwnerContext {
  readonly uid: number;
  readonly pacer: ReadPacer;
  /** The places of clients that have no connection of their own. */
  readonly places: Places;
  readonly failed: (error: unknown) => void;
  /** Returns the run of a host that is on the list of hosts. */
  readonly runOf: (host: string) => string | undefined;
  /** Makes a session for a link, with this one view. */
  readonly accept: (link: Carrier, principal: BusPrincipal, view: string) => unknown;
  /** Called when a request was refused because of its content. */
  readonly refused: (
    who: Pick<BusPrincipal, 'user' | 'host'> & { readonly server: string },
    why: string,
    count?: number,
  ) => void;
}

export interface OfferedName {
  readonly name: string;
  /**
   * True if requests to any host that offers the server may come here. False for a server that keeps state: each client
   * has its own instance.
   */
  readonly isForAny: boolean;
}

const envelope = new Envelope(ERA_2026.keys);

export class Owner {
  readonly #options: OwnerOptions;
  /** Offers by their tokens on the bus. */
  readonly #offers = new Map<string, { readonly name: string; readonly end: () => void }>();
  readonly #streams = new Map<string, CallStream>();
  /** The names of offered servers. */
  #offered: ReadonlySet<string> = new Set();
  /** The offered servers with one instance per client. */
  #dedicated: ReadonlySet<string> = new Set();
  readonly #subjects = new Map<string, RequestSubject>();
  /** The headers of each frame for callers that count frames. */
  readonly #ownHeaders: FixedHeaders;
  /** The end times of streams by their keys, oldest first. */
  readonly #ended = new Map<string, number>();
  /** The latest end time among the forgotten streams. */
  #forgottenMs = Number.NEGATIVE_INFINITY;
  /** Hosts without a sign of life, with the time until which their calls go on. */
  readonly #silent = new Map<string, number>();
  /**
   * Streams of hosts that have said goodbye: the run that did, and the time when they end. They end then even if
   * another run has the name.
   */
  readonly #left = new Map<CallStream, { readonly run: string; readonly untilMs: number }>();
  /** The number of streams begun since the last tick, by user and host, and by user. Unlisted hosts count together. */
  readonly #new = new Map<string, number>();
  readonly #intake: Intake;
  /** The requests since the last tick for which there was no room, by their senders. */
  readonly #unserved = new Map<string, { readonly who: Sender; readonly server: string; count: number }>();
  readonly #tick: Timer;
  /** Receivers of what callers say about their calls, by user and reply subject. */
  readonly #controlled = new Map<string, (message: ReceivedMessage) => void>();
  readonly #endControl: () => void;
  #isAckDue = false;
  /** Calls that have begun without a word to their callers: those of the last look or before, and the newer ones. */
  #waiting = new Set<OwnedCall>();
  #fresh = new Set<OwnedCall>();
  /** The number of all calls ever begun, for reports. */
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

  /** Takes no more requests; calls under way go on. */
  takeNoMore(): void {
    for (const { end } of this.#offers.values()) end();
    this.#offers.clear();
    this.#offered = new Set();
  }

  #listen(token: string, name: string) {
    const { bus, tenant } = this.#options;
    // The queue also keeps the second connection of the same daemon from getting the request.
    const work: IntakeWork = {
      serve: (message) => this.#take(name, message),
      senderOf: (message) => this.#turnOf(message),
      isInVain: (message) => this.#isInVain(name, message),
      refuse: (message, who) => this.#onNoRoom(name, message, who),
    };
    const take = (message: ReceivedMessage): void => this.#intake.take(message, work);
    return { name, end: bus.subscribe(requestPattern(tenant, token), take, { queue: token }) };
  }

  /**
   * Returns the sender that a request takes its turn for. All unlisted hosts are one sender, in which their users take
   * turns.
   */
  #turnOf({ subject, headers }: ReceivedMessage): Sender {
    const known = this.#subjectIn(subject);
    if (known === undefined) return NOBODY;
    const who = senderOf(known, headers);
    return this.#isListed(who.host) ? who : { user: '', host: who.user };
  }

  /**
   * True for a message that asks for a new stream while its sender may begin none: refusing it costs less than letting
   * it wait.
   */
  #isInVain(server: string, { subject, headers }: ReceivedMessage): boolean {
    const known = this.#subjectIn(subject);
    if (known === undefined) return true;
    const who = senderOf(known, headers);
    return (
      this.#busyWith(who) !== undefined && !this.#streams.has(streamKey(who, server, callPlaceIn(headers)?.stream))
    );
  }

  /** Tells a sender that there is no room. A repeated request gets no word, because it may have begun. */
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

  /** The number of streams, and of unanswered calls, with those that only listen. */
  get load(): { readonly streams: number; readonly calls: number } {
    let calls = 0;
    for (const stream of this.#streams.values()) calls += stream.openCount;
    return { streams: this.#streams.size, calls };
  }

  /** The number of unanswered calls that only listen: each idle client has one. */
  get listenCount(): number {
    let count = 0;
    for (const stream of this.#streams.values()) count += stream.listenCount;
    return count;
  }

  /** The number of calls that are worked on. */
  get workCount(): number {
    return this.load.calls - this.listenCount;
  }

  /** The bytes that are held for callers. */
  get heldBytes(): number {
    let bytes = 0;
    for (const stream of this.#streams.values()) bytes += stream.heldBytes;
    return bytes;
  }

  /**
   * Called when a host gives no sign of life. It may be cut off for a moment, and wants its answers when it is back.
   */
  hostSilent(host: string): void {
    this.#silent.set(host, this.#options.clock.now() + this.#options.limits.resumeGraceMs);
  }

  /**
   * Called when a run of a host has said goodbye, or another run has come. The old run asks nothing more, but may wait
   * for answers. The next run may ask before anybody has heard of it, so a stream with new requests belongs to the next
   * run.
   */
  hostLeft(host: string, run: string): void {
    this.hostSilent(host);
    const untilMs = this.#options.clock.now() + this.#options.limits.resumeGraceMs;
    for (const stream of this.#streamsOf(host)) {
      if (stream.openCount === 0) stream.end();
      else if (!this.#left.has(stream)) this.#left.set(stream, { run, untilMs });
    }
  }

  /** Called when a host is gone: nobody takes answers there any more. */
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
    // A repeated request may have been done already: by the daemon before this one, or on a stream that is forgotten by
    // now.
    const isForgotten = known === undefined && this.#options.clock.now() - this.#forgottenMs < LATEST_MS;
    if (headers[HEADER.again] !== undefined && (isForgotten || !this.#isOfThisRun(headers)))
      return this.#unknown(message, 'the daemon there has forgotten it');
    // A request that began on an ended stream may have been done, whoever has the lease by now.
    if (this.#ended.has(key)) return this.#unknown(message, 'its connection was ended');
    if (isFencedOff(server, headers, this.#options))
      return this.#fail(message, rpcError(WIRE_CODE.nobody, `Host ${this.#options.host} does not serve ${server} now`));
    if (known === undefined && !this.#offered.has(server))
      // it was offered when the request came
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

  /** Reads a subject. Results are remembered for a while, because callers repeat their requests. */
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

  /** Returns the name under which a host's new streams are counted. */
  #countedAs({ user, host }: Sender): string {
    return this.#isListed(host) ? `${user} ${host}` : '';
  }

  /** Returns the reason why a sender may begin no stream before the next tick. */
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

  /** Remembers an ended stream, so that a late or repeated request on it begins nothing. */
  #noteEnded(key: string): void {
    this.#ended.set(key, this.#options.clock.now());
    if (this.#ended.size <= MOST_ENDED) return;
    for (const [oldest, endedMs] of this.#ended) {
      this.#ended.delete(oldest);
      this.#forgottenMs = endedMs;
      return;
    }
  }

  /**
   * True if a caller may have one more stream at a server. The bounds are lower where each client has its own instance.
   */
  #hasRoomForStream(who: Sender, server: string): boolean {
    const isDedicated = (one: string): boolean => this.#dedicated.has(one);
    if (isDedicated(server) && !this.#isWithin(INSTANCES, who, (stream) => isDedicated(stream.server))) return false;
    if (!this.#isWithin(STREAMS, who, () => true)) return false;
    return this.#options.places.hasRoom(OTHER_HOSTS) || this.#endOne(ofMost([...this.#streams.values()]));
  }

  /**
   * True if there is room for one more of the counted streams. At a bound, the longest idle stream gives way: one of
   * those that the bound counts, or, at the bound of all, one of the user with most.
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

  /**
   * Ends the stream that has been idle longest; if none is idle, the one that has only listened longest. Returns false
   * if there is none.
   */
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

  /** Sums a value over the streams of the caller's host, of all unlisted hosts, of the caller's user, and of all. */
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

  /** Forgets answers that were sent to a caller's host and may have arrived there. */
  #makeRoom({ user, host }: Sender): void {
    for (const stream of this.#streams.values())
      if (stream.principal.user === user && stream.principal.host === host) stream.forgetSent();
  }

  #begun(call: OwnedCall): void {
    this.begun++;
    this.#fresh.add(call);
    if (!this.#isAckDue) this.#acknowledgeLater();
  }

  /**
   * Looks twice at each call before it acknowledges it. With many short calls at a time, a single look would
   * acknowledge every call that it happens to see.
   */
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
    // The frame has no number: it belongs to no call that has begun.
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

/** Returns the streams of the user with most. */
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

/** Returns the streams that have only listened since `untilMs` or longer, longest first. */
function listening(streams: readonly CallStream[], untilMs: number): CallStream[] {
  const sinceMs = ({ listensSinceMs = Number.POSITIVE_INFINITY }: CallStream): number => listensSinceMs;
  return streams.filter((one) => sinceMs(one) <= untilMs).toSorted((one, other) => sinceMs(one) - sinceMs(other));
}

const NOBODY: Sender = { user: '', host: '' };

/**
 * Returns the key of a stream of calls. User and stream are tokens; only the host may be any text, so it comes last.
 */
function streamKey({ user, host }: Sender, server: string, stream = ''): string {
  return `${user} ${stream} ${server.length} ${server} ${host}`;
}

/** Reads the sender. Its host is its own claim; its user stands in the subject. */
function senderOf({ user }: RequestSubject, headers: BusHeaders): Sender {
  return { user, host: (headerText(headers[HEADER.host]) ?? '').slice(0, 128) };
}
