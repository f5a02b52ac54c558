// Whether anything can still be asked in a session with a server over HTTP, and its end once that is known: what was not
// sent is given back, what is under way has a moment to be answered, and the connection ends.

import type { Clock } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { RemoteFailure, sessionEnded } from './remote-failure.ts';

export interface RemoteSessionPorts {
  readonly clock: Clock;
  /** Asks the server whether it is there; fails as a request does. Aborted when its answer does not count any more. */
  readonly ping: (signal: AbortSignal) => Promise<void>;
  /** Sends nothing more; resolves when nothing waits for an answer. */
  readonly retire: () => Promise<void>;
  readonly over: (failure: RemoteFailure) => void;
}

/** For answers that are on their way when the session has ended. */
const LAST_ANSWERS_MS = 1000;
/** For a server to say whether it knows the session. */
const PING_MS = 5000;

export class RemoteSession {
  readonly #ports: RemoteSessionPorts;
  #isOver = false;
  #asking: Promise<boolean> | undefined;

  constructor(ports: RemoteSessionPorts) {
    this.#ports = ports;
  }

  /** Ends it if that is what the failure of a message means. */
  examine(failure: unknown): void {
    if (failure instanceof RemoteFailure && (failure.isFinal || failure.isUnreachable)) this.#end(failure);
  }

  /**
   * Whether the server does not know it any more, asked of the server where it is not certain: what is refused otherwise
   * than by 404 may be one bad request, and a session has a state, and calls under way.
   */
  isForgotten(): boolean | Promise<boolean> {
    if (this.#isOver) return true;
    this.#asking ??= this.#isRefused().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #isRefused(): Promise<boolean> {
    const late = deferred<void>();
    const abort = new AbortController();
    const timer = this.#ports.clock.after(PING_MS, () => late.resolve());
    try {
      await Promise.race([this.#ports.ping(abort.signal), late.promise]);
      return false;
    } catch (error) {
      if (error instanceof RemoteFailure && error.isUnheard) this.#end(sessionEnded());
      else this.examine(error);
      return this.#isOver;
    } finally {
      timer.cancel();
      abort.abort();
    }
  }

  #end(failure: RemoteFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // Also once those have been told whose messages have failed.
    const over = (): void => void setImmediate(() => this.#ports.over(failure));
    const timer = this.#ports.clock.after(LAST_ANSWERS_MS, over);
    void this.#ports.retire().then(() => {
      timer.cancel();
      over();
    });
  }
}
