// How a client, or a server that dials in, comes back to its bridge: as often as its settings allow and never too fast, and who starts the next
// daemon. Whoever has ended one is not to find another one there at once.

import { AttemptPace, type ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { RequestId } from '../wire/request-id.ts';
import { reconnect } from './reconnect-loop.ts';

export interface ComebackOptions {
  readonly reconnect: ReconnectSettings;
  /** Where the daemon is, for messages. */
  readonly path: () => string;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

export interface ComebackPorts {
  /** Resolves when the session goes on. A daemon is started if there is none and `mayStart`. */
  readonly attempt: (mayStart: boolean) => Promise<void>;
  /** The next attempt comes after so long. */
  readonly waits?: (attempt: number, delayMs: number) => void;
  /** Whether no further attempt can do better. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Whether the client waits for anything. */
  readonly isNeeded: () => boolean;
}

/** What a daemon says that goes in order. */
export interface Farewell {
  /** Of what it was sent, it has looked at so many bytes. */
  readonly received: number;
  readonly reason: string;
  /** The requests that it has looked at and sent to nobody. */
  readonly unsent: readonly RequestId[];
}

/** What a daemon refuses a client for, and will tomorrow. */
export const LASTING_REFUSALS = ['SERVER_NOT_FOUND', 'SERVER_AUTH_REQUIRED', 'VIEW_UNKNOWN'] as const;
/** A daemon that has just started is without the servers that dial in; they come back to it within so many attempts. */
const MOST_REFUSALS = 5;
/** A daemon that restarts brings the next one itself; only if that takes longer than this is one started. */
const RESTART_MS = 5000;

export class ReconnectPolicy {
  readonly #options: ComebackOptions;
  readonly #ports: ComebackPorts;
  readonly #pace = new AttemptPace();
  /** Made when it is needed: in Node its first use takes as long as all else here. */
  #over: AbortController | undefined;
  #pause: AbortController | undefined;
  /** `asked`: it is to be tried at once. `heard`: it has been tried for a client that needs it. */
  #need: 'none' | 'asked' | 'heard' = 'none';
  /** How often in a row it was refused for what lasts. */
  #refusals = 0;
  #farewell: Farewell | undefined;
  #reason = '';

  constructor(options: ComebackOptions, ports: ComebackPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** The daemon goes in order; undefined: it does not, or not yet. */
  set farewell(farewell: Farewell | undefined) {
    this.#farewell = farewell;
    if (farewell !== undefined) this.#pace.beginAnew(); // what its end takes does not count
  }

  get farewell(): Farewell | undefined {
    return this.#farewell;
  }

  /** The daemon was ended because somebody wanted so, or because nobody used it. */
  get wasStopped(): boolean {
    return this.#farewell !== undefined && this.#farewell.reason !== 'restart';
  }

  /** The connection has dropped; returns why. */
  lost(error: Error | undefined): string {
    this.#reason = this.#farewell?.reason ?? error?.message ?? 'the connection was closed';
    return this.#reason;
  }

  /** Resolves when the session goes on, and rejects with a BridgeError when enough was tried. */
  async run(): Promise<void> {
    const { clock, path, random, reconnect: settings } = this.#options;
    if (!settings.isEnabled) throw this.#notWanted();
    this.#over ??= new AbortController();
    const { signal } = this.#over;
    this.#need = 'none';
    this.#refusals = 0;
    const round = (): Promise<void> =>
      reconnect({
        attempt: (number, elapsedMs) => this.#attempt(this.#mayStart(number, elapsedMs)),
        waits: this.#ports.waits,
        isFinal: (error) => this.#isAsked() || this.#isRefused() || this.#ports.isFinal?.(error) === true,
        now: () => clock.now(),
        sleep: (ms, over) => this.#wait(ms, over),
        pace: this.#pace,
        ...{ settings, path, random, signal },
      });
    try {
      await round();
    } catch (error) {
      if (!this.#isAsked() || signal.aborted) throw error;
      this.#need = 'heard';
      await round();
    }
  }

  /**
   * The client needs a daemon, as of now. After a stop it is then tried again, as by a client that was asleep: once, because
   * what fails for one thing that is asked fails for the next.
   */
  ask(): void {
    if (!this.wasStopped || this.#need !== 'none') return;
    this.#need = 'asked';
    this.#pause?.abort();
  }

  /** Nobody wants it any more. */
  end(): void {
    this.#over?.abort();
    this.#pause?.abort();
  }

  async #wait(ms: number, over: AbortSignal): Promise<void> {
    over.throwIfAborted();
    if (this.#isAsked()) throw new BridgeError('DAEMON_NOT_RUNNING', 'It is tried at once instead');
    this.#pause = new AbortController();
    await this.#options.sleep(ms, this.#pause.signal);
  }

  async #attempt(mayStart: boolean): Promise<void> {
    try {
      await this.#ports.attempt(mayStart);
    } catch (error) {
      const isLasting = error instanceof BridgeError && LASTING_REFUSALS.some((code) => code === error.code);
      this.#refusals = isLasting ? this.#refusals + 1 : 0;
      throw error;
    }
  }

  #isAsked(): boolean {
    return this.#need === 'asked';
  }

  /** Who waits for an answer gets that; who does not loses nothing by further attempts. */
  #isRefused(): boolean {
    return this.#refusals >= MOST_REFUSALS && this.#ports.isNeeded();
  }

  #mayStart(number: number, elapsedMs: number): boolean {
    if (this.#farewell === undefined) return number > 1;
    if (this.#farewell.reason === 'restart') return elapsedMs > RESTART_MS;
    const isNeeded = this.#ports.isNeeded();
    if (isNeeded) this.#need = 'heard';
    return isNeeded;
  }

  #notWanted(): BridgeError {
    return new BridgeError(
      'CONNECTION_LOST',
      `The connection to the bridge at ${this.#options.path()} was lost (${this.#reason}), and reconnect.enabled is false`,
      { hint: 'Connect anew, or set reconnect.enabled to true.' },
    );
  }
}
