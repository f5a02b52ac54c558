// The lasting client: a connection to the bridge that outlives sockets and daemons (docs/adr/0019). It reconnects when a
// socket drops, and resumes the session; a new daemon gets the client's handshake again. Each request gets exactly one
// answer. Payloads pass as the bytes they are.

import type { Duplex } from 'node:stream';
import { BridgeError } from '../util/bridge-error.ts';
import { ClientFrames } from './client-frames.ts';
import { ClientLedger } from './client-ledger.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { DaemonFrames } from './daemon-frames.ts';
import { DaemonLink } from './daemon-link.ts';
import type { Welcome } from './introduction.ts';
import { errorAnswer, notification } from './own-messages.ts';
import { ReconnectPolicy } from './reconnect-policy.ts';
import { failAll, replayToNewDaemon, sendWaiting, UnreadFrames } from './replay-to-new-daemon.ts';
import type { Refusal } from './rpc-refusal.ts';
import { type NewSession, SessionResumption } from './session-resumption.ts';

const ENDED = { code: 'REQUEST_REFUSED', message: 'The client has ended its side, and answers nothing more' };

export class ResumingConnection {
  readonly #options: ConnectionOptions;
  readonly #ledger = new ClientLedger();
  readonly #fromClient: ClientFrames;
  readonly #fromDaemon: DaemonFrames;
  readonly #unread: UnreadFrames;
  readonly #policy: ReconnectPolicy;
  readonly #flow: ClientFlow;
  /** `asleep`: there is no daemon, and nobody needs one. `leaving`: the daemon was told that nothing more comes. */
  #state: 'live' | 'away' | 'asleep' | 'leaving' | 'closed' = 'asleep';
  #link: DaemonLink | undefined;
  #resumption: SessionResumption | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#ledger.traffic = options.unread?.(this.#ledger.stream, this.#ledger.requests);
    this.#fromClient = new ClientFrames(this.#ledger, {
      meta: options.meta,
      send: (piece) => this.#send(piece),
      sendLong: (pieces) => this.#sendLong(pieces),
      tell: (line) => {
        this.#tell(line);
        options.client.flush();
      },
    });
    this.#unread = new UnreadFrames(this.#ledger, this.#fromClient);
    this.#fromDaemon = new DaemonFrames(this.#ledger, {
      deliver: (b, start, end) => this.#deliver(b, start, end),
      deliverAll: (b, start, end) => options.client.frames(b, start, end),
      deliverLong: (pieces, bytes) => options.client.longFrame(pieces, bytes),
      answered: (answer) => this.#answered(answer),
      leaving: (farewell) => {
        this.#policy.farewell = farewell;
      },
    });
    this.#flow = new ClientFlow(this.#ledger, (isFull) => options.client.full(isFull));
    this.#policy = new ReconnectPolicy(options, {
      attempt: (mayStart) => this.#attempt(mayStart),
      waits: (attempt, delayMs) => options.client.event({ kind: 'reconnecting', attempt, delayMs }),
      isNeeded: () => this.#isNeeded(),
    });
  }

  /** The bridge's id for the client; '' before the answer to `initialize`. */
  get clientId(): string {
    return this.#ledger.clientId;
  }

  /** Begins on this connection to the daemon. */
  open(stream: Duplex): void {
    this.#attach(stream);
    this.#goLive();
  }

  // --- the client's side ---

  /** The client has sent b[start, end), a frame with a newline, or the CR before one, behind it. */
  frame(b: Buffer, start: number, end: number): void {
    if (this.#state !== 'closed') this.#fromClient.frame(b, start, end);
  }

  /** The client has sent whole frames, each with its newline. */
  frames(b: Buffer, start: number, end: number): void {
    if (this.#state !== 'closed') this.#fromClient.frames(b, start, end);
  }

  /** The same of a long frame, in pieces that have it and its newline. */
  longFrame(pieces: readonly Buffer[], bytes: number): void {
    if (this.#state !== 'closed') this.#fromClient.longFrame(pieces, bytes);
  }

  /** True if nobody refers any more to frames of the client in this memory. */
  mayReuse(memory: ArrayBufferLike): boolean {
    const { stream, requests, traffic, waiting } = this.#ledger;
    if (this.#state !== 'live' || this.#link?.hasSentAll !== true) return false;
    return waiting.length === 0 && !stream.isIn(memory) && traffic?.leave(memory) !== false && requests.leave(memory);
  }

  /** Called when nothing more has come from the client for now. */
  flush(): void {
    this.#fromClient.flush();
    if (this.#state !== 'live' && this.#ledger.waiting.length > 0) {
      if (this.#state === 'asleep') void this.#comeBack();
      else this.#policy.ask();
    }
    this.#flow.check(this.#state === 'live');
  }

  /** The client takes more. */
  taken(): void {
    this.#link?.resume();
  }

  /** The client sends nothing more: it is left once everything is answered, and the daemon has nothing more to say. */
  end(): void {
    if (this.#ledger.hasEnded || this.#state === 'closed') return;
    this.#ledger.hasEnded = true;
    this.#ledger.traffic?.settle();
    this.#ledger.requests.settle();
    this.#refuseQuestions();
    this.flush();
    this.#leaveIfDone();
  }

  /** The client goes, whatever is unanswered. */
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
    this.#leaveIfDone();
  }

  #deliver(b: Buffer, start: number, end: number): void {
    if (this.#isClosed()) return;
    this.#options.client.frame(b, start, end);
    if (this.#ledger.hasEnded) this.#refuseQuestions();
  }

  /** Nobody is there to answer them. */
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
    this.#state = 'away';
    this.#fromClient.isLive = false;
    this.#ledger.traffic?.settle();
    this.#ledger.requests.settle();
    this.#unread.dropped(link, this.#policy.farewell);
    const reason = this.#policy.lost(error);
    if (this.#ledger.introduction === undefined && !this.#isNeeded()) {
      this.#state = 'asleep'; // it has asked nothing yet
      return;
    }
    this.#options.client.event({ kind: 'lost', reason });
    if (this.#state === 'away') void this.#comeBack();
  }

  #isNeeded(): boolean {
    return this.#ledger.requests.size > 0 || this.#ledger.waiting.length > 0;
  }

  async #comeBack(): Promise<void> {
    this.#state = 'away';
    try {
      await this.#policy.run();
    } catch (error) {
      if (this.#isClosed()) return;
      if (!(error instanceof BridgeError)) throw error;
      const isMissed = this.#isNeeded() || this.#ledger.hasEnded || error.code === 'CONNECTION_LOST';
      if (this.#policy.wasStopped && !isMissed) this.#state = 'asleep';
      else this.#finish(error);
    }
  }

  async #attempt(mayStart: boolean): Promise<void> {
    const { dial, clock } = this.#options;
    const stream = await dial(mayStart);
    if (this.#isClosed()) return void stream.destroy();
    this.#resumption = new SessionResumption({
      link: this.#attach(stream),
      ledger: this.#ledger,
      fromDaemon: this.#fromDaemon,
      clock,
      kept: (pieces) => this.#goOn(pieces),
      renewed: (session) => this.#beginAnew(session),
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
    this.#resumption?.answered(answer); // else it is that to the client's own handshake
  }

  #goOn(pieces: readonly Buffer[]): void {
    this.#goLive();
    for (const piece of pieces) if (this.#link?.write(piece) === false) this.#flow.isBlocked = true;
    sendWaiting(this.#ledger, this.#fromClient);
    this.#cameBack('kept');
  }

  #beginAnew(session: NewSession): void {
    this.#ledger.forgetOwn();
    this.#unread.sessionEnded();
    this.#goLive();
    const ports = { say: (line: Buffer) => this.#say(line), tell: (line: Buffer) => this.#tell(line) };
    replayToNewDaemon(this.#ledger, this.#fromClient, { ...ports, ...session });
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
    this.#state = 'live';
    this.#fromClient.isLive = true;
    this.#policy.farewell = undefined;
  }

  // --- the end ---

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Nothing is open that is known of. What else there is to say, such as what was no message, the daemon knows. */
  #leaveIfDone(): void {
    if (!this.#ledger.hasEnded || this.#isNeeded() || this.#state === 'leaving' || this.#isClosed()) return;
    if (this.#state !== 'live') return this.#finish(undefined);
    this.#takeLeave();
    this.#state = 'leaving';
    this.#link?.endWriting();
  }

  /** Or the end of the connection would not be that of the session. */
  #takeLeave(): void {
    if (this.#state === 'live' && this.#ledger.stream.token !== undefined) this.#say(notification('bridge/leave'));
    this.#fromClient.flush();
  }

  #finish(error: BridgeError | undefined): void {
    this.#state = 'closed';
    this.#fromClient.isLive = false;
    this.#resumption?.end();
    this.#resumption = undefined;
    this.#policy.end();
    const link = this.#link;
    this.#link = undefined;
    link?.leave();
    this.#ledger.traffic?.settle();
    this.#unread.sessionEnded();
    this.#ledger.requests.settle();
    if (error !== undefined) failAll(this.#ledger, error, (line) => this.#tell(line));
    this.#options.client.flush();
    this.#options.client.closed(error);
  }
}

/** While there is no daemon. */
const MOST_WAITING = 256;
const MOST_WAITING_BYTES = 1024 * 1024;

/** Tells the client to send no more while the daemon does not take it, or while there is none and enough waits. */
class ClientFlow {
  readonly #ledger: ClientLedger;
  readonly #tell: (isFull: boolean) => void;
  /** The connection takes no more. */
  isBlocked = false;
  #isFull = false;

  constructor(ledger: ClientLedger, tell: (isFull: boolean) => void) {
    this.#ledger = ledger;
    this.#tell = tell;
  }

  /** Tells the client if it is another way than it was. */
  check(isLive: boolean): void {
    const isFull = this.isBlocked || (!isLive && this.#waitsEnough());
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#tell(isFull);
  }

  #waitsEnough(): boolean {
    const { waiting } = this.#ledger;
    if (waiting.length >= MOST_WAITING) return true;
    return waiting.reduce((bytes, { start, end }) => bytes + end - start, 0) >= MOST_WAITING_BYTES;
  }
}
