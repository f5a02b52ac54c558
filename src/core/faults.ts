// Counts and logs the bridge's own faults. A fault costs one session or one instance, never the daemon.

import { messageOf } from '../util/bridge-error.ts';
import type { LogFields, Logger } from '../util/logger.ts';
import type { Events } from './events.ts';

interface FaultsPorts {
  readonly events: Events;
  readonly logger: Logger;
}

/** The maximum number of stack functions in a log line. */
const MOST_FUNCTIONS = 4;

export class Faults {
  readonly #ports: FaultsPorts;

  constructor(ports: FaultsPorts) {
    this.#ports = ports;
  }

  /** Counts and logs an unexpected error. `what` names the failed action, `fields` the client or server. */
  note(what: string, error: unknown, fields: LogFields = {}): void {
    this.#ports.events.incident.tell('internalErrors', undefined);
    this.#ports.logger.error(what, { ...fields, error: messageOf(error), at: functionsIn(error) });
  }

  /** Runs a task; an error goes to `failed`. */
  contain(task: () => void, failed: (error: unknown) => void): void {
    try {
      task();
    } catch (error) {
      failed(error);
    }
  }
}

/** The functions on the error's stack. No paths, because people pass logs on. */
function functionsIn(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined;
  const names = [...error.stack.matchAll(/^\s+at (?:async )?([^\s(]+) \(/gm)].map(([, name]) => name);
  return names.slice(0, MOST_FUNCTIONS).join(' < ') || undefined;
}
