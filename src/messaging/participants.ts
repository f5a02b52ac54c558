// The clients that may write to each other: their ids, mailboxes and limits, and which others each client may see. It
// sends nothing.

import type { Session } from '../core/session.ts';
import type { MessagingSettings, PairRule } from '../model/messaging-settings.ts';
import { type AcceptedMethods, doesAccept } from '../protocol/accepted-methods.ts';
import type { Clock } from '../util/clock.ts';
import { inTheirOrder, invalidParams, type Letter, Mailbox } from './letters.ts';

const PAGE = 100;
const MOST_OF_A_PAGE = 1000;
/** The maximum number of ids that are compared with an unknown one, for a hint. */
const MOST_COMPARED = 1000;

/** Keeps the letters of clients that have gone. */
interface UnclaimedPort {
  /** Hands the letters for this id to their client, once. */
  readonly claim: (clientId: string) => readonly Letter[];
  readonly keep: (clientId: string, letters: readonly Letter[]) => void;
}

export class Participants {
  readonly #settings: MessagingSettings;
  readonly #clock: Clock;
  readonly #unclaimed: UnclaimedPort;
  /** Decides by two client ids whether the first may write to the second. */
  readonly mayTalk: MayTalk;
  /** Participants by id, in the order in which they came. */
  readonly #byId = new Map<string, Participant>();
  #joined = 0;

  constructor(settings: MessagingSettings, clock: Clock, unclaimed: UnclaimedPort) {
    this.#settings = settings;
    this.#clock = clock;
    this.#unclaimed = unclaimed;
    this.mayTalk = pairPolicy(settings.policy);
  }

