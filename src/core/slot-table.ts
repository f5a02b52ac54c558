// The requests of one instance: those that were sent and are not answered, and those that wait for their turn.
// A slot is in exactly one of the two, and in its session's map, until it leaves all of them at once.

import { BridgeError } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { Counters } from './counters.ts';
import { cancelNotice } from './era/era-2025.ts';
import { FairQueue } from './fair-queue.ts';
import { Lane } from './lane.ts';
import { rpcErrorOf } from './rpc-error.ts';
import type { Session } from './session.ts';
import type { OwnRequest } from './shared-state.ts';
import type { Slot } from './slot.ts';

/** Bytes that a server has not taken yet, from which on requests wait here, in fair turns, and not in its pipe. */
export const CONGESTED_BYTES = 1024 * 1024;

const splice = new Splice();
/** Of frames that have waited: what was read of them when they came is not kept, it is read again. */
const readAgain = new Envelope();

export class SlotTable {
  readonly #server: string;
  readonly #limits: Limits;
  readonly #counters: Counters;
  #outbox: Outbox | undefined;
  #nextId = 1;
  readonly #sent = new Map<number, Slot>();
  readonly #waiting = new FairQueue<Session, Slot>();
  #waitingBytes = 0;
  /** Ids of requests of the bridge's own. */
  readonly #own = new Set<number>();
  /** Requests that were sent, ever. */
  sentInAll = 0;
  /** Nothing is sent while a question of the server's waits for calls to end. */
  isHeld = false;
  readonly lane = new Lane();

  constructor(server: string, limits: Limits, counters: Counters) {
    this.#server = server;
    this.#limits = limits;
    this.#counters = counters;
  }

