// Whether one client may say something to another now. What speaks against it is thrown, before anything has gone anywhere.

import type { Limits } from '../model/limits.ts';
import type { MessagingSettings } from '../model/messaging-settings.ts';
import { isReserved } from '../protocol/accepted-methods.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { nearest } from '../util/nearest.ts';
import type { ClientMessage } from './client-message.ts';
import type { LetterDraft, Mailbox } from './letters.ts';
import type { Participant, Participants } from './participants.ts';

export interface AdmissionPorts {
  readonly participants: Participants;
  readonly settings: MessagingSettings;
  readonly limits: Limits;
  readonly clock: Clock;
  /** Whether the config has been changed since, so that the next daemon has mailboxes. */
  readonly willBeEnabled: () => boolean;
}

/** The part of what is kept for a client that is away which others may fill. */
const PART_WHILE_AWAY = 4;

export class Admission {
  readonly #ports: AdmissionPorts;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  /** Of a `bridge/send`, whatever is wrong with it otherwise. */
  checkSize(bytes: number): void {
    const { maxMessageBytes } = this.#ports.settings;
    if (bytes <= maxMessageBytes) return;
    throw new BridgeError('MESSAGE_TOO_LARGE', `The message has ${bytes} bytes, and may have ${maxMessageBytes}`, {
      hint: 'agents.maxMessageBytes of the config file allows more. A path to a file is shorter than the file.',
    });
  }

  /** The one that the message is for. */
  admit(sender: Participant, { to, method, hops, frame }: ClientMessage): Participant {
    const receiver = this.#receiverFor(sender, to);
    if (isReserved(method) || !receiver.accepts(method)) throw notAccepted(receiver, method);
    this.#checkHops(hops);
    this.#checkQueue(receiver, frame.end - frame.start);
    return receiver;
  }

  /** The mailbox that the letter is for, and how many letters were before it. */
  admitLetter(
    sender: Participant,
    { to, text, inReplyTo }: LetterDraft,
  ): { readonly mailbox: Mailbox; readonly hops: number } {
    this.checkSize(Buffer.byteLength(text));
    const { mailbox } = this.#receiverFor(sender, to);
    if (mailbox === undefined)
      throw new BridgeError('MESSAGE_NOT_ACCEPTED', `The client ${to} has no mailbox`, {
        hint: this.#mailboxHint(),
      });
    const hops = sender.mailbox?.hopsAfter(inReplyTo) ?? 0;
    this.#checkHops(hops);
    return { mailbox, hops };
  }

  #mailboxHint(): string {
    const { settings, willBeEnabled } = this.#ports;
    if (settings.isEnabled) return 'Clients in the views all and discover have one.';
    if (willBeEnabled()) return 'agents.enabled is set, but the daemon runs without it until it is restarted.';
    return 'Mailboxes need agents.enabled in the config file.';
  }

  /** Of what wants an answer. */
  checkInFlight(sender: Participant, receiver: Participant): void {
    const { maxInFlight } = this.#ports.settings;
    if (sender.asking >= maxInFlight)
      throw new BridgeError('CLIENT_BUSY', `You wait for ${maxInFlight} answers of other clients already`, {
        hint: 'agents.maxInFlight of the config file allows more.',
      });
    if (receiver.asked >= maxInFlight)
      throw new BridgeError('CLIENT_BUSY', `The client ${receiver.id} has ${maxInFlight} requests to answer already`, {
        hint: 'Try again later.',
      });
  }

  /** Also counts it against what the sender may send. */
  #receiverFor(sender: Participant, to: string): Participant {
    const { participants, settings, clock } = this.#ports;
    const nowMs = clock.now();
    if (!sender.maySend(nowMs)) throw tooMany(`You send more than ${settings.maxPerSecond} messages a second`);
    if (to === sender.id) throw new BridgeError('MESSAGE_TO_SELF', 'The message is for its own sender');
    const receiver = participants.withId(to);
    if (receiver === undefined) throw notFound(to, participants.idsFor(sender));
    if (!participants.mayTalk(sender.id, to))
      throw new BridgeError('MESSAGE_REFUSED', `agents.policy does not let ${sender.id} speak to ${to}`);
    if (!sender.mayExchange(receiver, nowMs))
      throw tooMany(`More than ${settings.maxPerSecond} messages a second go between ${sender.id} and ${to}`);
    return receiver;
  }

  #checkHops(hops: number): void {
    if (hops < this.#ports.settings.maxHops) return;
    throw new BridgeError('MESSAGE_LOOP', `The message was handed on ${hops} times already`, {
      hint: 'It goes in a loop, or agents.maxHops of the config file must allow more.',
    });
  }

  /** Who does not take what was said to it gets no more; least who is away, whose session ends when too much waits. */
  #checkQueue({ id, session }: Participant, bytes: number): void {
    const { maxQueuedBytesPerClient, maxResumeBytesPerClient } = this.#ports.limits;
    const most = session.isAway ? maxResumeBytesPerClient / PART_WHILE_AWAY : maxQueuedBytesPerClient;
    if (session.link.outbox.queuedBytes + bytes <= most) return;
    throw new BridgeError('CLIENT_BUSY', `The client ${id} does not take what is meant for it`, {
      hint: 'Try again later.',
    });
  }
}

function tooMany(problem: string): BridgeError {
  return new BridgeError('TOO_MANY_MESSAGES', problem, {
    hint: 'Do you answer each other without end? agents.maxPerSecond of the config file allows more.',
  });
}

function notFound(to: string, ids: readonly string[]): BridgeError {
  const near = nearest(to, ids);
  const hint = near.length === 0 ? 'bridge/clients shows who is connected.' : `Did you mean ${near.join(', ')}?`;
  return new BridgeError('CLIENT_NOT_FOUND', `There is no client ${JSON.stringify(to.slice(0, 128))}`, { hint });
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
