// What has happened since the daemon started, as `status` shows it. Each refusal and each drop has a counter of its own.

import { codeIn } from '../protocol/rpc-error.ts';

const MOST_CODES = 100;

export class Counters {
  clientsAccepted = 0;
  clientsRefused = 0;
  clientsCutOff = 0;
  /** Why: they took nothing for too long, too much was queued for them, they did not answer pings. */
  clientsStalled = 0;
  clientsOverQueued = 0;
  /** Times that a server was not read, to give such a client a moment. */
  serversPaused = 0;
  /** Times that a server took nothing for so long that its clients did not wait for it any longer. */
  serversStalled = 0;
  clientsUnresponsive = 0;
  /** Times that a client was not read because too much of its own waited. */
  clientsPaused = 0;
  handshakeTimeouts = 0;
  /** Sessions that went on on another connection, that nobody came back for, and that were not kept for want of room. */
  sessionsResumed = 0;
  sessionsExpired = 0;
  sessionsNotKept = 0;
  /** Clients that wanted to go on and could not. */
  resumesRefused = 0;
  requests = 0;
  responses = 0;
  errorsAnswered = 0;
  cancelled = 0;
  timeouts = 0;
  /** Requests that waited because their client, or their server, had enough under way. */
  waitedForClient = 0;
  waitedForServer = 0;
  subscriptionsRefused = 0;
  /** Questions of servers that were too many, that were for nobody certain in time, and that were not answered in time. */
  questionsRefused = 0;
  questionsUncertain = 0;
  questionTimeouts = 0;
  tasksForgotten = 0;
  /** Frames of clients that are not JSON, or not JSON-RPC. */
  badFrames = 0;
  oversizedFrames = 0;
  /** Lines that a server printed and that are no JSON-RPC. */
  serverNoise = 0;
  /** Tools, prompts, resources and templates that are left out of joined lists and searches, see listed-keys.ts. */
  namesTooLong = 0;
  /** Answers, cancellations and progress for requests that are not, or no longer, the sender's. */
  strayResponses = 0;
  strayCancels = 0;
  strayProgress = 0;
  notificationsDropped = 0;
  /** Messages over which the bridge itself has failed. */
  internalErrors = 0;
  /** What clients have said to each other, what of it was refused, and the letters among it. */
  messages = 0;
  messagesRefused = 0;
  letters = 0;
  serverBusy = 0;
  /** Clients that waited for each other because the server has as many instances as it may. */
  instancesRefused = 0;
  serverStarts = 0;
  /** Starts that waited for their turn, and that took too long. */
  startsQueued = 0;
  startTimeouts = 0;
  /** Servers that were stopped because nobody used them, those that were left alone for a while, and the processes killed. */
  idleStops = 0;
  serversBroken = 0;
  serversKilled = 0;
  serversDialledIn = 0;
  dialInsRefused = 0;
  serverCrashes = 0;
  readonly #errors = new Map<string, number>();

  /** The bridge itself has answered with an error. */
  errorAnswered(error: string): void {
    this.errorsAnswered++;
    const code = codeIn(error);
    // Some of them are a server's own words, of which there may be any number.
    const kind = this.#errors.has(code) || this.#errors.size < MOST_CODES ? code : 'OTHER';
    this.#errors.set(kind, (this.#errors.get(kind) ?? 0) + 1);
  }

  /** How many of `errorsAnswered` each code had. */
  errorsByCode(): Record<string, number> {
    return Object.fromEntries(this.#errors);
  }
}
