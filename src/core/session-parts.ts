// The parts of a connection whose requests each say who asks. Requests that say the same share one session. Nearly
// always a connection has only one.

import type { ClientSettingsSource } from '../model/client-settings.ts';
import type { Limits } from '../model/limits.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { type ClientInitialize, serverInfoOf } from '../protocol/initialize.ts';
import {
  levelRefusal,
  REQUESTER_FIELDS,
  type RequesterDefaults,
  readRequester,
  versionRefusal,
} from '../protocol/requester.ts';
import { certainId, failureOf, INTERNAL_ERROR, idInUse, rpcError } from '../protocol/rpc-error.ts';
import { membersOf } from '../util/json-value.ts';
import { isAt } from '../wire/byte-table.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { RequestId } from '../wire/request-id.ts';
import type { Call, ClientRequest } from './call.ts';
import type { Messaging } from './handshake.ts';
import { PendingRequests } from './pending-requests.ts';
import type { Session } from './session.ts';
import type { InitializeAnswer } from './view.ts';
import type { ServerDirectory } from './view-choice.ts';
import type { Views } from './views.ts';

/**
 * The maximum number of sessions per connection. A client that keeps saying something else loses its oldest unused one.
 */
const MOST_PARTS = 8;
const TOO_MANY = rpcError(
  INTERNAL_ERROR,
  `Requests of ${MOST_PARTS} different clients, views or directories are under way on this connection`,
  { code: 'CLIENT_BUSY', hint: 'Ask again when one of them is answered, or on another connection.' },
);

/** The services of the daemon that parts need. */
export interface SessionPartsContext {
  readonly limits: Limits;
  readonly servers: ServerDirectory;
  readonly clientSettings?: ClientSettingsSource | undefined;
  readonly messaging: Messaging;
  readonly version: string;
}

export interface SessionPartsPorts {
  readonly views: Views;
  /** Makes a session that is a part of the connection of `host`. */
  readonly makePart: (host: Session, serverInfo: (session: Session) => string) => Session;
  /** Ends such a session. */
  readonly endPart: (session: Session) => void;
  readonly nameClient: (session: Session, wanted: string | undefined) => string;
  /** Handles a frame that was held. */
  readonly letIn: (session: Session, frame: Frame) => void;
}

/** A session, and the bytes by which its requests say who asks. */
interface Part {
  readonly session: Session;
  /** One for each of REQUESTER_FIELDS; undefined for a missing one. */
  readonly says: readonly (Buffer | undefined)[];
  /** The members that the connection had set for all its requests. */
  readonly defaults: RequesterDefaults;
}

const readAgain = new Envelope(ERA_2026.keys);

export class SessionParts {
  readonly #host: Session;
  readonly #context: SessionPartsContext;
  readonly #ports: SessionPartsPorts;
  readonly #pending: PendingRequests;
  /** Most recently used first. */
  #all: readonly Part[] = [];

  constructor(host: Session, context: SessionPartsContext, ports: SessionPartsPorts) {
    this.#host = host;
    this.#context = context;
    this.#ports = ports;
    this.#pending = new PendingRequests(context.limits);
  }

  sessions(): readonly Session[] {
    return this.#all.map(({ session }) => session);
  }

  /** True while every request is answered. */
  get areAnswered(): boolean {
    return this.#all.every(({ session }) => session.isAnswered);
  }

  /** The unanswered request of this id. */
  callOf(id: RequestId): Call | undefined {
    for (const { session } of this.#all) {
      const call = session.calls.get(id);
      if (call !== undefined) return call;
    }
    return undefined;
  }

  /** Drops a request that waits until its client's servers are known; false if none has this id. */
  dropHeld(id: RequestId): boolean {
    const { maxDepth } = this.#context.limits;
    const isMeant = ({ b, start, end }: Frame): boolean =>
      readAgain.scan(b, start, end, maxDepth) && readAgain.id(b, Field.id) === id;
    return this.#all.some(({ session }) => session.isHolding && session.dropHeld(isMeant));
  }

  /** The session for the client that a request names; undefined if the request was refused, which is answered. */
  of(b: Buffer, envelope: Envelope): Session | undefined {
    const refusal = versionRefusal(b, envelope) ?? levelRefusal(b, envelope);
    if (refusal !== undefined) return this.#refuse(b, envelope, refusal);
    const [first] = this.#all;
    const session = first !== undefined && this.#isOf(first, b, envelope) ? first.session : this.#other(b, envelope);
    return session !== undefined && this.#all.length > 1 ? this.#unlessOpen(session, b, envelope) : session;
  }

