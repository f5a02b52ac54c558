// What is said to a daemon on a new connection before anything else, so that the client's session goes on: its token; or,
// where that is no good, the client's `initialize` again. What follows from the answer is for the one who asked.

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
  /** The session goes on; these pieces of what was sent in it have not come. */
  readonly kept: (pieces: readonly Buffer[]) => void;
  /** Another session has begun. */
  readonly renewed: (session: NewSession) => void;
}

export interface NewSession {
  /** The client had an answer to its `initialize` from the daemon before. */
  readonly isGreeted: boolean;
  /** The daemon can be told of requests that may have been done. */
  readonly canRepeat: boolean;
}

/** How long a daemon may take to answer. */
const MOST_MS = 30_000;

export class SessionResumption {
  readonly #options: SessionResumptionOptions;
  readonly #timer: Timer;
  readonly #end: Deferred<void> = deferred();
  /** The last introduction: the session's token, the client's `initialize` again, or that for the first time. */
  #wish: 'resume' | 'again' | 'first' = 'first';

  constructor(options: SessionResumptionOptions) {
    this.#options = options;
    this.#timer = options.clock.after(MOST_MS, () => options.link.destroy());
  }

  /** Resolves once `succeeded` is called; rejects with why the session cannot go on over this connection. */
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

  /** Nobody waits for what becomes of it any more. */
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
      // The client has not said `initialize` to any daemon: there is nothing to go on with.
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
    // More than is kept was lost on the way: that session is of no use any more.
    link.write(notification('bridge/leave'));
    link.leave();
  }

  #refused({ code, message, hint }: Refusal): void {
    if (this.#wish === 'resume') {
      this.#options.ledger.stream.token = undefined;
      return this.#greet();
    }
    // The client was told.
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
