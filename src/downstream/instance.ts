// The life of one instance of a server: started when it is first needed, once for all who wait; gone when it dies;
// started again when it is needed again.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Backend } from '../core/backend.ts';
import type { Counters } from '../core/counters.ts';
import type { ServerDefinition } from '../core/server-definition.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import type { Logger } from '../util/logger.ts';
import type { Limits } from '../wire/limits.ts';
import { type LaunchContext, ServerProcess } from './child-process.ts';
import { ServerHandshake } from './server-handshake.ts';

export interface InstanceContext extends LaunchContext {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
  /** The bridge's own version. */
  readonly version: string;
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting'; readonly child: ServerProcess }
  | { readonly kind: 'ready'; readonly child: ServerProcess }
  | { readonly kind: 'stopped' };

export class Instance {
  readonly definition: ServerDefinition;
  readonly backend: Backend;
  readonly #context: InstanceContext;
  #state: State = { kind: 'idle' };
  #starts = 0;
  /** Why it could not be started, or has gone, when that happened last. */
  lastError: string | undefined;

  constructor(definition: ServerDefinition, backend: Backend, context: InstanceContext) {
    this.definition = definition;
    this.backend = backend;
    this.#context = context;
  }

  get state(): State['kind'] {
    return this.#state.kind;
  }

  get pid(): number | undefined {
    return this.#state.kind === 'starting' || this.#state.kind === 'ready' ? this.#state.child.pid : undefined;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /** Sees that it runs; the backend hears of it when it does, or cannot. */
  start(): void {
    switch (this.#state.kind) {
      case 'starting':
      case 'ready':
        return;
      case 'stopped':
        return this.backend.failed(new BridgeError('SHUTTING_DOWN', 'The bridge is shutting down'));
      case 'idle':
        return this.#launch();
    }
  }

  async stop(): Promise<void> {
    const before = this.#state;
    this.#state = { kind: 'stopped' };
    if (before.kind === 'starting' || before.kind === 'ready') await before.child.stop();
  }

  #launch(): void {
    const { counters, logger, limits, clock, version } = this.#context;
    const { name } = this.definition;
    this.#starts++;
    counters.serverStarts++;
    const child = this.#spawn();
    if (child === undefined) return;
    this.#state = { kind: 'starting', child };
    logger.info('server starting', { server: name, pid: child.pid });
    const handshake = new ServerHandshake(this.definition, child.link.outbox, limits.maxDepth);
    const timeout = clock.after(limits.startTimeoutMs, () => {
      const error = this.#startError(
        child,
        `did not answer initialize within ${limits.startTimeoutMs} ms (limits.startTimeoutMs)`,
      );
      this.#failStart(child, error);
    });
    child.link.start({
      frame: (b, start, end) => {
        // An old process may still say something while a new one starts.
        if (!this.#isCurrent(child)) return;
        if (this.#state.kind === 'ready') this.backend.fromServer.frame(b, start, end);
        else this.#shakeHands(child, handshake, b, start, end);
      },
      overflowed: () => this.backend.fromServer.overflowed(),
      badFrame: (reason, head, tail) => {
        if (this.#isCurrent(child)) this.backend.fromServer.badFrame(reason, head, tail);
      },
      // A server that closes either of its pipes answers nothing any more, also if its process goes on.
      ended: () => void child.stop(),
      closed: () => void child.stop(),
      drained: () => this.backend.drained(),
    });
    handshake.begin(version);
    void child.ended.then((how) => {
      timeout.cancel();
      this.#onEnded(child, how);
    });
  }

  /** Most failures of a spawn come as an event later; what the system call refuses outright comes here. */
  #spawn(): ServerProcess | undefined {
    const { name, command } = this.definition;
    try {
      return new ServerProcess(this.definition, this.#context);
    } catch (error) {
      const how = systemCode(error) ?? 'unknown error';
      const options = { server: name, hint: `Check its command: ${command}`, cause: error };
      this.backend.failed(
        new BridgeError('SERVER_START_FAILED', `Server ${name} could not be started: ${how}`, options),
      );
      return undefined;
    }
  }

  #isCurrent(child: ServerProcess): boolean {
    const state = this.#state;
    return (state.kind === 'starting' || state.kind === 'ready') && state.child === child;
  }

  #shakeHands(child: ServerProcess, handshake: ServerHandshake, b: Buffer, start: number, end: number): void {
    let hello: Buffer | undefined;
    try {
      hello = handshake.take(b, start, end);
    } catch (error) {
      invariant(error instanceof BridgeError, 'a handshake fails with a BridgeError');
      return this.#failStart(child, error);
    }
    if (hello === undefined) return;
    this.#state = { kind: 'ready', child };
    this.#context.logger.info('server ready', { server: this.definition.name, pid: child.pid });
    this.backend.opened({ outbox: child.link.outbox, instanceId: randomBytes(8).toString('hex'), hello });
  }

  #failStart(child: ServerProcess, error: BridgeError): void {
    if (this.#state.kind !== 'starting' || this.#state.child !== child) return;
    this.#state = { kind: 'idle' };
    this.lastError = error.message;
    this.#context.logger.warn('server failed to start', { server: this.definition.name, reason: error.message });
    void child.stop();
    this.backend.failed(error);
  }

  #onEnded(child: ServerProcess, how: string): void {
    const { counters, logger } = this.#context;
    const { name } = this.definition;
    const before = this.#state;
    if (before.kind === 'starting' && before.child === child)
      return this.#failStart(child, this.#startError(child, how));
    if (before.kind === 'stopped')
      return this.#failAll(new BridgeError('SHUTTING_DOWN', 'The bridge is shutting down'));
    if (before.kind !== 'ready' || before.child !== child) return;
    this.#state = { kind: 'idle' };
    counters.serverCrashes++;
    this.lastError = `Server ${name} ${how}`;
    logger.warn('server gone', { server: name, how });
    this.backend.closed(
      new BridgeError('SERVER_CRASHED', `Server ${name} ${how} during the call; its outcome is unknown`, {
        server: name,
        hint: 'The next call starts the server again.',
      }),
    );
  }

  /** Both those who were served and those who wait. */
  #failAll(error: BridgeError): void {
    this.backend.closed(error);
    this.backend.failed(error);
  }

  #startError(child: ServerProcess, how: string): BridgeError {
    const { name } = this.definition;
    const lastWords = child.lastWords();
    const hint = lastWords === '' ? this.#remedy(how) : `Its last words were: ${lastWords}`;
    return new BridgeError('SERVER_START_FAILED', `Server ${name} ${how}`, { server: name, hint });
  }

  #remedy(how: string): string {
    const { command, cwd } = this.definition;
    // The system call says ENOENT for both.
    if (how.includes('ENOENT') && cwd !== undefined && !existsSync(cwd)) return `Its directory does not exist: ${cwd}`;
    return `Check its command: ${command}`;
  }
}
