// The parts of a daemon's place on the bus that all of the owner's side works with.

import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { Bus } from './bus.ts';

export interface OwnerContext {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly limits: Limits;
  readonly tenant: string;
  readonly host: string;
  /** Names this run of the daemon: calls of a run before are not known in this one. */
  readonly run: string;
}
