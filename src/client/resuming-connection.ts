// A client's connection to the bridge that outlives sockets and daemons (docs/adr/0019). A socket that drops is made
// again, and the session goes on where it was; with a daemon that does not know it, the client's handshake is done again.
// Each request gets exactly one answer. Payloads pass as the bytes they are.

import type { Duplex } from 'node:stream';
import { AttemptPace, type ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { ClientFrames } from './client-frames.ts';
import { Conversation } from './conversation.ts';
import { DaemonFrames } from './daemon-frames.ts';
import { DaemonLink } from './daemon-link.ts';
import type { Refusal, Welcome } from './introduction.ts';
import { errorAnswer, notification } from './own-messages.ts';
import { reconnect } from './reconnection.ts';
import { failAll, renew, sendWaiting } from './renewal.ts';

export type ConnectionEvent =
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'reconnecting'; readonly attempt: number; readonly delayMs: number }
  /** `kept`: nothing was lost. `new`: another daemon was told everything again. */
  | { readonly kind: 'resumed'; readonly session: 'kept' | 'new' };

/** The client that is served. */
export interface ServedClient {
  /** A whole frame for it: b[start, end), with a newline behind. */
  frame(b: Buffer, start: number, end: number): void;
  /** What has come is all for now. False: no more until `taken` is called. */
  flush(): boolean;
  /** Whether it should send no more for the moment. */
  full(isFull: boolean): void;
  event(event: ConnectionEvent): void;
  /** It is over: as the client wanted it, or for this reason. Called once, last. */
  closed(error: BridgeError | undefined): void;
}

