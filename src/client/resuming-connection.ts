// The lasting client: a connection to the bridge that outlives sockets and daemons (docs/adr/0019). It reconnects when
// a socket drops, and resumes the session. A new daemon gets the client's handshake again. Each request gets exactly
// one answer. Payloads pass as unchanged bytes.

import type { Duplex } from 'node:stream';
import { BridgeError } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import { ClientFrames } from './client-frames.ts';
import { ClientLedger } from './client-ledger.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { DaemonFrames } from './daemon-frames.ts';
import { DaemonLink } from './daemon-link.ts';
import type { Welcome } from './introduction.ts';
import type { LaterCode } from './later.ts';
import { errorAnswer, notification } from './own-messages.ts';
import type { Farewell, ReconnectPolicy } from './reconnect-policy.ts';
import type { UnreadFrames } from './replay-to-new-daemon.ts';
import type { Refusal } from './rpc-refusal.ts';
import type { NewSession, SessionResumption } from './session-resumption.ts';

/** `asleep`: there is no daemon, and nobody needs one. `leaving`: the daemon was told that nothing more comes. */
type ConnectionState = 'asleep' | 'live' | 'away' | 'leaving' | 'closed';

/** The states that may follow each state. */
const MAY_FOLLOW: Readonly<Record<ConnectionState, readonly ConnectionState[]>> = {
  asleep: ['live', 'away', 'closed'],
  live: ['away', 'leaving', 'closed'],
  away: ['live', 'asleep', 'closed'],
  leaving: ['closed'],
  closed: [],
};

const ENDED = { code: 'REQUEST_REFUSED', message: 'The client has ended its side, and answers nothing more' };

/** Code that is needed only without a daemon is loaded after the first answer, or after this time without one. */
const LOAD_MS = 1000;

/** The parts of a client that reconnect to a daemon; made when the first one is lost. */
interface Return {
  readonly code: LaterCode;
  readonly policy: ReconnectPolicy;
  readonly unread: UnreadFrames;
}

interface Loss {
  readonly reason: string;
  readonly farewell: Farewell | undefined;
  /** The number of written bytes at the end that never left. */
  readonly refusedBytes: number;
}

