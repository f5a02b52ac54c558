// The counters of the daemon since its start, as `status` shows them. They count events; each refusal and each drop has
// a counter of its own.

import { codeIn } from '../protocol/rpc-error.ts';
import type { Events } from './events.ts';

const MOST_CODES = 100;

export class Counters {
  clientsAccepted = 0;
  clientsRefused = 0;
  clientsCutOff = 0;
  /** The reasons for `clientsCutOff`: read nothing for too long, too much queued, pings not answered. */
  clientsStalled = 0;
  clientsOverQueued = 0;
  /** Times that reading from a server paused, to give a slow client a moment. */
  serversPaused = 0;
  /** Times that a server read nothing for so long that its clients stopped waiting. */
  serversStalled = 0;
  clientsUnresponsive = 0;
  /** Times that reading from a client paused, because too much of its input waited. */
  clientsPaused = 0;
  handshakeTimeouts = 0;
  /** Sessions that were resumed, that expired, and that were dropped for lack of room. */
  sessionsResumed = 0;
  sessionsExpired = 0;
  sessionsNotKept = 0;
  /** Clients that asked to resume and could not. */
  resumesRefused = 0;
  /** Requests over HTTP that reached no session. */
  httpRefused = 0;
  requests = 0;
  responses = 0;
  errorsAnswered = 0;
  cancelled = 0;
  timeouts = 0;
  /** Requests that waited because their client or their server had enough calls under way. */
  waitedForClient = 0;
  waitedForServer = 0;
  subscriptionsRefused = 0;
  /** Questions of servers: too many, no certain client in time, not answered in time. */
  questionsRefused = 0;
  questionsUncertain = 0;
  questionTimeouts = 0;
  /** Questions of servers that suspended no call, and answers of suspended calls that were dropped. */
  suspensionsRefused = 0;
  tasksForgotten = 0;
  /** Results of tools that were cut, and kept results that were dropped for lack of room. */
  resultsCut = 0;
  resultsForgotten = 0;
  /** Frames of clients that are not JSON or not JSON-RPC. */
  badFrames = 0;
  oversizedFrames = 0;
  /** Lines of servers that are not JSON-RPC. */
  serverNoise = 0;
  /** Items left out of joined lists and searches because of their long names, see lists.ts. */
  namesTooLong = 0;
  /** Answers, cancellations and progress for requests that the sender does not have, or no longer has. */
  strayResponses = 0;
  strayCancels = 0;
  strayProgress = 0;
  notificationsDropped = 0;
  /** Faults of the bridge itself. */
  internalErrors = 0;
  /** Messages between clients: all of them, refused ones, and letters. */
  messages = 0;
  messagesRefused = 0;
  letters = 0;
  serverBusy = 0;
  /** Clients that waited for each other because the server had its maximum number of instances. */
  instancesRefused = 0;
  serverStarts = 0;
  /** Starts that waited for their turn, and starts that took too long. */
  startsQueued = 0;
  startTimeouts = 0;
  /** Servers stopped because no client was left, servers that died too often, and killed processes. */
  idleStops = 0;
  serversBroken = 0;
  serversKilled = 0;
  serversDialledIn = 0;
  dialInsRefused = 0;
  /** Requests, frames and entries of other hosts that were refused. */
  busRefused = 0;
  serverCrashes = 0;
  readonly #errors = new Map<string, number>();

  constructor(events: Events) {
    events.requestTaken.on(() => this.requests++);
    events.resultWritten.on(() => this.responses++);
    events.errorWritten.on((_, error) => this.#countError(error));
    events.incident.on((name) => this[name]++);
    events.callWaiting.on((_, why) => {
      if (why === 'client') this.waitedForClient++;
      if (why === 'server') this.waitedForServer++;
    });
    events.namesLeftOut.on((_, count) => {
      this.namesTooLong += count;
    });
    this.#countClients(events);
    this.#countServers(events);
  }

  #countClients(events: Events): void {
    events.clientCame.on(() => this.clientsAccepted++);
    events.clientRefused.on(() => this.clientsRefused++);
    events.clientCutOff.on(() => this.clientsCutOff++);
    events.clientBack.on(() => this.sessionsResumed++);
    events.messageSent.on((what) => {
      if (what === 'message') this.messages++;
      if (what === 'refused') this.messagesRefused++;
      if (what === 'letter') this.letters++;
    });
  }

  #countServers(events: Events): void {
    events.instanceStarting.on(() => this.serverStarts++);
    events.instanceStopped.on(() => this.idleStops++);
    events.instanceDied.on(() => this.serverCrashes++);
    events.serverDialledIn.on(() => this.serversDialledIn++);
  }

  /** Counts an error that the bridge itself has answered with. */
  #countError(error: string): void {
    this.errorsAnswered++;
    const code = codeIn(error);
    // Servers choose some codes, and may invent any number of them.
    const kind = this.#errors.has(code) || this.#errors.size < MOST_CODES ? code : 'OTHER';
    this.#errors.set(kind, (this.#errors.get(kind) ?? 0) + 1);
  }

  /** The number of `errorsAnswered` by code. */
  errorsByCode(): Record<string, number> {
    return Object.fromEntries(this.#errors);
  }
}
