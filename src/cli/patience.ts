// Waits for an answer for as long as the person does, or has said.

import { BridgeError } from '../util/bridge-error.ts';
import type { CliHost } from './host.ts';

const INTERRUPT = Symbol('interrupt');

/** Undefined if the person has ended it; throws when its time is up. */
export async function patiently<Result>(
  { host, timeoutMs }: { readonly host: CliHost; readonly timeoutMs: number | undefined },
  ask: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const cancelled = new AbortController();
  const stopListening = host.onInterrupt(() => cancelled.abort(INTERRUPT));
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => cancelled.abort(timedOut(timeoutMs)), timeoutMs);
  try {
    return await ask(cancelled.signal);
  } catch (error) {
    if (error === INTERRUPT) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

function timedOut(ms: number): BridgeError {
  return new BridgeError('CALL_TIMED_OUT', `There was no answer within ${ms} ms, so the call was cancelled`, {
    hint: '--timeout allows more.',
  });
}
