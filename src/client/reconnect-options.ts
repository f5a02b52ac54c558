// How a program wants to come back to a bridge that is lost: looked at as soon as it is said, because it would only show
// when the bridge is lost.

import { RECONNECT_BOUNDS, type ReconnectSettings } from '../util/backoff.ts';
import { checkOptions, type OptionKinds, unfit } from './library-options.ts';

export interface ReconnectOptions {
  readonly enabled?: boolean | undefined;
  /** In a row, without success. */
  readonly maxAttempts?: number | undefined;
  readonly initialDelayMs?: number | undefined;
  readonly maxDelayMs?: number | undefined;
}

const RECONNECT_OPTIONS: OptionKinds<ReconnectOptions> = {
  enabled: 'anything',
  maxAttempts: 'anything',
  initialDelayMs: 'anything',
  maxDelayMs: 'anything',
};

/** Throws what is wrong with them. */
export function checkReconnect(wanted: ReconnectOptions | undefined): void {
  if (wanted === undefined) return;
  if (typeof wanted !== 'object' || wanted === null)
    throw unfit('reconnect must be an object', 'As in: { reconnect: { maxAttempts: 5 } }');
  checkOptions(wanted, RECONNECT_OPTIONS, 'reconnect');
  const { enabled, initialDelayMs, maxDelayMs } = wanted;
  if (enabled !== undefined && typeof enabled !== 'boolean')
    throw unfit(`reconnect.enabled must be true or false, and is ${String(enabled)}`);
  for (const key of ['maxAttempts', 'initialDelayMs', 'maxDelayMs'] as const) {
    const value = wanted[key];
    const { least, most } = RECONNECT_BOUNDS[key];
    if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) continue;
    throw unfit(
      `reconnect.${key} must be a whole number from ${least} to ${most}, and is ${String(value)}`,
      key === 'maxAttempts' ? 'Not to come back at all is said by: { reconnect: { enabled: false } }' : undefined,
    );
  }
  if (initialDelayMs !== undefined && maxDelayMs !== undefined && initialDelayMs > maxDelayMs)
    throw unfit(
      `reconnect.initialDelayMs (${initialDelayMs}) must not be more than reconnect.maxDelayMs (${maxDelayMs})`,
    );
}

/** What is not said is as configured; of the two delays the one that is said counts before the other. */
export function reconnectSettings(wanted: ReconnectOptions = {}, configured: ReconnectSettings): ReconnectSettings {
  const initialDelayMs = wanted.initialDelayMs ?? configured.initialDelayMs;
  return {
    isEnabled: wanted.enabled ?? configured.isEnabled,
    maxAttempts: wanted.maxAttempts ?? configured.maxAttempts,
    initialDelayMs,
    maxDelayMs: wanted.maxDelayMs ?? Math.max(configured.maxDelayMs, wanted.initialDelayMs ?? 0),
  };
}
