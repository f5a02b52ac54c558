// The settings that clients of one instance share: subscriptions and the log level. Each client gets only what it asked
// for. A request is sent only if it changes the server's state; the bridge answers the others itself.

import { MESSAGE_LEVELS } from '../protocol/era.ts';
import { OWN_METHODS } from '../protocol/era-2025.ts';
import { paramsOf } from '../protocol/request-params.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, rpcError } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Call } from './call.ts';
import {
  endRequest,
  type LevelPlan,
  otherServersFor,
  type RequestOutcome,
  type SubscriptionPlan,
} from './call-plan.ts';
import type { Instance } from './instance.ts';
import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';

const NO_URI: string = rpcError(INVALID_PARAMS, 'The resource is named by its uri');
const NO_SUCH_METHOD: string = rpcError(METHOD_NOT_FOUND, 'The server has no logs');
const NO_LEVEL_OF_THAT_NAME: string = rpcError(INVALID_PARAMS, 'There is no such level');

export class SharedSettings {
  readonly #instance: Instance;
  readonly subscriptions: Subscriptions;
  readonly levels: LogLevels;

  constructor(instance: Instance) {
    this.#instance = instance;
    // A server of 2026 gets these settings otherwise: resources in the one listen, the log level in each request.
    const ask = ({ method, params }: OwnRequest): void => {
      if (instance.serverListen.isUsed) instance.serverListen.changed();
      else instance.calls.own.ask(method, params);
    };
    this.subscriptions = new Subscriptions({ ask, mostBytes: instance.context.limits.maxSubscribedBytesPerClient });
    this.levels = new LogLevels({ ask, calls: () => instance.calls.withLogs });
  }

  /**
   * Decides about a request when its turn has come, because other clients may have changed the settings since. Returns
   * true if it is sent to the server; otherwise it was answered.
   */
  take(call: Call, plan: SubscriptionPlan | LevelPlan, frame: Frame, envelope: Envelope): boolean {
    switch (plan.role) {
      case 'subscribe':
        return this.#subscribe(call, plan, uriIn(frame, envelope));
      case 'unsubscribe':
        return this.#unsubscribe(call, plan, uriIn(frame, envelope));
      case 'set-level':
        return this.#setLevel(call, plan, textOf(paramsOf(frame, envelope).level));
    }
  }

  #subscribe(call: Call, plan: SubscriptionPlan, uri: string): boolean {
    const { calls, serverListen } = this.#instance;
    if (uri === '') return !serverListen.isUsed || this.#failWith(call, NO_URI); // otherwise the server refuses it
    const { session } = call;
    // For a listening client only the outcome counts: it never sees the server's answer.
    if (session.listens !== undefined && this.subscriptions.join(session, uri, plan.isNamed))
      return this.#answerDone(call);
    const told = this.subscriptions.subscribe(session, uri, plan.isNamed);
    if (told === undefined) {
      calls.fail(call, this.#tooMuch(session));
      return false;
    }
    plan.told = told;
    if (!serverListen.isUsed) return true;
    serverListen.cover(uri, (error) => this.#covered(call, error));
    return false;
  }

  /** Called when the server begins to report a resource's changes, or refuses to. */
  #covered(call: Call, error: string | undefined): void {
    const { calls } = this.#instance;
    if (call.session.calls.get(call.id) !== call) return; // it was given up meanwhile
    endRequest(call, error === undefined ? 'result' : 'error');
    if (error === undefined) this.#answerDone(call);
    else if (otherServersFor(call).isEmpty) this.#failWith(call, error);
    else calls.retryElsewhere(call);
  }

