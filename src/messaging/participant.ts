// One client as others may speak to it.

import { type AcceptedMethods, doesAccept } from '../core/accepted-methods.ts';
import type { Session } from '../core/session.ts';
import type { MessagingSettings } from '../model/messaging-settings.ts';
import { Mailbox } from './mailbox.ts';
import { TokenBucket } from './token-bucket.ts';

export class Participant {
  readonly session: Session;
  /** In the order in which they came. */
  readonly number: number;
  /** What it wants to be called; undefined if it does not mind. */
  readonly wantedId: string | undefined;
  /** How many had come when its client went away last. */
  awaySince = Number.POSITIVE_INFINITY;
  readonly #accepted: AcceptedMethods;
  /** Of a client that has the tools to read it. */
  readonly mailbox: Mailbox | undefined;
  /** Requests that it waits for the answers of, and that wait for its own. */
  asking = 0;
  asked = 0;
  readonly #sends: TokenBucket;
  /** What goes to and fro between it and those who came later. */
  readonly #exchanges = new WeakMap<Participant, TokenBucket>();
  readonly #perSecond: number;

  constructor(
    session: Session,
    of: {
      readonly number: number;
      readonly wantedId: string | undefined;
      readonly accepted: AcceptedMethods;
      readonly hasMailbox: boolean;
      readonly settings: MessagingSettings;
      readonly nowMs: number;
    },
  ) {
    this.session = session;
    this.number = of.number;
    this.wantedId = of.wantedId;
    this.#accepted = of.accepted;
    this.mailbox = of.hasMailbox ? new Mailbox(of.settings.mailbox) : undefined;
    this.#perSecond = of.settings.maxPerSecond;
    this.#sends = new TokenBucket(this.#perSecond, of.nowMs);
  }

  get id(): string {
    return this.session.clientId;
  }

  /** Whether it can be told anything: what is said now comes behind the answer to its `initialize`. */
  get isThere(): boolean {
    return this.session.isOpen && !this.session.hasEnded;
  }

  /** Whether it is another one's client that was started anew: it wanted the same id while that one was away. */
  succeeds(other: Participant): boolean {
    const isNamesake = this.wantedId !== undefined && this.wantedId === (other.wantedId ?? other.id);
    return isNamesake && other.session.isAway && this.number > other.awaySince;
  }

  accepts(method: string): boolean {
    return doesAccept(this.#accepted, method);
  }

  maySend(nowMs: number): boolean {
    return this.#sends.take(nowMs);
  }

  /** Two that answer each other without end share what one alone may send. */
  mayExchange(other: Participant, nowMs: number): boolean {
    if (other.number < this.number) return other.mayExchange(this, nowMs);
    const bucket = this.#exchanges.get(other) ?? new TokenBucket(this.#perSecond, nowMs);
    this.#exchanges.set(other, bucket);
    return bucket.take(nowMs);
  }

  /** As others see it: nothing that is a secret. */
  describe(): ParticipantReport {
    const { name, version } = this.session;
    return { id: this.id, name, version, accepts: this.#accepted, mailbox: this.mailbox !== undefined };
  }
}

export interface ParticipantReport {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly accepts: AcceptedMethods;
  readonly mailbox: boolean;
}
