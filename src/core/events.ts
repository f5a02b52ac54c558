// The stream of events: everything that happens in the daemon is reported once, where it happens. Counters, meters, the
// audit trail and other watchers listen here; the core does not know them. A listener is called at once, must be quick,
// and changes nothing. A listener that fails harms nobody else.

import type { Principal } from '../model/principal.ts';
import type { CallRole } from '../protocol/era.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';

/** A client, as listeners see it. */
export interface ObservedClient {
  /** '' before `initialize` is answered, like the name. */
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  /** Undefined until known. */
  readonly protocolVersion: string | undefined;
  readonly principal: Principal;
  readonly view: { readonly name: string } | undefined;
  readonly output: { readonly writtenBytes: number };
}

export interface ObservedInstance {
  readonly server: string;
  /** The version that its server speaks; undefined until known. */
  readonly protocolVersion: string | undefined;
  /** Undefined while it does not run. */
  readonly instanceId: string | undefined;
  readonly era: { readonly hasHandshake: boolean };
  /** The way to the server, as far as the definition says. */
  readonly reach: ServerReach;
}

/** The way to a server. */
export interface ServerReach {
  readonly transport?: string;
  /** The address of a server at a URL. It may hold secrets. */
  readonly url?: string;
}

export interface ObservedCall {
  readonly session: ObservedClient;
  readonly idText: string;
  readonly plan: { readonly role: CallRole };
  /** Our own id of the call towards the server; 0 until it was sent. */
  readonly serverRequestId: number;
  /** The server's name of the tool in JSON if it differs from the client's; else ''. */
  readonly nameText: string;
  /** The time at which it was sent; the meters set it. */
  sentTicks: number;
  /** Tracing stores its own data here. */
  trace: object | undefined;
}

/**
 * Something was refused, dropped, shortened or delayed. Each has a counter of the same name; the settings say which
 * counters show that a limit was reached.
 */
export type Incident =
  // Clients
  | 'clientsStalled'
  | 'clientsOverQueued'
  | 'clientsUnresponsive'
  | 'clientsPaused'
  | 'handshakeTimeouts'
  | 'sessionsExpired'
  | 'sessionsNotKept'
  | 'resumesRefused'
  | 'httpRefused'
  | 'badFrames'
  // Calls
  | 'cancelled'
  | 'timeouts'
  | 'serverBusy'
  | 'subscriptionsRefused'
  | 'suspensionsRefused'
  | 'tasksForgotten'
  | 'resultsCut'
  | 'resultsForgotten'
  | 'strayResponses'
  | 'strayCancels'
  | 'strayProgress'
  | 'notificationsDropped'
  | 'oversizedFrames'
  // Servers
  | 'serversPaused'
  | 'serversStalled'
  | 'serverNoise'
  | 'instancesRefused'
  | 'startsQueued'
  | 'startTimeouts'
  | 'serversBroken'
  | 'serversKilled'
  | 'dialInsRefused'
  | 'busRefused'
  | 'questionsRefused'
  | 'questionsUncertain'
  | 'questionTimeouts'
  // The bridge itself
  | 'internalErrors';

/** The client that an incident is about, or the name of the server; undefined for neither. */
export type Concerned = ObservedClient | string | undefined;

/** The reason why a call waits: its client or its server has enough under way, or the server is not ready. */
export type WaitReason = 'client' | 'server' | 'turn';

/**
 * The end of a question: the client answered; the server got an error because of the client; or the server cancelled
 * it.
 */
export type QuestionEnd = 'answered' | 'client-gone' | 'timeout' | 'cancelled' | 'server-gone';

/** A tool of a server, by the client's names; '' for a missing name. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** The target of a call through another tool, such as `execute_tool`. */
export interface AimedTool extends NamedTool {
  /** The position of its arguments, if it has any. */
  readonly inner?: { readonly from: number; readonly to: number };
}

