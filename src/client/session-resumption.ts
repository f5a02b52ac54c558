// The first words to a daemon on a new connection, so that the client's session goes on: its token, or, if that fails,
// the client's `initialize` again. The caller decides what follows from the answer.

import { BridgeError } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import type { ClientLedger } from './client-ledger.ts';
import type { DaemonFrames } from './daemon-frames.ts';
import type { DaemonLink } from './daemon-link.ts';
import type { Welcome } from './introduction.ts';
import { notification } from './own-messages.ts';
import { LASTING_REFUSALS } from './reconnect-policy.ts';
import type { Refusal } from './rpc-refusal.ts';

export interface SessionResumptionOptions {
  readonly link: DaemonLink;
  readonly ledger: ClientLedger;
  readonly fromDaemon: DaemonFrames;
  readonly clock: Clock;
  /** Called when the session goes on. These pieces of its output have not arrived. */
  readonly kept: (pieces: readonly Buffer[]) => void;
  /** Called when another session has begun. */
  readonly renewed: (session: NewSession) => void;
}

export interface NewSession {
  /** True if the last daemon answered the client's `initialize`. */
  readonly isGreeted: boolean;
  /** True if the daemon can be told of requests that may have been done. */
  readonly canRepeat: boolean;
}

/** The maximum time for a daemon's answer. */
const MOST_MS = 30_000;

export class SessionResumption {
  readonly #options: SessionResumptionOptions;
  readonly #timer: Timer;
  readonly #end: Deferred<void> = deferred();
  /**
   * The last introduction: the session's token, the client's `initialize` again, or its `initialize` for the first
   * time.
   */
  #wish: 'resume' | 'again' | 'first' = 'first';

  constructor(options: SessionResumptionOptions) {
    this.#options = options;
    this.#timer = options.clock.after(MOST_MS, () => options.link.destroy());
  }

  /**
   * Introduces the client. Resolves once `succeeded` is called; rejects with the reason if the session cannot go on
   * over this connection.
   */
  begin(): Promise<void> {
    const { fromDaemon } = this.#options;
    fromDaemon.isGreeting = true;
    fromDaemon.greetingId = undefined;
    fromDaemon.lastWord = '';
    this.#greet();
    return this.#end.promise;
  }

  answered(answer: Welcome | Refusal): void {
    if (!('token' in answer)) return this.#refused(answer);
    if (this.#wish === 'resume' && answer.isResumed) return this.#resumed(answer);
    const { stream } = this.#options.ledger;
    stream.begin();
    stream.agree(answer.token);
    this.#options.renewed({ isGreeted: this.#wish !== 'first', canRepeat: answer.token !== undefined });
  }

  succeeded(): void {
    this.end();
    this.#end.resolve();
  }

  dropped(error: Error | undefined): void {
    const { lastWord } = this.#options.fromDaemon;
    const why = lastWord || error?.message || 'the daemon closed the connection at once';
    this.#fail(new BridgeError('DAEMON_NOT_RUNNING', why));
  }

  /** Stops: nobody waits for the outcome any more. */
  end(): void {
    const { fromDaemon } = this.#options;
    this.#timer.cancel();
    fromDaemon.isGreeting = false;
    fromDaemon.greetingId = undefined;
  }

  #greet(): void {
    const { link, ledger, fromDaemon, renewed } = this.#options;
    const { introduction, hello, welcome, stream } = ledger;
    if (introduction === undefined || (hello !== undefined && hello.position === undefined)) {
      // The client has not said `initialize` to any daemon, so there is nothing to resume.
      return renewed({ isGreeted: false, canRepeat: false });
    }
    ledger.becomeKnown();
    if (welcome === undefined) {
      stream.begin();
      link.write(introduction.line);
      return;
    }
    const { token, receivedBytes } = stream;
    this.#wish = token === undefined ? 'again' : 'resume';
    const id = ledger.ownId();
    fromDaemon.greetingId = id;
    const resume = token === undefined ? true : { token, received: receivedBytes };
    link.write(introduction.again(id, ledger.clientId, resume));
  }

  #resumed({ token, received }: Welcome): void {
    const { link, ledger, kept } = this.#options;
    const { stream } = ledger;
    const pieces = stream.sentFrom(received);
    stream.token = pieces === undefined ? undefined : token;
    if (pieces !== undefined) return kept(pieces);
    // More bytes were lost on the way than are kept, so that session is useless.
    link.write(notification('bridge/leave'));
    link.leave();
  }

  #refused({ code, message, hint }: Refusal): void {
    if (this.#wish === 'resume') {
      this.#options.ledger.stream.token = undefined;
      return this.#greet();
    }
    // The client has got this refusal itself.
    if (this.#wish === 'first') return this.#options.renewed({ isGreeted: false, canRepeat: false });
    const lasting = LASTING_REFUSALS.find((one) => one === code);
    const said = `The daemon refused the client: ${message}`;
    this.#fail(new BridgeError(lasting ?? 'REQUEST_REFUSED', said, hint === undefined ? {} : { hint }));
  }

  #fail(error: BridgeError): void {
    this.#timer.cancel();
    this.#options.link.destroy();
    this.#end.reject(error);
  }
}
