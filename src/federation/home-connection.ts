// A connection to a server on another host; to the rest of the daemon it looks like any other. Each request is a call
// over the bus. A call that was not begun, or is safe to repeat, may go to another owner if any owner will do. If
// nobody knows the outcome of a call, it ends with "outcome unknown".

import { randomBytes } from 'node:crypto';
import type { BusServer } from '../model/server-definition.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
import { isProbeId } from '../protocol/server-discovery.ts';
import { BridgeError, type BridgeErrorCode } from '../util/bridge-error.ts';
import type { Timer } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { printable } from '../util/printable.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { findMembers } from '../wire/json-members.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import type { Outbox } from '../wire/outbox.ts';
import { copyOf } from '../wire/own-frame.ts';
import type { PacedQueue } from '../wire/read-pacer.ts';
import { type BusHeaders, FixedHeaders } from './bus.ts';
import {
  callPlace,
  HEADER,
  headerValue,
  KEEP_ALIVE_MS,
  LISTEN,
  LOST_MS,
  MOST_FRAME_BYTES,
  PROTOCOL_VERSION,
  WIRE_VERSION,
} from './frames.ts';
import type { HomeOptions, OpenContext } from './home.ts';
import {
  type AnsweredCall,
  type CallAim,
  type CallConnection,
  type ExpectedAnswers,
  HomeCall,
  type HomeCallContext,
  type HomeRequest,
} from './home-call.ts';
import type { Holder } from './lease-table.ts';
import { idleSink, TurnOutbox } from './message-outbox.ts';
import { type CallWay, hostIn, newWay, nextHost, secondWay, TaskHosts, withHost } from './owner-choice.ts';
import type { StreamPace } from './stream-pace.ts';
import { isBusMethod, nameToken, requestSubject, serverToken, tokenOf } from './subject.ts';

/** A connection without a request for so long asks something itself, so that its owner keeps its state. */
const IDLE_MS = 240_000;
const PING_ID = '"mcp-bridge/ping"';
const STREAM_BYTES = 12;
/** The maximum number of request kinds that a connection remembers, and the maximum length of their names. */
const MOST_AIMS = 64;
const MOST_AIM_LETTERS = 256;
/** The maximum length of a request's name or URI, which is a header too. */
const MOST_NAME_BYTES = 16 * 1024;
/** A busy owner says when it may be asked again. The value is used only within these bounds. */
const SOONEST_RETRY_MS = 250;
const LATEST_RETRY_MS = 5000;
/** The maximum length of a text that an owner says. */
const MOST_SAID = 400;

const envelope = new Envelope(ERA_2026.keys);
const NOTHING = Buffer.alloc(0);

interface ConnectionContext extends HomeOptions, OpenContext {
  readonly down: () => string | undefined;
  readonly pace: StreamPace;
  /** The host that serves the server by its name alone when the connection opens; set if one host does at a time. */
  readonly holder: Holder | undefined;
  readonly expect: (call: AnsweredCall) => ExpectedAnswers;
}

export class HomeConnection implements Link, CallConnection {
  readonly pid = undefined;
  /** An owner speaks only the era of 2026: its answer to the probe decides. */
  readonly isOf2026Alone = true;
  /** An owner that does not answer the probe is not asked in another way. */
  readonly wasOpen = false;
  readonly outbox: Outbox;
  readonly link: Link = this;
  readonly ended: Promise<string>;
  readonly definition: BusServer;
  /** The reason why nothing can be asked, if it is known before the first request. */
  failure: BridgeError | undefined;
  readonly #context: ConnectionContext;
  readonly #callContext: HomeCallContext;
  /** Aims by method, name and host, because clients repeat the same calls. */
  readonly #aims = new Map<string, CallAim>();
  #lastAim:
    | (CallAim & { readonly method: string; readonly name: string | undefined; readonly host: string | undefined })
    | undefined;
  readonly #end = deferred<string>();
  readonly #calls = new Map<string, HomeCall>();
  /** The calls with requests that go in parts. */
  readonly #large = new Set<HomeCall>();
  readonly #tasks = new TaskHosts();
  /** The hosts that have answered. */
  readonly #owners = new Set<string>();
  /** Messages that have come; each is handed on when the turn has time for it. */
  readonly #received: PacedQueue<Buffer>;
  #holder: Holder | undefined;
  stream = newStream();
  #lastNumber = 0;
  #handler: LinkHandler | undefined;
  isPaused = false;
  #isClosed = false;
  #isEnded = false;
  #askedMs: number;
  /** The timer for the first question. */
  #later: Timer | undefined;

