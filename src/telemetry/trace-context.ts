// The W3C trace context: reads it from clients, and makes it for servers. Random bytes for ids are drawn many at a
// time. An inexact context is ignored.

import { randomFillSync } from 'node:crypto';

/** The foreign span that a request belongs to. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const SPELLING = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
/** Longer than any existing version of the context. */
const LONGEST = 256;

/** Parses a context; undefined if it is invalid. */
export function traceParentIn(text: string): TraceParent | undefined {
  if (text.length > LONGEST) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = SPELLING.exec(text) ?? [];
  if (version === undefined || version === 'ff' || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  // A later version may add more after the flags; this one may not.
  if (more !== undefined && version === '00') return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The member for a request, as JSON. */
export function traceparentMember(traceId: string, spanId: string, isSampled: boolean): string {
  return `"traceparent":"00-${traceId}-${spanId}-${isSampled ? '01' : '00'}"`;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const POOL_BYTES = 4096;

/**
 * Draws random ids from a long string of digits: making each id separately would cost more than the rest of an
 * unsampled call.
 */
export class RandomIds {
  readonly #bytes = Buffer.alloc(POOL_BYTES);
  #digits = '';
  #at = 0;

  traceId(): string {
    const id = this.#take(TRACE_DIGITS);
    return id === NO_TRACE ? this.traceId() : id;
  }

  spanId(): string {
    const id = this.#take(SPAN_DIGITS);
    return id === NO_SPAN ? this.spanId() : id;
  }

  #take(digits: number): string {
    if (this.#at + digits > this.#digits.length) {
      this.#digits = randomFillSync(this.#bytes).toString('hex');
      this.#at = 0;
    }
    const from = this.#at;
    this.#at += digits;
    return this.#digits.slice(from, this.#at);
  }
}
