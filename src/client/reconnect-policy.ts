// How a client or an inbound server reconnects to its bridge: at once, then after delays that grow (util/backoff.ts), as
// often as its settings allow. Also decides who starts the next daemon: a daemon that somebody has stopped is not started
// again before a client needs one.

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
  /** Resolves when the session goes on. A daemon is started if there is none and `mayStart`. */
  readonly attempt: (mayStart: boolean) => Promise<void>;
  /** The next attempt comes after so long. */
  readonly waits?: (attempt: number, delayMs: number) => void;
  /** True if no further attempt can do better. */
  readonly isFinal?: (error: unknown) => boolean;
  /** True if the client waits for anything. */
  readonly isNeeded: () => boolean;
}

/** The last words of a daemon that goes in order. */
export interface Farewell {
  /** The daemon has looked at so many of the bytes that it was sent. */
  readonly received: number;
  readonly reason: string;
  /** The requests that it has looked at and sent to nobody. */
  readonly unsent: readonly RequestId[];
}

/** The codes of refusals that last: the daemon will refuse tomorrow too. */
export const LASTING_REFUSALS = ['SERVER_NOT_FOUND', 'SERVER_AUTH_REQUIRED', 'VIEW_UNKNOWN'] as const;
/** A daemon that has just started is without the servers that dial in; they come back to it within so many attempts. */
const MOST_REFUSALS = 5;
/** A daemon that restarts brings the next one itself; only if that takes longer than this is one started. */
const RESTART_MS = 5000;

export class ReconnectPolicy {
  readonly #options: ReconnectPolicyOptions;
  readonly #ports: ReconnectPolicyPorts;
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

  constructor(options: ReconnectPolicyOptions, ports: ReconnectPolicyPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** The daemon was ended because somebody wanted so, or because nobody used it. */
  get wasStopped(): boolean {
    return this.#farewell !== undefined && this.#farewell.reason !== 'restart';
  }

  /** The connection has dropped, for this reason; its daemon may have said farewell. */
  lost(reason: string, farewell: Farewell | undefined): void {
    this.#reason = reason;
    this.#farewell = farewell;
    if (farewell !== undefined) this.#pace.beginAnew(); // what its end takes does not count
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

  /** True if the refusal must be shown: without an open request, further attempts cost nobody anything. */
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
  /** Resolves when it goes on. Attempts are counted from 1; `elapsedMs`: since it was lost. */
  attempt(number: number, elapsedMs: number): Promise<Reached>;
  /** The next attempt comes after so long. */
  readonly waits?: ((attempt: number, delayMs: number) => void) | undefined;
  /** True if no further attempt can do better; then this is the error at the end. */
  readonly isFinal?: ((error: unknown) => boolean) | undefined;
  readonly settings: ReconnectSettings;
  /** The pace of all reconnections of one client together; undefined for the first connection. */
  readonly pace?: AttemptPace;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
  readonly signal: AbortSignal;
  /** The path at which the daemon is looked for. */
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
    // It counts and ends; the delays are ours, because its own are never shorter than their bound's half.
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
