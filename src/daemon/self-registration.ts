// The daemon's own entry in its user's registry, so that other programs find its socket. Nothing waits for it: a daemon
// works as well without an entry.

import type { KeptRegistration } from '../registry/kept-registration.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

export interface SelfRegistrationOptions {
  readonly socketPath: string;
  readonly version: string;
  readonly pid: number;
  readonly cwd: string;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The maximum delay of the daemon's end: a remaining entry is ignored once its process has gone. */
const LEAVE_TIMEOUT_MS = 5_000;

export class SelfRegistration {
  readonly #options: SelfRegistrationOptions;
  readonly #kept: Promise<KeptRegistration | undefined>;

  constructor(options: SelfRegistrationOptions) {
    this.#options = options;
    this.#kept = this.#start();
  }

  async end(): Promise<void> {
    const { clock, logger } = this.#options;
    const leaving = this.#kept.then((kept) => kept?.end()).catch((error: unknown) => this.#warn(messageOf(error)));
    const tooLong = new Promise<'late'>((resolve) => clock.after(LEAVE_TIMEOUT_MS, () => resolve('late')));
    if ((await Promise.race([leaving, tooLong])) === 'late') logger.debug('the entry in the registry stays behind');
  }

  async #start(): Promise<KeptRegistration | undefined> {
    const { socketPath: socket, version, pid, cwd, clock } = this.#options;
    try {
      const { KeptRegistration: Kept } = await import('../registry/kept-registration.ts');
      const { userRegistry } = await import('../registry/registry-places.ts');
      const kept = new Kept({
        info: { name: 'mcp-bridge', pid, socket, cwd, startedAt: new Date(), extra: { version } },
        change: { file: userRegistry(this.#options), own: { pid, cwd }, isStrict: false },
        clock,
        warn: (warning) => this.#warn(warning),
      });
      void kept.start();
      return kept;
    } catch (error) {
      this.#warn(messageOf(error));
      return undefined;
    }
  }

  #warn(warning: string): void {
    this.#options.logger.warn('the registry of running servers', { warning });
  }
}
