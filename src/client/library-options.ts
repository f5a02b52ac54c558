// What the options of the library may be: looked at as soon as they are said, because most of them would only show when
// it connects, or never.

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
  /** Somebody else looks at it. */
  anything: () => true,
};

export type OptionKinds<Options> = Readonly<Record<keyof Options, keyof typeof FITS>>;

/** Throws what is wrong with them. `taker` is what the program calls, or the option that they are parts of. */
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
