// One process that looks for servers, from its start to its end.

import { type ChildProcess, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import { checkDescriptors } from '../local/descriptors.ts';
import { systemCode } from '../util/bridge-error.ts';
import { type FromFinder, receive, send, type ToFinder } from './finder-messages.ts';
import { type KeptProgram, RUN_FROM_PIPE } from './kept-program.ts';

export interface FinderLifeOptions {
  /** The file that it runs, that file's text, and the version that this must be of. */
  readonly program: string;
  readonly kept: KeptProgram;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly heard: (message: FromFinder) => void;
  /** Called once, and last: how it ended, as the end of a sentence. */
  readonly ended: (how: string) => void;
}

export class FinderLife {
  readonly #child: ChildProcess | undefined;
  #ended: ((how: string) => void) | undefined;

  constructor({ program, kept, version, environment, heard, ended }: FinderLifeOptions) {
    this.#ended = ended;
    this.#child = this.#spawn(
      kept,
      ['-e', RUN_FROM_PIPE, program, version, ...(kept.addon === undefined ? [] : ['addon'])],
      environment,
    );
    const { stdin, stdout } = this.#child ?? {};
    // Without descriptors for its pipes there is no process either.
    if (!stdin || !stdout) return;
    // Its end is what counts, and one with whom nobody can speak any more would be waited for.
    for (const pipe of [stdin, stdout]) pipe.on('error', () => this.kill());
    receive<FromFinder>(stdout, heard);
  }

  /** Undefined if it never ran. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  tell(message: ToFinder): void {
    const stdin = this.#child?.stdin;
    if (stdin?.writable) send(stdin, message);
  }

  /** It ends by itself. */
  release(): void {
    this.#child?.stdin?.end();
  }

  /** It has nothing to lose. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  #spawn(
    kept: KeptProgram,
    args: readonly string[],
    environment: FinderLifeOptions['environment'],
  ): ChildProcess | undefined {
    const isUnstartable = (error: unknown): void =>
      this.#end(`cannot be started: ${systemCode(error) ?? 'unknown error'}`);
    if (kept.failure !== undefined) {
      setImmediate(() => this.#end(`cannot be started: ${kept.failure}`));
      return undefined;
    }
    try {
      checkDescriptors();
      // In a session of its own: what a terminal sends to the daemon's group is for the daemon.
      const child = spawn(process.execPath, args, {
        env: { ...environment },
        stdio: ['pipe', 'pipe', 'ignore', 'pipe', kept.addon ?? 'ignore'],
        detached: true,
      });
      const source = child.stdio[3];
      if (source instanceof Writable) source.on('error', () => child.kill('SIGKILL')).end(kept.text);
      child.on('error', isUnstartable);
      child.on('exit', (code, signal) =>
        this.#end(signal === null ? `has ended with code ${code}` : `was ended by ${signal}`),
      );
      return child;
    } catch (error) {
      // Some failures are thrown, others are told: both come after this has returned.
      setImmediate(isUnstartable, error);
      return undefined;
    }
  }

  #end(how: string): void {
    this.#ended?.(how);
    this.#ended = undefined;
  }
}
