// The place where telemetry has a say in what a server gets: the context of the trace in a request. It decides nothing else.

import type { ObservedCall } from './events.ts';

export interface CallTracing {
  /**
   * The member `traceparent` for the request that is about to be sent, as JSON with one byte for each character. '' leaves what the
   * client has written as it is.
   */
  memberFor(call: ObservedCall): string;
  /** True if the trace of that member is not one that the client has begun: its `tracestate` belongs to no other. */
  beginsTrace(call: ObservedCall): boolean;
}
