// The daemon's door for programs of models: loads the code that runs them when the first one comes, and ends their
// processes with their clients.

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { CodePrograms } from '../code-mode/code-mode.ts';
import type { Confinement, ConfinementHost } from '../code-mode/confinement.ts';
import type { Events } from '../core/events.ts';
import { inheritedDescriptors } from '../local/descriptors.ts';
import type { CodeMode, Programs } from '../meta-tools/programs.ts';
import type { CodeModeSettings } from '../model/settings.ts';
import type { Clock } from '../util/clock.ts';
import { expectSystemError } from '../util/expected-error.ts';
import type { Logger } from '../util/logger.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';

export interface CodeDoorOptions {
  readonly settings: CodeModeSettings;
  /** The packed code of a process that runs programs; read when the daemon started. */
  readonly code: (name: 'sandbox' | 'python') => Buffer;
  readonly host: ConfinementHost;
  /** Files next to which the package `pyodide` may be installed. */
  readonly besides: readonly string[];
  readonly guard: { add(group: number): void; drop(group: number): void };
  readonly pacer: ReadPacer;
  readonly turn: FlushTurn;
  readonly events: Events;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failed: (error: unknown) => void;
}

export class CodeDoor implements CodeMode {
  readonly #options: CodeDoorOptions;
  /** Read at the start, while few descriptors are open. */
  readonly #inherited = inheritedDescriptors();
  #confinement: Promise<Confinement> | undefined;
  #pyodide: string | undefined;
  #programs: Promise<CodePrograms> | undefined;
  #isClosed = false;

  constructor(options: CodeDoorOptions) {
    this.#options = options;
  }

  get hasPython(): boolean {
    return this.#pyodide !== undefined;
  }

  /** Checks if programs in Python can run, where the config wants them. */
  async prepare(): Promise<void> {
    const { settings, besides, logger } = this.#options;
    if (!settings.python) return;
    const { name } = await this.#confined();
    const pyodide = besides.flatMap((file) => pyodideBeside(file) ?? [])[0];
    // Without a memory limit and confinement, Python could take everything the user has.
    if (name !== 'bwrap')
      logger.warn('programs in Python are not run', { reason: 'there is no bubblewrap that works' });
    else if (pyodide === undefined)
      logger.warn('programs in Python are not run', { reason: 'the package pyodide is not installed' });
    else this.#pyodide = pyodide;
  }

  #confined(): Promise<Confinement> {
    this.#confinement ??= import('../code-mode/code-mode.ts').then(({ findConfinement }) =>
      findConfinement(this.#options.host),
    );
    return this.#confinement;
  }

  load(): Promise<Programs> {
    this.#programs ??= this.#load();
    return this.#programs;
  }

  async #load(): Promise<CodePrograms> {
    const { CodePrograms } = await import('../code-mode/code-mode.ts');
    const { code, events, ...options } = this.#options;
    const pyodide = this.#pyodide;
    const programs = new CodePrograms({
      ...options,
      inherited: this.#inherited,
      confinement: await this.#confined(),
      code: code('sandbox'),
      python: pyodide === undefined ? undefined : { code: code('python'), pyodide },
    });
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

/** The directory of the package, as a module in that file would find it. */
function pyodideBeside(file: string): string | undefined {
  try {
    return dirname(createRequire(file).resolve('pyodide'));
  } catch (error) {
    expectSystemError(error); // it is not installed there
    return undefined;
  }
}
