// One finished span in the exporters' form. Its attributes are limited in number and length.

import type { SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type Attributes, cut } from './convention.ts';
import type { HrMoment } from './histogram.ts';
import type { SpanLimits } from './otel-settings.ts';
import type { Failure, SpanNote } from './request-trace.ts';

/** OpenTelemetry's numbers for span kinds and statuses. */
export const SpanKind = { server: 1, client: 2 } as const;
const Status = { unset: 0, error: 2 } as const;
const SAMPLED = 1;
const LONGEST_MESSAGE = 256;

export interface SpanScope {
  readonly resource: Resource;
  readonly version: string;
  readonly limits: SpanLimits;
  /** The time of day at a time of the steady clock. */
  readonly momentAt: (ms: number) => HrMoment;
}

export interface FinishedSpan {
  readonly name: string;
  readonly kind: (typeof SpanKind)[keyof typeof SpanKind];
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly isParentRemote: boolean;
  /** The trace state as the client spelled it. */
  readonly state: string | undefined;
  readonly startedMs: number;
  readonly endedMs: number;
  /** The span takes ownership of these. */
  readonly attributes: Attributes;
  readonly failure: Failure | undefined;
  readonly notes: readonly SpanNote[];
}

export function readableSpan(span: FinishedSpan, { resource, version, limits, momentAt }: SpanScope): ReadableSpan {
  const { failure } = span;
  const traceId = detached(span.traceId);
  const parentId = span.parentId === undefined ? undefined : detached(span.parentId);
  const dropped = bound(span.attributes, limits);
  const notes = span.notes.slice(0, limits.events);
  const context = contextOf(traceId, detached(span.spanId), span.state);
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => context,
    ...(parentId === undefined
      ? {}
      : { parentSpanContext: { traceId, spanId: parentId, traceFlags: SAMPLED, isRemote: span.isParentRemote } }),
    startTime: momentAt(span.startedMs),
    endTime: momentAt(span.endedMs),
    duration: momentOf(span.endedMs - span.startedMs),
    status:
      failure === undefined
        ? { code: Status.unset }
        : {
            code: Status.error,
            ...(failure.message === undefined ? {} : { message: cut(failure.message, LONGEST_MESSAGE) }),
          },
    attributes: span.attributes,
    links: [],
    events: notes.map(({ name, atMs, why }) => ({
      name,
      time: momentAt(atMs),
      attributes: { 'mcp_bridge.for': why },
      droppedAttributesCount: 0,
    })),
    ended: true,
    resource,
    instrumentationScope: { name: 'mcp-bridge', version },
    droppedAttributesCount: dropped,
    droppedEventsCount: span.notes.length - notes.length,
    droppedLinksCount: 0,
  };
}

/** Cuts long attributes and removes surplus ones; returns the number removed. */
function bound(attributes: Attributes, limits: SpanLimits): number {
  let count = 0;
  for (const key in attributes) {
    const value = attributes[key];
    if (++count > limits.attributes) delete attributes[key];
    else if (typeof value === 'string' && value.length > limits.characters)
      attributes[key] = cut(value, limits.characters);
  }
  return Math.max(0, count - limits.attributes);
}

/** Copies an id: a slice would keep its whole text in memory while the span waits. */
function detached(id: string): string {
  return Buffer.from(id, 'latin1').toString('latin1');
}

function contextOf(traceId: string, spanId: string, state: string | undefined): SpanContext {
  const context = { traceId, spanId, traceFlags: SAMPLED };
  return state === undefined ? context : { ...context, traceState: new KeptState(state) };
}

/** A trace state from others, passed on unchanged. */
class KeptState {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  serialize(): string {
    return this.#text;
  }

  get(): undefined {
    return undefined;
  }

  set(): this {
    return this;
  }

  unset(): this {
    return this;
  }
}

const MS_PER_SECOND = 1000;
const NS_PER_MS = 1_000_000;

/** A time in milliseconds, as seconds and nanoseconds. */
export function momentOf(ms: number): HrMoment {
  const seconds = Math.floor(ms / MS_PER_SECOND);
  return [seconds, Math.min(Math.round((ms - seconds * MS_PER_SECOND) * NS_PER_MS), 999_999_999)];
}
