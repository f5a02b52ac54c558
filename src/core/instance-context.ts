// What all instances of all servers have in common.

import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { CallMeters } from './call-meter.ts';
import type { Counters } from './counters.ts';
import type { Session } from './session.ts';

export interface InstanceContext {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly meters: CallMeters;
  /** Undefined if no calls are recorded. */
  readonly audit?: AuditTrail | undefined;
  /** Runs what is done for one client, whose own end an error of ours in it is. */
  readonly contain: (session: Session, task: () => void) => void;
  /** Cuts a client off that does not take what is meant for it. */
  readonly cutOff: (session: Session, reason: string) => void;
}
