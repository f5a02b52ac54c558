// Decides which traces are sent, by the names that OpenTelemetry has for it. A trace is decided once: whoever takes part
// in it later decides alike, because the decision depends on its id alone, or on what its parent has decided.

import type { SamplingReport } from '../model/telemetry-report.ts';
import type { TraceParent } from './trace-context.ts';

export interface Sampler {
  /** True if the spans of a trace are sent. */
  admits(traceId: string, parent: TraceParent | undefined): boolean;
}

/** A sampler that says how much it admits. */
export interface KnownSampler extends Sampler {
  readonly sampling: SamplingReport;
}

const ALWAYS: KnownSampler = { admits: () => true, sampling: { share: 1, followsClients: false } };
const NEVER: KnownSampler = { admits: () => false, sampling: { share: 0, followsClients: false } };

/** The digits of a trace id that are random by the W3C's rules, as many as a number takes exactly. */
const RANDOM_FROM = 20;
const RANDOM_DIGITS = 12;
const RANDOM_RANGE = 16 ** RANDOM_DIGITS;

/** Admits this share of all traces. */
function byRatio(ratio: number): KnownSampler {
  if (ratio >= 1) return ALWAYS;
  if (!(ratio > 0)) return NEVER;
  // Digits of one length are in the order of their numbers.
  const least = Math.ceil((1 - ratio) * RANDOM_RANGE)
    .toString(16)
    .padStart(RANDOM_DIGITS, '0');
  return {
    admits: (traceId) => traceId.slice(RANDOM_FROM) >= least,
    sampling: { share: ratio, followsClients: false },
  };
}

/** Follows the parent where there is one. */
function byParent(root: KnownSampler): KnownSampler {
  return {
    admits: (traceId, parent) => (parent === undefined ? root.admits(traceId, undefined) : parent.isSampled),
    sampling: { ...root.sampling, followsClients: true },
  };
}

/** The sampler of a name, with its argument; undefined for a name that there is not. */
export function samplerOf(name: string, argument: string | undefined): KnownSampler | undefined {
  const ratio = argument === undefined || argument.trim() === '' ? 1 : Number(argument);
  const share = ratio >= 0 && ratio <= 1 ? ratio : 1;
  switch (name) {
    case 'always_on':
      return ALWAYS;
    case 'always_off':
      return NEVER;
    case 'traceidratio':
      return byRatio(share);
    case 'parentbased_always_on':
      return byParent(ALWAYS);
    case 'parentbased_always_off':
      return byParent(NEVER);
    case 'parentbased_traceidratio':
      return byParent(byRatio(share));
    default:
      return undefined;
  }
}

/** Admits this share of the traces that no client has decided about. */
export function sharedSampler(ratio: number): KnownSampler {
  return byParent(byRatio(ratio));
}
