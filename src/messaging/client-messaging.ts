// Messages between clients: requests and notices, passed on in their own bytes, and letters, which wait in a mailbox.
// The bridge alone writes the sender's name; a client never can.

import type { ClientRequest } from '../core/call.ts';
import type { Events } from '../core/events.ts';
import type { Messaging } from '../core/handshake.ts';
import type { OwnTools } from '../core/joined-view.ts';
import { openCall } from '../core/pending-requests.ts';
import type { Session } from '../core/session.ts';
import type { AgentsElsewhere, AgentsHere, ListedAgents, MailedLetter } from '../model/agent-mail.ts';
import type { Limits } from '../model/limits.ts';
import type { MessagingSettings } from '../model/messaging-settings.ts';
import type { AcceptedMethods } from '../protocol/accepted-methods.ts';
import { paramsOf } from '../protocol/request-params.ts';
import { failureOf, outcomeUnknown } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { textOf } from '../util/json-value.ts';
import type { Logger } from '../util/logger.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { Admission } from './admission.ts';
import { type ClientMessage, readMessage, writeMessage } from './client-message.ts';
import { Delivery } from './delivery.ts';
import { countsOf, type KeptMailbox, type Letter, type LetterDraft, letterIn, UnclaimedLetters } from './letters.ts';
import { MessagingDesk } from './messaging-desk.ts';
import { type Participant, Participants } from './participants.ts';

export interface ClientMessagingOptions {
  readonly settings: MessagingSettings;
  readonly limits: Limits;
  readonly events: Events;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The time of day, for letters. */
  readonly date: () => Date;
  /** The agents of other hosts; undefined if nobody may write to them. */
  readonly elsewhere?: AgentsElsewhere | undefined;
  /** True if the config file switches mailboxes on by now, so the next daemon will have them. */
  readonly willBeEnabled: () => boolean;
}

/** The facts of a message that was refused. */
const NOT_READ = { to: '', method: '', bytes: 0 };

const MOST_LISTED = 50;

export class ClientMessaging implements Messaging, AgentsHere {
  readonly #options: ClientMessagingOptions;
  readonly participants: Participants;
  readonly #admission: Admission;
  readonly #unclaimed = new UnclaimedLetters();
  readonly #tools: MessagingDesk;
  #written = 0;

  constructor(options: ClientMessagingOptions) {
    this.#options = options;
    this.participants = new Participants(options.settings, options.clock, {
      claim: (id) => this.#unclaimed.claim(id, this.#nowMs),
      keep: (id, letters) => this.#keep(id, letters),
    });
    this.#tools = new MessagingDesk({ messaging: this, clock: options.clock });
    this.#admission = new Admission({ ...options, participants: this.participants });
  }

  toolsFor(accepted: AcceptedMethods): OwnTools | undefined {
    return this.#options.settings.isEnabled && accepted !== false ? this.#tools : undefined;
  }

  joined(session: Session, accepted: AcceptedMethods, wantedId: string | undefined): void {
    this.participants.join(session, accepted, wantedId);
  }

  wentAway(session: Session): void {
    this.participants.away(session);
  }

  left(session: Session): void {
    this.participants.leave(session);
  }

  endWaits(): void {
    this.participants.endWaits();
  }

  /** Answers `bridge/clients`, `bridge/send` and `bridge/post`. */
  request(session: Session, request: ClientRequest, envelope: Envelope): void {
    const { b } = request.frame;
    const idText = envelope.raw(b, Field.id);
    try {
      const sender = this.#senderOf(session);
      const method = textOf(envelope.decode(b, Field.method));
      const mayBeDone = session.takeRepeated(request.id);
      if (method === 'bridge/clients')
        return session.output.answer(
          idText,
          JSON.stringify(this.participants.page(sender, paramsOf(request.frame, envelope))),
        );
      if (mayBeDone) throw outcomeUnknown(); // the message may have been delivered already
      if (method === 'bridge/send') return this.#send(sender, request, envelope);
      const letter = letterIn(paramsOf(request.frame, envelope));
      const abroad = this.postAbroad(sender, letter);
      if (abroad === undefined) return session.output.answer(idText, JSON.stringify(this.post(sender, letter)));
      const { output } = session;
      abroad.then(
        (posted) => session.isOpen && output.answer(idText, JSON.stringify(posted)),
        (error: unknown) => session.isOpen && output.fail(idText, failureOf(error)),
      );
    } catch (error) {
      this.#refused(session);
      session.output.fail(idText, failureOf(error));
    }
  }

  /** Delivers a `bridge/send` without an id. The sender hears of no faults. */
  notice(session: Session, frame: Frame, envelope: Envelope): void {
    try {
      if (envelope.decode(frame.b, Field.method) !== 'bridge/send') return;
      const sender = this.#senderOf(session);
      const message = this.#read(frame, envelope);
      this.#write(sender, this.#admission.admit(sender, message), message);
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      this.#refused(session);
    }
  }

