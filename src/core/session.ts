// The daemon's state for one client: where it is in its life, what it has asked, and how to answer it.
// It knows nothing of methods; what a frame means is the router's business.

import { randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import type { Principal } from '../model/principal.ts';
import { BATCH_VERSION } from '../protocol/era-2025.ts';
import type { ClientCapabilities, ClientInitialize, ClientRole } from '../protocol/initialize.ts';
import { invariant } from '../util/invariant.ts';
import { ShortLivedMap } from '../util/short-lived-map.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Carrier } from '../wire/link.ts';
import { ownFrame } from '../wire/own-frame.ts';
import type { RequestId } from '../wire/request-id.ts';
import type { ResumableLink } from '../wire/resumable-link.ts';
import type { Call, CallOwner } from './call.ts';
import { ClientOutput } from './client-output.ts';
import { type ClientIdentity, type ClientSettings, PLAIN_SETTINGS } from './client-settings.ts';
import type { Events } from './events.ts';
import type { Instance } from './instance.ts';
import { ClientBacklog, Pause, Pauses } from './pressure.ts';
import { ClientRoots } from './roots.ts';
import type { InitializeAnswer, View } from './view.ts';

/** `closing` is final: whatever still comes is dropped. */
export type SessionState = 'connecting' | 'initializing' | 'ready' | 'closing';

/** The states that may follow each state. An `initialize` that fails leads back to `connecting`: the client may try again. */
const MAY_FOLLOW: Readonly<Record<SessionState, readonly SessionState[]>> = {
  connecting: ['initializing', 'closing'],
  initializing: ['ready', 'connecting', 'closing'],
  ready: ['closing'],
  closing: [],
};

/** A question that the client has not answered yet. */
export interface ClientQuestion {
  answer(answer: Frame, envelope: Envelope): void;
  /** The client says how far it is. */
  progress(notice: Frame, envelope: Envelope): void;
  /** The client has gone. */
  abandon(): void;
}

/** Frames that came behind an unanswered `initialize`, before its client is no longer read. */
const MOST_HELD = 64;

export interface SessionContext {
  readonly events: Events;
  readonly limits: Limits;
  /** Lets it go, once what is queued for it was taken. */
  readonly leave: (session: Session) => void;
  readonly now: { readonly date: Date; readonly ms: number };
  /** Who has connected. */
  readonly principal: Principal;
}

export class Session {
  /** The connection; a ResumableLink from the handshake on if the session can be resumed. */
  link: Carrier | ResumableLink;
  readonly events: Events;
  readonly #leave: (session: Session) => void;
  readonly connectedAt: Date;
  #state: SessionState = 'connecting';
  #principal: Principal;
  clientId = '';
  name = '';
  version = '';
  role: ClientRole = 'client';
  /** True if it may send several messages in one array. */
  mayBatch = false;
  /** The view that the client sees; undefined before it has said which. */
  view: View | undefined;
  /** The name it gives itself, and the settings that the config has for it. */
  identity: ClientIdentity = { name: '', program: undefined };
  settings: ClientSettings = PLAIN_SETTINGS;
  /** The directory that it works in, if it has said so. */
  cwd: string | undefined;

  /** By our id towards it, which is the progress token too. */
  readonly questions = new Map<RequestId, ClientQuestion>();
  /** The capabilities of the client that servers may be offered. */
  capabilities: ClientCapabilities = {};
  readonly roots = new ClientRoots(this);
  /** Its tasks, by their ids, and where they are worked on. */
  readonly tasks = new Map<string, Instance>();
  /** Instances that it may not use any more, and where a call of its waits to be made once more. */
  readonly #waitsAlsoAt = new Set<Instance>();
  #whenReady: (() => void)[] = [];

  /** All that it says of itself, for servers that are its own. */
  clientInfo: object | undefined;
  /** The answer to its `initialize`, for when it comes back. */
  initializeAnswer: InitializeAnswer | undefined;
  #muxSessionId = '';

  /** The id by which a session-aware server tells clients apart; nobody can guess it. */
  get muxSessionId(): string {
    this.#muxSessionId ||= `sess_${randomBytes(16).toString('hex')}`;
    return this.#muxSessionId;
  }

  /** Its unanswered requests, sent and waiting. */
  readonly calls = new ShortLivedMap<RequestId, Call>();
  /** Ids of requests that may have been carried out already, before the bridge was started again; they come again. */
  repeated: Set<RequestId> | undefined;
  /** The number of its calls that were sent. */
  sentCount = 0;
  /** Bytes of those that wait for their turn. */
  waitingBytes = 0;
  /** While `initialize` is being answered, its id and what came behind it. */
  initializeId = '';
  held: Frame[] | undefined;
  /** It will ask nothing more, but waits for its answers. */
  hasEnded = false;
  heldBytes = 0;
  /** The daemon goes, and it can ask the next one: nothing is taken from it any more but answers. */
  isLeaving = false;
  /** The only writer to the client. */
  readonly output: ClientOutput;
  /** Why nothing is read from it; then nothing can be heard of it either. */
  readonly pauses: Pauses;
  /** The bytes for the client that it has not taken yet. */
  readonly backlog: ClientBacklog;
  readonly #mostInFlight: number;

  /** For the look once a second, see ClientWatch. */
  hasSpoken = false;
  hasTriedInitialize = false;
  readonly connectedMs: number;
  lastHeardMs: number;
  stalledSinceMs: number | undefined;
  takenBytes = 0;
  /** Once it is closing: how long it may take nothing of what is still queued for it. */
  patienceMs = 0;
  /** Bytes that wait for it while it is away and that it has not asked for. */
  noticeBytes = 0;
  readonly unansweredPings = new Set<RequestId>();
  hasAnsweredPing = false;

  constructor(link: Carrier, { events, limits, leave, now, principal }: SessionContext) {
    this.link = link;
    this.#principal = principal;
    this.events = events;
    this.#leave = leave;
    this.output = new ClientOutput(this, events);
    this.pauses = new Pauses(this, events);
    this.backlog = new ClientBacklog(this, limits.maxQueuedBytesPerClient);
    this.#mostInFlight = limits.maxInFlightPerClient;
    this.connectedAt = now.date;
    this.connectedMs = now.ms;
    this.lastHeardMs = now.ms;
  }

  /** Who is behind the connection. */
  get principal(): Principal {
    return this.#principal;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The one place where a session's state changes. */
  transition(to: SessionState): void {
    invariant(MAY_FOLLOW[this.#state].includes(to), `a session that is ${this.#state} does not become ${to}`);
    this.#state = to;
  }

  /** From here on it may be bound to servers. */
  introduce({ capabilities, cwd, pid, name, program, clientInfo }: ClientInitialize): void {
    this.capabilities = capabilities;
    this.clientInfo = clientInfo;
    this.cwd = cwd;
    this.#principal = { ...this.#principal, pid };
    this.identity = { name, program };
  }

  identify(initialize: ClientInitialize, clientId: string): void {
    invariant(this.state === 'initializing', 'a client says who it is while it initialises');
    this.clientId = clientId;
    this.name = initialize.name;
    this.version = initialize.version;
    this.role = initialize.role;
    this.mayBatch = initialize.protocolVersion === BATCH_VERSION;
  }

  canBeAsked(role: keyof ClientCapabilities): boolean {
    return this.capabilities[role] !== undefined;
  }

  /** Has said that it is ready, or behaves as if. */
  becomeReady(): void {
    if (this.#state !== 'initializing') return;
    this.transition('ready');
    for (const task of this.#whenReady.splice(0)) task();
  }

  /** Calls back when it may be asked something, be it at once. */
  whenReady(task: () => void): void {
    if (this.state === 'ready') task();
    else this.#whenReady.push(task);
  }

  get isOpen(): boolean {
    return this.state !== 'closing';
  }

  /** True while it has no connection. */
  get isAway(): boolean {
    return 'isCarried' in this.link && !this.link.isCarried;
  }

  get isServed(): boolean {
    return this.state === 'ready' || (this.state === 'initializing' && this.held === undefined);
  }

  /** Takes a new request in; false when its id is still in use. */
  open(call: Call): boolean {
    if (this.calls.has(call.id)) return false;
    this.calls.add(call.id, call);
    return true;
  }

  /** True, once, if a request under this id may have been carried out already by an earlier daemon. */
  takeRepeated(id: RequestId): boolean {
    return this.repeated?.delete(id) ?? false;
  }

  /** The call was answered or given up. */
  close(call: Call): void {
    const wasOpen = this.calls.delete(call.id);
    invariant(wasOpen, 'a call is closed once');
    if (this.#waitsAlsoAt.size > 0 && this.calls.size === 0) this.#waitsAlsoAt.clear();
    this.events.callEnded.tell(call);
    const mayHaveWaited = this.sentCount >= this.#mostInFlight || call.serverRequestId === 0;
    if (call.serverRequestId !== 0) this.sentCount--;
    if (!this.isOpen) return; // nothing more is sent for it
    if (mayHaveWaited && this.waitingBytes > 0) this.#pumpOthers(call.owner);
    if (this.hasEnded) this.endWhenAnswered();
  }

  /** Lets other instances send: the limit of calls under way is for all servers of a client together. */
  #pumpOthers(owner: CallOwner): void {
    for (const instance of this.instances()) if (instance !== owner) instance.pump();
  }

  /** All that may have something of its waiting: those that it uses, and those that have a task or an old call of its. */
  instances(): Iterable<Instance> {
    const used = this.view?.instances() ?? [];
    if (this.tasks.size === 0 && this.#waitsAlsoAt.size === 0) return used;
    return new Set([...used, ...this.tasks.values(), ...this.#waitsAlsoAt]);
  }

  /** A call of its is to be made once more there. */
  waitsAlsoAt(instance: Instance): void {
    this.#waitsAlsoAt.add(instance);
  }

  /** A client that has stopped asking is let go once everything is answered. */
  endWhenAnswered(): void {
    if (this.isOpen && this.calls.size === 0 && this.held === undefined) this.#leave(this);
  }

  /** Counts bytes that the client was sent and has not asked for. */
  noticed(bytes: number): void {
    if (this.isAway) this.noticeBytes += bytes;
  }

  addWaiting(bytes: number, most: number): void {
    this.waitingBytes += bytes;
    if (this.waitingBytes > most) this.pauses.addOver(Pause.waiting);
    else if (this.waitingBytes * 2 <= most) this.pauses.remove(Pause.waiting);
  }

  /** Keeps what came behind `initialize`; who sends too much of it is not read until that is answered. */
  hold(frame: Frame, most: number): void {
    this.held?.push(ownFrame(frame));
    this.heldBytes += frame.end - frame.start;
    if (this.heldBytes > most || (this.held?.length ?? 0) >= MOST_HELD) this.pauses.addOver(Pause.held);
  }

  takeHeld(): Frame[] {
    const held = this.held ?? [];
    this.held = undefined;
    this.heldBytes = 0;
    return held;
  }

  /** The client has taken what was queued for it. */
  drained(): void {
    if (!this.backlog.isOver) this.pauses.remove(Pause.unread);
    this.backlog.drained();
  }
}