/** A message between clients, as far as it was read. */
export interface ObservedMessage {
  /** Empty if the message was refused before this was known. */
  readonly to: string;
  /** Empty for a letter. */
  readonly method: string;
  /** 0 if unknown. */
  readonly bytes: number;
}

type Listener<A, B, C> = (a: A, b: B, c: C) => void;

interface Subscription<A, B, C> {
  readonly listener: Listener<A, B, C>;
  hasFailed: boolean;
}

/** One kind of event. If nobody listens, `tell` allocates nothing and only looks at an empty list. */
export class Signal<A = void, B = void, C = void> {
  readonly #failed: (error: unknown) => void;
  #subscriptions: readonly Subscription<A, B, C>[] = [];

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** True if somebody listens. */
  get isHeard(): boolean {
    return this.#subscriptions.length > 0;
  }

  /** Adds a listener; returns the function that removes it. */
  on(listener: Listener<A, B, C>): () => void {
    const subscription = { listener, hasFailed: false };
    this.#subscriptions = [...this.#subscriptions, subscription];
    return () => {
      this.#subscriptions = this.#subscriptions.filter((other) => other !== subscription);
    };
  }

  tell(a: A, b: B, c: C): void {
    for (const subscription of this.#subscriptions) {
      try {
        subscription.listener(a, b, c);
      } catch (error) {
        this.#note(subscription, error);
      }
    }
  }

  /** Reports a failing listener once: it may fail at each call. */
  #note(subscription: Subscription<A, B, C>, error: unknown): void {
    if (subscription.hasFailed) return;
    subscription.hasFailed = true;
    this.#failed(error);
  }
}

/** The version of the protocol that a server speaks; undefined until known. */
export interface SpokenVersion {
  readonly protocolVersion: string | undefined;
}

/** All kinds of events, with the values that each carries. */

export class Events {
  readonly #failed: (error: unknown) => void;

  /** `failed` is called once for each listener that fails. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  // --- clients ---

  /** A client has connected. */
  readonly clientCame: Signal<ObservedClient> = this.#signal();
  /** A client was refused, for this reason. */
  readonly clientRefused: Signal<ObservedClient, string> = this.#signal();
  /** A client's id and name are known: its `initialize` is answered. */
  readonly clientReady: Signal<ObservedClient> = this.#signal();
  /** A client is cut off because it broke a rule, for this reason. It leaves right after. */
  readonly clientCutOff: Signal<ObservedClient, string> = this.#signal();
  /** A client's connection dropped; its session waits for it. */
  readonly clientAway: Signal<ObservedClient> = this.#signal();
  /** A client continues its session on another connection. */
  readonly clientBack: Signal<ObservedClient> = this.#signal();
  /** A client has gone for good; nothing more is done for it. */
  readonly clientLeft: Signal<ObservedClient> = this.#signal();

  // --- instances ---

  /** An instance is being started. */
  readonly instanceStarting: Signal<ObservedInstance> = this.#signal();
  readonly instanceReady: Signal<ObservedInstance> = this.#signal();
  /** An instance could not be started. */
  readonly instanceFailed: Signal<ObservedInstance, BridgeError> = this.#signal();
  /** An instance that ran has ended by itself. */
  readonly instanceDied: Signal<ObservedInstance, BridgeError> = this.#signal();
  /** An instance was stopped because nobody uses it. */
  readonly instanceStopped: Signal<ObservedInstance> = this.#signal();
  /** A server has connected by itself, under this name. */
  readonly serverDialledIn: Signal<string> = this.#signal();

  // --- calls ---

