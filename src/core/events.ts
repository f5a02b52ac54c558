// The stream of events: all that happens in the daemon is said once, where it happens. Counters, meters, the audit trail and whatever watches the
// daemon listen here; nothing in the core knows who does. A listener is called at once and must be quick. It changes
// nothing of what happens, and one that fails costs nobody else anything.

import type { Principal } from '../model/principal.ts';
import type { CallRole } from '../protocol/era.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';

/** A client, as far as listeners look at it. */
export interface ObservedClient {
  /** '' before its `initialize` is answered, like its name. */
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  /** Undefined before it is known. */
  readonly protocolVersion: string | undefined;
  readonly principal: Principal;
  readonly view: { readonly name: string } | undefined;
  readonly output: { readonly writtenBytes: number };
}

export interface ObservedInstance {
  readonly server: string;
  /** The version that its server speaks; undefined while that is not known. */
  readonly protocolVersion: string | undefined;
  /** Undefined while it does not run. */
  readonly instanceId: string | undefined;
  readonly era: { readonly hasHandshake: boolean };
  /** How it is reached, as far as its definition says it. */
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
  /** Our own id of it towards the server; 0 until it was sent. */
  readonly serverRequestId: number;
  /** The server's name of the tool in JSON, if it is not the client's; else ''. */
  readonly nameText: string;
  /** The moment in which it was sent, which the meters note here. */
  sentTicks: number;
  /** Whatever the tracing notes of it here. */
  trace: object | undefined;
}

/**
 * Something was refused, dropped, cut short or held up. Each has a counter of its name; the settings say which counters
 * show that a limit was reached.
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

/** The client that an incident is about, or the name of the server; undefined if it is about neither. */
export type Concerned = ObservedClient | string | undefined;

/** The reason why a call waits: its client or its server has enough under way, or the server is not ready for it. */
export type WaitReason = 'client' | 'server' | 'turn';

/** The end of a question: the client answered, or the server gets an error because of the client, or took it back. */
export type QuestionEnd = 'answered' | 'client-gone' | 'timeout' | 'cancelled' | 'server-gone';

/** A tool of a server by the client's names; '' for a missing name. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** The target of a call through another tool, such as `execute_tool`. */
export interface AimedTool extends NamedTool {
  /** The place of its arguments, if it has any. */
  readonly inner?: { readonly from: number; readonly to: number };
}

/** A message between clients, as far as it was read. */
export interface ObservedMessage {
  /** Empty where it was refused before that was known. */
  readonly to: string;
  /** Empty for a letter. */
  readonly method: string;
  /** 0 where that is not known. */
  readonly bytes: number;
}

type Listener<A, B, C> = (a: A, b: B, c: C) => void;

interface Subscription<A, B, C> {
  readonly listener: Listener<A, B, C>;
  hasFailed: boolean;
}

/** One kind of event. Telling it allocates nothing, and costs a look at an empty list if nobody listens. */
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

  /** Calls back from now on; returns the function that ends it. */
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

  /** Reports a listener once: one that fails may do so at each call. */
  #note(subscription: Subscription<A, B, C>, error: unknown): void {
    if (subscription.hasFailed) return;
    subscription.hasFailed = true;
    this.#failed(error);
  }
}

/** The version of the protocol that a server speaks; undefined while that is not known. */
export interface SpokenVersion {
  readonly protocolVersion: string | undefined;
}

/** All kinds of events, with what each tells. */

export class Events {
  readonly #failed: (error: unknown) => void;

  /** `failed` is told of a listener that has failed, once. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  // --- clients ---

  /** A client has connected. */
  readonly clientCame: Signal<ObservedClient> = this.#signal();
  /** A client was turned away; with the reason. */
  readonly clientRefused: Signal<ObservedClient, string> = this.#signal();
  /** A client is known by its id and its name: its `initialize` is answered. */
  readonly clientReady: Signal<ObservedClient> = this.#signal();
  /** A client is cut off because it broke a rule; with the reason. It leaves right after. */
  readonly clientCutOff: Signal<ObservedClient, string> = this.#signal();
  /** The connection of a client dropped, and its session waits for it. */
  readonly clientAway: Signal<ObservedClient> = this.#signal();
  /** A client goes on with its session on another connection. */
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