  #isOf({ says, defaults }: Part, b: Buffer, envelope: Envelope): boolean {
    return defaults === this.#host.defaults && saysSame(says, b, envelope);
  }

  /**
   * Called when the connection sets other members for all later requests. Sessions that nobody waits for free their
   * ids.
   */
  defaultsChanged(): void {
    for (const { session } of this.#all) if (session.isAnswered) this.#forget(session);
  }

  /** Refuses a request whose id is in use anywhere on the connection. */
  #unlessOpen(session: Session, b: Buffer, envelope: Envelope): Session | undefined {
    const other = this.callOf(envelope.id(b, Field.id) ?? '')?.session ?? session;
    if (other === session) return session;
    return this.#refuse(b, envelope, idInUse(envelope.raw(b, Field.id)));
  }

  #refuse(b: Buffer, envelope: Envelope, error: string): undefined {
    this.#host.output.refuse(certainId(envelope, b), error);
  }

  #other(b: Buffer, envelope: Envelope): Session | undefined {
    const known = this.#all.find((part) => this.#isOf(part, b, envelope));
    if (known !== undefined) {
      this.#all = [known, ...this.#all.filter((other) => other !== known)];
      return known.session;
    }
    const { defaults } = this.#host;
    const who = readRequester(b, envelope, defaults);
    if (typeof who === 'string') return this.#refuse(b, envelope, who);
    if (this.#all.length >= MOST_PARTS && !this.#endOneUnused()) return this.#refuse(b, envelope, TOO_MANY);
    const session = this.#ports.makePart(this.#host, (one) => this.#serverInfoOf(one));
    const says = REQUESTER_FIELDS.map((field) => copyOf(b, envelope, field));
    this.#all = [{ session, says, defaults }, ...this.#all];
    session.beginInitialize('null');
    session.introduce(who);
    const preparing = this.#context.servers.prepare(who.cwd);
    try {
      if (preparing === undefined) this.#open(session, who);
      else void this.#openLater(session, who, preparing);
      return session;
    } catch (error) {
      this.#forget(session);
      return this.#refuse(b, envelope, failureOf(error));
    }
  }

  #endOneUnused(): boolean {
    const unused = this.#all.findLast(({ session }) => session.isAnswered);
    if (unused !== undefined) this.#forget(unused.session);
    return unused !== undefined;
  }

  #forget(session: Session): void {
    this.#all = this.#all.filter((other) => other.session !== session);
    this.#ports.endPart(session);
  }

  #open(session: Session, who: ClientInitialize): void {
    const { clientSettings, messaging } = this.#context;
    const wanted = session.fixedView ?? who.view;
    session.applySettings(clientSettings, wanted);
    this.#ports.views.open(session, wanted, messaging.toolsFor(who.accepted));
    session.identify(who, this.#ports.nameClient(session, who.clientId));
    messaging.joined(session, who.accepted, who.clientId);
    session.becomeReady();
    session.events.clientReady.tell(session);
    session.letInHeld((frame) => this.#ports.letIn(session, frame));
  }

  /** Opens the session once its servers are ready; frames that arrive meanwhile wait. */
  async #openLater(session: Session, who: ClientInitialize, preparing: Promise<void>): Promise<void> {
    try {
      await preparing;
      if (session.isOpen) this.#open(session, who);
    } catch (error) {
      const refusal = failureOf(error);
      for (const { b, start, end } of session.takeHeld())
        if (readAgain.scan(b, start, end, this.#context.limits.maxDepth))
          session.output.fail(certainId(readAgain, b), refusal);
      this.#forget(session);
    }
  }

  /** Answers `server/discover` with what the client may use. Asks no server if enough is known. */
  discover(session: Session, request: ClientRequest, envelope: Envelope): void {
    const { view } = session;
    const call = view === undefined ? undefined : this.#pending.open(session, request, envelope);
    if (call === undefined || view === undefined) return;
    let answer: InitializeAnswer | undefined;
    const known = view.initializeAnswer(session).then((found) => {
      answer = found;
    });
    this.#pending.later(call, request, known, () => {
      if (answer !== undefined) this.#answerDiscover(call, answer);
    });
  }

  #answerDiscover(call: Call, answer: InitializeAnswer): void {
    const { capabilities, instructions } =
      answer.of === 'bridge' ? answer : membersOf(JSON.parse(answer.initializeResult.toString()));
    const { tasks: _, ...offered } = membersOf(capabilities); // tasks mean something else in this era
    const result = JSON.stringify({
      supportedVersions: ERA_2026.versions,
      capabilities: offered,
      instructions,
      ttlMs: 0,
      cacheScope: 'private',
    });
    this.#pending.answer(call, () => call.output.answer(call.idText, result));
  }

  /** The name of whoever answers a session: its only server, else the bridge. JSON in latin1. */
  #serverInfoOf(session: Session): string {
    const { view } = session;
    const [server] = view?.isTransparent === true ? view.servers() : [];
    const initializeResult = server?.profileFor(session)?.initializeResult;
    if (initializeResult === undefined) return textOf({ name: 'mcp-bridge-server', version: this.#context.version });
    const known = infoTexts.get(initializeResult);
    if (known !== undefined) return known;
    const text = textOf(serverInfoOf(initializeResult));
    infoTexts.set(initializeResult, text);
    return text;
  }
}

/** The `serverInfo` of each server as text; keys are its answers to `initialize`. */
const infoTexts = new WeakMap<Buffer, string>();

function textOf(info: object): string {
  return Buffer.from(JSON.stringify(info)).toString('latin1');
}

function copyOf(b: Buffer, envelope: Envelope, field: Field): Buffer | undefined {
  return envelope.has(field) ? Buffer.from(b.subarray(envelope.from(field), envelope.to(field))) : undefined;
}

function saysSame(says: readonly (Buffer | undefined)[], b: Buffer, envelope: Envelope): boolean {
  for (let i = 0; i < REQUESTER_FIELDS.length; i++) {
    const field = REQUESTER_FIELDS[i] ?? Field.meta;
    const before = says[i];
    if (before === undefined ? envelope.has(field) : !isValue(before, b, envelope, field)) return false;
  }
  return true;
}

function isValue(before: Buffer, b: Buffer, envelope: Envelope, field: Field): boolean {
  const from = envelope.from(field);
  return from >= 0 && envelope.to(field) - from === before.length && isAt(b, from, before);
}
