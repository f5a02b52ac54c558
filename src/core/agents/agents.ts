// Clients that speak to each other: who is there, what one says to another and whether it may, and the letters that wait
// to be read. What is said is passed on in its bytes, and the bridge alone says who has said it.

import { BridgeError } from '../../util/bridge-error.ts';
import type { Clock } from '../../util/clock.ts';
import { textOf } from '../../util/json-value.ts';
import { nearest } from '../../util/nearest.ts';
import { type Envelope, Field } from '../../wire/envelope.ts';
import type { Frame } from '../../wire/frame-splitter.ts';
import type { Limits } from '../../wire/limits.ts';
import type { Counters } from '../counters.ts';
import { outcomeUnknown } from '../outcome-unknown.ts';
import { failureOf } from '../rpc-error.ts';
import type { Session } from '../session.ts';
import type { ClientRequest } from '../slot.ts';
import { openSlot, paramsOf } from '../view.ts';
import { type Accepted, isReserved } from './acceptance.ts';
import type { AgentSettings } from './agent-settings.ts';
import { type ClientMessage, readMessage, writeMessage } from './client-message.ts';
import { Delivery } from './delivery.ts';
import type { Letter } from './mailbox.ts';
import { type MayTalk, pairPolicy } from './pair-policy.ts';
import { Participant, type ParticipantReport } from './participant.ts';

export interface AgentsOptions {
  readonly settings: AgentSettings;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly clock: Clock;
  /** For people. */
  readonly date: () => Date;
}

/** The part of what is kept for a client that is away which others may fill. */
const PART_WHILE_AWAY = 4;
const PAGE = 100;
const MOST_OF_A_PAGE = 1000;
/** So many ids are compared with one that does not exist. */
const MOST_COMPARED = 1000;

