// Decides which traces are sent, using OpenTelemetry's sampler names. Everybody in a trace decides alike, because the
// decision depends only on its id, or on its parent's decision.

import type { SamplingReport } from '../model/telemetry-report.ts';
import type { TraceParent } from './trace-context.ts';

export interface Sampler {
  /** True if the spans of this trace are sent. */
  admits(traceId: string, parent: TraceParent | undefined): boolean;
}

/** A sampler that knows the share it admits. */
export interface KnownSampler extends Sampler {
  readonly sampling: SamplingReport;
}

const ALWAYS: KnownSampler = { admits: () => true, sampling: { share: 1, followsClients: false } };
const NEVER: KnownSampler = { admits: () => false, sampling: { share: 0, followsClients: false } };

/** The random digits of a trace id by the W3C's rules, as many as fit exactly into a number. */
const RANDOM_FROM = 20;
const RANDOM_DIGITS = 12;
const RANDOM_RANGE = 16 ** RANDOM_DIGITS;

/** Admits a share of all traces. */
function byRatio(ratio: number): KnownSampler {
  if (ratio >= 1) return ALWAYS;
  if (!(ratio > 0)) return NEVER;
  // Digits of equal length sort like their numbers.
  const least = Math.ceil((1 - ratio) * RANDOM_RANGE)
    .toString(16)
    .padStart(RANDOM_DIGITS, '0');
  return {
    admits: (traceId) => traceId.slice(RANDOM_FROM) >= least,
    sampling: { share: ratio, followsClients: false },
  };
}

/** Follows the parent's decision, if there is a parent. */
function byParent(root: KnownSampler): KnownSampler {
  return {
    admits: (traceId, parent) => (parent === undefined ? root.admits(traceId, undefined) : parent.isSampled),
    sampling: { ...root.sampling, followsClients: true },
  };
}

/** The sampler with this name and argument; undefined for unknown names. */
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

/** Admits a share of the traces that no client has decided. */
export function sharedSampler(ratio: number): KnownSampler {
  return byParent(byRatio(ratio));
}
