// The parts of a daemon's place on the bus that all of the owner's side works with.

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
  /** Names this run of the daemon: calls of a run before are not known in this one. */
  readonly run: string;
  readonly claims: Claims;
  /** The number of the lease by which this host serves a server by its name alone; undefined without one. */
  readonly fenceOf: (server: string) => number | undefined;
}

/** True if this host may not begin a request that goes to whoever serves the server now. */
export function isFencedOff(server: string, headers: BusHeaders, { fenceOf }: Pick<OwnerContext, 'fenceOf'>): boolean {
  const fence = headers[HEADER.fence];
  const held = fenceOf(server);
  return fence !== undefined && (held === undefined || countIn(fence) !== held);
}
