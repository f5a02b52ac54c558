// The parts of a daemon's place on the bus that the whole owner's side uses.

import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { Bus, BusHeaders } from './bus.ts';
import type { Claims } from './claims.ts';
import { countIn, HEADER } from './frames.ts';

export interface OwnerContext {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly limits: Limits;
  readonly tenant: string;
  readonly host: string;
  /** Names this run of the daemon. Calls of an earlier run are unknown in this one. */
  readonly run: string;
  readonly claims: Claims;
  /**
   * Returns the number of the lease by which this host serves a server by its name alone; undefined without a lease.
   */
  readonly fenceOf: (server: string) => number | undefined;
}

/** True if this host may not begin a request that is meant for the server's current holder. */
export function isFencedOff(server: string, headers: BusHeaders, { fenceOf }: Pick<OwnerContext, 'fenceOf'>): boolean {
  const fence = headers[HEADER.fence];
  const held = fenceOf(server);
  return fence !== undefined && (held === undefined || countIn(fence) !== held);
}
