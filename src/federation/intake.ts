// Takes the messages of other hosts that make work, each in its turn: users take turns, and the hosts of one user take
// turns. If the turn of the event loop has no time left, messages wait here and not in the connection, where one sender
// would block all others. It never keeps more than its bounds.

import { Counts } from '../util/counts.ts';
import { FairQueue } from '../util/fair-queue.ts';
import type { PacedReader, ReadPacer } from '../wire/read-pacer.ts';
import type { ReceivedMessage } from './bus.ts';

/** The maximum that waits, for all senders together. */
const MOST_WAITING = 8192;
const MOST_WAITING_BYTES = 32 * 1024 * 1024;
/** A waiting message counts for its headers and data, plus this overhead. */
const AROUND_BYTES = 512;

/** The sender that a message takes its turn for. NATS may vouch for the user; the host is only the user's claim. */
export interface Sender {
  readonly user: string;
  readonly host: string;
}

/** The work that the messages of one subscription make. */
export interface IntakeWork {
  readonly serve: (message: ReceivedMessage) => void;
  readonly senderOf: (message: ReceivedMessage) => Sender;
  /** True for a message that would certainly be refused in its turn too. */
  readonly isInVain: (message: ReceivedMessage) => boolean;
  /** Called when there is no room for a message. */
  readonly refuse: (message: ReceivedMessage, sender: Sender) => void;
}

export interface IntakeOptions {
  readonly pacer: ReadPacer;
  readonly failed: (error: unknown) => void;
}

interface Waiting {
  readonly message: ReceivedMessage;
  readonly work: IntakeWork;
  readonly sender: Sender;
  readonly bytes: number;
}

/** The waiting messages of one user. */
class UserShare {
  readonly hosts = new FairQueue<string, Waiting>();
  /** The bytes by host. */
  readonly bytesOf = new Counts<string>();
  bytes = 0;
}

export class Intake {
  readonly #pacer: ReadPacer;
  readonly #reader: PacedReader;
  readonly #failed: (error: unknown) => void;
  /** Holds each user once per waiting message of that user. */
  readonly #turns = new FairQueue<string, UserShare>();
  readonly #users = new Map<string, UserShare>();
  #bytes = 0;
  #isClosed = false;

  constructor({ pacer, failed }: IntakeOptions) {
    this.#pacer = pacer;
    this.#reader = pacer.reader();
    this.#failed = failed;
  }

  /** The number of waiting messages, and their bytes. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return { count: this.#turns.size, bytes: this.#bytes };
  }

  /** Serves a message at once if nothing waits and there is time; else in its turn. */
  take(message: ReceivedMessage, work: IntakeWork): void {
    if (this.#turns.size === 0 && !this.#pacer.isLate) return work.serve(message);
    const sender = work.senderOf(message);
    const bytes = message.data.length + (message.headBytes ?? 0) + AROUND_BYTES;
    const user = this.#users.get(sender.user) ?? new UserShare();
    if (this.#isClosed || work.isInVain(message) || !this.#hasRoom(sender, user, bytes))
      return work.refuse(message, sender);
    if (this.#turns.size === 0) this.#reader.wait(this.#goOn);
    user.hosts.push(sender.host, { message: compact(message), work, sender, bytes });
    user.bytesOf.add(sender.host, bytes);
    user.bytes += bytes;
    this.#bytes += bytes;
    this.#users.set(sender.user, user);
    this.#turns.push(sender.user, user);
  }

  /**
   * True if there is room for a message. A user may have as much as is left for all users, and a host as much as is
   * then left for its user. So senders that flood leave room for others, and among several the one with the least
   * waiting gets in first.
   */
  #hasRoom({ host }: Sender, { hosts, bytes: ofUser, bytesOf }: UserShare, bytes: number): boolean {
    return (
      hosts.countOf(host) < MOST_WAITING - this.#turns.size - hosts.size &&
      bytesOf.of(host) + bytes <= MOST_WAITING_BYTES - this.#bytes - ofUser
    );
  }

  readonly #goOn = (): void => {
    this.#reader.work(this.#work);
    if (this.#turns.size > 0 && !this.#isClosed) this.#reader.wait(this.#goOn);
  };

  readonly #work = (isOver: () => boolean): void => {
    do {
      const next = this.#next();
      if (next === undefined) return;
      try {
        next.work.serve(next.message);
      } catch (fault) {
        this.#failed(fault);
      }
    } while (!isOver() && !this.#isClosed);
  };

  #next(): Waiting | undefined {
    const user = this.#turns.take(anyone);
    const next = user?.hosts.take(anyone);
    if (user === undefined || next === undefined) return undefined;
    const { sender, bytes } = next;
    this.#bytes -= bytes;
    user.bytes -= bytes;
    user.bytesOf.add(sender.host, -bytes);
    if (user.hosts.size === 0) this.#users.delete(sender.user);
    return next;
  }

  /** Stops; waiting messages are not served any more. */
  close(): void {
    this.#isClosed = true;
    this.#reader.leave();
  }
}

const anyone = (): boolean => true;

/** Returns the message in little more memory than its own bytes. */
function compact(message: ReceivedMessage): ReceivedMessage {
  const { data } = message;
  return data.buffer.byteLength > 2 * data.length ? { ...message, data: Buffer.from(data) } : message;
}