  get size(): number {
    return this.#sent.size + this.#waiting.size;
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** From here on requests can be sent; the bridge's own go first. */
  opened(outbox: Outbox, own: readonly OwnRequest[]): void {
    this.#outbox = outbox;
    for (const { method, params } of own) this.ask(method, params);
    this.pump();
  }

  /** Asks for the bridge itself; whatever the answer is, nobody waits for it. */
  ask(method: string, params: object): void {
    if (this.#outbox === undefined) return;
    const id = this.#nextId++;
    this.#own.add(id);
    this.#outbox.utf8(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(params)}}`);
    this.#outbox.endFrame();
  }

  /** Whether an answer is one to the bridge itself. */
  takeOwn(downId: number): boolean {
    return this.#own.delete(downId);
  }

  /** Takes a request in. It is sent, or it waits, or it is answered with an error. */
  submit(slot: Slot, frame: Frame, read: Envelope): void {
    if (this.#outbox !== undefined && this.#waiting.size === 0 && this.#maySend(this.#outbox, slot))
      return this.#send(this.#outbox, slot, frame, read);
    this.#wait(slot, frame);
    this.pump(); // those before it may be held up by what does not concern it
  }

  /** The sent request that an answer is for; it is not sent any more. */
  takeSent(downId: number): Slot | undefined {
    const slot = this.#sent.get(downId);
    if (slot === undefined) return undefined;
    this.#sent.delete(downId);
    this.lane.learn(slot);
    this.lane.leave(slot);
    return slot;
  }

  /** The clients that have calls under way. */
  askers(): Set<Session> {
    const askers = new Set<Session>();
    for (const { session } of this.#sent.values()) askers.add(session);
    return askers;
  }

  /** Any of the client's calls may be the one during which the server asks. */
  markAskedBack(session: Session): void {
    for (const slot of this.#sent.values()) if (slot.session === session) slot.wasAskedBack = true;
  }

  peekSent(downId: number): Slot | undefined {
    return this.#sent.get(downId);
  }

  /** Sends what may be sent now, one of each client in turn. */
  pump(): void {
    while (this.#outbox !== undefined && this.#waiting.size > 0 && this.#hasRoom(this.#outbox)) {
      const slot = this.#waiting.take((session, next) => this.#mayAsk(session) && this.lane.admits(session, next.call));
      if (slot === undefined) return;
      const frame = this.#takeUnsent(slot);
      readAgain.scan(frame.b, frame.start, frame.end, this.#limits.maxDepth);
      this.#send(this.#outbox, slot, frame, readAgain);
    }
  }

  /** Takes the slot off both its owners: nobody waits for its answer any more. */
  remove(slot: Slot): void {
    this.#forget(slot);
    slot.session.close(slot);
    this.#counters.cancelled++;
  }

  /** The same for one whose client does not say so itself: the server is told, and the client too if there is an error. */
  giveUp(slot: Slot, reason: string, error?: BridgeError): void {
    const wasSent = slot.downId !== 0;
    if (error === undefined) this.remove(slot);
    else {
      this.#forget(slot);
      this.fail(slot, error);
    }
    if (!wasSent || this.#outbox === undefined) return;
    this.#outbox.utf8(cancelNotice(String(slot.downId), reason));
    this.#outbox.endFrame();
  }

  #forget(slot: Slot): void {
    this.lane.leave(slot);
    if (slot.downId !== 0) this.#sent.delete(slot.downId);
    else if (this.#waiting.remove(slot.session, slot)) this.#takeUnsent(slot);
  }

  /** The slot's one answer is that it is so, as the bridge knows without asking. */
  succeed(slot: Slot): void {
    slot.session.answer(slot.idText, '{}');
    slot.session.close(slot);
  }

  /** The slot's one answer is an error. The session closes it last, because it may leave with its last answer. */
  fail(slot: Slot, error: BridgeError): void {
    slot.onEnd?.(false);
    slot.session.answerError(slot.idText, rpcErrorOf(error));
    slot.session.close(slot);
  }

  /** The instance is gone: what it was sent has no certain outcome; what waits waits for the next one. */
  failSent(error: BridgeError): void {
    this.#outbox = undefined;
    this.#own.clear();
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    for (const slot of lost) {
      this.lane.leave(slot);
      this.fail(slot, error);
    }
  }

  failWaiting(error: BridgeError): void {
    for (let slot = this.#nextWaiting(); slot !== undefined; slot = this.#nextWaiting()) {
      this.#takeUnsent(slot);
      this.fail(slot, error);
    }
  }

  #nextWaiting(): Slot | undefined {
    return this.#waiting.take(() => true);
  }

  #maySend(outbox: Outbox, { session, call }: Slot): boolean {
    return this.#hasRoom(outbox) && this.#mayAsk(session) && this.lane.admits(session, call);
  }

  /** Who has enough under way, or does not take the answers it has got, waits with further questions. */
  #mayAsk(session: Session): boolean {
    const { maxInFlightPerClient, maxQueuedBytesPerClient } = this.#limits;
    return session.sentCount < maxInFlightPerClient && session.link.outbox.blockedBytes < maxQueuedBytesPerClient;
  }

  #hasRoom(outbox: Outbox): boolean {
    return !this.isHeld && this.#sent.size < this.#limits.maxInFlightPerServer && outbox.blockedBytes < CONGESTED_BYTES;
  }

  #send(outbox: Outbox, slot: Slot, { b, start, end }: Frame, read: Envelope): void {
    const downId = this.#nextId++;
    slot.downId = downId;
    this.#sent.set(downId, slot);
    slot.session.sentCount++;
    this.sentInAll++;
    this.lane.enter(slot);
    const ours = String(downId);
    splice.clear().replace(read.from(Field.id), read.to(Field.id), ours);
    if (read.has(Field.metaProgressToken))
      splice.replace(read.from(Field.metaProgressToken), read.to(Field.metaProgressToken), ours);
    splice.send(outbox, b, start, end);
  }

  #wait(slot: Slot, unsent: Frame): void {
    const bytes = unsent.end - unsent.start;
    if (this.#waitingBytes + bytes > this.#limits.maxWaitingBytesPerServer) {
      this.#counters.serverBusy++;
      const hint = 'Too much is waiting for it already; ask again later.';
      this.fail(slot, new BridgeError('SERVER_BUSY', `Server ${this.#server} is busy`, { server: this.#server, hint }));
      return;
    }
    slot.unsent = unsent;
    this.#waiting.push(slot.session, slot);
    this.#waitingBytes += bytes;
    slot.session.addWaiting(bytes, this.#limits.maxWaitingBytesPerClient);
  }

  #takeUnsent(slot: Slot): Frame {
    const frame = slot.unsent;
    invariant(frame !== undefined, 'a slot that waits has its frame');
    slot.unsent = undefined;
    this.#waitingBytes -= frame.end - frame.start;
    slot.session.addWaiting(frame.start - frame.end, this.#limits.maxWaitingBytesPerClient);
    return frame;
  }
}