  /** A request of a client is looked at, before anything can refuse it. Not told of those who control the daemon. */
  readonly requestBegun: Signal<ObservedClient, Frame, Envelope> = this.#signal();
  /** A request of a client was taken in, whatever became of it. */
  readonly requestTaken: Signal<ObservedClient> = this.#signal();
  /** A client asks for a tool: the request is looked at. */
  readonly toolWanted: Signal<ObservedClient, Frame, Envelope> = this.#signal();
  /** The request for a tool turns out to be about another tool, whose arguments stand in the bytes. */
  readonly toolAimed: Signal<ObservedClient, AimedTool, Buffer> = this.#signal();
  /** The request for a tool only asks about this tool. */
  readonly toolLookedUp: Signal<ObservedClient, NamedTool> = this.#signal();
  /** The look at a request for a tool is over: it has become a call, or it was refused. */
  readonly toolTaken: Signal<ObservedClient> = this.#signal();
  /** A request has become a call. */
  readonly callBegun: Signal<ObservedCall> = this.#signal();
  /** It is known which server gets the call of a tool. Its version may become known later. */
  readonly callRouted: Signal<ObservedCall, string, SpokenVersion> = this.#signal();
  readonly callWaiting: Signal<ObservedCall, WaitReason> = this.#signal();
  /** The call is being sent to this server, to this instance of it. */
  readonly callSent: Signal<ObservedCall, string, ObservedInstance> = this.#signal();
  /** The server says how far it is with a call. */
  readonly callProgressed: Signal<ObservedCall, string> = this.#signal();
  /** The server has answered; with a result, or with an error. */
  readonly serverAnswered: Signal<ObservedCall, string, boolean> = this.#signal();
  /** The server gives no answer to a call that it was sent: the call was given up, or the server has gone. */
  readonly serverSilent: Signal<ObservedCall, string> = this.#signal();
  /** The server's answer is about to be passed on; the envelope says where its parts stand. */
  readonly callAnswered: Signal<ObservedCall, Buffer, Envelope> = this.#signal();
  /** A request is answered with questions of its server; another request goes on with its call. */
  readonly callSuspended: Signal<ObservedCall> = this.#signal();
  /** A request goes on with a call, which is under way from here on in its place. */
  readonly callContinued: Signal<ObservedCall, ObservedCall> = this.#signal();
  /** The bridge answers a call itself. */
  readonly callAnsweredHere: Signal<ObservedCall> = this.#signal();
  /** The bridge answers a call with an error, or with an error in JSON. */
  readonly callFailed: Signal<ObservedCall, BridgeError | string> = this.#signal();
  readonly callGivenUp: Signal<ObservedCall, 'cancelled' | 'client-gone'> = this.#signal();
  /** Nothing more happens to a call; its answer, if it got one, was written. */
  readonly callEnded: Signal<ObservedCall> = this.#signal();
  /** A client was written a result. */
  readonly resultWritten: Signal<ObservedClient> = this.#signal();
  /** A client was written an error of the bridge, which is JSON. */
  readonly errorWritten: Signal<ObservedClient, string> = this.#signal();

  // --- questions ---

  /** A client is asked something by a server: `sampling`, `elicitation`, `roots` or `tasks`. */
  readonly questionAsked: Signal<ObservedClient, string, string> = this.#signal();
  readonly questionEnded: Signal<ObservedClient, string, QuestionEnd> = this.#signal();

  // --- servers and messages ---

  /** Tools of a server differ from what the user accepted, or match it again. */
  readonly toolsChanged: Signal<string, readonly string[]> = this.#signal();
  /** Items of a server's list have names that are too long for joined lists. */
  readonly namesLeftOut: Signal<string, number> = this.#signal();
  /** Definitions that were found in a directory wait for the user's approval. */
  readonly approvalsWanted: Signal<string, number> = this.#signal();
  /** A client writes to another one; with what is known of the message. */
  readonly messageSent: Signal<'message' | 'refused' | 'letter', ObservedClient, ObservedMessage> = this.#signal();

  readonly incident: Signal<Incident, Concerned> = this.#signal();

  #signal<A = void, B = void, C = void>(): Signal<A, B, C> {
    return new Signal<A, B, C>((error) => this.#failed(error));
  }
}