  #refused(session: Session): void {
    this.#options.events.messageSent.tell('refused', session, NOT_READ);
  }

  #senderOf(session: Session): Participant {
    const sender = this.participants.find(session);
    if (sender !== undefined) return sender;
    throw new BridgeError('REQUEST_REFUSED', 'Only clients can send messages to each other');
  }

  #read(frame: Frame, envelope: Envelope): ClientMessage {
    this.#admission.checkSize(frame.end - frame.start);
    return readMessage(frame, envelope.has(Field.params) ? envelope.span(Field.params) : undefined);
  }

  #send(sender: Participant, request: ClientRequest, envelope: Envelope): void {
    const { session } = sender;
    const message = this.#read(request.frame, envelope);
    const receiver = this.#admission.admit(sender, message);
    if (message.isNotice) {
      this.#write(sender, receiver, message);
      return session.output.answer(envelope.raw(request.frame.b, Field.id), '{}');
    }
    this.#admission.checkInFlight(sender, receiver);
    const delivery = new Delivery(sender, receiver, this.#options);
    const call = openCall(session, request, envelope, delivery);
    if (call === undefined) return;
    delivery.begin(call);
    this.#write(sender, receiver, message, { id: delivery.id, wantsProgress: call.tokenText !== '' });
  }

  /** Writes a message to its receiver: as a request, or without `as` as a notification. */
  #write(
    sender: Participant,
    receiver: Participant,
    message: ClientMessage,
    as: { readonly id: string | undefined; readonly wantsProgress: boolean } = NOTIFICATION,
  ): void {
    receiver.session.output.noticeWith((outbox) => writeMessage(outbox, message, { ...as, from: sender.id }));
    const { to, method, frame } = message;
    this.#options.events.messageSent.tell('message', sender.session, { to, method, bytes: frame.end - frame.start });
  }

  /** Puts a letter into a mailbox. Throws if that is refused. */
  post(sender: Participant, letter: LetterDraft): { readonly id: string; readonly to: string } {
    const { to, text, inReplyTo } = letter;
    const { mailbox, hops } = this.#admission.admitLetter(sender, letter);
    const id = `m-${++this.#written}`;
    if (!mailbox.put({ id, from: sender.id, time: this.#options.date().toISOString(), text, inReplyTo, hops }))
      throw new BridgeError('MAILBOX_FULL', `The mailbox of ${to} is full: the client has not read earlier messages`, {
        hint: 'Try again later.',
      });
    const facts = { to, method: '', bytes: Buffer.byteLength(text) };
    this.#options.events.messageSent.tell('letter', sender.session, facts);
    return { id, to };
  }

  /** Sends a letter to an agent of another host; undefined for one of this host. */
  postAbroad(
    sender: Participant,
    letter: LetterDraft,
  ): Promise<{ readonly id: string; readonly to: string }> | undefined {
    const { elsewhere, events } = this.#options;
    const { to, text, inReplyTo } = letter;
    const at = to.lastIndexOf('@');
    if (elsewhere === undefined || at < 1 || this.participants.withId(to) !== undefined) return undefined;
    const hops = this.#admission.admitAbroad(sender, letter);
    const mailed = { from: sender.id, to: to.slice(0, at), text, inReplyTo, hops };
    return elsewhere.post(to.slice(at + 1), mailed).then(({ id }) => {
      events.messageSent.tell('letter', sender.session, { to, method: '', bytes: Buffer.byteLength(text) });
      return { id, to };
    });
  }

  /** The agents of other hosts that a client may write to; undefined if there are none. */
  agentsAbroad(asker: Participant): Promise<ListedAgents> | undefined {
    return this.#options.elsewhere?.list(asker.id);
  }

  // --- from other hosts ---

  receive(host: string, letter: MailedLetter): { readonly id: string } {
    const { to, text, inReplyTo, hops } = letter;
    const from = `${letter.from}@${host}`;
    const mailbox = this.#admission.admitFromAbroad(from, host, letter);
    const id = `m-${++this.#written}`;
    if (mailbox.put({ id, from, host, time: this.#options.date().toISOString(), text, inReplyTo, hops })) return { id };
    throw new BridgeError('MAILBOX_FULL', `The mailbox of ${to} has no room for more letters of other hosts`);
  }

  agentsFor(asker: string): ListedAgents {
    if (!this.#options.settings.isEnabled) return { agents: [], more: 0 };
    const { agents, more } = this.participants.correspondentsOf(asker, MOST_LISTED);
    return { agents: agents.map(({ id, name }) => ({ id, name })), more };
  }

  /** Unread letters of present clients and of clients that have gone. */
  unread(): KeptMailbox[] {
    const sinceMs = this.#nowMs;
    const unread = new UnclaimedLetters();
    for (const mailbox of this.#unclaimed.all(sinceMs)) unread.add(mailbox);
    for (const mailbox of this.participants.unread()) unread.add({ ...mailbox, sinceMs });
    return unread.all(sinceMs);
  }

  /** Logs the number of letters that will be lost when the daemon ends. */
  logUnread(): void {
    const unread = this.unread();
    if (unread.length > 0) this.#options.logger.warn('unread letters end with this daemon', countsOf(unread));
  }

  #keep(clientId: string, letters: readonly Letter[]): void {
    const nowMs = this.#nowMs;
    this.#unclaimed.add({ clientId, sinceMs: nowMs, letters });
    const lost = this.#unclaimed.makeRoom(nowMs);
    if (lost.length > 0) this.#options.logger.warn('letters are lost: too much waits to be read', countsOf(lost));
  }

  get #nowMs(): number {
    return this.#options.date().getTime();
  }
}

const NOTIFICATION = { id: undefined, wantsProgress: false };
