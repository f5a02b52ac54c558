// The messages of other hosts that make work, each in its turn: the users one after the other, and of each user the hosts. Those that the turn of the event
// loop has no time for wait here, and not in the connection, where one sender would stand in front of all. It never keeps more than its bounds.

import { FairQueue } from '../util/fair-queue.ts';
import type { PacedReader, ReadPacer } from '../wire/read-pacer.ts';
import type { ReceivedMessage } from './bus.ts';

/** The most that waits, of all together. */
const MOST_WAITING = 8192;
const MOST_WAITING_BYTES = 32 * 1024 * 1024;
/** A message that waits counts for its headers and data, and for so much that is around it. */
const AROUND_BYTES = 512;

/** The sender for whose turn a message waits. NATS may vouch for the user; the host is the user's word. */
export interface Sender {
  readonly user: string;
  readonly host: string;
}

/** The work that the messages of one subscription make. */
export interface IntakeWork {
  readonly serve: (message: ReceivedMessage) => void;
  readonly senderOf: (message: ReceivedMessage) => Sender;
  /** True for a message that would be refused in its turn too, whatever happens until then. */
  readonly isInVain: (message: ReceivedMessage) => boolean;
  /** There is no room for a message. */
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

/** What waits of one user. */
class UserShare {
  readonly hosts = new FairQueue<string, Waiting>();
  /** The bytes, by host. */
  readonly bytesOf = new Map<string, number>();
  bytes = 0;
}

export class Intake {
  readonly #pacer: ReadPacer;
  readonly #reader: PacedReader;
  readonly #failed: (error: unknown) => void;
  /** Has each user as often as messages of it wait. */
  readonly #turns = new FairQueue<string, UserShare>();
  readonly #users = new Map<string, UserShare>();
  #bytes = 0;
  #isClosed = false;

  constructor({ pacer, failed }: IntakeOptions) {
    this.#pacer = pacer;
    this.#reader = pacer.reader();
    this.#failed = failed;
  }

  /** The messages that wait, and their bytes. */
  get waiting(): { readonly count: number; readonly bytes: number } {
    return { count: this.#turns.size, bytes: this.#bytes };
  }

  /** Serves a message at once if nothing waits and there is time, else in its turn. */
  take(message: ReceivedMessage, work: IntakeWork): void {
    if (this.#turns.size === 0 && !this.#pacer.isLate) return work.serve(message);
    const sender = work.senderOf(message);
    const bytes = message.data.length + (message.headBytes ?? 0) + AROUND_BYTES;
    const user = this.#users.get(sender.user) ?? new UserShare();
    if (this.#isClosed || work.isInVain(message) || !this.#hasRoom(sender, user, bytes))
      return work.refuse(message, sender);
    if (this.#turns.size === 0) this.#reader.wait(this.#goOn);
    user.hosts.push(sender.host, { message: compact(message), work, sender, bytes });
    user.bytesOf.set(sender.host, (user.bytesOf.get(sender.host) ?? 0) + bytes);
    user.bytes += bytes;
    this.#bytes += bytes;
    this.#users.set(sender.user, user);
    this.#turns.push(sender.user, user);
  }

  /**
   * A user may have as much as is left for all, and a host as much as is left then for its user. So those who flood leave room for others, and of several the
   * one of whom the least waits gets in first.
   */
  #hasRoom({ host }: Sender, { hosts, bytes: ofUser, bytesOf }: UserShare, bytes: number): boolean {
    return (
      hosts.countOf(host) < MOST_WAITING - this.#turns.size - hosts.size &&
      (bytesOf.get(host) ?? 0) + bytes <= MOST_WAITING_BYTES - this.#bytes - ofUser
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
    const left = (user.bytesOf.get(sender.host) ?? 0) - bytes;
    if (left > 0) user.bytesOf.set(sender.host, left);
    else user.bytesOf.delete(sender.host);
    if (user.hosts.size === 0) this.#users.delete(sender.user);
    return next;
  }

  /** What waits is not served any more. */
  close(): void {
    this.#isClosed = true;
    this.#reader.leave();
  }
}

const anyone = (): boolean => true;

/** A message that holds on to little more than its own bytes. */
function compact(message: ReceivedMessage): ReceivedMessage {
  const { data } = message;
  return data.buffer.byteLength > 2 * data.length ? { ...message, data: Buffer.from(data) } : message;
}
