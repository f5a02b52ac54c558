// Who is there among the clients, and what each of them may see of the others.

import type { Session } from '../core/session.ts';
import type { MessagingSettings, PairRule } from '../model/messaging-settings.ts';
import { type AcceptedMethods, doesAccept } from '../protocol/accepted-methods.ts';
import type { Clock } from '../util/clock.ts';
import { inTheirOrder, invalidParams, type Letter, Mailbox } from './letters.ts';

const PAGE = 100;
const MOST_OF_A_PAGE = 1000;
/** So many ids are compared with one that does not exist. */
const MOST_COMPARED = 1000;

/** Letters that wait for clients that are not there. */
interface UnclaimedPort {
  /** Those for a client of this id; they are its own from here on. */
  readonly claim: (clientId: string) => readonly Letter[];
  readonly keep: (clientId: string, letters: readonly Letter[]) => void;
}

export class Participants {
  readonly #settings: MessagingSettings;
  readonly #clock: Clock;
  readonly #unclaimed: UnclaimedPort;
  /** Whether one client, by its id, may speak to another. */
  readonly mayTalk: MayTalk;
  /** By their ids, in the order in which they came. */
  readonly #byId = new Map<string, Participant>();
  #joined = 0;

  constructor(settings: MessagingSettings, clock: Clock, unclaimed: UnclaimedPort) {
    this.#settings = settings;
    this.#clock = clock;
    this.#unclaimed = unclaimed;
    this.mayTalk = pairPolicy(settings.policy);
  }

