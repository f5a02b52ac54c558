// The counters of the daemon since its start, as `status` shows them. They count events; each refusal and each drop has
// a counter of its own.

import { codeIn } from '../protocol/rpc-error.ts';
import type { Events } from './events.ts';

const MOST_CODES = 100;

export class Counters {
  clientsAccepted = 0;
  clientsRefused = 0;
  clientsCutOff = 0;
  /** The reasons of `clientsCutOff`: nothing read for too long, too much queued, pings not answered. */
  clientsStalled = 0;
  clientsOverQueued = 0;
  /** Times that a server was not read, to give a slow client a moment. */
  serversPaused = 0;
  /** Times that a server read nothing for so long that its clients did not wait any longer. */
  serversStalled = 0;
  clientsUnresponsive = 0;
  /** Times that a client was not read because too much of its own waited. */
  clientsPaused = 0;
  handshakeTimeouts = 0;
  /** Sessions that were resumed, that expired, and that were not kept for want of room. */
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
  /** Requests that waited because their client, or their server, had enough calls under way. */
  waitedForClient = 0;
  waitedForServer = 0;
  subscriptionsRefused = 0;
  /** Questions of servers: too many, with no certain client in time, and not answered in time. */
  questionsRefused = 0;
  questionsUncertain = 0;
  questionTimeouts = 0;
  /** Questions of servers that no call was suspended for, and answers of suspended calls that were not kept. */
  suspensionsRefused = 0;
  tasksForgotten = 0;
  /** Results of tools that were cut, and kept ones that were dropped for want of room. */
  resultsCut = 0;
  resultsForgotten = 0;
  /** Frames of clients that are no JSON or no JSON-RPC. */
  badFrames = 0;
  oversizedFrames = 0;
  /** Lines of servers that are no JSON-RPC. */
  serverNoise = 0;
  /** Items left out of joined lists and searches because of their long names, see lists.ts. */
  namesTooLong = 0;
  /** Answers, cancellations and progress for requests that the sender does not have, or does not have any more. */
  strayResponses = 0;
  strayCancels = 0;
  strayProgress = 0;
  notificationsDropped = 0;
  /** Faults of the bridge itself. */
  internalErrors = 0;
  /** Messages between clients: all, the refused ones, and letters. */
  messages = 0;
  messagesRefused = 0;
  letters = 0;
  serverBusy = 0;
  /** Clients that waited for each other because the server had as many instances as it may. */
  instancesRefused = 0;
  serverStarts = 0;
  /** Starts that waited for their turn, and starts that took too long. */
  startsQueued = 0;
  startTimeouts = 0;
  /** Servers stopped without clients, servers that died too often, and processes that were killed. */
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
    // Some codes come from servers, which may invent any number of them.
    const kind = this.#errors.has(code) || this.#errors.size < MOST_CODES ? code : 'OTHER';
    this.#errors.set(kind, (this.#errors.get(kind) ?? 0) + 1);
  }

  /** The number of `errorsAnswered` by code. */
  errorsByCode(): Record<string, number> {
    return Object.fromEntries(this.#errors);
  }
}