  /** Adds a client that has its id; `wantedId` is the id that it asked for. */
  join(session: Session, accepted: AcceptedMethods, wantedId: string | undefined): void {
    const settings = this.#settings;
    const hasMailbox = settings.isEnabled && accepted !== false && session.view?.isTransparent === false;
    const number = ++this.#joined;
    const of = { number, wantedId, accepted, hasMailbox, settings, nowMs: this.#clock.now() };
    const participant = new Participant(session, of);
    this.#byId.set(session.clientId, participant);
    participant.mailbox?.restore(this.#unclaimed.claim(session.clientId));
  }

  /** Notes that a client has lost its connection, and may come back. */
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

  /** Keeps unread letters for the client's next session, or hands them to a session that is there already. */
  #passOn(gone: Participant): void {
    const letters = gone.mailbox?.letters() ?? [];
    // If the bridge made up the id, only this client knows it, and it returns with that id only after an absence.
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

  /** The id of the client's next session: the wanted one, unless another present client has it. */
  #nextIdOf({ id, wantedId }: Participant): string {
    const holder = wantedId === undefined ? undefined : this.#byId.get(wantedId);
    return wantedId === undefined || holder?.session.isAway === false ? id : wantedId;
  }

  find(session: Session): Participant | undefined {
    const found = this.#byId.get(session.clientId);
    return found?.session === session ? found : undefined;
  }

  /** Finds a client that can receive messages. */
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

  /** One page of the clients that the asker may see, including the asker. */
  page(asker: Participant, { cursor, limit }: Readonly<Record<string, unknown>>): object {
    const after = cursor === undefined ? 0 : numberIn(cursor, 'params.cursor must be one that bridge/clients returned');
    const most = limit === undefined ? PAGE : numberIn(limit, `params.limit must be from 1 to ${MOST_OF_A_PAGE}`);
    if (most < 1 || most > MOST_OF_A_PAGE) throw invalidParams(`params.limit must be from 1 to ${MOST_OF_A_PAGE}`);
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

  /** Returns at most `most` clients with a mailbox that the asker may write to; `more` counts the rest. */
  correspondents(asker: Participant, most: number): { readonly agents: ParticipantReport[]; readonly more: number } {
    return this.#withMailbox(most, (other) => other !== asker && this.#maySee(asker, other));
  }

  /** Returns the same for an agent of another host. */
  correspondentsOf(asker: string, most: number): { readonly agents: ParticipantReport[]; readonly more: number } {
    return this.#withMailbox(most, (other) => other.isThere && this.mayTalk(asker, other.id));
  }

  #withMailbox(
    most: number,
    isMeant: (other: Participant) => boolean,
  ): { readonly agents: ParticipantReport[]; readonly more: number } {
    const agents: ParticipantReport[] = [];
    let more = 0;
    for (const other of this.#byId.values()) {
      if (other.mailbox === undefined || !isMeant(other)) continue;
      if (agents.length < most) agents.push(other.describe());
      else more++;
    }
    return { agents, more };
  }

  /** Ids that the asker may have meant. */
  idsFor(asker: Participant): string[] {
    const ids: string[] = [];
    for (const other of this.#byId.values()) {
      if (ids.length >= MOST_COMPARED) break;
      if (other !== asker && this.#maySee(asker, other)) ids.push(other.id);
    }
    return ids;
  }

  /** Unread letters of all clients. */
  unread(): { readonly clientId: string; readonly letters: readonly Letter[] }[] {
    return [...this.#byId.values()].flatMap(({ id, mailbox }) =>
      mailbox === undefined || mailbox.size === 0 ? [] : { clientId: id, letters: [...mailbox.letters()] },
    );
  }

  /** Called before the daemon ends: calls that wait for a letter are answered without one. */
  endWaits(): void {
    for (const { mailbox } of this.#byId.values()) mailbox?.endWaits();
  }
}

function numberIn(value: unknown, problem: string): number {
  const number = typeof value === 'number' ? value : Number(typeof value === 'string' && value !== '' ? value : 'none');
  if (!Number.isSafeInteger(number) || number < 0) throw invalidParams(problem);
  return number;
}

// --- one client ---

export class Participant {
  readonly session: Session;
  /** Its place in the order of arrival. */
  readonly number: number;
  /** The id that it asked for, if any. */
  readonly wantedId: string | undefined;
  /** The number of the newest client when this one last went away. */
  awaySince = Number.POSITIVE_INFINITY;
  readonly #accepted: AcceptedMethods;
  /** Undefined for a client that has no tools to read it. */
  readonly mailbox: Mailbox | undefined;
  /** The number of open requests that it sent; `asked` counts those sent to it. */
  asking = 0;
  asked = 0;
  readonly #sends: TokenBucket;
  /** Limits for the exchange with each client that came later. */
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

  /** True from the moment when messages would arrive after the answer to its `initialize`, until it ends. */
  get isThere(): boolean {
    return this.session.isOpen && !this.session.hasEnded;
  }

  /** True if this is the same client after a restart: it asked for the same id while the other was away. */
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

  /** Limits the exchange between two clients, so that they do not answer each other forever. */
  mayExchange(other: Participant, nowMs: number): boolean {
    if (other.number < this.number) return other.mayExchange(this, nowMs);
    const bucket = this.#exchanges.get(other) ?? new TokenBucket(this.#perSecond, nowMs);
    this.#exchanges.set(other, bucket);
    return bucket.take(nowMs);
  }

  /** Describes it to other clients, without secrets. */
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

// --- policy ---

/**
 * Decides by client ids who may write to whom. Clients choose their ids: this separates well-meaning programs of one
 * user, and does not stop a program that lies about its name.
 */
type MayTalk = (from: string, to: string) => boolean;

function pairPolicy(rules: readonly PairRule[]): MayTalk {
  const compiled = rules.map(({ from, to, isAllowed }) => ({ from: globOf(from), to: globOf(to), isAllowed }));
  return (from, to) => compiled.find((rule) => rule.from.test(from) && rule.to.test(to))?.isAllowed ?? true;
}

function globOf(pattern: string): RegExp {
  // Several stars in a row mean the same as one, but take long to match.
  const source = pattern.replace(/\*+/g, '*').replace(/[.+^${}()|[\]\\*?]/g, meaningOf);
  return new RegExp(`^${source}$`, 's');
}

function meaningOf(character: string): string {
  if (character === '*') return '.*';
  return character === '?' ? '.' : `\\${character}`;
}

// --- rates ---

/** A rate limit: a number per second, and twice that number at once. */
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

  /** Counts one use. False if the limit is reached. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (nowMs - this.#lookedMs) * this.#perMs);
    this.#lookedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