  /** The bridge begins to look at a client's request, before anything can refuse it. Not told for `control` clients. */
  readonly requestBegun: Signal<ObservedClient, Frame, Envelope> = this.#signal();
  /** A client's request was accepted or refused. */
  readonly requestTaken: Signal<ObservedClient> = this.#signal();
  /** A client asks for a tool, and the bridge begins to look at the request. */
  readonly toolWanted: Signal<ObservedClient, Frame, Envelope> = this.#signal();
  /** The request for a tool is really about another tool, whose arguments are in the bytes. */
  readonly toolAimed: Signal<ObservedClient, AimedTool, Buffer> = this.#signal();
  /** The request for a tool only asks about this tool. */
  readonly toolLookedUp: Signal<ObservedClient, NamedTool> = this.#signal();
  /** The bridge has looked at a request for a tool: it became a call, or was refused. */
  readonly toolTaken: Signal<ObservedClient> = this.#signal();
  /** A request has become a call. */
  readonly callBegun: Signal<ObservedCall> = this.#signal();
  /** The server that gets a tool call is known. Its version may become known later. */
  readonly callRouted: Signal<ObservedCall, string, SpokenVersion> = this.#signal();
  readonly callWaiting: Signal<ObservedCall, WaitReason> = this.#signal();
  /** The call is being sent to this server and this instance. */
  readonly callSent: Signal<ObservedCall, string, ObservedInstance> = this.#signal();
  /** The server reports progress of a call. */
  readonly callProgressed: Signal<ObservedCall, string> = this.#signal();
  /** The server has answered; true for a result, false for an error. */
  readonly serverAnswered: Signal<ObservedCall, string, boolean> = this.#signal();
  /** The server gives no answer to a call that was sent: the call was given up, or the server died. */
  readonly serverSilent: Signal<ObservedCall, string> = this.#signal();
  /** The server's answer is about to be passed on, with its envelope. */
  readonly callAnswered: Signal<ObservedCall, Buffer, Envelope> = this.#signal();
  /** A request is answered with questions of its server; a later request continues the call. */
  readonly callSuspended: Signal<ObservedCall> = this.#signal();
  /** A request continues a suspended call, and is under way in its place. */
  readonly callContinued: Signal<ObservedCall, ObservedCall> = this.#signal();
  /** The bridge answers a call itself. */
  readonly callAnsweredHere: Signal<ObservedCall> = this.#signal();
  /** The bridge answers a call with an error, given as an object or as JSON. */
  readonly callFailed: Signal<ObservedCall, BridgeError | string> = this.#signal();
  readonly callGivenUp: Signal<ObservedCall, 'cancelled' | 'client-gone'> = this.#signal();
  /** A call is over; its answer, if it got one, was written. */
  readonly callEnded: Signal<ObservedCall> = this.#signal();
  /** A client was written a result. */
  readonly resultWritten: Signal<ObservedClient> = this.#signal();
  /** A client was written an error of the bridge, given as JSON. */
  readonly errorWritten: Signal<ObservedClient, string> = this.#signal();

  // --- questions ---

  /** A server asks a client something: `sampling`, `elicitation`, `roots` or `tasks`. */
  readonly questionAsked: Signal<ObservedClient, string, string> = this.#signal();
  readonly questionEnded: Signal<ObservedClient, string, QuestionEnd> = this.#signal();

  // --- servers and messages ---

  /** Tools of a server now differ from what the user accepted, or match it again. */
  readonly toolsChanged: Signal<string, readonly string[]> = this.#signal();
  /** Items of a server's list have names that are too long for joined lists. */
  readonly namesLeftOut: Signal<string, number> = this.#signal();
  /** Definitions found in a directory wait for the user's approval. */
  readonly approvalsWanted: Signal<string, number> = this.#signal();
  /** A client sends a message to another one; carries what is known of the message. */
  readonly messageSent: Signal<'message' | 'refused' | 'letter', ObservedClient, ObservedMessage> = this.#signal();

  readonly incident: Signal<Incident, Concerned> = this.#signal();

  #signal<A = void, B = void, C = void>(): Signal<A, B, C> {
    return new Signal<A, B, C>((error) => this.#failed(error));
  }
}