export class Agents {
  readonly #options: AgentsOptions;
  readonly #mayTalk: MayTalk;
  /** By their ids, in the order in which they came. */
  readonly #participants = new Map<string, Participant>();
  #joined = 0;
  #written = 0;

  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#mayTalk = pairPolicy(options.settings.policy);
  }

  get settings(): AgentSettings {
    return this.#options.settings;
  }

  /** A client that has its id. */
  join(session: Session, accepted: Accepted): void {
    const { settings, clock } = this.#options;
    const hasMailbox = settings.isEnabled && accepted !== false && session.view?.isTransparent === false;
    const number = ++this.#joined;
    const of = { number, accepted, hasMailbox, settings, nowMs: clock.now() };
    this.#participants.set(session.clientId, new Participant(session, of));
  }

  leave(session: Session): void {
    if (this.#participants.get(session.clientId)?.session === session) this.#participants.delete(session.clientId);
  }

  find(session: Session): Participant | undefined {
    const found = this.#participants.get(session.clientId);
    return found?.session === session ? found : undefined;
  }

  // --- what clients ask for in the protocol ---

  /** Sees to the one answer of a `bridge/clients`, `bridge/send` or `bridge/post`. */
  request(session: Session, request: ClientRequest, read: Envelope): void {
    const { b } = request.frame;
    const idText = read.raw(b, Field.id);
    try {
      const sender = this.#senderOf(session);
      const method = textOf(read.decode(b, Field.method));
      const mayBeDone = session.takeRepeated(request.id);
      if (method === 'bridge/clients')
        return session.answer(idText, JSON.stringify(this.#page(sender, paramsOf(request.frame, read))));
      if (mayBeDone) throw outcomeUnknown(); // others may have been told it already
      if (method === 'bridge/send') return this.#send(sender, request, read);
      const letter = letterIn(paramsOf(request.frame, read));
      session.answer(idText, JSON.stringify(this.post(sender, letter)));
    } catch (error) {
      this.#refused();
      session.answerError(idText, failureOf(error));
    }
  }

  /** A `bridge/send` that wants no answer: what is wrong with it nobody is told. */
  notice(session: Session, frame: Frame, read: Envelope): void {
    try {
      if (read.decode(frame.b, Field.method) !== 'bridge/send') return;
      const sender = this.#senderOf(session);
      const { message, receiver } = this.#admit(sender, frame, read);
      this.#write(sender, receiver, message, undefined, false);
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      this.#refused();
    }
  }

  #refused(): void {
    this.#options.counters.messagesRefused++;
  }

  #senderOf(session: Session): Participant {
    const sender = this.find(session);
    if (sender !== undefined) return sender;
    throw new BridgeError('REQUEST_REFUSED', 'Only clients speak to each other');
  }

  // --- who is there ---

  #page(asker: Participant, { cursor, limit }: Readonly<Record<string, unknown>>): object {
    const after = cursor === undefined ? 0 : numberIn(cursor, 'params.cursor is one that bridge/clients has given');
    const most = limit === undefined ? PAGE : numberIn(limit, `params.limit is from 1 to ${MOST_OF_A_PAGE}`);
    if (most < 1 || most > MOST_OF_A_PAGE) throw invalid(`params.limit is from 1 to ${MOST_OF_A_PAGE}`);
    const clients: ParticipantReport[] = [];
    let last = after;
    for (const other of this.#participants.values()) {
      if (other.number <= after || !this.#maySee(asker, other)) continue;
      if (clients.length === most) return { clients, nextCursor: String(last) };
      clients.push(other.describe());
      last = other.number;
    }
    return { clients };
  }

  #maySee(asker: Participant, other: Participant): boolean {
    return other.isThere && (other === asker || this.#mayTalk(asker.id, other.id));
  }

  /** Those with a mailbox that this one may write to, and how many more there are. */
  correspondents(asker: Participant, most: number): { readonly agents: ParticipantReport[]; readonly more: number } {
    const agents: ParticipantReport[] = [];
    let more = 0;
    for (const other of this.#participants.values()) {
      if (other === asker || other.mailbox === undefined || !this.#maySee(asker, other)) continue;
      if (agents.length < most) agents.push(other.describe());
      else more++;
    }
    return { agents, more };
  }

  describe(session: Session): ParticipantReport | undefined {
    return this.find(session)?.describe();
  }

  // --- what they say ---

  #send(sender: Participant, request: ClientRequest, read: Envelope): void {
    const { session } = sender;
    const { message, receiver } = this.#admit(sender, request.frame, read);
    if (message.isNotice) {
      this.#write(sender, receiver, message, undefined, false);
      return session.answer(read.raw(request.frame.b, Field.id), '{}');
    }
    this.#checkInFlight(sender, receiver);
    const delivery = new Delivery(sender, receiver, this.#options);
    const slot = openSlot(session, request, read, delivery);
    if (slot === undefined) return;
    delivery.begin(slot);
    this.#write(sender, receiver, message, delivery.id, slot.tokenText !== '');
  }

  #write(
    sender: Participant,
    receiver: Participant,
    message: ClientMessage,
    id: string | undefined,
    wantsProgress: boolean,
  ): void {
    writeMessage(receiver.session.link.outbox, message, { id, from: sender.id, wantsProgress });
    this.#options.counters.messages++;
  }

  /** What is wrong with it is thrown, and then nothing of it has gone anywhere. */
  #admit(
    sender: Participant,
    frame: Frame,
    read: Envelope,
  ): { readonly message: ClientMessage; readonly receiver: Participant } {
    this.#checkSize(frame.end - frame.start);
    const params = read.has(Field.params) ? read.span(Field.params) : undefined;
    const message = readMessage(frame, params);
    const receiver = this.#receiverFor(sender, message.to);
    const { method, hops } = message;
    if (isReserved(method) || !receiver.accepts(method)) throw notAccepted(receiver, method);
    this.#checkHops(hops);
    this.#checkQueue(receiver, frame.end - frame.start);
    return { message, receiver };
  }

  #checkSize(bytes: number): void {
    const { maxMessageBytes } = this.settings;
    if (bytes <= maxMessageBytes) return;
    throw new BridgeError('MESSAGE_TOO_LARGE', `The message has ${bytes} bytes, and may have ${maxMessageBytes}`, {
      hint: 'agents.maxMessageBytes of the config file allows more. A path to a file is shorter than the file.',
    });
  }

  /** Also counts it against what the sender may send. */
  #receiverFor(sender: Participant, to: string): Participant {
    const nowMs = this.#options.clock.now();
    if (!sender.maySend(nowMs))
      throw this.#tooMany(`You send more than ${this.settings.maxPerSecond} messages a second`);
    if (to === sender.id) throw new BridgeError('MESSAGE_TO_SELF', 'The message is for its own sender');
    const receiver = this.#participants.get(to);
    if (receiver?.isThere !== true) throw this.#notFound(sender, to);
    if (!this.#mayTalk(sender.id, to))
      throw new BridgeError('MESSAGE_REFUSED', `agents.policy does not let ${sender.id} speak to ${to}`);
    if (!sender.mayExchange(receiver, nowMs))
      throw this.#tooMany(
        `More than ${this.settings.maxPerSecond} messages a second go between ${sender.id} and ${to}`,
      );
    return receiver;
  }

  #tooMany(problem: string): BridgeError {
    return new BridgeError('TOO_MANY_MESSAGES', problem, {
      hint: 'Do you answer each other without end? agents.maxPerSecond of the config file allows more.',
    });
  }

  #notFound(sender: Participant, to: string): BridgeError {
    const ids: string[] = [];
    for (const other of this.#participants.values()) {
      if (ids.length >= MOST_COMPARED) break;
      if (other !== sender && this.#maySee(sender, other)) ids.push(other.id);
    }
    const near = nearest(to, ids);
    const hint = near.length === 0 ? 'bridge/clients shows who is connected.' : `Did you mean ${near.join(', ')}?`;
    return new BridgeError('CLIENT_NOT_FOUND', `There is no client ${JSON.stringify(to.slice(0, 128))}`, { hint });
  }

  #checkHops(hops: number): void {
    const { maxHops } = this.settings;
    if (hops < maxHops) return;
    throw new BridgeError('MESSAGE_LOOP', `The message was handed on ${hops} times already`, {
      hint: 'It goes in a loop, or agents.maxHops of the config file must allow more.',
    });
  }

  /** Who does not take what was said to it gets no more; least who is away, whose session ends when too much waits. */
  #checkQueue({ id, session }: Participant, bytes: number): void {
    const { maxQueuedBytesPerClient, maxResumeBytesPerClient } = this.#options.limits;
    const most = session.isAway ? maxResumeBytesPerClient / PART_WHILE_AWAY : maxQueuedBytesPerClient;
    if (session.link.outbox.queuedBytes + bytes <= most) return;
    throw new BridgeError('CLIENT_BUSY', `The client ${id} does not take what is meant for it`, {
      hint: 'Try again later.',
    });
  }

  #checkInFlight(sender: Participant, receiver: Participant): void {
    const { maxInFlight } = this.settings;
    if (sender.asking >= maxInFlight)
      throw new BridgeError('CLIENT_BUSY', `You wait for ${maxInFlight} answers of other clients already`, {
        hint: 'agents.maxInFlight of the config file allows more.',
      });
    if (receiver.asked >= maxInFlight)
      throw new BridgeError('CLIENT_BUSY', `The client ${receiver.id} has ${maxInFlight} requests to answer already`, {
        hint: 'Try again later.',
      });
  }

  // --- letters ---

  /** The daemon is about to go: who waits for a letter is told that there is none. */
  endWaits(): void {
    for (const { mailbox } of this.#participants.values()) mailbox?.endWaits();
  }

  /** Puts a letter into a mailbox. Throws why it could not be. */
  post(sender: Participant, { to, text, inReplyTo }: LetterDraft): { readonly id: string; readonly to: string } {
    this.#checkSize(Buffer.byteLength(text));
    const receiver = this.#receiverFor(sender, to);
    const { mailbox } = receiver;
    if (mailbox === undefined)
      throw new BridgeError('MESSAGE_NOT_ACCEPTED', `The client ${to} has no mailbox`, {
        hint: this.settings.isEnabled
          ? 'Clients in the views all and discover have one.'
          : 'Mailboxes need agents.enabled in the config file.',
      });
    const hops = sender.mailbox?.hopsAfter(inReplyTo) ?? 0;
    this.#checkHops(hops);
    const id = `m-${++this.#written}`;
    const letter: Letter = { id, from: sender.id, time: this.#options.date().toISOString(), text, inReplyTo, hops };
    if (!mailbox.put(letter))
      throw new BridgeError('MAILBOX_FULL', `The mailbox of ${to} is full: it has not read what came before`, {
        hint: 'Try again later.',
      });
    this.#options.counters.letters++;
    return { id, to };
  }
}

export interface LetterDraft {
  readonly to: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
}

export function letterIn({ to, text, inReplyTo }: Readonly<Record<string, unknown>>): LetterDraft {
  if (typeof to !== 'string' || to === '') throw invalid('params.to must be the id of a client');
  if (typeof text !== 'string' || text === '') throw invalid('params.text must be a text');
  if (inReplyTo !== undefined && (typeof inReplyTo !== 'string' || inReplyTo.length > 64))
    throw invalid('params.inReplyTo must be the id of a message');
  return { to, text, inReplyTo };
}

function invalid(problem: string): BridgeError {
  return new BridgeError('MESSAGE_INVALID', problem, { hint: 'See docs/agents.md.' });
}

function numberIn(value: unknown, problem: string): number {
  const number = typeof value === 'number' ? value : Number(typeof value === 'string' && value !== '' ? value : 'none');
  if (!Number.isSafeInteger(number) || number < 0) throw invalid(problem);
  return number;
}

function notAccepted({ id }: Participant, method: string): BridgeError {
  const shown = JSON.stringify(method.slice(0, 64));
  if (isReserved(method))
    return new BridgeError('MESSAGE_NOT_ACCEPTED', `${shown} is a method of MCP or of the bridge, and no client's`, {
      hint: 'Name it otherwise, for instance after your program: myapp/…',
    });
  return new BridgeError('MESSAGE_NOT_ACCEPTED', `The client ${id} does not accept ${shown}`, {
    hint: 'A client says what it accepts in _meta["mcp-bridge/accepts"] of its initialize; bridge/clients shows it.',
  });
}
