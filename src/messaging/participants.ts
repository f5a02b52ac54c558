// Who is there among the clients, and what each of them may see of the others.

import type { AcceptedMethods } from '../core/accepted-methods.ts';
import type { Session } from '../core/session.ts';
import type { MessagingSettings } from '../model/messaging-settings.ts';
import type { Clock } from '../util/clock.ts';
import { invalidParams } from './invalid-params.ts';
import type { Letter } from './mailbox.ts';
import { type MayTalk, pairPolicy } from './pair-policy.ts';
import { Participant, type ParticipantReport } from './participant.ts';
import { inTheirOrder } from './unclaimed-letters.ts';

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
