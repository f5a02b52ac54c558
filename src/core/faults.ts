// Faults of our own: each is counted and logged here, and costs one session or one instance, never the daemon.

import { messageOf } from '../util/bridge-error.ts';
import type { LogFields, Logger } from '../util/logger.ts';
import type { Counters } from './counters.ts';

interface FaultsPorts {
  readonly counters: Pick<Counters, 'internalErrors'>;
  readonly logger: Logger;
}

/** So much of a stack says where a fault is. */
const MOST_PLACES = 4;

export class Faults {
  readonly #ports: FaultsPorts;

  constructor(ports: FaultsPorts) {
    this.#ports = ports;
  }

  /** Notes an error that nobody expected; `what` could not be done, `fields` say for whom. */
  note(what: string, error: unknown, fields: LogFields = {}): void {
    this.#ports.counters.internalErrors++;
    this.#ports.logger.error(what, { ...fields, error: messageOf(error), at: placesOf(error) });
  }

  /** Runs a task to its end or to its fault, which goes to `failed`. */
  contain(task: () => void, failed: (error: unknown) => void): void {
    try {
      task();
    } catch (error) {
      failed(error);
    }
  }
}

/** The functions that the error went through; no paths, because people pass logs on. */
function placesOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined;
  const names = [...error.stack.matchAll(/^\s+at (?:async )?([^\s(]+) \(/gm)].map(([, name]) => name);
  return names.slice(0, MOST_PLACES).join(' < ') || undefined;
}
