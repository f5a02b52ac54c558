// How a client or an inbound server reconnects to its bridge: at once, then after growing delays (util/backoff.ts), as
// often as its settings allow. Also decides who starts the next daemon: after a person has stopped the daemon, none is
// started until a client needs one.

import pRetry from 'p-retry';
import { AttemptPace, fullJitter, type ReconnectSettings } from '../util/backoff.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { RequestId } from '../wire/request-id.ts';

export interface ReconnectPolicyOptions {
  readonly reconnect: ReconnectSettings;
  /** The path of the daemon's socket, for messages. */
  readonly path: () => string;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

export interface ReconnectPolicyPorts {
  /** Resolves when the session goes on. Starts a daemon if there is none and `mayStart` is true. */
  readonly attempt: (mayStart: boolean) => Promise<void>;
  /** Called before the next attempt, with its delay. */
  readonly waits?: (attempt: number, delayMs: number) => void;
  /** True if no further attempt can do better. */
  readonly isFinal?: (error: unknown) => boolean;
  /** True if the client waits for anything. */
  readonly isNeeded: () => boolean;
}

/** The last words of a daemon that ends in order. */
export interface Farewell {
  /** The number of received bytes that the daemon has looked at. */
  readonly received: number;
  readonly reason: string;
  /** The requests that the daemon has looked at and sent to nobody. */
  readonly unsent: readonly RequestId[];
}

/** The codes of lasting refusals: the daemon will refuse tomorrow too. */
export const LASTING_REFUSALS = ['SERVER_NOT_FOUND', 'SERVER_AUTH_REQUIRED', 'VIEW_UNKNOWN'] as const;
/** A newly started daemon lacks the inbound servers; they come back to it within so many attempts. */
const MOST_REFUSALS = 5;
/** A restarting daemon brings the next one itself. A client starts one only if that takes longer than this. */
const RESTART_MS = 5000;

export class ReconnectPolicy {
  readonly #options: ReconnectPolicyOptions;
  readonly #ports: ReconnectPolicyPorts;
  readonly #pace = new AttemptPace();
  /** Made when needed: in Node its first use takes as long as everything else here. */
  #over: AbortController | undefined;
  #pause: AbortController | undefined;
  /** `asked`: try at once. `heard`: it was tried for a client that needs it. */
  #need: 'none' | 'asked' | 'heard' = 'none';
  /** The number of lasting refusals in a row. */
  #refusals = 0;
  #farewell: Farewell | undefined;
  #reason = '';

  constructor(options: ReconnectPolicyOptions, ports: ReconnectPolicyPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** True if the daemon ended because somebody wanted that, or because nobody used it. */
  get wasStopped(): boolean {
    return this.#farewell !== undefined && this.#farewell.reason !== 'restart';
  }

  /** Called when the connection has dropped for this reason. Its daemon may have said farewell. */
  lost(reason: string, farewell: Farewell | undefined): void {
    this.#reason = reason;
    this.#farewell = farewell;
    if (farewell !== undefined) this.#pace.beginAnew(); // the time that its end takes does not count
  }

  /** Reconnects. Resolves when the session goes on; rejects with a BridgeError after enough attempts. */
  async run(): Promise<void> {
    const { clock, path, random, reconnect: settings } = this.#options;
    if (!settings.isEnabled) throw this.#notWanted();
    this.#over ??= new AbortController();
    const { signal } = this.#over;
    this.#need = 'none';
    this.#refusals = 0;
    const round = (): Promise<void> =>
      reconnectLoop({
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
   * Called when the client needs a daemon from now on. After a stop, it is tried again as for a client that was asleep,
   * but only once: if it fails for one request, it fails for the next.
   */
  ask(): void {
    if (!this.wasStopped || this.#need !== 'none') return;
    this.#need = 'asked';
    this.#pause?.abort();
  }

  /** Ends the attempts: nobody wants them any more. */
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

  /** True if the refusal must be shown. Without an open request, further attempts cost nobody anything. */
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
      { hint: 'Connect again, or set reconnect.enabled to true.' },
    );
  }
}

export interface ReconnectLoopOptions<Reached = void> {
  /**
   * Resolves when the connection is made. Attempts are counted from 1; `elapsedMs` is the time since the first attempt
   * began.
   */
  attempt(number: number, elapsedMs: number): Promise<Reached>;
  /** Called before the next attempt, with its delay. */
  readonly waits?: ((attempt: number, delayMs: number) => void) | undefined;
  /** True if no further attempt can do better; the loop then ends with this error. */
  readonly isFinal?: ((error: unknown) => boolean) | undefined;
  readonly settings: ReconnectSettings;
  /** The pace of all reconnections of one client together; undefined for the first connection. */
  readonly pace?: AttemptPace;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
  readonly signal: AbortSignal;
  /** Returns the path at which the daemon is expected. */
  readonly path: () => string;
}

export async function reconnectLoop<Reached = void>(options: ReconnectLoopOptions<Reached>): Promise<Reached> {
  const { settings, pace = new AttemptPace(), now, sleep, signal } = options;
  const isFinal = (error: unknown): boolean => options.isFinal?.(error) === true;
  const beganMs = now();
  const attempt = async (number: number, delayMs: number): Promise<Reached> => {
    const wholeDelayMs = delayMs + pace.waitMs(now() + delayMs);
    options.waits?.(number, wholeDelayMs);
    if (wholeDelayMs > 0) await sleep(wholeDelayMs, signal);
    signal.throwIfAborted();
    pace.count(now());
    return options.attempt(number, now() - beganMs);
  };
  let last: unknown;
  try {
    return await attempt(1, 0);
  } catch (error) {
    if (isFinal(error)) throw error;
    last = error;
  }
  try {
    if (settings.maxAttempts === 1) throw last;
    // p-retry counts and ends. The delays are ours: its own are never shorter than half of their bound.
    return await pRetry((retry) => attempt(retry + 1, fullJitter(settings, retry, options.random())), {
      retries: settings.maxAttempts - 2,
      minTimeout: 0,
      factor: 1,
      shouldRetry: ({ error }) => !isFinal(error),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (isFinal(error)) throw error;
    throw unreachable(options, (now() - beganMs) / 1000, error);
  }
}

type Tried = Pick<ReconnectLoopOptions, 'path' | 'settings'>;

function unreachable({ path, settings }: Tried, seconds: number, last: unknown): BridgeError {
  const attempts = settings.maxAttempts === 1 ? 'one attempt' : `${settings.maxAttempts} attempts`;
  return new BridgeError(
    'DAEMON_UNREACHABLE',
    `The bridge at ${path()} could not be reached again, by ${attempts} in ${seconds.toFixed(1)} s: ${messageOf(last)}`,
    { hint: 'See: mcp-bridge doctor', cause: last },
  );
}