  constructor(definition: BusServer, context: ConnectionContext) {
    this.definition = definition;
    this.#context = context;
    this.#callContext = { ...context, connection: this };
    this.#holder = context.holder;
    this.#askedMs = context.clock.now();
    this.outbox = new TurnOutbox(
      idleSink(() => this.writableLength),
      context.turn,
      (b, end) => this.#contain(() => this.#send(b, end)),
    );
    this.ended = this.#end.promise;
    this.#received = context.pacer.queue<Buffer>({
      take: (message) => {
        if (!this.#isClosed) this.#handler?.frame(message, 0, message.length - 1);
      },
      pause: () => this.#pauseCalls(true),
      resume: () => this.#pauseCalls(this.isPaused),
      failed: (error) => this.#fault(error),
    });
  }

  get host(): string | undefined {
    return this.#holder?.host ?? this.definition.host;
  }

  get offeredName(): string {
    return this.definition.offeredName;
  }

  get fence(): string | undefined {
    const fence = this.#holder?.fence;
    return fence === undefined ? undefined : `${fence}`;
  }

  get server(): string {
    return this.definition.name;
  }

  /** The number below which all calls are answered. */
  get doneNumber(): number {
    for (const { number } of this.#calls.values()) return number; // calls are in the order of their numbers
    return this.#lastNumber + 1;
  }

  // --- what is sent ---

  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error: unknown): void {
    this.#handler?.failed?.(error);
    this.destroy();
  }

  #send(b: Buffer, end: number): void {
    if (this.#isClosed) return; // by the message before it
    if (!envelope.scan(b, 0, end, DEEPEST)) return;
    const method = envelope.decode(b, Field.method);
    if (envelope.kind === 'request' && typeof method === 'string') return this.#ask(b, end, method);
    if (method === 'notifications/cancelled')
      this.#calls.get(envelope.raw(b, Field.requestId))?.cancel(b.subarray(0, end));
  }

  #ask(b: Buffer, end: number, method: string): void {
    const idText = envelope.raw(b, Field.id);
    if (method === 'initialize') return; // an owner speaks only the era of 2026: the probe is answered, or fails
    this.#askedMs = this.#context.clock.now();
    if (this.#isDown(idText)) return;
    if (!isBusMethod(method)) return this.#refuse(idText, 'REQUEST_REFUSED', `has no method ${method.slice(0, 64)}`);
    const { name: field, isRepeatable, role } = ERA_2026.methods.of(b, envelope);
    const named = field === undefined ? undefined : envelope.decode(b, field);
    const name = typeof named === 'string' ? named : undefined;
    if (name !== undefined && Buffer.byteLength(name) > MOST_NAME_BYTES) {
      const how = `takes no name or URI of more than ${MOST_NAME_BYTES} bytes, as it is on another host`;
      return this.#refuse(idText, 'REQUEST_REFUSED', how);
    }
    const body = b.subarray(0, end);
    const request = { idText, method, name, body, client: this.#handler?.clientOf?.(idText) ?? '' };
    if (isProbeId(idText)) return this.#askFirst(request, this.#context.pace.next(this.host ?? ''));
    const { host } = this;
    if (host !== undefined) return this.#begin({ ...request, host });
    const state = envelope.has(Field.requestState) ? hostIn(body, envelope.from(Field.requestState)) : undefined;
    if (state !== undefined) return this.#goBackTo(state.host, { ...request, body: state.message });
    const ofTask = role === 'task' && name !== undefined ? this.#tasks.of(name) : undefined;
    if (ofTask !== undefined) return this.#goBackTo(ofTask, request);
    this.#askAny(request, isRepeatable || this.#handler?.mayRepeat?.(idText) === true);
  }

  /** True if nothing can be asked now; then the asking client gets the reason. */
  #isDown(idText: string): boolean {
    const down = this.#context.down();
    if (down !== undefined) this.#refuse(idText, 'SERVER_UNREACHABLE', `cannot be reached: NATS is away (${down})`);
    return down !== undefined;
  }

  /** Asks the first question after a delay. It begins the connection at its owner. */
  #askFirst(request: Omit<HomeRequest, 'host'>, waitMs: number): void {
    const ask = (): void => {
      const { host } = this;
      if (this.#isDown(request.idText)) return;
      if (host === undefined) this.#askAny(request, true);
      else this.#begin({ ...request, host });
    };
    if (waitMs === 0) return ask();
    this.#later = this.#context.clock.after(waitMs, () => this.#contain(ask));
  }

  /** Asks any of the hosts that offer the server. */
  #askAny(request: Omit<HomeRequest, 'host'>, isSafe: boolean): void {
    const { idText } = request;
    const way = newWay(isSafe, this.#askedMs);
    if (this.#mayAskAny) return this.#begin({ ...request, host: undefined, way });
    const first = this.#nextHost(way);
    if (first === undefined)
      return this.#refuse(idText, 'SERVER_UNREACHABLE', 'cannot be reached: no host offers it now');
    this.#begin({ ...request, host: first, way });
  }

  get #mayAskAny(): boolean {
    return this.#context.mayAskAny(this.definition.offeredName);
  }

  /**
   * Chooses the next host for a call. Undefined lets NATS choose; that happens only if every host that offers the
   * server may be used.
   */
  #nextHost(way: CallWay): string | undefined {
    const { ownersOf } = this.#context;
    const owners = ownersOf(this.definition.offeredName);
    return nextHost(way, owners) ?? (this.#mayAskAny ? undefined : nextHost(way, owners));
  }

  /** Sends a request to the host of an earlier one. The client names the host, so it must be one that may be used. */
  #goBackTo(host: string, request: Omit<HomeRequest, 'host'>): void {
    if (this.#context.ownersOf(this.definition.offeredName).includes(host)) return this.#begin({ ...request, host });
    this.#refuse(
      request.idText,
      'SERVER_UNREACHABLE',
      `cannot be reached: host ${host} is not there, or may not be used`,
    );
  }

  #begin(request: HomeRequest): void {
    const call = new HomeCall(++this.#lastNumber, request, this.#callContext);
    this.#calls.set(request.idText, call);
    if (request.body.length > MOST_FRAME_BYTES) this.#large.add(call);
    call.begin();
  }

  /** Tells the client that its request was not carried out. */
  #refuse(idText: string, code: BridgeErrorCode, how: string): void {
    const { name } = this.definition;
    const error = new BridgeError(code, `Server ${name} ${how}`, { server: name, hint: 'See: mcp-bridge hosts' });
    if (isProbeId(idText)) {
      this.failure ??= error;
      return this.#over(how);
    }
    this.#hand(Buffer.from(`{"jsonrpc":"2.0","id":${idText},"error":${rpcErrorOf(error)}}\n`));
  }

  // --- what becomes of calls ---

  /** Hands a message on, with a newline behind it. */
  #hand(message: Buffer): void {
    if (!this.#isClosed) this.#received.push(message, message.length);
  }

  notified(message: Buffer): void {
    this.#hand(message);
  }

  answered({ request }: HomeCall, message: Buffer, host: string | undefined): void {
    if (request.idText === PING_ID) return;
    if (isProbeId(request.idText) && this.#isRefused(request, message, host)) return;
    this.#hand(this.host === undefined && host !== undefined ? this.#bound(message, host) : message);
  }

  /**
   * True if the owner has refused the first question. If the owner says that this is only for a moment, the question is
   * asked again; else the connection ends with the owner's words.
   */
  #isRefused(request: HomeRequest, message: Buffer, host: string | undefined): boolean {
    if (!envelope.scan(message, 0, message.length - 1, DEEPEST) || !envelope.has(Field.error)) return false;
    const { message: said, data } = membersOf(envelope.decode(message, Field.error));
    const { retryAfterMs, code, hint } = membersOf(data);
    const isInTime = this.#context.clock.now() - this.#askedMs < LOST_MS;
    if (typeof retryAfterMs === 'number' && isInTime) {
      const bounded = Math.min(LATEST_RETRY_MS, Math.max(SOONEST_RETRY_MS, retryAfterMs));
      this.#askFirst(request, bounded * (1 + Math.random() / 2)); // spreads requests that were refused together
      return true;
    }
    const { name } = this.definition;
    // Without a host, this daemon has found a fault in the answer.
    const who = host === undefined ? '' : `host ${host} says: `;
    const how = `cannot be used: ${who}${this.#said(said) || 'nothing more'}`;
    // An error with a code is the word of the bridge there about the server itself.
    this.failure ??= new BridgeError(
      code === undefined ? 'SERVER_UNREACHABLE' : 'SERVER_START_FAILED',
      `Server ${name} ${how}`,
      {
        server: name,
        hint:
          textOf(hint) === '' || host === undefined ? 'See: mcp-bridge hosts' : `On host ${host}: ${this.#said(hint)}`,
      },
    );
    this.#over(how);
    return true;
  }

  /** Makes an owner's text fit to show to people. */
  #said(text: unknown): string {
    return printable(this.safe(textOf(text).slice(0, MOST_SAID)));
  }

  /** Marks an answer with its host if only that host can serve a later request about it. */
  #bound(message: Buffer, host: string): Buffer {
    this.#owners.add(host);
    if (!envelope.scan(message, 0, message.length - 1, DEEPEST)) return message;
    if (envelope.has(Field.resultState)) return withHost(message, { from: envelope.from(Field.resultState), host });
    if (envelope.has(Field.resultType) && envelope.decode(message, Field.resultType) === 'task') {
      const span = findMembers(message, envelope.from(Field.result), ['taskId'])?.spans.get('taskId');
      const taskId: unknown = span && JSON.parse(message.toString('utf8', span.from, span.to));
      if (typeof taskId === 'string') this.#tasks.note(taskId, host);
    }
    return message;
  }

  /** Called when a call is answered, or when nobody waits for it. */
  callOver(call: HomeCall): void {
    const { request } = call;
    this.#large.delete(call);
    if (this.#calls.get(request.idText)?.isOver === true) this.#calls.delete(request.idText);
    this.#handler?.drained();
  }

  undone(call: HomeCall, code: BridgeErrorCode, how: string): void {
    const { request } = call;
    if (request.idText === PING_ID) return;
    if (code === 'SERVER_UNREACHABLE' && request.host !== undefined && this.#movesOn(call)) return;
    this.#refuse(request.idText, code, how);
  }

  turnedAway(call: HomeCall, host: string): boolean {
    const { way } = call.request;
    way?.tried.add(host);
    const owners = this.#context.ownersOf(this.definition.offeredName);
    return way !== undefined && owners.some((owner) => !way.tried.has(owner)) && this.#movesOn(call);
  }

  quiet(call: HomeCall): void {
    const { idText, way } = call.request;
    if (way === undefined) return;
    call.abandon();
    this.callOver(call);
    if (call.isCancelled || this.#movesOn(call)) return;
    this.#refuse(idText, 'SERVER_UNREACHABLE', 'cannot be reached: no host has taken the call');
  }

  /**
   * Gives a call that was not begun, or is safe to repeat, to another owner. Returns false if there is no time left.
   */
  #movesOn({ request }: Pick<HomeCall, 'request'>): boolean {
    const { way } = request;
    const { clock, down } = this.#context;
    if (way === undefined || clock.now() >= way.untilMs || down() !== undefined) return false;
    const host = this.#nextHost(way);
    if (host === undefined && !this.#mayAskAny) return false;
    this.#begin({ ...request, host });
    return true;
  }

  /** Gives the request back, to be made on a new connection, maybe to another host. */
  overThere(call: HomeCall, host: string): void {
    if (this.host === undefined) return this.#forgottenAt(call, host);
    const { request, isCancelled } = call;
    const { idText, body } = request;
    if (idText === PING_ID) return this.#over('was forgotten by its host');
    const how =
      this.#holder === undefined ? 'has forgotten the connection' : 'is not served by the host that was asked';
    const isKept = isCancelled || this.#handler?.returned?.(copyOf({ b: body, start: 0, end: body.length })) === true;
    if (!isKept) this.#refuse(idText, 'SERVER_UNREACHABLE', `${how}; it was not carried out: call it again`);
    this.#overBefore(how);
  }

  /**
   * Called when one of several owners has ended the stream, for instance because this host was away for long. New calls
   * go on a new stream; calls elsewhere go on.
   */
  #forgottenAt(call: HomeCall, host: string): void {
    const { request, stream, isCancelled } = call;
    if (stream === this.stream) this.stream = newStream();
    if (isCancelled || request.idText === PING_ID) return;
    const forgotAt = new Set(request.forgotAt);
    if (!forgotAt.has(host)) return this.#begin({ ...request, forgotAt: forgotAt.add(host) });
    if (this.turnedAway(call, host)) return;
    this.#refuse(request.idText, 'SERVER_UNREACHABLE', `cannot be reached: host ${host} forgets what it is asked`);
  }

  /** Called when the lease of a server has changed. */
  leaseChanged(token: string, now: Holder | undefined): void {
    const holder = this.#holder;
    if (holder === undefined || now === undefined || tokenOf(this.definition.offeredName) !== token) return;
    const isSame = now.host === holder.host && (holder.fence === undefined || now.fence === holder.fence);
    if (isSame) this.#holder = now;
    else this.#overBefore(`is served by host ${now.host} now`);
  }

  lost(call: HomeCall, how: string): void {
    const { request } = call;
    const { idText, way } = request;
    if (idText === PING_ID) return;
    if (this.host !== undefined && !isProbeId(idText)) {
      // The other calls go on if their owner is heard.
      const sinceMs = this.#context.clock.now() - 2 * KEEP_ALIVE_MS;
      const isAlone = [...this.#calls.values()].some((other) => other.isHeardSince(sinceMs));
      return isAlone ? this.#failLost(idText, how) : this.#over(how);
    }
    if (!call.mayHaveBegun) return this.#movesOn(call) ? undefined : this.#refuse(idText, 'SERVER_UNREACHABLE', how);
    if (way?.isSafe === true && !way.isSecondTry) return this.#askElsewhere(call, how);
    this.#failLost(idText, how);
  }

  /**
   * Repeats a call that is safe to repeat. A listening call fails instead, because its client must know that it may
   * have missed something.
   */
  #askElsewhere({ request, host }: HomeCall, how: string): void {
    const { clock, down } = this.#context;
    const way = secondWay(host, clock.now());
    const isEnd = request.method === LISTEN || down() !== undefined;
    if (isEnd || !this.#movesOn({ request: { ...request, way } })) this.#failLost(request.idText, how);
  }

  #failLost(idText: string, how: string): void {
    if (isProbeId(idText)) return this.#refuse(idText, 'SERVER_UNREACHABLE', how);
    const { name } = this.definition;
    const error = new BridgeError('OUTCOME_UNKNOWN', `Server ${name} ${how}; the outcome of the call is unknown`, {
      server: name,
      hint: 'Look at what it was to change before it is called again.',
    });
    this.#hand(Buffer.from(`{"jsonrpc":"2.0","id":${idText},"error":${rpcErrorOf(error)}}\n`));
  }

  /** Called when the bus is back: each call asks for what it has missed. */
  busIsBack(): void {
    for (const call of [...this.#calls.values()]) this.#contain(() => call.busIsBack());
  }

  /** Called when the bus does not let this daemon ask there. */
  denied(subject: string): void {
    for (const call of [...this.#calls.values()]) if (call.subject === subject) call.denied();
  }

  tick(nowMs: number): void {
    for (const call of [...this.#calls.values()]) this.#contain(() => call.tick(nowMs));
    if (nowMs - this.#askedMs < IDLE_MS || this.#calls.size > 0 || this.#context.down() !== undefined) return;
    if (this.#lastNumber > 0) this.#ping();
  }

  #ping(): void {
    this.#askedMs = this.#context.clock.now();
    const [anOwner] = this.#owners;
    const host = this.host ?? anOwner;
    if (host === undefined) return;
    const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"${PROTOCOL_VERSION}","io.modelcontextprotocol/clientCapabilities":{}}`;
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${PING_ID},"method":"server/discover","params":{${meta}}}`);
    this.#begin({ idText: PING_ID, method: 'server/discover', name: undefined, host, body });
  }

  // --- the link ---

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** The bytes of requests that wait for credit. */
  get writableLength(): number {
    let bytes = 0;
    for (const call of this.#large) bytes += call.waitingBytes;
    return bytes;
  }

  pause(): void {
    this.isPaused = true;
    this.#pauseCalls(true);
  }

  resume(): void {
    this.isPaused = false;
    if (this.#received.isEmpty) this.#pauseCalls(false);
  }

  #pauseCalls(isPaused: boolean): void {
    for (const call of this.#calls.values()) call.isPaused = isPaused;
  }

  end(): void {
    this.outbox.flush();
    this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#later?.cancel();
    this.outbox.close();
    this.#received.drop();
    for (const call of [...this.#calls.values()]) call.abandon();
    this.#calls.clear();
    this.#large.clear();
    this.#sayGoodbye();
    queueMicrotask(() => this.#handler?.closed());
    this.#over('was closed');
  }

  /** Tells the owners that nothing more is asked on this stream. */
  #sayGoodbye(): void {
    if (this.#lastNumber === 0 || this.#context.down() !== undefined) return;
    const { bus } = this.#context;
    const place = callPlace({ stream: this.stream, number: this.#lastNumber, done: this.#lastNumber });
    const headers = { ...this.#commonHeaders(), [HEADER.frame]: 'end', [HEADER.call]: place };
    const hosts = this.host === undefined ? this.#owners : [this.host];
    for (const host of hosts)
      bus.publish({ subject: this.#subjectOf('server/discover', undefined, host), headers, data: NOTHING });
  }

  #commonHeaders(): BusHeaders {
    return { [HEADER.wire]: WIRE_VERSION, [HEADER.host]: headerValue(this.#context.host) };
  }

  aimAt(method: string, name: string | undefined, host: string | undefined): CallAim {
    const last = this.#lastAim;
    if (last?.method === method && last.name === name && last.host === host) return last;
    const aim = this.#aim(method, name, host);
    this.#lastAim = { method, name, host, ...aim };
    return this.#lastAim;
  }

  #aim(method: string, name: string | undefined, host: string | undefined): CallAim {
    const key = name === undefined ? `${method} ${host ?? ''}` : `${method} ${host ?? ''} ${name}`;
    const known = this.#aims.get(key);
    if (known !== undefined) return known;
    if (this.#aims.size >= MOST_AIMS) this.#aims.clear();
    const { hasBulk } = this.#context;
    const fixed = new FixedHeaders({
      ...this.#commonHeaders(),
      [HEADER.method]: method,
      [HEADER.version]: PROTOCOL_VERSION,
      [HEADER.acceptPart]: '1',
      ...(name !== undefined && { [HEADER.name]: headerValue(name) }),
      ...(hasBulk && { [HEADER.acceptBulk]: '1' }),
    });
    const aim = { subject: this.#subjectOf(method, name, host), fixed };
    if (key.length <= MOST_AIM_LETTERS) this.#aims.set(key, aim);
    return aim;
  }

  #subjectOf(method: string, name: string | undefined, host: string | undefined): string {
    const { tenant, user } = this.#context;
    const server = serverToken(this.definition.offeredName, host);
    return requestSubject({ tenant, user, server, method, name: nameToken(name) });
  }

  /** Ends the connection for a reason outside its calls: calls that still wait for it were not carried out. */
  #overBefore(how: string): void {
    const { name } = this.definition;
    const said = `Server ${name} ${how}; nothing was carried out: call it again`;
    this.failure ??= new BridgeError('SERVER_UNREACHABLE', said, { server: name, hint: 'See: mcp-bridge hosts' });
    this.#over(how);
  }

  #over(how: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end.resolve(how);
    this.destroy();
  }

  async stop(): Promise<void> {
    this.#over('was stopped');
    this.destroy();
    await this.ended;
  }

  safe(text: string): string {
    return text.replace(KNOWN_TOKEN, '[secret]');
  }

  lastWords(): string {
    return '';
  }

  lastLine(): string {
    return '';
  }
}

function newStream(): string {
  return randomBytes(STREAM_BYTES).toString('base64url');
}
