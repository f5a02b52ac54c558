// The first connection of a client. Who may start the daemon starts it; who may not waits for somebody else to, as long as
// the settings for coming back allow.

import type { Socket } from 'node:net';
import type { ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { FrameInput } from '../wire/frame-input.ts';
import { openOrStart, type StartSettings } from './open-or-start.ts';

export interface FirstConnection {
  /** Looks again at each attempt. */
  readonly path: () => string;
  /** How a daemon is started; undefined if none may be. */
  readonly start: StartSettings | undefined;
  /** The socket reads frames into this, instead of emitting data. */
  readonly newInput?: (() => FrameInput) | undefined;
  readonly reconnect: ReconnectSettings;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** Ends the attempts; then the reason is thrown. */
  readonly signal: AbortSignal;
  /** The next attempt comes soon. */
  readonly waits?: (attempt: number) => void;
}

/** Rejects with why there is no connection: with the last attempt's own error, as if it had been the only one. */
export async function openFirst(options: FirstConnection): Promise<Socket> {
  const { path, start, newInput, reconnect: settings, clock, sleep, random, signal, waits } = options;
  const open = (): Promise<Socket> => openOrStart(path(), start, newInput);
  const first = open();
  if (start !== undefined || !settings.isEnabled) return first;
  try {
    return await first; // mostly there is a daemon, and nothing of what follows is needed
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  const { laterCode } = await import('./later.ts');
  try {
    return await laterCode().reconnectLoop({
      attempt: (number) => (number === 1 ? first : open()),
      isFinal: (error) => !isAbsent(error),
      now: () => clock.now(),
      ...{ waits, settings, path, random, signal, sleep },
    });
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'DAEMON_UNREACHABLE' && isAbsent(error.cause)) throw error.cause;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof BridgeError && error.code === 'DAEMON_NOT_RUNNING';
}
