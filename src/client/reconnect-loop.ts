// Coming back to a daemon, for clients and for servers that dial in: at once, then after delays that grow
// (util/backoff.ts), until it works, enough was tried, or somebody has enough of it.

import { type AttemptPace, fullJitter, type ReconnectSettings } from '../util/backoff.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';

export interface Reconnection<Reached = void> {
  /** Resolves when it goes on. Attempts are counted from 1; `elapsedMs`: since it was lost. */
  attempt(number: number, elapsedMs: number): Promise<Reached>;
  /** The next attempt comes after so long. */
  readonly waits?: ((attempt: number, delayMs: number) => void) | undefined;
  /** Whether no further attempt can do better; then this is the error at the end. */
  readonly isFinal?: ((error: unknown) => boolean) | undefined;
  readonly settings: ReconnectSettings;
  /** Of all reconnections of one client together. */
  readonly pace: AttemptPace;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
  readonly signal: AbortSignal;
  /** Where the daemon is looked for. */
  readonly path: () => string;
}

export async function reconnect<Reached = void>(options: Reconnection<Reached>): Promise<Reached> {
  const { settings, pace, now, sleep, signal } = options;
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
    const { default: pRetry } = await import('p-retry');
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

type Tried = Pick<Reconnection, 'path' | 'settings'>;

function unreachable({ path, settings }: Tried, seconds: number, last: unknown): BridgeError {
  const attempts = settings.maxAttempts === 1 ? 'one attempt' : `${settings.maxAttempts} attempts`;
  return new BridgeError(
    'DAEMON_UNREACHABLE',
    `The bridge at ${path()} could not be reached again, by ${attempts} in ${seconds.toFixed(1)} s: ${messageOf(last)}`,
    { hint: 'See: mcp-bridge doctor', cause: last },
  );
}
