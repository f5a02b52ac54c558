// The signs of life of a client: it reads, it sends, it answers pings. This file only judges; the ConnectionManager
// acts.

import type { Limits } from '../model/limits.ts';
import type { LivenessSettings } from '../model/liveness-settings.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { RequestId } from '../wire/request-id.ts';

/** The action to take for a client; the first that applies. */
export type LivenessFinding = 'stalled' | 'unresponsive' | 'probe' | 'ping' | undefined;

/** The parts of a client that show life. Its link may be replaced. */
interface LiveClient {
  readonly link: { readonly outbox: Pick<Outbox, 'queuedBytes' | 'takenBytes'>; readonly streams?: object | undefined };
  readonly pauses: { readonly isEmpty: boolean };
  readonly state: string;
  readonly hasEnded: boolean;
  /** True if it watches the daemon: then it may leave its backlog, which is limited, unread. */
  readonly isWatching: boolean;
}

/** The signs of life of one client, checked once a second. */
export class ClientLiveness {
  readonly #client: LiveClient;
  readonly #connectedMs: number;
  #hasTriedInitialize = false;
  /** True if it has sent something since the last check. */
  #hasSpoken = false;
  #hasEverSpoken = false;
  #lastHeardMs: number;
  /** The bytes that it had read at the last check, and since when it has read no more. */
  #takenBytes = 0;
  #stalledSinceMs: number | undefined;
  /** How long it may read nothing of its backlog once the session is closing. */
  #patienceMs = 0;
  readonly #unansweredPings = new Set<RequestId>();
  #hasAnsweredPing = false;

  constructor(client: LiveClient, connectedMs: number) {
    this.#client = client;
    this.#connectedMs = connectedMs;
    this.#lastHeardMs = connectedMs;
  }

  /** True if an `initialize` came, even one that failed. */
  get hasTriedInitialize(): boolean {
    return this.#hasTriedInitialize;
  }

  /** True if it has ever sent anything. */
  get hasEverSpoken(): boolean {
    return this.#hasEverSpoken;
  }

  /** True if it sent nothing within this time after it connected. */
  isSilentFor(ms: number, nowMs: number): boolean {
    return !this.#hasEverSpoken && nowMs - this.#connectedMs >= ms;
  }

  triesInitialize(): void {
    this.#hasTriedInitialize = true;
  }

  /** Notes that the client has sent something. */
  speaks(): void {
    this.#hasSpoken = true;
    this.#hasEverSpoken = true;
  }

  /** Restarts the checks, because the client continues on another connection. */
  comesBack(): void {
    this.#hasSpoken = true;
    this.#stalledSinceMs = undefined;
  }

  pinged(id: RequestId): void {
    this.#unansweredPings.add(id);
  }

  /** Takes an answer; returns true if it answers a ping. */
  answersPing(id: RequestId): boolean {
    if (!this.#unansweredPings.delete(id)) return false;
    this.#unansweredPings.clear();
    this.#hasAnsweredPing = true;
    return true;
  }

  /** Sets how long a closing session waits for the client to read the rest. */
  waitFor(patienceMs: number): void {
    this.#patienceMs = patienceMs;
  }

  /** Returns the action to take for the client. */
  look(nowMs: number, limits: Limits, settings: LivenessSettings): LivenessFinding {
    // A person who watches may have stopped the terminal; it answers nothing meanwhile.
    if (this.#client.isWatching) return this.#client.hasEnded ? 'probe' : undefined;
    if (this.#isStalled(nowMs, limits.stallTimeoutMs)) return 'stalled';
    // A client that is not read cannot be heard. Only a write shows if it is still there.
    if (this.#client.hasEnded || !this.#client.pauses.isEmpty) return 'probe';
    if (this.#hasSpoken) {
      this.#hasSpoken = false;
      this.#lastHeardMs = nowMs;
      // A client that sends is alive, even if it does not know pings.
      this.#unansweredPings.clear();
    }
    return this.#isPingDue(nowMs, settings) ? this.#pingOrGiveUp(settings) : undefined;
  }

  /** True if a closing client will read nothing more. */
  mayClose(nowMs: number): boolean {
    return this.#client.link.outbox.queuedBytes === 0 || this.#isStalled(nowMs, this.#patienceMs);
  }

  #isStalled(nowMs: number, patienceMs: number): boolean {
    const { queuedBytes, takenBytes } = this.#client.link.outbox;
    if (queuedBytes === 0 || takenBytes !== this.#takenBytes) {
      this.#takenBytes = takenBytes;
      this.#stalledSinceMs = undefined;
      return false;
    }
    this.#stalledSinceMs ??= nowMs;
    return nowMs - this.#stalledSinceMs >= patienceMs;
  }

  #isPingDue(nowMs: number, { pingPeriodMs }: LivenessSettings): boolean {
    // It may have no stream open for a ping. Its front notices silent connections.
    if (this.#client.link.streams !== undefined) return false;
    if (pingPeriodMs === 0 || this.#client.state !== 'ready') return false;
    return nowMs - this.#lastHeardMs >= pingPeriodMs * (this.#unansweredPings.size + 1);
  }

  #pingOrGiveUp(settings: LivenessSettings): LivenessFinding {
    if (this.#unansweredPings.size < settings.maxMissedPings) return 'ping';
    return this.#hasAnsweredPing || settings.cutOffSilentClients ? 'unresponsive' : undefined;
  }
}