  /** A client that has its id, if not the one that it wanted. */
  join(session: Session, accepted: AcceptedMethods, wantedId: string | undefined): void {
    const settings = this.#settings;
    const hasMailbox = settings.isEnabled && accepted !== false && session.view?.isTransparent === false;
    const number = ++this.#joined;
    const of = { number, wantedId, accepted, hasMailbox, settings, nowMs: this.#clock.now() };
    const participant = new Participant(session, of);
    this.#byId.set(session.clientId, participant);
    participant.mailbox?.restore(this.#unclaimed.claim(session.clientId));
  }

  /** Its client has no connection, and may come back. */
  away(session: Session): void {
    const participant = this.find(session);
    if (participant !== undefined) participant.awaySince = this.#joined;
  }

  leave(session: Session): void {
    const participant = this.find(session);
    if (participant === undefined) return;
    this.#byId.delete(session.clientId);
    this.#passOn(participant);
  }

  /** What it has not read is for its client, when that comes anew or has done so already. */
  #passOn(gone: Participant): void {
    const letters = gone.mailbox?.letters() ?? [];
    // Nobody knows an id that was made up but its own client, which can only come again if it has been away.
    if (letters.length === 0 || (gone.wantedId === undefined && !gone.session.isAway)) return;
    const id = this.#nextIdOf(gone);
    const mailbox = this.#successorOf(gone)?.mailbox;
    if (mailbox === undefined) this.#unclaimed.keep(id, letters);
    else mailbox.restore(inTheirOrder(this.#unclaimed.claim(id), letters));
  }

  #successorOf(gone: Participant): Participant | undefined {
    for (const other of this.#byId.values())
      if (other.mailbox !== undefined && other.isThere && !other.session.isAway && other.succeeds(gone)) return other;
    return undefined;
  }

  /** By which its client goes when it comes anew: the one that it wants, unless that is another client's that is there. */
  #nextIdOf({ id, wantedId }: Participant): string {
    const holder = wantedId === undefined ? undefined : this.#byId.get(wantedId);
    return wantedId === undefined || holder?.session.isAway === false ? id : wantedId;
  }

  find(session: Session): Participant | undefined {
    const found = this.#byId.get(session.clientId);
    return found?.session === session ? found : undefined;
  }

  /** One that can be told anything. */
  withId(id: string): Participant | undefined {
    const found = this.#byId.get(id);
    return found?.isThere === true ? found : undefined;
  }

  describe(session: Session): ParticipantReport | undefined {
    return this.find(session)?.describe();
  }

  #maySee(asker: Participant, other: Participant): boolean {
    return other.isThere && (other === asker || this.mayTalk(asker.id, other.id));
  }

  /** A page of all that the asker may see, itself among them. */
  page(asker: Participant, { cursor, limit }: Readonly<Record<string, unknown>>): object {
    const after = cursor === undefined ? 0 : numberIn(cursor, 'params.cursor is one that bridge/clients has given');
    const most = limit === undefined ? PAGE : numberIn(limit, `params.limit is from 1 to ${MOST_OF_A_PAGE}`);
    if (most < 1 || most > MOST_OF_A_PAGE) throw invalidParams(`params.limit is from 1 to ${MOST_OF_A_PAGE}`);
    const clients: ParticipantReport[] = [];
    let last = after;
    for (const other of this.#byId.values()) {
      if (other.number <= after || !this.#maySee(asker, other)) continue;
      if (clients.length === most) return { clients, nextCursor: String(last) };
      clients.push(other.describe());
      last = other.number;
    }
    return { clients };
  }

  /** Those with a mailbox that this one may write to, and how many more there are. */
  correspondents(asker: Participant, most: number): { readonly agents: ParticipantReport[]; readonly more: number } {
    const agents: ParticipantReport[] = [];
    let more = 0;
    for (const other of this.#byId.values()) {
      if (other === asker || other.mailbox === undefined || !this.#maySee(asker, other)) continue;
      if (agents.length < most) agents.push(other.describe());
      else more++;
    }
    return { agents, more };
  }

  /** Whom the asker may have meant. */
  idsFor(asker: Participant): string[] {
    const ids: string[] = [];
    for (const other of this.#byId.values()) {
      if (ids.length >= MOST_COMPARED) break;
      if (other !== asker && this.#maySee(asker, other)) ids.push(other.id);
    }
    return ids;
  }

  /** What nobody has read. */
  unread(): { readonly clientId: string; readonly letters: readonly Letter[] }[] {
    return [...this.#byId.values()].flatMap(({ id, mailbox }) =>
      mailbox === undefined || mailbox.size === 0 ? [] : { clientId: id, letters: [...mailbox.letters()] },
    );
  }

  /** The daemon is about to go: who waits for a letter is told that there is none. */
  endWaits(): void {
    for (const { mailbox } of this.#byId.values()) mailbox?.endWaits();
  }
}

function numberIn(value: unknown, problem: string): number {
  const number = typeof value === 'number' ? value : Number(typeof value === 'string' && value !== '' ? value : 'none');
  if (!Number.isSafeInteger(number) || number < 0) throw invalidParams(problem);
  return number;
}

// How often somebody may do something: so many a second, and twice as many at once.

export class TokenBucket {
  readonly #perMs: number;
  readonly #most: number;
  #left: number;
  #lookedMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#most = perSecond * 2;
    this.#left = this.#most;
    this.#lookedMs = nowMs;
  }

  /** Whether it may be done now, which then counts. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (nowMs - this.#lookedMs) * this.#perMs);
    this.#lookedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

// Which clients may say something to which. Client ids are what clients call themselves: this keeps programs of one user
// apart that mean well, and stops none that lies about its name.

export type MayTalk = (from: string, to: string) => boolean;

function pairPolicy(rules: readonly PairRule[]): MayTalk {
  const compiled = rules.map(({ from, to, isAllowed }) => ({ from: globOf(from), to: globOf(to), isAllowed }));
  return (from, to) => compiled.find((rule) => rule.from.test(from) && rule.to.test(to))?.isAllowed ?? true;
}

function globOf(pattern: string): RegExp {
  // Several in a row mean no more than one, and would take long to find out.
  const source = pattern.replace(/\*+/g, '*').replace(/[.+^${}()|[\]\\*?]/g, meaningOf);
  return new RegExp(`^${source}$`, 's');
}

function meaningOf(character: string): string {
  if (character === '*') return '.*';
  return character === '?' ? '.' : `\\${character}`;
}

// One client as others may speak to it.

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
