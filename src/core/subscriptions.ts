// Who has subscribed to which resources of one instance, and what the server is told for it: to say when one changes for
// as long as one client wants to hear that. What it is told is decided when a request is sent, not when it comes in, and
// put right when that ends otherwise than was hoped for.
//
// A client has a subscription from the moment that its request is sent, because the first update may come before the
// answer, until that is refused or given up; one that was granted, until its end is sent, or it leaves.

import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';
import { type Ending, Told } from './told.ts';

export interface SharedPorts {
  /** Asks the server, if it runs. */
  readonly ask: (request: OwnRequest) => void;
}

export interface SubscriptionsPorts extends SharedPorts {
  /** Of each client. */
  readonly mostBytes: number;
}

interface Subscription {
  readonly uri: string;
  /** The client knows it by a URI that names the server. */
  isNamed: boolean;
  isGranted: boolean;
  /** How often the client has asked for it, and has no answer. */
  asking: number;
}

/** One client's, which it takes along to other instances. */
interface Subscriber {
  readonly session: Session;
  /** Where it hears of changes; undefined once it has gone. */
  home: Subscriptions | undefined;
  readonly byUri: Map<string, Subscription>;
  bytes: number;
}

interface Topic {
  readonly uri: string;
  readonly sessions: Set<Session>;
  /** Whether the server is to say when it changes. */
  readonly told: Told<boolean>;
}

/** What a subscription takes besides its URI. */
const SUBSCRIPTION_BYTES = 256;

type OnEnd = (ending: Ending) => void;

export class Subscriptions {
  readonly #ports: SubscriptionsPorts;
  readonly #subscribers = new Map<Session, Subscriber>();
  /** Those that a client has, or about which something is under way. */
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

  /** Whether the client knows it by a URI that names the server. */
  isNamed(session: Session, uri: string): boolean {
    return this.#subscribers.get(session)?.byUri.get(uri)?.isNamed === true;
  }

  /** Who is to hear of it: a server may name a part of what was subscribed to. */
  subscribersOf(uri: string): Set<Session> {
    const found = new Set<Session>();
    for (const topic of this.#topics.values())
      if (isPartOf(topic.uri, uri)) for (const session of topic.sessions) found.add(session);
    return found;
  }

  // --- what clients ask for ---

  /** A client's request is being sent; returns who is told how it ends. Undefined if the client has too many. */
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

  #add(subscriber: Subscriber, uri: string, isNamed: boolean): Subscription {
    const subscription = { uri, isNamed, isGranted: false, asking: 0 };
    subscriber.byUri.set(uri, subscription);
    subscriber.bytes += weightOf(uri);
    this.#topic(uri).sessions.add(subscriber.session);
    return subscription;
  }

  #topic(uri: string): Topic {
    const topic = this.#topics.get(uri) ?? { uri, sessions: new Set(), told: new Told<boolean>(false) };
    this.#topics.set(uri, topic);
    return topic;
  }

  #dropIfRefused(subscriber: Subscriber, subscription: Subscription): void {
    const isHeld = subscriber.byUri.get(subscription.uri) === subscription; // or it was taken back meanwhile
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

  /** The client's request to end it is next. Whether the server is to be told, or somebody else still has it. */
  unsubscribe(session: Session, uri: string): boolean {
    const subscriber = this.#subscribers.get(session);
    if (subscriber !== undefined) this.#drop(subscriber, uri);
    const isWished = (this.#topics.get(uri)?.sessions.size ?? 0) > 0;
    return !isWished;
  }

  /** It is being sent; returns who is told how it ends, if that matters to anybody. */
  sendUnsubscribe(uri: string): OnEnd | undefined {
    const topic = this.#topics.get(uri);
    const number = topic?.told.sent(false);
    if (topic === undefined || number === undefined) return undefined;
    return (ending) => {
      topic.told.ended(number, ending);
      this.#settle(topic);
    };
  }

  // --- what the server is told ---

  #settleAt(uri: string): void {
    const topic = this.#topics.get(uri);
    if (topic !== undefined) this.#settle(topic);
  }

  /** Has the server know what is wished, unless it will once it has done what it was asked. */
  #settle({ uri, sessions, told }: Topic): void {
    const isWished = sessions.size > 0;
    if (!told.isGoingToBe(isWished)) {
      told.assume(isWished);
      this.#ports.ask({ method: `resources/${isWished ? 'subscribe' : 'unsubscribe'}`, params: { uri } });
    }
    if (!isWished && !told.hasOpen) this.#topics.delete(uri);
  }

  /** What a server that was started again is told. */
  opened(): OwnRequest[] {
    for (const { told } of this.#topics.values()) told.assume(true);
    return [...this.#topics.keys()].map((uri) => ({ method: 'resources/subscribe', params: { uri } }));
  }

  // --- comings and goings ---

  forget(session: Session): void {
    const subscriber = this.#subscribers.get(session);
    if (subscriber === undefined) return;
    subscriber.home = undefined;
    this.#leave(subscriber);
  }

  /** The client uses another instance from now on. */
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

function weightOf(uri: string): number {
  return Buffer.byteLength(uri) + SUBSCRIPTION_BYTES;
}

function isPartOf(whole: string, uri: string): boolean {
  if (!uri.startsWith(whole)) return false;
  return uri.length === whole.length || /[/:?#]$/.test(whole) || /[/?#]/.test(uri.charAt(whole.length));
}