export interface ConnectionOptions {
  readonly client: ServedClient;
  /** Opens a connection to the daemon, which is started if there is none and `mayStart`. */
  readonly dial: (mayStart: boolean) => Promise<Duplex>;
  /** Where that is, for messages. */
  readonly path: () => string;
  readonly reconnect: ReconnectSettings;
  /** Goes into `_meta` of the client's `initialize`, where the client has not set it itself. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

/** How long a daemon may take to answer `initialize` when the session is to go on. */
const GREETING_MS = 30_000;
/** While there is no daemon, the client may say so much before it has to wait. */
const MOST_WAITING = 256;
const MOST_WAITING_BYTES = 1024 * 1024;
/** A daemon that restarts brings the next one itself; only if that takes longer than this is one started. */
const RESTART_MS = 5000;
const ENDED = { code: 'REQUEST_REFUSED', message: 'The client has ended its side, and answers nothing more' };

/** `initialize` was said to a daemon so that the session goes on, and is not answered. */
interface Greeting {
  /** What was said: the session's token, or the client's `initialize` anew, or that for the first time. */
  wish: 'resume' | 'again' | 'first';
  readonly timer: Timer;
  resolve(): void;
  reject(error: Error): void;
}

interface Farewell {
  readonly received: number;
  readonly reason: string;
}

/** The end of what was sent in a session, which nobody has read. */
interface Unread {
  readonly from: number;
  readonly pieces: readonly Buffer[] | undefined;
}

export class ResumingConnection {
  readonly #options: ConnectionOptions;
  readonly #conversation = new Conversation();
  readonly #fromClient: ClientFrames;
  readonly #fromDaemon: DaemonFrames;
  readonly #pace = new AttemptPace();
  /** Ends what is done to come back. Made when it is needed: in Node its first use takes as long as all else here. */
  #over: AbortController | undefined;
  /** `asleep`: there is no daemon, and nobody needs one. */
  #state: 'live' | 'away' | 'asleep' | 'closed' = 'asleep';
  #link: DaemonLink | undefined;
  #greeting: Greeting | undefined;
  #farewell: Farewell | undefined;
  /** What the last connection did not take. */
  #neverLeft: Unread | undefined;
  #hasEnded = false;
  #isBlocked = false;
  #isFull = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#fromClient = new ClientFrames(this.#conversation, {
      meta: options.meta,
      send: (piece) => this.#send(piece),
      tell: (line) => {
        this.#tell(line);
        options.client.flush();
      },
    });
    this.#fromDaemon = new DaemonFrames(this.#conversation, {
      deliver: (b, start, end) => this.#deliver(b, start, end),
      answered: (answer) => this.#greeted(answer),
      leaving: (received, reason) => {
        this.#farewell = { received, reason };
      },
    });
  }

  /** The bridge's id for the client; '' before the answer to `initialize`. */
  get clientId(): string {
    return this.#conversation.welcome?.clientId ?? '';
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

  /** What has come from the client is all for now. */
  flush(): void {
    this.#fromClient.flush();
    if (this.#state === 'asleep' && this.#conversation.waiting.length > 0) void this.#comeBack();
    this.#sayFull();
  }

  /** The client takes more. */
  taken(): void {
    this.#link?.resume();
  }

  /** The client sends nothing more: it is left once everything is answered. */
  end(): void {
    if (this.#hasEnded || this.#state === 'closed') return;
    this.#hasEnded = true;
    for (const idText of this.#conversation.questions.takeAll()) this.#say(errorAnswer(idText, ENDED));
    this.flush();
    this.#closeIfDone();
  }

  /** The client goes, whatever is unanswered. */
  close(): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'live' && this.#conversation.stream.token !== undefined) {
      this.#say(notification('bridge/leave'));
      this.#fromClient.flush();
    }
    this.#finish(undefined);
  }

  // --- the daemon's side ---

  #attach(stream: Duplex): void {
    this.#isBlocked = false;
    this.#link = new DaemonLink(stream, {
      frame: (link, b, start, end) => {
        if (link === this.#link) this.#fromDaemon.frame(b, start, end);
      },
      chunkEnded: (link) => {
        if (link === this.#link) this.#chunkEnded(link);
      },
      drained: (link) => {
        if (link !== this.#link) return;
        this.#isBlocked = false;
        this.#sayFull();
      },
      closed: (link, error) => {
        if (link === this.#link) this.#dropped(link, error);
      },
    });
  }

  #chunkEnded(link: DaemonLink): void {
    if (!this.#options.client.flush()) link.pause();
    const received = this.#state === 'live' ? this.#conversation.stream.toSay() : undefined;
    if (received !== undefined) this.#say(notification('bridge/received', `{"bytes":${received}}`));
    this.#fromClient.flush();
    this.#closeIfDone();
  }

  #deliver(b: Buffer, start: number, end: number): void {
    this.#options.client.frame(b, start, end);
    if (!this.#hasEnded) return;
    // A question that has come since: nobody is there to answer it.
    for (const idText of this.#conversation.questions.takeAll()) this.#say(errorAnswer(idText, ENDED));
  }

  #tell(line: Buffer): void {
    this.#options.client.frame(line, 0, line.length - 1);
  }

  /** Sends a frame of this side's own. */
  #say(line: Buffer): void {
    if (this.#state === 'live') this.#fromClient.send({ b: line, start: 0, end: line.length - 1, request: undefined });
  }

  #send(piece: Buffer): void {
    this.#conversation.stream.sent(piece);
    if (this.#link?.write(piece) === false) this.#isBlocked = true;
  }

  #sayFull(): void {
    const isFull = this.#isBlocked || this.#waitsEnough();
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#options.client.full(isFull);
  }

  #waitsEnough(): boolean {
    if (this.#state === 'live') return false;
    const { waiting } = this.#conversation;
    if (waiting.length >= MOST_WAITING) return true;
    return waiting.reduce((bytes, { start, end }) => bytes + end - start, 0) >= MOST_WAITING_BYTES;
  }

  // --- losing it, and coming back ---

  #dropped(link: DaemonLink, error: Error | undefined): void {
    this.#link = undefined;
    const greeting = this.#greeting;
    if (greeting !== undefined) {
      this.#endGreeting();
      const said = this.#fromDaemon.lastWord || error?.message || 'the daemon closed the connection at once';
      return greeting.reject(new BridgeError('DAEMON_NOT_RUNNING', said));
    }
    if (this.#state !== 'live') return;
    this.#state = 'away';
    this.#fromClient.isLive = false;
    this.#judgeUnread(link);
    if (this.#isDone()) return this.#finish(undefined);
    if (this.#conversation.introduction === undefined && !this.#isNeeded()) {
      this.#state = 'asleep'; // it has asked nothing yet
      return;
    }
    const reason = this.#farewell?.reason ?? error?.message ?? 'the connection was closed';
    this.#options.client.event({ kind: 'lost', reason });
    if (this.#state === 'away') void this.#comeBack();
  }

  /** What a daemon that went in order has not looked at waits for the next one; so does, for another, what never left. */
  #judgeUnread(link: DaemonLink): void {
    const { stream } = this.#conversation;
    this.#neverLeft = undefined;
    if (this.#farewell !== undefined) {
      const { received } = this.#farewell;
      this.#takeBack({ from: received, pieces: stream.sentFrom(received) });
      stream.token = undefined; // the session has ended
      this.#pace.beginAnew();
    } else if (stream.token !== undefined && link.refusedBytes > 0) {
      const from = Math.max(0, stream.sentBytes - link.refusedBytes);
      this.#neverLeft = { from, pieces: stream.sentFrom(from) };
    }
  }

  #takeBack(unread: Unread | undefined): void {
    this.#neverLeft = undefined;
    if (unread === undefined) return;
    const { from, pieces } = unread;
    const { requests } = this.#conversation;
    const unseen = requests.all().filter(({ position }) => position !== undefined && position > from);
    for (const request of unseen) {
      request.position = undefined;
      request.sendings--;
    }
    const again =
      pieces === undefined
        ? unseen.map((request) => ({ b: request.b, start: request.start, end: request.end, request }))
        : this.#fromClient.repeatable(pieces);
    this.#conversation.waiting.unshift(...again);
  }

  #isNeeded(): boolean {
    return this.#conversation.requests.size > 0 || this.#conversation.waiting.length > 0;
  }

  async #comeBack(): Promise<void> {
    this.#state = 'away';
    const { clock, path, sleep, random, reconnect: settings, client } = this.#options;
    this.#over ??= new AbortController();
    try {
      if (!settings.isEnabled) throw lost(path());
      await reconnect({
        attempt: (number, elapsedMs) => this.#attempt(number, elapsedMs),
        waits: (attempt, delayMs) => client.event({ kind: 'reconnecting', attempt, delayMs }),
        now: () => clock.now(),
        signal: this.#over.signal,
        pace: this.#pace,
        settings,
        path,
        sleep,
        random,
      });
    } catch (error) {
      if (this.#isClosed()) return;
      if (!(error instanceof BridgeError)) throw error;
      const wasStopped = this.#farewell !== undefined && this.#farewell.reason !== 'restart';
      if (wasStopped && !this.#isNeeded() && !this.#hasEnded && settings.isEnabled) this.#state = 'asleep';
      else this.#finish(error);
    }
  }

  async #attempt(number: number, elapsedMs: number): Promise<void> {
    const stream = await this.#options.dial(this.#mayStart(number, elapsedMs));
    if (this.#isClosed()) return void stream.destroy();
    await new Promise<void>((resolve, reject) => {
      this.#attach(stream);
      const timer = this.#options.clock.after(GREETING_MS, () => this.#link?.destroy());
      this.#greeting = { wish: 'first', timer, resolve, reject };
      this.#fromDaemon.isGreeting = true;
      this.#fromDaemon.lastWord = '';
      this.#greet();
    });
  }

  /** Whoever ended the daemon, or restarts it, is not to find another one there at once. */
  #mayStart(number: number, elapsedMs: number): boolean {
    if (this.#farewell === undefined) return number > 1;
    return this.#farewell.reason === 'restart' ? elapsedMs > RESTART_MS : this.#isNeeded();
  }

  #greet(): void {
    const { introduction, hello, welcome, stream } = this.#conversation;
    const greeting = this.#greeting;
    if (greeting === undefined) return;
    if (introduction === undefined || (hello !== undefined && hello.position === undefined)) {
      // The client has not said `initialize` to any daemon: there is nothing to go on with.
      return this.#renew({ isGreeted: false, canRepeat: false });
    }
    if (welcome === undefined) {
      stream.begin();
      this.#link?.write(introduction.line(true));
      return;
    }
    const { token, receivedBytes } = stream;
    greeting.wish = token === undefined ? 'again' : 'resume';
    const id = this.#conversation.ownId();
    this.#fromDaemon.greetingId = id;
    this.#link?.write(introduction.line(token === undefined ? true : { token, received: receivedBytes }, id));
  }

  #greeted(answer: Welcome | Refusal): void {
    if ('token' in answer) this.#conversation.maxMessageBytes = answer.maxMessageBytes;
    const greeting = this.#greeting;
    if (greeting === undefined) return; // the client's own handshake
    if (!('token' in answer)) return this.#refused(greeting, answer);
    if (greeting.wish === 'resume' && answer.isResumed) return this.#resumed(answer);
    this.#conversation.stream.begin();
    this.#conversation.stream.agree(answer.token);
    this.#renew({ isGreeted: greeting.wish !== 'first', canRepeat: answer.token !== undefined });
  }

  #refused(greeting: Greeting, { message }: Refusal): void {
    if (greeting.wish === 'resume') {
      this.#conversation.stream.token = undefined;
      return this.#greet();
    }
    if (greeting.wish === 'first') return this.#renew({ isGreeted: false, canRepeat: false }); // the client was told
    this.#endGreeting();
    this.#link?.destroy();
    this.#link = undefined;
    greeting.reject(new BridgeError('REQUEST_REFUSED', `the daemon refused the client: ${message}`));
  }

  #resumed({ token, received }: Welcome): void {
    const { stream } = this.#conversation;
    const pieces = stream.sentFrom(received);
    stream.token = pieces === undefined ? undefined : token;
    if (pieces === undefined) {
      // More than is kept was lost on the way: that session is of no use any more.
      this.#link?.write(notification('bridge/leave'));
      this.#link?.leave();
      return;
    }
    this.#goLive();
    for (const piece of pieces) if (this.#link?.write(piece) === false) this.#isBlocked = true;
    sendWaiting(this.#conversation, this.#fromClient);
    this.#comeBackEnded('kept');
  }

  #renew({ isGreeted, canRepeat }: { isGreeted: boolean; canRepeat: boolean }): void {
    this.#conversation.forgetOwn();
    this.#takeBack(this.#neverLeft);
    this.#goLive();
    renew(this.#conversation, this.#fromClient, {
      say: (line) => this.#say(line),
      tell: (line) => this.#tell(line),
      isGreeted,
      canRepeat,
    });
    this.#comeBackEnded('new');
  }

  #comeBackEnded(session: 'kept' | 'new'): void {
    const greeting = this.#greeting;
    this.#endGreeting();
    this.flush();
    this.#options.client.flush();
    this.#options.client.event({ kind: 'resumed', session });
    greeting?.resolve();
  }

  #goLive(): void {
    this.#state = 'live';
    this.#fromClient.isLive = true;
    this.#farewell = undefined;
  }

  #endGreeting(): void {
    this.#greeting?.timer.cancel();
    this.#greeting = undefined;
    this.#fromDaemon.isGreeting = false;
    this.#fromDaemon.greetingId = undefined;
  }

  // --- the end ---

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #isDone(): boolean {
    return this.#hasEnded && !this.#isNeeded();
  }

  #closeIfDone(): void {
    if (this.#isDone()) this.close();
  }

  #finish(error: BridgeError | undefined): void {
    this.#state = 'closed';
    this.#fromClient.isLive = false;
    this.#endGreeting();
    this.#over?.abort();
    const link = this.#link;
    this.#link = undefined;
    link?.leave();
    this.#takeBack(this.#neverLeft);
    if (error !== undefined) failAll(this.#conversation, error, (line) => this.#tell(line));
    this.#options.client.flush();
    this.#options.client.closed(error);
  }
}

function lost(path: string): BridgeError {
  return new BridgeError('DAEMON_NOT_RUNNING', `The daemon at ${path} has closed the connection`, {
    hint: 'See: mcp-bridge status',
  });
}
