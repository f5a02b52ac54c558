// The hook by which telemetry adds its trace context to a request. It decides nothing else.

import type { ObservedCall } from './events.ts';

export interface CallTracing {
  /**
   * Returns the `traceparent` for the request that is about to be sent, as JSON in latin1. '' leaves the client's as it
   * is.
   */
  memberFor(call: ObservedCall): string;
  /** True if the bridge began the trace itself: then the client's `tracestate` does not belong to it. */
  beginsTrace(call: ObservedCall): boolean;
}