export class ResumingConnection {
  readonly #options: ConnectionOptions;
  readonly #ledger: ClientLedger;
  readonly #fromClient: ClientFrames;
  readonly #fromDaemon: DaemonFrames;
  readonly #flow: ClientFlow;
  #state: ConnectionState = 'asleep';
  #link: DaemonLink | undefined;
  /** The last words of the daemon. */
  #farewell: Farewell | undefined;
  #isLoading = false;
  #loading: Promise<typeof import('./later.ts')> | undefined;
  #return: Return | undefined;
  #resumption: SessionResumption | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#ledger = new ClientLedger(options.unread);
    this.#fromClient = new ClientFrames(this.#ledger, {
      meta: options.meta,
      send: (piece) => this.#send(piece),
      sendLong: (pieces) => this.#sendLong(pieces),
      tell: (line) => {
        this.#tell(line);
        options.client.flush();
      },
    });
    this.#fromDaemon = new DaemonFrames(this.#ledger, {
      deliver: (b, start, end) => this.#deliver(b, start, end),
      deliverAll: (b, start, end) => options.client.frames(b, start, end),
      deliverLong: (pieces, bytes) => options.client.longFrame(pieces, bytes),
      answered: (answer) => this.#answered(answer),
      leaving: (farewell) => {
        this.#farewell = farewell;
      },
    });
    this.#flow = new ClientFlow(this.#ledger, (isFull) => options.client.full(isFull));
  }

  /** The bridge's id for the client; '' before the answer to `initialize`. */
  get clientId(): string {
    return this.#ledger.clientId;
  }

  /** Begins with this connection to the daemon. */
  open(stream: Duplex): void {
    this.#attach(stream);
    this.#goLive();
    this.#options.clock.after(LOAD_MS, () => this.#loadSoon());
  }

  /** Loads the code after the first answer, so that the load does not delay it. */
  #loadSoon(): void {
    if (this.#isLoading || this.#isClosed()) return;
    this.#isLoading = true;
    setImmediate(() => void this.#load().catch(() => undefined)); // the next user of the code hears of the failure
  }

  /** Loads the code early, while its package is still there. */
  #load(): Promise<typeof import('./later.ts')> {
    this.#loading ??= import('./later.ts');
    return this.#loading;
  }

  /** Changes the state; nothing else does. */
  #transition(to: ConnectionState): void {
    invariant(MAY_FOLLOW[this.#state].includes(to), `a connection that is ${this.#state} does not become ${to}`);
    this.#state = to;
    this.#fromClient.isLive = to === 'live';
  }

  // --- the client's side ---

  /** Called when the client has sent b[start, end), a frame that is followed by a newline, or by the CR before one. */
  frame(b: Buffer, start: number, end: number): void {
    if (this.#state !== 'closed') this.#fromClient.frame(b, start, end);
  }

  /** Called when the client has sent whole frames, each with its newline. */
  frames(b: Buffer, start: number, end: number): void {
    if (this.#state !== 'closed') this.#fromClient.frames(b, start, end);
  }

  /** Called when the client has sent a long frame, in pieces that hold it and its newline. */
  longFrame(pieces: readonly Buffer[], bytes: number): void {
    if (this.#state !== 'closed') this.#fromClient.longFrame(pieces, bytes);
  }

  /** True if nobody refers to the client's frames in this memory any more. */
  mayReuse(memory: ArrayBufferLike): boolean {
    const { stream, requests, traffic, hasWaiting } = this.#ledger;
    if (this.#state !== 'live' || this.#link?.hasSentAll !== true) return false;
    return !hasWaiting && !stream.isIn(memory) && traffic?.leave(memory) !== false && requests.leave(memory);
  }

  /** Called when nothing more has come from the client for now. */
  flush(): void {
    this.#fromClient.flush();
    if (this.#state !== 'live' && this.#ledger.hasWaiting) {
      if (this.#state === 'asleep') this.#wake();
      else this.#return?.policy.ask();
    }
    this.#flow.check(this.#state === 'live');
  }

  /** Called when the client takes more. */
  taken(): void {
    this.#link?.resume();
  }

  /**
   * Called when the client sends nothing more. The connection ends once everything is answered and the daemon has
   * nothing more to say.
   */
  end(): void {
    if (this.#ledger.hasEnded || this.#state === 'closed') return;
    this.#ledger.end();
    this.#refuseQuestions();
    // Nobody hears of changes any more, and a subscription would go on forever.
    for (const idText of this.#ledger.requests.endSubscriptions())
      this.#say(notification('notifications/cancelled', `{"requestId":${idText}}`));
    this.flush();
    this.#leaveIfDone();
  }

  /** Called when the client leaves, even with unanswered requests. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#takeLeave();
    this.#finish(undefined);
  }

  // --- the daemon's side ---

  #attach(stream: Duplex): DaemonLink {
    this.#flow.isBlocked = false;
    const attached = new DaemonLink(stream, {
      frames: (link, b, start, end) => {
        if (link === this.#link) this.#fromDaemon.frames(b, start, end);
      },
      longFrame: (link, pieces, bytes) => {
        if (link === this.#link) this.#fromDaemon.longFrame(pieces, bytes);
      },
      isDone: () => this.#options.client.isDone(),
      chunkEnded: (link) => {
        if (link === this.#link) this.#chunkEnded(link);
      },
      drained: (link) => {
        if (link !== this.#link) return;
        this.#flow.isBlocked = false;
        this.#flow.check(this.#state === 'live');
      },
      closed: (link, error) => {
        if (link === this.#link) this.#dropped(link, error);
      },
    });
    this.#link = attached;
    return attached;
  }

  #chunkEnded(link: DaemonLink): void {
    if (!this.#options.client.flush()) link.pause();
    const received = this.#state === 'live' ? this.#ledger.stream.toSay() : undefined;
    if (received !== undefined) this.#say(notification('bridge/received', `{"bytes":${received}}`));
    this.#fromClient.flush();
    this.#loadSoon();
    this.#leaveIfDone();
  }

  #deliver(b: Buffer, start: number, end: number): void {
    if (this.#isClosed()) return;
    this.#options.client.frame(b, start, end);
    if (this.#ledger.hasEnded) this.#refuseQuestions();
  }

  /** Refuses the servers' questions: nobody is there to answer them. */
  #refuseQuestions(): void {
    for (const idText of this.#ledger.questions.takeAll()) this.#say(errorAnswer(idText, ENDED));
  }

  #tell(line: Buffer): void {
    this.#options.client.frame(line, 0, line.length - 1);
  }

  /** Sends a frame of this side's own. */
  #say(line: Buffer): void {
    if (this.#state === 'live') this.#fromClient.send({ b: line, start: 0, end: line.length - 1, request: undefined });
  }

  #send(piece: Buffer): void {
    this.#ledger.stream.sent(piece);
    if (this.#link?.write(piece) === false) this.#flow.isBlocked = true;
  }

  #sendLong(pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.#ledger.stream.sent(piece);
    if (this.#link?.writeAll(pieces) === false) this.#flow.isBlocked = true;
  }

  // --- losing it, and coming back ---

  #dropped(link: DaemonLink, error: Error | undefined): void {
    this.#link = undefined;
    if (this.#resumption !== undefined) return this.#resumption.dropped(error);
    if (this.#state === 'leaving') return this.#finish(undefined);
    if (this.#state !== 'live') return;
    this.#transition('away');
    this.#ledger.lost();
    const farewell = this.#farewell;
    const reason = farewell?.reason ?? error?.message ?? 'the connection was closed';
    // There is no session to resume, and nothing is asked.
    if (this.#ledger.introduction === undefined && !this.#isNeeded()) return this.#transition('asleep');
    this.#options.client.event({ kind: 'lost', reason });
    if (!this.#isClosed()) void this.#comeBack({ reason, farewell, refusedBytes: link.refusedBytes });
  }

  #wake(): void {
    this.#transition('away');
    void this.#comeBack(undefined);
  }

  #isNeeded(): boolean {
    return this.#ledger.requests.size > 0 || this.#ledger.hasWaiting;
  }

  async #comeBack(loss: Loss | undefined): Promise<void> {
    const code = (await this.#load()).laterCode();
    this.#return ??= this.#newReturn(code);
    const { policy, unread } = this.#return;
    if (this.#isClosed()) return;
    if (loss !== undefined) {
      unread.dropped(loss.refusedBytes, loss.farewell);
      policy.lost(loss.reason, loss.farewell);
    }
    try {
      await policy.run();
    } catch (error) {
      if (this.#isClosed()) return;
      if (!(error instanceof BridgeError)) throw error;
      const isMissed = this.#isNeeded() || this.#ledger.hasEnded || error.code === 'CONNECTION_LOST';
      if (policy.wasStopped && !isMissed) this.#transition('asleep');
      else this.#finish(error);
    }
  }

  #newReturn(code: LaterCode): Return {
    const policy = new code.ReconnectPolicy(this.#options, {
      attempt: (mayStart) => this.#attempt(code, mayStart),
      waits: (attempt, delayMs) => this.#options.client.event({ kind: 'reconnecting', attempt, delayMs }),
      isNeeded: () => this.#isNeeded(),
    });
    return { code, policy, unread: new code.UnreadFrames(this.#ledger, this.#fromClient) };
  }

  async #attempt(code: LaterCode, mayStart: boolean): Promise<void> {
    const { dial, clock } = this.#options;
    const stream = await dial(mayStart);
    if (this.#isClosed()) return void stream.destroy();
    this.#resumption = new code.SessionResumption({
      link: this.#attach(stream),
      ledger: this.#ledger,
      fromDaemon: this.#fromDaemon,
      clock,
      kept: (pieces) => this.#goOn(code, pieces),
      renewed: (session) => this.#beginAnew(code, session),
    });
    try {
      await this.#resumption.begin();
    } catch (error) {
      this.#resumption = undefined;
      this.#link = undefined;
      throw error;
    }
  }

  #answered(answer: Welcome | Refusal): void {
    if ('token' in answer) this.#ledger.agree(answer);
    this.#resumption?.answered(answer); // else the answer is to the client's own handshake
  }

  #goOn(code: LaterCode, pieces: readonly Buffer[]): void {
    this.#goLive();
    for (const piece of pieces) if (this.#link?.write(piece) === false) this.#flow.isBlocked = true;
    code.sendWaiting(this.#ledger, this.#fromClient);
    this.#cameBack('kept');
  }

  #beginAnew(code: LaterCode, session: NewSession): void {
    this.#ledger.forgetOwn();
    this.#return?.unread.sessionEnded();
    this.#goLive();
    const ports = { say: (line: Buffer) => this.#say(line), tell: (line: Buffer) => this.#tell(line) };
    code.replayToNewDaemon(this.#ledger, this.#fromClient, { ...ports, ...session });
    this.#cameBack('new');
  }

  #cameBack(session: 'kept' | 'new'): void {
    const resumption = this.#resumption;
    this.#resumption = undefined;
    resumption?.succeeded();
    this.flush();
    this.#options.client.flush();
    this.#options.client.event({ kind: 'resumed', session });
    this.#leaveIfDone();
  }

  #goLive(): void {
    this.#transition('live');
    this.#farewell = undefined;
  }

  // --- the end ---

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  /**
   * Ends the connection if nothing known is open. The daemon may still have something to say, for instance about bytes
   * that were no message.
   */
  #leaveIfDone(): void {
    if (!this.#ledger.hasEnded || this.#isNeeded() || this.#state === 'leaving' || this.#isClosed()) return;
    if (this.#state !== 'live') return this.#finish(undefined);
    this.#takeLeave();
    this.#transition('leaving');
    this.#link?.endWriting();
  }

  /** Tells the daemon that the session ends, not only the connection. */
  #takeLeave(): void {
    if (this.#state === 'live' && this.#ledger.stream.token !== undefined) this.#say(notification('bridge/leave'));
    this.#fromClient.flush();
  }

  #finish(error: BridgeError | undefined): void {
    this.#transition('closed');
    this.#resumption?.end();
    this.#resumption = undefined;
    this.#return?.policy.end();
    const link = this.#link;
    this.#link = undefined;
    link?.leave();
    this.#ledger.settle();
    if (error !== undefined) this.#failAll(error);
    this.#options.client.flush();
    this.#options.client.closed(error);
  }

  /** Answers every open request: reconnecting has failed. */
  #failAll(error: BridgeError): void {
    this.#return?.unread.sessionEnded();
    this.#return?.code.failAll(this.#ledger, error, (line) => this.#tell(line));
  }
}

/** Tells the client to send no more while the daemon takes nothing, or while there is no daemon and enough waits. */
class ClientFlow {
  readonly #ledger: ClientLedger;
  readonly #tell: (isFull: boolean) => void;
  /** True while the connection takes no more. */
  isBlocked = false;
  #isFull = false;

  constructor(ledger: ClientLedger, tell: (isFull: boolean) => void) {
    this.#ledger = ledger;
    this.#tell = tell;
  }

  /** Notifies the client, but only on change. */
  check(isLive: boolean): void {
    const isFull = this.isBlocked || (!isLive && this.#ledger.waitsEnough);
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#tell(isFull);
  }
}