  /** `error` is JSON. */
  #failWith(call: Call, error: string): false {
    this.#instance.context.events.callFailed.tell(call, error);
    call.output.fail(call.idText, error);
    call.close();
    return false;
  }

  #tooMuch(session: Session): BridgeError {
    const { server } = this.#instance;
    const { events, limits } = this.#instance.context;
    events.incident.tell('subscriptionsRefused', session);
    const message = `A client may have at most ${limits.maxSubscribedBytesPerClient} bytes of subscriptions on server ${server}`;
    const hint = 'Unsubscribe from some resources, or raise limits.maxSubscribedBytesPerClient.';
    return new BridgeError('REQUEST_REFUSED', message, { server, hint });
  }

  #unsubscribe(call: Call, plan: SubscriptionPlan, uri: string): boolean {
    if (!this.subscriptions.unsubscribe(call.session, uri)) return this.#answerDone(call);
    const told = this.subscriptions.sendUnsubscribe(uri);
    if (this.#instance.serverListen.isUsed) {
      told?.('result');
      this.#instance.serverListen.changed();
      return this.#answerDone(call);
    }
    if (told !== undefined) plan.told = told;
    return true;
  }

  #setLevel(call: Call, plan: LevelPlan, level: string): boolean {
    const { serverListen, profile } = this.#instance;
    if (serverListen.isUsed) {
      if (profile?.declares('logging') !== true) return this.#failWith(call, NO_SUCH_METHOD);
      if (!isLevel(level)) return this.#failWith(call, NO_LEVEL_OF_THAT_NAME);
      this.levels.set(call.session, level);
      return this.#answerDone(call);
    }
    if (this.levels.isForServer(call.session, level)) {
      plan.told = this.levels.ask(call.session, level);
      return true;
    }
    this.levels.set(call.session, level);
    return this.#answerDone(call);
  }

  /** Answers the call with an empty result, without asking the server. */
  #answerDone(call: Call): false {
    call.output.answer(call.idText, '{}');
    call.close();
    return false;
  }

  /**
   * Called before a call is sent whose client wants logs of this level. A server of 2026 reads the level in the call
   * itself.
   */
  wantLogs(level: string): void {
    const { serverListen, profile } = this.#instance;
    if (!serverListen.isUsed && profile?.declares('logging') === true) this.levels.raise(level);
  }

  /** The requests to send to a restarted server. */
  opened(): OwnRequest[] {
    const requests = [...this.levels.opened(), ...this.subscriptions.opened()];
    return this.#instance.serverListen.isUsed ? [] : requests;
  }

  /** The number of entries kept here. */
  get size(): number {
    return this.subscriptions.size + this.levels.size;
  }

  forget(session: Session): void {
    this.subscriptions.forget(session);
    this.levels.forget(session);
  }

  /** Moves the client's settings to another instance. */
  handOver(session: Session, to: SharedSettings): void {
    this.levels.handOver(session, to.levels);
    this.subscriptions.handOver(session, to.subscriptions);
  }
}

function uriIn({ b }: Frame, envelope: Envelope): string {
  return textOf(envelope.decode(b, Field.uri));
}

/**
 * The state of one setting at the server: a subscription or the log level. A server handles requests in the order in
 * which they are sent, but answers in any order or never. The last request that succeeded decides. A request that was
 * given up makes the state uncertain.
 */
class ConfirmedState<State> {
  /** Undefined while the state is uncertain. */
  #state: State | undefined;
  /** The number of the request that set it. */
  #since = 0;
  #last = 0;
  /** Unanswered requests, in the order in which they were sent. */
  readonly #open = new Map<number, State | undefined>();

