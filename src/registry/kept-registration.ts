// Keeps a registration for as long as its server wants it: a program that rewrites a registry without its lock may lose
// entries, and so may a person who repairs it. When the file has changed, it looks again and restores a missing entry.

import { changeMark, RegistryFile } from '../local/registry-file.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { type ChangeOptions, type Outcome, register, unregister } from './registration.ts';
import type { ServerInfo } from './registry-entry.ts';

const LOOK_PERIOD_MS = 2_000;

export interface KeptRegistrationOptions {
  readonly info: ServerInfo;
  readonly change: ChangeOptions;
  readonly clock: Clock;
  /** Called once for each new set of warnings. */
  readonly warn: (warning: string) => void;
}

export class KeptRegistration {
  readonly #options: KeptRegistrationOptions;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #outcome: Outcome | undefined;
  #mark = '';
  #told = '';
  #hasEnded = false;

  constructor(options: KeptRegistrationOptions) {
    this.#options = options;
  }

  /** Resolves when the first attempt is over. */
  async start(): Promise<Outcome | undefined> {
    await this.#enter();
    if (!this.#hasEnded) this.#timer = this.#options.clock.every(LOOK_PERIOD_MS, () => this.#look());
    return this.#outcome;
  }

  /** Removes the entry. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.#timer?.cancel();
    await this.#running;
    if (this.#outcome?.isDone !== true) return;
    this.#tell(await unregister(this.#outcome.id, this.#options.change));
  }

  #enter(): Promise<void> {
    this.#running = this.#running.then(async () => {
      if (this.#hasEnded) return;
      const { info, change } = this.#options;
      this.#outcome = await register(info, change);
      this.#tell(this.#outcome);
    });
    return this.#running;
  }

  #look(): void {
    this.#running = this.#running.then(async () => {
      const { file } = this.#options.change;
      const mark = await changeMark(file);
      if (this.#hasEnded || mark === this.#mark) return;
      this.#mark = mark;
      const { servers, warning } = await new RegistryFile(file).read();
      const isMissing = warning === undefined && this.#outcome !== undefined && !servers.has(this.#outcome.id);
      if (isMissing) void this.#enter();
    });
  }

  #tell({ warnings }: Outcome): void {
    const told = warnings.join('\n');
    if (told !== this.#told) for (const warning of warnings) this.#options.warn(warning);
    this.#told = told;
  }
}
