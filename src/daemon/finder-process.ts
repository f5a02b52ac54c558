// The process in which discovery runs: started when something is to be looked for, let go when nothing was for a while.
// What one of them knows that the next one needs is kept here in between. One that dies takes no server with it: whoever
// waits for its answer is told.

import type { FindAnswer, FindRequest } from '../discovery/finding.ts';
import type { KeptChange } from '../discovery/kept-sources.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { FinderLife, type FinderLifeOptions } from './finder-life.ts';
import type { FromFinder, ToFinder } from './finder-messages.ts';
import { KeptProgram } from './kept-program.ts';

export interface FinderProcessOptions extends Pick<FinderLifeOptions, 'program' | 'version' | 'environment'> {
  /** These are about to be read. */
  readonly watch: (paths: readonly string[]) => void;
  /** What was found for this directory depends on these paths. */
  readonly claimed: (dir: string, paths: readonly string[]) => void;
  /** No others are read any more. */
  readonly settled: (paths: readonly string[]) => void;
  /** One has died while it was looking. */
  readonly died: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long one is kept of which nothing is asked. */
const IDLE_MS = 10_000;
/** How long one may say nothing while it is asked, as where a disk does not answer. */
const MOST_SILENT_MS = 60_000;

interface Waiting {
  readonly dir: string;
  readonly resolve: (answer: FindAnswer) => void;
  readonly reject: (error: Error) => void;
}

export class FinderProcess {
  readonly #options: FinderProcessOptions;
  /** What was read while it was good, as the process has packed it. */
  readonly #kept = new Map<string, string>();
  readonly #program: KeptProgram;
  readonly #waiting = new Map<number, Waiting>();
  #life: FinderLife | undefined;
  #timer: Timer | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(options: FinderProcessOptions) {
    this.#options = options;
    this.#program = new KeptProgram(options.program);
  }

  /** Has one ready for what will be asked soon. */
  prepare(): void {
    if (this.#life === undefined && !this.#isClosed) this.#start();
  }

  /** Rejects where there is no answer to be had, and says why. */
  find(request: FindRequest): Promise<FindAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Error('the daemon is stopping'));
      const life = this.#life ?? this.#start();
      const id = ++this.#lastId;
      this.#waiting.set(id, { dir: request.dir, resolve, reject });
      life.tell({ what: 'find', id, request });
      this.#options.logger.debug('servers are looked for', { dir: request.dir });
      this.#setTimer();
    });
  }

  /** One that will be started knows nothing of before, and need not be told. */
  tell(message: Extract<ToFinder, { what: 'changed' | 'refresh' | 'leave' | 'settle' }>): void {
    this.#life?.tell(message);
  }

  close(): void {
    this.#isClosed = true;
    const life = this.#forget();
    life?.kill();
    this.#refuse('the daemon is stopping');
  }

  #start(): FinderLife {
    const { program, version, environment, logger } = this.#options;
    const life: FinderLife = new FinderLife({
      ...{ program, version, environment, kept: this.#program },
      heard: (message) => this.#heard(life, message),
      ended: (how) => this.#ended(life, how),
    });
    this.#life = life;
    this.#setTimer();
    if (this.#kept.size > 0) life.tell({ what: 'remember', kept: [...this.#kept] });
    logger.debug('a process that looks for servers', { pid: life.pid });
    return life;
  }

  #setTimer(): void {
    this.#timer?.cancel();
    const { clock } = this.#options;
    this.#timer =
      this.#waiting.size > 0
        ? clock.after(MOST_SILENT_MS, () => this.#life?.kill())
        : clock.after(IDLE_MS, () => this.#forget()?.release());
  }

  #forget(): FinderLife | undefined {
    const life = this.#life;
    this.#life = undefined;
    this.#timer?.cancel();
    return life;
  }

  #heard(life: FinderLife, message: FromFinder): void {
    if (life !== this.#life) return;
    switch (message.what) {
      case 'asked':
        this.#options.watch(message.paths);
        life.tell({ what: 'watching', turn: message.turn });
        break;
      case 'found':
        this.#keep(message.kept);
        this.#found(message);
        break;
      case 'failed':
        this.#take(message.id)?.reject(new Error(message.message));
        break;
      case 'settled':
        this.#keep(message.kept);
        this.#options.settled(message.paths);
        break;
      case 'other-version':
        this.#forget()?.release();
        this.#refuse(`mcp-bridge has become ${message.version} meanwhile; take it on with: mcp-bridge restart`);
        return;
    }
    this.#setTimer();
  }

  #found({ id, paths, answer }: Extract<FromFinder, { what: 'found' }>): void {
    const waiting = this.#take(id);
    if (waiting === undefined) return;
    this.#options.claimed(waiting.dir, paths);
    waiting.resolve(answer);
  }

  /** Whether nothing is looked for at the moment. */
  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  /** Nobody asks for what stands there any more. A process that runs has forgotten it by itself. */
  forget(paths: readonly string[]): void {
    const left = new Set(paths);
    for (const key of this.#kept.keys()) if (left.has(key.slice(key.indexOf(' ') + 1))) this.#kept.delete(key);
  }

  #keep(changes: readonly KeptChange[]): void {
    for (const [key, packed] of changes) {
      if (packed === null) this.#kept.delete(key);
      else this.#kept.set(key, packed);
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #ended(life: FinderLife, how: string): void {
    if (life !== this.#life) return;
    this.#forget();
    const hasDied = life.pid !== undefined && this.#waiting.size > 0;
    if (hasDied) this.#options.logger.error('the process that looks for servers has died at it', { how });
    this.#refuse(`the process that looks for them ${how}`);
    if (hasDied) this.#options.died();
  }

  #refuse(why: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Error(why));
  }
}
