// A client's `initialize`, from its arrival to its answer, and the frames that arrive meanwhile.

import type { ClientSettingsSource } from '../model/client-settings.ts';
import type { Limits } from '../model/limits.ts';
import type { AcceptedMethods } from '../protocol/accepted-methods.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import {
  bridgeInitializeResult,
  type ClientInitialize,
  type ResumeRequest,
  readClientInitialize,
  writeInitializeResult,
} from '../protocol/initialize.ts';
import {
  certainId,
  INITIALIZED_ALREADY,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  REGISTERED_ALREADY,
  rpcError,
  rpcErrorOf,
} from '../protocol/rpc-error.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { messagesOf } from '../wire/batch.ts';
import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Link } from '../wire/link.ts';
import { Splice } from '../wire/splice.ts';
import type { ClientRequest } from './call.ts';
import type { Events } from './events.ts';
import type { BridgeTools, JoinedView, OwnTools, ToolsInstead } from './joined-view.ts';
import type { Session } from './session.ts';
import type { InitializeAnswer } from './view.ts';
import type { ServerDirectory } from './view-choice.ts';
import type { Views } from './views.ts';

export interface HandshakeContext {
  readonly limits: Limits;
  readonly events: Events;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly servers: ServerDirectory;
  /** The settings of clients in the config. */
  readonly clientSettings?: ClientSettingsSource | undefined;
  /** Makes the tools for clients that search for tools before they use them. */
  readonly discoverTools: (view: JoinedView) => ToolsInstead;
  /** Makes the tools for clients that write programs; undefined if these are switched off. */
  readonly codeTools?: ((view: JoinedView) => ToolsInstead) | undefined;
  readonly ownTools?: ((view: JoinedView) => BridgeTools) | undefined;
  /** Messages between clients. */
  readonly messaging: Messaging;
  /** Accepts servers that connect by themselves. */
  readonly dialIns: DialInDesk;
  /** The version of the bridge, of its program, and of this run of it. */
  readonly version: string;
  readonly build: string;
  readonly daemonId: string;
}

/** Hands on messages between clients. The room `messaging` implements it. */
export interface Messaging {
  /** The message tools for a client that may use them. */
  toolsFor(accepted: AcceptedMethods): OwnTools | undefined;
  /** Called when a client has got its id; `wantedId` is the id that it asked for. */
  joined(session: Session, accepted: AcceptedMethods, wantedId: string | undefined): void;
  /** Called when a client has lost its connection but may come back. */
  wentAway(session: Session): void;
  left(session: Session): void;
  /** Answers a request about other clients, or for one of them. */
  request(session: Session, request: ClientRequest, envelope: Envelope): void;
  notice(session: Session, frame: Frame, envelope: Envelope): void;
  /** Called when the daemon is about to end. Answers the calls that wait for a message. */
  endWaits(): void;
}

/** A client's `initialize` while it is being handed on. */
export interface Initialize {
  readonly idText: string;
  readonly first: Frame;
  readonly params: unknown;
}

export interface DialInDesk {
  /** Returns the state of a server of this name. Throws if it may not connect at all. */
  admit(name: string): string;
  take(name: string, link: Link, program: { readonly program: string; readonly version: string }): void;
}

export interface HandshakePorts {
  readonly views: Views;
  /** Gives the client its id, the wanted one if possible. */
  readonly nameClient: (session: Session, wanted: string | undefined) => string;
  /** Takes the link from a session that turns out to be a server's. */
  readonly release: (session: Session) => Link;
  /** Handles a frame that was held. */
  readonly letIn: (session: Session, frame: Frame) => void;
  readonly resumption: ResumptionPorts;
}

/** Sessions that outlive their connections. */
export interface ResumptionPorts {
  /** Notes that the client can resume. From here on its bytes behind `first`, the frame at hand, are counted. */
  readonly count: (session: Session, first: Frame) => void;
  /** Called right before the answer to `initialize` is written; returns the token for it. */
  readonly admit: (session: Session) => string;
  /** Called when the answer to `initialize` was written. Everything sent after it is kept. */
  readonly keep: (session: Session) => void;
  /**
   * Continues another session on this one's connection. Calls `answer` to write the answer first. Throws the reason why
   * not.
   */
  readonly resume: (
    session: Session,
    request: ResumeRequest & { readonly first: Frame },
    answer: (resumed: Session, meta: object) => void,
  ) => void;
}

interface AnswerParts {
  readonly idText: string;
  readonly protocolVersion: string;
  readonly clientId: string;
  /** Further members of the answer's `_meta`. */
  readonly also: object;
}

