// Decides if one client may send something to another now: size, policy, rates, hops and room. It throws the reason for
// a refusal before anything is sent. It counts accepted messages against the rates.

import type { MailedLetter } from '../model/agent-mail.ts';
import type { Limits } from '../model/limits.ts';
import type { MessagingSettings } from '../model/messaging-settings.ts';
import { isReserved } from '../protocol/accepted-methods.ts';
import { BridgeError, type ErrorFacts, type RefusalReason } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { ClientMessage } from './client-message.ts';
import type { LetterDraft, Mailbox } from './letters.ts';
import { type Participant, type Participants, TokenBucket } from './participants.ts';

export interface AdmissionPorts {
  readonly participants: Participants;
  readonly settings: MessagingSettings;
  readonly limits: Limits;
  readonly clock: Clock;
  /** True if the config file switches mailboxes on by now, so the next daemon will have them. */
  readonly willBeEnabled: () => boolean;
}

/** Others may fill this part (1/4) of the bytes that are kept for an absent client. */
const PART_WHILE_AWAY = 4;
/** The maximum number of hosts that write to one agent. */
const MOST_HOSTS = 4096;

export class Admission {
  readonly #ports: AdmissionPorts;
  /** The rates of letters from other hosts. */
  readonly #fromHosts = new WeakMap<Participant, Map<string, TokenBucket>>();

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  /** Refuses a message that is too large. */
  checkSize(bytes: number): void {
    const { maxMessageBytes } = this.#ports.settings;
    if (bytes <= maxMessageBytes) return;
    throw new BridgeError('MESSAGE_TOO_LARGE', `The message has ${bytes} bytes; the limit is ${maxMessageBytes}`, {
      hint: 'Send the path of a file instead of its content, or set agents.maxMessageBytes in the config file.',
    });
  }

  /** Returns the receiver of a message. Throws if the message may not be sent. */
  admit(sender: Participant, { to, method, hops, frame }: ClientMessage): Participant {
    const receiver = this.#receiverFor(sender, to);
    if (isReserved(method) || !receiver.accepts(method)) throw notAccepted(receiver, method);
    this.#checkHops(hops);
    this.#checkQueue(receiver, frame.end - frame.start);
    return receiver;
  }

  /** Returns the mailbox and the hops of a letter. Throws if the letter may not be sent. */
  admitLetter(
    sender: Participant,
    { to, text, inReplyTo }: LetterDraft,
  ): { readonly mailbox: Mailbox; readonly hops: number } {
    this.checkSize(Buffer.byteLength(text));
    const { mailbox } = this.#receiverFor(sender, to);
    if (mailbox === undefined)
      throw new BridgeError('MESSAGE_NOT_ACCEPTED', `The client ${to} has no mailbox`, {
        ...this.#mailboxAdvice(),
      });
    const hops = sender.mailbox?.hopsAfter(inReplyTo) ?? 0;
    this.#checkHops(hops);
    return { mailbox, hops };
  }

  /** Returns the hops of a letter to an agent of another host. Throws if the letter may not be sent. */
  admitAbroad(sender: Participant, { to, text, inReplyTo }: LetterDraft): number {
    this.checkSize(Buffer.byteLength(text));
    const { settings, clock, participants } = this.#ports;
    if (!sender.maySend(clock.now())) throw tooMany(`You send more than ${settings.maxPerSecond} messages a second`);
    if (!participants.mayTalk(sender.id, to)) throw refusedByPolicy(sender.id, to);
    const hops = sender.mailbox?.hopsAfter(inReplyTo) ?? 0;
    this.#checkHops(hops);
    return hops;
  }

  /** Returns the mailbox for a letter from another host. */
  admitFromAbroad(sender: string, host: string, { to, text, hops }: MailedLetter): Mailbox {
    this.checkSize(Buffer.byteLength(text));
    const { participants, settings } = this.#ports;
    const receiver = participants.withId(to);
    // A forbidden receiver gets the same error as a missing one.
    if (receiver?.mailbox === undefined || !participants.mayTalk(sender, to))
      throw new BridgeError('CLIENT_NOT_FOUND', `There is no agent ${JSON.stringify(to.slice(0, 128))} with a mailbox`);
    this.#checkHops(hops);
    if (!this.#mayCome(host, receiver))
      throw tooMany(`More than ${settings.maxPerSecond} messages a second come from ${host} for ${to}`);
    return receiver.mailbox;
  }

  #mayCome(host: string, receiver: Participant): boolean {
    const { settings, clock } = this.#ports;
    const nowMs = clock.now();
    const byHost = this.#fromHosts.get(receiver) ?? new Map<string, TokenBucket>();
    this.#fromHosts.set(receiver, byHost);
    const bucket = byHost.get(host) ?? new TokenBucket(settings.maxPerSecond, nowMs);
    if (byHost.size < MOST_HOSTS) byHost.set(host, bucket);
    return byHost.has(host) && bucket.take(nowMs);
  }