  constructor(state: State | undefined) {
    this.#state = state;
  }

  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** True if the state will be `wanted` once all requests under way succeed. */
  isGoingToBe(wanted: State): boolean {
    let state = this.#state;
    for (const [number, asked] of this.#open) if (number > this.#since) state = asked;
    return state === wanted;
  }

  /** Notes a client's request; returns its number, needed to end it. */
  sent(state: State | undefined): number {
    this.#open.set(++this.#last, state);
    return this.#last;
  }

  ended(number: number, ending: RequestOutcome): void {
    const state = this.#open.get(number);
    this.#open.delete(number);
    if (ending === 'error' || number < this.#since) return;
    this.#since = number;
    this.#state = ending === 'result' ? state : undefined;
  }

  /** Notes a request of the bridge as done, so that a server that refuses it is not asked again and again. */
  assume(state: State | undefined): void {
    this.#since = ++this.#last;
    this.#state = state;
  }
}

interface AskPorts {
  /** Asks the server, if it runs. */
  readonly ask: (request: OwnRequest) => void;
}

interface LevelPorts extends AskPorts {
  /** The calls under way whose clients want logs. */
  readonly calls?: () => Iterable<{ readonly logLevel: string }>;
}

interface SubscriptionsPorts extends AskPorts {
  /** The limit per client. */
  readonly mostBytes: number;
}

interface Subscription {
  readonly uri: string;
  /** True if the client's URI of the resource names the server. */
  isNamed: boolean;
  isGranted: boolean;
  /** The number of the client's unanswered requests. */
  asking: number;
}

/** The subscriptions of one client. They move with it to other instances. */
interface Subscriber {
  readonly session: Session;
  /** The instance where it is subscribed; undefined once it has left. */
  home: Subscriptions | undefined;
  readonly byUri: Map<string, Subscription>;
  bytes: number;
}

interface Topic {
  readonly uri: string;
  readonly sessions: Set<Session>;
  /** True at the server while it reports changes of the resource. */
  readonly told: ConfirmedState<boolean>;
}

/** The memory that a subscription takes besides its URI. */
const SUBSCRIPTION_BYTES = 256;

type OnEnd = (ending: RequestOutcome) => void;

/**
 * The subscriptions to resources of one instance. The server reports changes of a resource as long as one client wants
 * them. A request is decided when it is sent, not when it comes in, and corrected if it fails.
 *
 * A client is subscribed from the moment its request is sent, because the first update may come before the answer. The
 * subscription ends when the request is refused or given up, when its end is sent, or when the client leaves.
 */
export class Subscriptions {
  readonly #ports: SubscriptionsPorts;
  readonly #subscribers = new Map<Session, Subscriber>();
  /** Resources with subscribed clients, or with a request under way. */
  readonly #topics = new Map<string, Topic>();

  constructor(ports: SubscriptionsPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#subscribers.size + this.#topics.size;
  }

  has(session: Session, uri: string): boolean {
    return this.#subscribers.get(session)?.byUri.has(uri) === true;
  }

  /** The resources that clients are subscribed to. */
  uris(): string[] {
    return [...this.#topics.values()].flatMap(({ uri, sessions }) => (sessions.size > 0 ? [uri] : []));
  }

  /** True if the client's URI of the resource names the server. */
  isNamed(session: Session, uri: string): boolean {
    return this.#subscribers.get(session)?.byUri.get(uri)?.isNamed === true;
  }

  /** The clients that get an update. A server may name a part of the resource. */
  subscribersOf(uri: string): Set<Session> {
    const found = new Set<Session>();
    for (const topic of this.#topics.values())
      if (isSameOrPart(topic.uri, uri)) for (const session of topic.sessions) found.add(session);
    return found;
  }

  /**
   * Notes that a client's request is being sent; returns the function to call with its outcome. Undefined if the client
   * has too many subscriptions.
   */
  subscribe(session: Session, uri: string, isNamed: boolean): OnEnd | undefined {
    const subscriber = this.#subscribers.get(session) ?? newSubscriber(session, this);
    const before = subscriber.byUri.get(uri);
    if (before === undefined && subscriber.bytes + weightOf(uri) > this.#ports.mostBytes) return undefined;
    this.#subscribers.set(session, subscriber);
    const subscription = before ?? this.#add(subscriber, uri, isNamed);
    subscription.asking++;
    const topic = this.#topic(uri);
    const number = topic.told.sent(true);
    return (ending) => {
      topic.told.ended(number, ending);
      subscription.asking--;
      if (ending === 'result') grant(subscription, isNamed);
      if (subscriber.home !== undefined) subscriber.home.#dropIfRefused(subscriber, subscription);
      this.#settle(topic);
    };
  }

  /**
   * Subscribes the client if the server already has another client's subscription; false if the server must be asked.
   */
  join(session: Session, uri: string, isNamed: boolean): boolean {
    const topic = this.#topics.get(uri);
    const isTaken =
      topic !== undefined && topic.sessions.size > 0 && !topic.told.hasOpen && topic.told.isGoingToBe(true);
    const subscriber = this.#subscribers.get(session) ?? newSubscriber(session, this);
    const before = subscriber.byUri.get(uri);
    if (!isTaken || (before === undefined && subscriber.bytes + weightOf(uri) > this.#ports.mostBytes)) return false;
    this.#subscribers.set(session, subscriber);
    grant(before ?? this.#add(subscriber, uri, isNamed), isNamed);
    return true;
  }

  #add(subscriber: Subscriber, uri: string, isNamed: boolean): Subscription {
    const subscription = { uri, isNamed, isGranted: false, asking: 0 };
    subscriber.byUri.set(uri, subscription);
    subscriber.bytes += weightOf(uri);
    this.#topic(uri).sessions.add(subscriber.session);
    return subscription;
  }

  #topic(uri: string): Topic {
    const topic = this.#topics.get(uri) ?? { uri, sessions: new Set(), told: new ConfirmedState<boolean>(false) };
    this.#topics.set(uri, topic);
    return topic;
  }

  #dropIfRefused(subscriber: Subscriber, subscription: Subscription): void {
    const isHeld = subscriber.byUri.get(subscription.uri) === subscription; // false if the client has unsubscribed meanwhile
    if (!isHeld || subscription.isGranted || subscription.asking > 0) return;
    this.#drop(subscriber, subscription.uri);
    this.#settleAt(subscription.uri);
  }

  #drop(subscriber: Subscriber, uri: string): void {
    if (!subscriber.byUri.delete(uri)) return;
    subscriber.bytes -= weightOf(uri);
    this.#topics.get(uri)?.sessions.delete(subscriber.session);
    if (subscriber.byUri.size === 0) this.#subscribers.delete(subscriber.session);
  }

  /** Drops the client's subscription; returns true if no other client has one, so the server must be told. */
  unsubscribe(session: Session, uri: string): boolean {
    const subscriber = this.#subscribers.get(session);
    if (subscriber !== undefined) this.#drop(subscriber, uri);
    const isWanted = (this.#topics.get(uri)?.sessions.size ?? 0) > 0;
    return !isWanted;
  }

  /** Ends the client's subscription without a request of the client. Tells the server if no other client has one. */
  end(session: Session, uri: string): void {
    const subscriber = this.#subscribers.get(session);
    if (subscriber === undefined) return;
    this.#drop(subscriber, uri);
    this.#settleAt(uri);
  }

  /** Notes that `resources/unsubscribe` is being sent; returns the function to call with its outcome. */
  sendUnsubscribe(uri: string): OnEnd | undefined {
    const topic = this.#topics.get(uri);
    const number = topic?.told.sent(false);
    if (topic === undefined || number === undefined) return undefined;
    return (ending) => {
      topic.told.ended(number, ending);
      this.#settle(topic);
    };
  }

  #settleAt(uri: string): void {
    const topic = this.#topics.get(uri);
    if (topic !== undefined) this.#settle(topic);
  }

  /** Makes the server report what clients want, unless requests under way do so already. */
  #settle({ uri, sessions, told }: Topic): void {
    const isWanted = sessions.size > 0;
    if (!told.isGoingToBe(isWanted)) {
      told.assume(isWanted);
      this.#ports.ask({ method: `resources/${isWanted ? 'subscribe' : 'unsubscribe'}`, params: { uri } });
    }
    if (!isWanted && !told.hasOpen) this.#topics.delete(uri);
  }

  /** The resources with their subscribed clients. */
  held(): readonly (readonly [uri: string, sessions: readonly Session[]])[] {
    return [...this.#topics.values()].map(({ uri, sessions }) => [uri, [...sessions]]);
  }

  /** The requests to send to a restarted server. */
  opened(): OwnRequest[] {
    for (const { told } of this.#topics.values()) told.assume(true);
    return [...this.#topics.keys()].map((uri) => ({ method: OWN_METHODS.subscribe, params: { uri } }));
  }

  forget(session: Session): void {
    const subscriber = this.#subscribers.get(session);
    if (subscriber === undefined) return;
    subscriber.home = undefined;
    this.#leave(subscriber);
  }

  /** Moves the client's subscriptions to another instance. */
  handOver(session: Session, to: Subscriptions): void {
    const subscriber = this.#subscribers.get(session);
    if (subscriber === undefined) return;
    to.#take(subscriber);
    this.#leave(subscriber);
  }

  #leave({ session, byUri }: Subscriber): void {
    this.#subscribers.delete(session);
    for (const uri of byUri.keys()) {
      this.#topics.get(uri)?.sessions.delete(session);
      this.#settleAt(uri);
    }
  }

  #take(subscriber: Subscriber): void {
    const { session, byUri } = subscriber;
    this.forget(session);
    subscriber.home = this;
    this.#subscribers.set(session, subscriber);
    for (const uri of byUri.keys()) {
      this.#topic(uri).sessions.add(session);
      this.#settleAt(uri);
    }
  }
}

function newSubscriber(session: Session, home: Subscriptions): Subscriber {
  return { session, home, byUri: new Map(), bytes: 0 };
}

function grant(subscription: Subscription, isNamed: boolean): void {
  subscription.isGranted = true;
  subscription.isNamed = isNamed;
}

/** The bytes that a subscription counts. */
export function weightOf(uri: string): number {
  return Buffer.byteLength(uri) + SUBSCRIPTION_BYTES;
}

/** True if `uri` is the resource, or names a part of it. */
export function isSameOrPart(whole: string, uri: string): boolean {
  if (!uri.startsWith(whole)) return false;
  return uri.length === whole.length || /[/:?#]$/.test(whole) || /[/?#]/.test(uri.charAt(whole.length));
}

export function isLevel(level: string): boolean {
  return MESSAGE_LEVELS.includes(level);
}

/** The level of clients that asked for none, while others did. */
const DEFAULT_LEVEL = MESSAGE_LEVELS.indexOf('info');
const NO_LEVEL = MESSAGE_LEVELS.length;

/** The level of one client. It moves with it to other instances. */
interface Reader {
  readonly session: Session;
  /** The instance where it gets logs; undefined once it has left. */
  home: LogLevels | undefined;
  /** The level that was granted; undefined before the first. */
  level: number | undefined;
  /** The number of its requests, and the number of the one that granted the level. */
  asked: number;
  granted: number;
  /** Its unanswered requests, by number. */
  readonly asking: Map<number, { readonly level: number; readonly at: LogLevels }>;
}

/**
 * The log level of one instance. The server gets the most verbose level that a client wants, and each client gets only
 * the messages that it asked for. A request is decided when it is sent, and corrected if it fails.
 */
export class LogLevels {
  readonly #ports: LevelPorts;
  readonly #readers = new Map<Session, Reader>();
  readonly #told = new ConfirmedState<string>(undefined);
  /** True while a call may have raised the level. */
  #isRaised = false;
  /** True once a call has raised the level since the server started: then it is no longer the server's own default. */
  #wasRaised = false;

  constructor(ports: LevelPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** The level that the client was granted; undefined before the first. */
  levelOf(session: Session): string | undefined {
    const level = this.#readers.get(session)?.level;
    return level === undefined ? undefined : MESSAGE_LEVELS[level];
  }

  get areSet(): boolean {
    for (const { level } of this.#readers.values()) if (level !== undefined) return true;
    return this.#wasRaised;
  }

  /** True if the client gets a message of this level. Messages of unknown levels go to all. */
  admits(session: Session, level: string): boolean {
    const index = MESSAGE_LEVELS.indexOf(level);
    return index < 0 || index >= (this.#readers.get(session)?.level ?? DEFAULT_LEVEL);
  }

  /**
   * True if the server must answer the request: no other client wants a more verbose level, or the level is unknown.
   */
  isForServer(session: Session, level: string): boolean {
    return MESSAGE_LEVELS.indexOf(level) <= this.#mostVerbose(session);
  }

  /** The most verbose level that a client has or has asked for. */
  #mostVerbose(but?: Session): number {
    let most = NO_LEVEL;
    for (const reader of this.#readers.values())
      if (reader.session !== but) most = Math.min(most, this.#levelFor(reader));
    for (const { logLevel } of this.#ports.calls?.() ?? []) most = Math.min(most, indexOf(logLevel));
    return most;
  }

  /** The level that a client has once all its requests here are granted. */
  #levelFor({ level = NO_LEVEL, granted, asking }: Reader): number {
    let wanted = level;
    for (const [time, asked] of asking) if (time > granted && asked.at === this) wanted = asked.level;
    return wanted;
  }

  /** Notes that a client's request is being sent; returns the function to call with its outcome. */
  ask(session: Session, text: string): (ending: RequestOutcome) => void {
    const reader = this.#reader(session);
    const level = MESSAGE_LEVELS.indexOf(text);
    const isKnown = level >= 0;
    const number = this.#told.sent(isKnown ? text : undefined);
    const time = ++reader.asked;
    if (isKnown) reader.asking.set(time, { level, at: this });
    return (ending) => {
      this.#told.ended(number, ending);
      reader.asking.delete(time);
      if (ending === 'result' && isKnown) grantLevel(reader, level, time);
      if (reader.home !== undefined) reader.home.#answered(reader);
      this.#settle();
    };
  }

  /** Raises the level before a call is sent whose client wants it. */
  raise(text: string): void {
    this.#isRaised = true;
    this.#wasRaised = true;
    this.#tell(Math.min(indexOf(text), this.#mostVerbose()));
  }

  /**
   * Called once a second. Lowers the level when no call needs it any more. Not after each call: most clients that want
   * logs want them in every call, so the requests would double.
   */
  tick(): void {
    if (!this.#isRaised) return;
    const most = this.#mostVerbose();
    this.#isRaised = [...(this.#ports.calls?.() ?? [])].length > 0;
    this.#tell(most === NO_LEVEL ? DEFAULT_LEVEL : most);
  }

  #tell(index: number): void {
    const level = MESSAGE_LEVELS[index];
    if (level === undefined || this.#told.isGoingToBe(level)) return;
    this.#told.assume(level);
    this.#ports.ask(requestFor(level));
  }

  /** Sets the client's level without a request to the server. */
  set(session: Session, text: string): void {
    const reader = this.#reader(session);
    grantLevel(reader, MESSAGE_LEVELS.indexOf(text), ++reader.asked);
    this.#settle();
  }

  #reader(session: Session): Reader {
    const asking = new Map<number, { readonly level: number; readonly at: LogLevels }>();
    const fresh = { session, home: this, level: undefined, asked: 0, granted: 0, asking };
    const reader = this.#readers.get(session) ?? fresh;
    this.#readers.set(session, reader);
    return reader;
  }

  #answered(reader: Reader): void {
    const { session, level, asking } = reader;
    const isVoid = level === undefined && asking.size === 0;
    if (isVoid && this.#readers.get(session) === reader) this.#readers.delete(session);
    this.#settle();
  }

  /** Makes the server log what clients want, unless requests under way do so already. */
  #settle(): void {
    this.#tell(this.#mostVerbose());
  }

  /** The requests to send to a restarted server. */
  opened(): OwnRequest[] {
    this.#isRaised = false;
    this.#wasRaised = false;
    const level = MESSAGE_LEVELS[this.#mostVerbose()];
    this.#told.assume(level);
    return level === undefined ? [] : [requestFor(level)];
  }

  forget(session: Session): void {
    const reader = this.#readers.get(session);
    if (reader === undefined) return;
    reader.home = undefined;
    this.#leave(session);
  }

  /** Moves the client's level to another instance. */
  handOver(session: Session, to: LogLevels): void {
    const reader = this.#readers.get(session);
    if (reader === undefined) return;
    to.forget(session);
    reader.home = to;
    to.#readers.set(session, reader);
    to.#settle();
    this.#leave(session);
  }

  #leave(session: Session): void {
    this.#readers.delete(session);
    this.#settle();
  }
}

/** True if a client that wants logs of one level gets a message of the other. Messages of unknown levels go to all. */
export function admitsLevel(wanted: string, level: string): boolean {
  const index = MESSAGE_LEVELS.indexOf(level);
  return index < 0 || index >= indexOf(wanted);
}

function indexOf(level: string): number {
  const index = MESSAGE_LEVELS.indexOf(level);
  return index < 0 ? NO_LEVEL : index;
}

function grantLevel(reader: Reader, level: number, time: number): void {
  if (time < reader.granted) return; // it has asked for another one since
  reader.granted = time;
  reader.level = level;
}

function requestFor(level: string): OwnRequest {
  return { method: OWN_METHODS.setLevel, params: { level } };
}
