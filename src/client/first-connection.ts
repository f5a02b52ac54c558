// The first connection of a client. A client that may start the daemon starts it. Any other client waits for somebody
// else to start it, as long as the settings for reconnecting allow.

import type { Socket } from 'node:net';
import type { ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { FrameInput } from '../wire/frame-input.ts';
import { openOrStart, type StartSettings } from './open-or-start.ts';

export interface FirstConnection {
  /** Returns the path; it is looked up again at each attempt. */
  readonly path: () => string;
  /** The settings for starting a daemon; undefined if none may be started. */
  readonly start: StartSettings | undefined;
  /** Makes the memory into which the socket reads frames, instead of emitting data. */
  readonly newInput?: (() => FrameInput) | undefined;
  readonly reconnect: ReconnectSettings;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** Ends the attempts; then its reason is thrown. */
  readonly signal: AbortSignal;
  /** Called before the next attempt. */
  readonly waits?: (attempt: number) => void;
}

/** Opens the first connection. Rejects with the last attempt's own error, as if that had been the only attempt. */
export async function openFirst(options: FirstConnection): Promise<Socket> {
  const { path, start, newInput, reconnect: settings, clock, sleep, random, signal, waits } = options;
  const open = (): Promise<Socket> => openOrStart(path(), start, newInput);
  const first = open();
  if (start !== undefined || !settings.isEnabled) return first;
  try {
    return await first; // usually a daemon runs, and none of the following is needed
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