  #mailboxAdvice(): { readonly hint: string; readonly facts: ErrorFacts } {
    const { settings, willBeEnabled } = this.#ports;
    const advice = (reason: RefusalReason, hint: string) => ({ hint, facts: { reason } });
    if (settings.isEnabled)
      return advice('view-without-mailbox', 'Only clients in the views all and discover have one.');
    return willBeEnabled()
      ? advice('mailboxes-need-restart', 'agents.enabled is set, but the daemon runs without it until it is restarted.')
      : advice('mailboxes-need-setting', 'Mailboxes need agents.enabled in the config file.');
  }

  /** Refuses a request if too many are open on either side. */
  checkInFlight(sender: Participant, receiver: Participant): void {
    const { maxInFlight } = this.#ports.settings;
    if (sender.asking >= maxInFlight)
      throw new BridgeError('CLIENT_BUSY', `You already wait for ${maxInFlight} answers from other clients`, {
        hint: 'Wait for answers, or set agents.maxInFlight in the config file.',
      });
    if (receiver.asked >= maxInFlight)
      throw new BridgeError('CLIENT_BUSY', `The client ${receiver.id} already has ${maxInFlight} requests to answer`, {
        hint: 'Try again later.',
      });
  }

  /** Finds the receiver, and counts the message against the rates. */
  #receiverFor(sender: Participant, to: string): Participant {
    const { participants, settings, clock } = this.#ports;
    const nowMs = clock.now();
    if (!sender.maySend(nowMs)) throw tooMany(`You send more than ${settings.maxPerSecond} messages a second`);
    if (to === sender.id) throw new BridgeError('MESSAGE_TO_SELF', 'A client cannot send a message to itself');
    const receiver = participants.withId(to);
    if (receiver === undefined) throw notFound(to, participants.idsFor(sender));
    if (!participants.mayTalk(sender.id, to)) throw refusedByPolicy(sender.id, to);
    if (!sender.mayExchange(receiver, nowMs))
      throw tooMany(`More than ${settings.maxPerSecond} messages a second go between ${sender.id} and ${to}`);
    return receiver;
  }

  #checkHops(hops: number): void {
    if (hops < this.#ports.settings.maxHops) return;
    throw new BridgeError('MESSAGE_LOOP', `The message was passed on ${hops} times already`, {
      hint: 'Clients answer each other in a loop. If that is meant, set agents.maxHops in the config file.',
    });
  }

  /**
   * Refuses more for a client with a long backlog, and sooner for an absent one: its session ends when too much waits.
   */
  #checkQueue({ id, session }: Participant, bytes: number): void {
    const { maxQueuedBytesPerClient, maxResumeBytesPerClient } = this.#ports.limits;
    const most = session.isAway ? maxResumeBytesPerClient / PART_WHILE_AWAY : maxQueuedBytesPerClient;
    if (session.link.outbox.queuedBytes + bytes <= most) return;
    throw new BridgeError('CLIENT_BUSY', `The client ${id} does not read its messages`, {
      hint: 'Try again later.',
    });
  }
}

function refusedByPolicy(from: string, to: string): BridgeError {
  return new BridgeError('MESSAGE_REFUSED', `agents.policy in the config file does not let ${from} write to ${to}`);
}

function tooMany(problem: string): BridgeError {
  return new BridgeError('TOO_MANY_MESSAGES', problem, {
    hint: 'Clients may answer each other without end. If that is meant, set agents.maxPerSecond in the config file.',
  });
}

function notFound(to: string, ids: readonly string[]): BridgeError {
  const near = nearest(to, ids);
  const hint = suggestion(near) ?? 'bridge/clients lists the connected clients.';
  return new BridgeError('CLIENT_NOT_FOUND', `There is no client ${JSON.stringify(to.slice(0, 128))}`, {
    hint,
    facts: { near },
  });
}

function notAccepted({ id }: Participant, method: string): BridgeError {
  const shown = JSON.stringify(method.slice(0, 64));
  if (isReserved(method))
    return new BridgeError(
      'MESSAGE_NOT_ACCEPTED',
      `${shown} is a method of MCP or of the bridge, so no client can receive it`,
      {
        hint: 'Use another name, for instance after your program: myapp/…',
        facts: { reason: 'method-reserved' },
      },
    );
  return new BridgeError('MESSAGE_NOT_ACCEPTED', `The client ${id} does not accept ${shown}`, {
    hint: 'A client lists the methods that it accepts in _meta["mcp-bridge/accepts"] of its initialize; bridge/clients shows them.',
    facts: { reason: 'method-not-accepted' },
  });
}