/** A stand-in that only satisfies the types: each session with a token has an answer. */
const NO_ANSWER: InitializeAnswer = { of: 'bridge', capabilities: {}, instructions: undefined };

const splice = new Splice();
const LINES_ONLY = rpcError(
  INVALID_PARAMS,
  'Over HTTP there are no roles but "client", and sessions go on by Last-Event-ID',
);
const TURNED = rpcError(INVALID_REQUEST, 'A server that dials in is asked from here on, and asks nothing by itself');

export class Handshake {
  readonly #context: HandshakeContext;
  readonly #ports: HandshakePorts;
  /** True while held frames are handled; none of them is the frame at hand on its link. */
  #isLettingIn = false;

  constructor(context: HandshakeContext, ports: HandshakePorts) {
    this.#context = context;
    this.#ports = ports;
  }

  begin(session: Session, { idText, first, params }: Initialize): void {
    if (session.state !== 'connecting') return session.output.fail(idText, INITIALIZED_ALREADY);
    const initialize = readClientInitialize(params);
    if (typeof initialize === 'string') return session.output.fail(idText, rpcError(INVALID_PARAMS, initialize));
    if (session.link.streams !== undefined && (initialize.role !== 'client' || initialize.resume !== undefined))
      return session.output.fail(idText, LINES_ONLY);
    if (typeof initialize.resume === 'object')
      return this.#resume(session, initialize, initialize.resume, { idText, first });
    const canResume = initialize.resume === 'can' && initialize.role === 'client' && !this.#isLettingIn;
    if (canResume) this.#ports.resumption.count(session, first);
    session.beginInitialize(idText);
    this.#welcome(session, { ...initialize, resume: canResume ? 'can' : undefined }, idText)
      .catch((error: unknown) => this.#fail(session, idText, error))
      .finally(() => this.#release(session));
  }

  #resume(
    session: Session,
    { protocolVersion }: ClientInitialize,
    request: ResumeRequest,
    { idText, first }: Pick<Initialize, 'idText' | 'first'>,
  ): void {
    const { resumption } = this.#ports;
    try {
      const isSplit = (session.parts?.sessions() ?? []).length > 0;
      if (this.#isLettingIn || isSplit)
        throw new BridgeError('RESUME_REFUSED', 'A session is resumed by the first request');
      resumption.resume(session, { ...request, first }, (resumed, also) => {
        const { clientId, initializeAnswer = NO_ANSWER } = resumed;
        const more = { 'mcp-bridge/resumed': true, ...also, ...this.#ownMeta };
        this.#answerWith(session, initializeAnswer, { idText, protocolVersion, clientId, also: more });
      });
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      this.#context.events.incident.tell('resumesRefused', session);
      session.output.fail(idText, rpcErrorOf(error));
    }
  }

  get #ownMeta(): object {
    const { daemonId, build, limits } = this.#context;
    const { maxMessageBytes } = limits;
    return {
      'mcp-bridge/daemon': daemonId,
      'mcp-bridge/build': build,
      'mcp-bridge/maxMessageBytes': maxMessageBytes,
    };
  }

  async #welcome(session: Session, initialize: ClientInitialize, idText: string): Promise<void> {
    if (initialize.serverName !== undefined)
      return this.#welcomeServer(session, initialize, idText, initialize.serverName);
    if (initialize.role === 'control') return this.#welcomeControl(session, initialize, idText);
    session.introduce(initialize);
    const preparing = this.#context.servers.prepare(initialize.cwd);
    if (preparing !== undefined) await preparing;
    if (!session.isOpen) return;
    const wanted = session.fixedView ?? initialize.view;
    session.applySettings(this.#context.clientSettings, wanted);
    const also = this.#context.messaging.toolsFor(initialize.accepted);
    const view = this.#ports.views.open(session, wanted, also);
    const initializeAnswer = await view.initializeAnswer(session);
    if (!session.isOpen) return;
    session.identify(initialize, this.#ports.nameClient(session, initialize.clientId));
    this.#context.messaging.joined(session, initialize.accepted, initialize.clientId);
    this.#answer(session, initialize, idText, initializeAnswer);
    if (initialize.resume === 'can') this.#ports.resumption.keep(session);
    this.#context.events.clientReady.tell(session);
  }

  #welcomeControl(session: Session, initialize: ClientInitialize, idText: string): void {
    session.identify(initialize, this.#ports.nameClient(session, initialize.clientId));
    this.#answerAsBridge(session, initialize, idText, {}, this.#ownMeta);
  }

  /** Answers a server that dials in. After that the roles are reversed: the bridge asks, and the peer answers. */
  async #welcomeServer(session: Session, initialize: ClientInitialize, idText: string, name: string): Promise<void> {
    const { dialIns, servers, events } = this.#context;
    const preparing = servers.prepare(undefined); // first, or it could take the name of a server that is not known yet
    if (preparing !== undefined) await preparing;
    if (!session.isOpen || session.hasEnded) return;
    const state = dialIns.admit(name);
    const { protocolVersion, version } = initialize;
    const meta = { 'mcp-bridge/serverName': name, 'mcp-bridge/serverState': state };
    session.output.answer(idText, bridgeInitializeResult({ protocolVersion, version: this.#context.version, meta }));
    this.#refuseHeld(session, TURNED, REGISTERED_ALREADY);
    events.serverDialledIn.tell(name);
    dialIns.take(name, this.#ports.release(session), { program: initialize.name, version });
  }

  #answerAsBridge(
    session: Session,
    { protocolVersion }: ClientInitialize,
    idText: string,
    says: { readonly capabilities?: object; readonly instructions?: string | undefined },
    also: object,
  ): void {
    const meta = { 'mcp-bridge/clientId': session.clientId, ...also };
    session.output.answer(
      idText,
      bridgeInitializeResult({ ...says, protocolVersion, version: this.#context.version, meta }),
    );
  }

  #answer(session: Session, initialize: ClientInitialize, idText: string, initializeAnswer: InitializeAnswer): void {
    const also = initialize.resume === 'can' ? this.#resumeMeta(session) : {};
    if (initialize.resume === 'can') session.keepInitializeAnswer(initializeAnswer);
    const { protocolVersion } = initialize;
    this.#answerWith(session, initializeAnswer, { idText, protocolVersion, clientId: session.clientId, also });
  }

  #answerWith(session: Session, initializeAnswer: InitializeAnswer, answer: AnswerParts): void {
    const { idText, protocolVersion, clientId, also } = answer;
    const { version } = this.#context;
    if (initializeAnswer.of === 'bridge') {
      const meta = { 'mcp-bridge/clientId': clientId, ...also };
      return session.output.answer(
        idText,
        bridgeInitializeResult({ ...initializeAnswer, protocolVersion, version, meta }),
      );
    }
    const { instanceId, initializeResult: result } = initializeAnswer;
    const meta = { 'mcp-bridge/clientId': clientId, 'mcp-bridge/instanceId': instanceId, ...also };
    session.output.answerWith(idText, (outbox) =>
      writeInitializeResult(outbox, splice, { result, protocolVersion, meta }),
    );
  }

  #resumeMeta(session: Session): object {
    const token = this.#ports.resumption.admit(session);
    const { resumeGraceMs } = this.#context.limits;
    return {
      'mcp-bridge/resumeToken': token,
      'mcp-bridge/resumed': false,
      'mcp-bridge/graceMs': resumeGraceMs,
      ...this.#ownMeta,
    };
  }

  #fail(session: Session, idText: string, error: unknown): void {
    if (!session.isOpen) return;
    this.#ports.views.leave(session);
    session.failInitialize();
    if (error instanceof BridgeError) return session.output.fail(idText, rpcErrorOf(error));
    this.#context.logger.error('initialize failed', { error: messageOf(error) });
    session.output.fail(idText, rpcError(INTERNAL_ERROR, 'The bridge failed to initialize this connection'));
  }

  /** Handles the frames that arrived behind `initialize`. */
  #release(session: Session): void {
    this.#isLettingIn = true;
    session.letInHeld((frame) => this.#ports.letIn(session, frame));
    this.#isLettingIn = false;
  }

  /** Answers an open `initialize` and all requests behind it with the same error. */
  abandon(session: Session, error: string): void {
    if (!session.isHolding) return;
    session.output.fail(session.initializeId, error);
    this.#refuseHeld(session, error);
  }

  #refuseHeld(session: Session, error: string, toInitialize = error): void {
    const envelope = new Envelope(ERA_2025.keys);
    for (const { b, start, end } of session.takeHeld().flatMap((frame) => [...messagesOf(frame)])) {
      if (!envelope.scan(b, start, end, this.#context.limits.maxDepth) || envelope.kind !== 'request') continue;
      const isInitialize = ERA_2025.methods.of(b, envelope).role === 'initialize';
      session.output.fail(certainId(envelope, b), isInitialize ? toInitialize : error);
    }
  }
}
