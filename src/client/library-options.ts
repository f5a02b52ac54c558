// Checks the options of the library as soon as the program gives them. Otherwise most faults would show only when it
// connects or reconnects, or never.

import { RECONNECT_BOUNDS, type ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';

const isText = (value: unknown): boolean => typeof value === 'string';
const isSwitch = (value: unknown): boolean => typeof value === 'boolean';

const FITS = {
  'a string': isText,
  'true or false': isSwitch,
  'true, false or an array of strings': (value: unknown) =>
    isSwitch(value) || (Array.isArray(value) && value.every(isText)),
  'a function': (value: unknown) => typeof value === 'function',
  'an AbortSignal': (value: unknown) => typeof (value as AbortSignal | null)?.throwIfAborted === 'function',
  'a client of the SDK': (value: unknown) => typeof (value as { connect?: unknown } | null)?.connect === 'function',
  /** Accepts anything; another place checks it. */
  anything: () => true,
};

export type OptionKinds<Options> = Readonly<Record<keyof Options, keyof typeof FITS>>;

/**
 * Throws if the options are wrong. `taker` is the function that the program calls, or the option that contains them.
 */
export function checkOptions<Options>(options: unknown, kinds: OptionKinds<Options>, taker: string): void {
  const takes = Object.keys(kinds).join(', ');
  if (typeof options !== 'object' || options === null)
    throw unfit(`${taker} must be given an object, not ${typeName(options)}`, `It takes: ${takes}`);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(kinds, name)) throw unfit(`${taker} has no option ${name}`, `It takes: ${takes}`);
    const kind = kinds[name as keyof Options];
    if (!FITS[kind](value)) throw unfit(`The option ${name} must be ${kind}, not ${typeName(value)}`);
  }
}

function typeName(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

export function unfit(message: string, hint?: string): BridgeError {
  return new BridgeError('USAGE', message, hint === undefined ? {} : { hint });
}

export interface ReconnectOptions {
  readonly enabled?: boolean | undefined;
  /** The maximum number of attempts in a row without success. */
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

/** Throws if the options are wrong. */
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

/** Fills in missing options from the config. A given delay takes precedence over the configured other one. */
export function reconnectSettings(wanted: ReconnectOptions = {}, configured: ReconnectSettings): ReconnectSettings {
  const initialDelayMs = wanted.initialDelayMs ?? configured.initialDelayMs;
  return {
    isEnabled: wanted.enabled ?? configured.isEnabled,
    maxAttempts: wanted.maxAttempts ?? configured.maxAttempts,
    initialDelayMs,
    maxDelayMs: wanted.maxDelayMs ?? Math.max(configured.maxDelayMs, wanted.initialDelayMs ?? 0),
  };
}
