// The daemon's door for programs of models: brings in what runs them when the first one comes, and ends their processes with their
// clients.

import type { CodePrograms } from '../code-mode/code-mode.ts';
import type { Events } from '../core/events.ts';
import type { CodeMode, Programs } from '../meta-tools/programs.ts';
import type { CodeModeSettings } from '../model/settings.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

export interface CodeDoorOptions {
  readonly settings: CodeModeSettings;
  /** The packed code of the process that runs programs. It was read when the daemon started. */
  readonly code: () => Buffer;
  readonly host: {
    readonly execPath: string;
    readonly platform: NodeJS.Platform;
    readonly path: string | undefined;
  };
  readonly guard: { add(group: number): void; drop(group: number): void };
  readonly maxMessageBytes: number;
  readonly events: Events;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failed: (error: unknown) => void;
}

export class CodeDoor implements CodeMode {
  readonly hasPython = false;
  readonly #options: CodeDoorOptions;
  #programs: Promise<CodePrograms> | undefined;
  #isClosed = false;

  constructor(options: CodeDoorOptions) {
    this.#options = options;
  }

  load(): Promise<Programs> {
    this.#programs ??= this.#load();
    return this.#programs;
  }

  async #load(): Promise<CodePrograms> {
    const { CodePrograms, findConfinement } = await import('../code-mode/code-mode.ts');
    const { host, code, events, ...options } = this.#options;
    const confinement = await findConfinement(host);
    const programs = new CodePrograms({ ...options, confinement, code: code() });
    events.clientLeft.on((client) => programs.forget(client));
    if (this.#isClosed) programs.close();
    return programs;
  }

  /** Ends all programs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    (await this.#programs)?.close();
  }
}
