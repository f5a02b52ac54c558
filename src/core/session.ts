// The daemon's state for one client: its state in life, its open requests, and how to answer it. It knows no methods;
// the router decides what a frame means.

import { randomBytes } from 'node:crypto';
import { type ClientSettings, type ClientSettingsSource, narrowed, PLAIN_SETTINGS } from '../model/client-settings.ts';
import type { Limits } from '../model/limits.ts';
import { grantOf, type Principal } from '../model/principal.ts';
import { toolsetIn } from '../model/toolset.ts';
import type { Era } from '../protocol/era.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { eraOf } from '../protocol/eras.ts';
import type { ClientCapabilities, ClientInitialize, ClientRole } from '../protocol/initialize.ts';
import type { RequesterDefaults } from '../protocol/requester.ts';
import { BATCH_VERSION, LATEST_PROTOCOL_VERSION } from '../protocol/versions.ts';
import { invariant } from '../util/invariant.ts';
import { ShortLivedMap } from '../util/short-lived-map.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Carrier } from '../wire/link.ts';
import { ownFrame } from '../wire/own-frame.ts';
import type { RequestId } from '../wire/request-id.ts';
import type { ResumableLink } from '../wire/resumable-link.ts';
import type { Call, CallOwner } from './call.ts';
import { ClientListens } from './client-listens.ts';
import { ClientOutput } from './client-output.ts';
import { CompletedOutput } from './completed-output.ts';
import type { Events } from './events.ts';
import type { Instance } from './instance.ts';
import { ClientLiveness } from './liveness.ts';
import { ClientBacklog, Pause, Pauses } from './pressure.ts';
import { ClientRoots } from './roots.ts';
import type { SessionParts } from './session-parts.ts';
import type { InitializeAnswer, View } from './view.ts';

/** `closing` is final: everything that still arrives is dropped. */
export type SessionState = 'connecting' | 'initializing' | 'ready' | 'closing';

/**
 * The states that may follow each state. A failed `initialize` leads back to `connecting`, so the client may try again.
 */
const MAY_FOLLOW: Readonly<Record<SessionState, readonly SessionState[]>> = {
  connecting: ['initializing', 'closing'],
  initializing: ['ready', 'connecting', 'closing'],
  ready: ['closing'],
  closing: [],
};

/** A question that the client has not answered yet. */
export interface ClientQuestion {
  /** The client's request during which the question is asked, by the id as the client spelled it; '' if unknown. */
  readonly during?: string;
  answer(answer: Frame, envelope: Envelope): void;
  /** Takes the client's progress. */
  progress(notice: Frame, envelope: Envelope): void;
  /** Called when the client has gone. */
  abandon(): void;
}

/**
 * The maximum number of frames held behind an unanswered `initialize`. At this number reading from the client pauses.
 */
const MOST_HELD = 64;

export interface SessionContext {
  readonly events: Events;
  readonly limits: Limits;
  /** Called when the session can end, once the client has read its backlog. */
  readonly leave: (session: Session) => void;
  readonly now: { readonly date: Date; readonly ms: number };
  /** The user and the process behind the connection. */
  readonly principal: Principal;
  /** The view that the client gets whatever it asks for. */
  readonly fixedView?: string | undefined;
}

/** A part of a connection: the requests that name the same client. */
interface PartOf {
  readonly host: Session;
  /** Returns the name of whoever answers, see CompletedOutput. */
  readonly serverInfo: (session: Session) => string;
}

/** The unanswered requests of a client. Only the session changes them. */
type OpenCalls = Pick<ShortLivedMap<RequestId, Call>, 'get' | 'has' | 'values' | 'size'>;

const NO_CAPABILITIES: ClientCapabilities = {};

export class Session {
  readonly events: Events;
  readonly connectedAt: Date;
  /** The session of the whole connection: this one, unless it is a part. */
  readonly host: Session;
  /** The sessions of single requests; set once a request has said who asks. */
  parts: SessionParts | undefined;
  /** The client's listening requests; undefined for a client that gets all notices unasked. */
  readonly listens: ClientListens | undefined;
  /** The only writer to the client. */
  readonly output: ClientOutput;
  /** The reasons why it is not read; while there is one, nothing arrives from it. */
  readonly pauses: Pauses;
  /** The bytes queued for the client. */
  readonly backlog: ClientBacklog;
  readonly roots = new ClientRoots(this);
  readonly liveness: ClientLiveness;
  /** The view that the client gets whatever it asks for; undefined if it may choose. */
  readonly fixedView: string | undefined;
  readonly #leave: (session: Session) => void;
  readonly #mostInFlight: number;

  /** The connection. After the handshake it is a ResumableLink if the session can be resumed. */
  #link: Carrier | ResumableLink;
  #principal: Principal;
  #state: SessionState = 'connecting';
  #clientId = '';
  #defaults: RequesterDefaults = {};
  /** The client's description of itself. */
  #says: ClientInitialize | undefined;
  /** The view that it asked for. */
  #wantedView: string | undefined;
  #era: Era;
  #mayBatch = false;
  #settings: ClientSettings = PLAIN_SETTINGS;
  #view: View | undefined;
  #initializeAnswer: InitializeAnswer | undefined;
  #muxSessionId = '';
  #whenReady: (() => void)[] = [];

  /** The `initialize` that is being answered, and the frames held behind it. */
  #initializing: { readonly idText: string; readonly held: Frame[]; heldBytes: number } | undefined;
  #hasEnded = false;
  #isLeaving = false;

  readonly #questions = new Map<RequestId, ClientQuestion>();
  readonly #tasks = new Map<string, Instance>();
  readonly #calls = new ShortLivedMap<RequestId, Call>();
  #sentCount = 0;
  /** Bytes of the calls that wait for their turn. */
  #waitingBytes = 0;
  /** Bytes of the calls that their servers may ask to repeat. */
  #keptBytes = 0;
  /** Instances that it may no longer use, but where one of its calls waits to be repeated. */
  readonly #waitsAlsoAt = new Set<Instance>();
  /** Ids of requests that may have been executed before the bridge was restarted; they are sent again. */
  #repeated: Set<RequestId> | undefined;
  #noticeBytes = 0;

  constructor(link: Carrier | ResumableLink, context: SessionContext, part?: PartOf) {
    const { events, limits, leave, now, principal } = context;
    this.#link = link;
    this.#principal = principal;
    this.events = events;
    this.#leave = leave;
    this.fixedView = context.fixedView;
    this.host = part?.host ?? this;
    this.#era = part === undefined ? eraOf(LATEST_PROTOCOL_VERSION) : ERA_2026;
    if (part === undefined) this.output = new ClientOutput(this, events);
    else {
      const listens = new ClientListens(this, limits);
      this.listens = listens;
      this.output = new CompletedOutput(this, events, { serverInfo: () => part.serverInfo(this), listens });
    }
    this.pauses = new Pauses(this, events, part?.host.pauses);
    this.backlog = new ClientBacklog(this, limits.maxQueuedBytesPerClient);
    this.liveness = new ClientLiveness(this, now.ms);
    this.#mostInFlight = limits.maxInFlightPerClient;
    this.connectedAt = now.date;
  }

  // --- its connection ---

  get link(): Carrier | ResumableLink {
    return this.host === this ? this.#link : this.host.link;
  }

  /** Lets the session outlive its connection. */
  becomeResumable(link: ResumableLink): void {
    this.#link = link;
  }

  /** True while it has no connection. */
  get isAway(): boolean {
    const { link } = this;
    return 'isCarried' in link && !link.isCarried;
  }

  /** Bytes that wait for it while it is away, and that it did not ask for. */
  get noticeBytes(): number {
    return this.#noticeBytes;
  }

  /** Counts bytes sent to the client that it did not ask for. */
  noticed(bytes: number): void {
    if (this.isAway) this.#noticeBytes += bytes;
  }

  /** Called when the client is back, or nobody waits for it any more. */
  forgetNotices(): void {
    this.#noticeBytes = 0;
  }

  /** Called when the client has read its backlog. */
  drained(): void {
    if (!this.backlog.isOver) this.pauses.remove(Pause.unread);
    this.backlog.drained();
    this.listens?.drained();
  }

  // --- the client ---

  /** The user and the process behind the connection. */
  get principal(): Principal {
    return this.#principal;
  }

  /** The daemon's id for the client; '' before its `initialize` is answered. */
  get clientId(): string {
    return this.#clientId;
  }

  /** The `_meta` members that the connection set for all its requests; a request's own members override these. */
  get defaults(): RequesterDefaults {
    return this.#defaults;
  }

  setDefaults(defaults: RequesterDefaults): void {
    this.#defaults = defaults;
  }

  get name(): string {
    return this.#isKnown ? (this.#says?.name ?? '') : '';
  }

  get version(): string {
    return this.#isKnown ? (this.#says?.version ?? '') : '';
  }

  /**
   * True while it watches the daemon: it may read slowly, because a watch sends a slow reader only a limited amount.
   */
  isWatching = false;

  get role(): ClientRole {
    return this.#isKnown ? (this.#says?.role ?? 'client') : 'client';
  }

  get #isKnown(): boolean {
    return this.#clientId !== '';
  }

  /** The version of the protocol that it speaks; undefined until known. */
  get protocolVersion(): string | undefined {
    return this.#isKnown ? this.#says?.protocolVersion : undefined;
  }

  /** The era that the client speaks. */
  get era(): Era {
    return this.#era;
  }

  /** True if it may send several messages in one array. */
  get mayBatch(): boolean {
    return this.#mayBatch;
  }

  /** The directory that it works in, if it said so. */
  get cwd(): string | undefined {
    return this.#says?.cwd;
  }

  /** The client's capabilities that servers may be offered. */
  get capabilities(): ClientCapabilities {
    return this.#says?.capabilities ?? NO_CAPABILITIES;
  }

  /** True if its results are never cut, in any view. */
  get wantsWholeResults(): boolean {
    return this.#says?.wantsWholeResults === true;
  }

  /** Its full description of itself, for dedicated servers. */
  get clientInfo(): object | undefined {
    return this.#says?.clientInfo;
  }

  /** The config's settings for the client. */
  get settings(): ClientSettings {
    return this.#settings;
  }

  /** Applies the config's settings for the client, its token's grants, and the tool set that its view names. */
  applySettings(source: ClientSettingsSource | undefined, view = this.#wantedView): void {
    const { name = '', program, cwd } = this.#says ?? {};
    const grant = grantOf(this.#principal);
    const settings = source?.of({ name, program, token: grant?.name, cwd }) ?? PLAIN_SETTINGS;
    this.#wantedView = view;
    const toolset = toolsetIn(view ?? settings.view);
    const own = toolset === undefined ? settings : source?.inToolset?.(settings, toolset);
    this.#settings = narrowed(own ?? settings, grant?.servers);
  }

  /** The view that the client sees; undefined until it has said which. */
  get view(): View | undefined {
    return this.#view;
  }

  see(view: View | undefined): void {
    this.#view = view;
  }

  /** The id by which a session-aware server tells clients apart; random, so that nobody can guess it. */
  get muxSessionId(): string {
    this.#muxSessionId ||= `sess_${randomBytes(16).toString('hex')}`;
    return this.#muxSessionId;
  }

  // --- its life ---

  get state(): SessionState {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#state !== 'closing';
  }

  get isServed(): boolean {
    return this.#state === 'ready' || (this.#state === 'initializing' && !this.isHolding);
  }

  /** The only place where a session's state changes. */
  #transition(to: SessionState): void {
    invariant(MAY_FOLLOW[this.#state].includes(to), `a session that is ${this.#state} does not become ${to}`);
    this.#state = to;
  }

  /** Called when `initialize` has come and is being answered. */
  beginInitialize(idText: string): void {
    this.#transition('initializing');
    this.liveness.triesInitialize();
    this.#initializing = { idText, held: [], heldBytes: 0 };
  }

  /** Takes the client's description of itself: from here on it may be bound to servers. */
  introduce(initialize: ClientInitialize): void {
    this.#says = initialize;
    this.#principal = { ...this.#principal, pid: initialize.pid };
  }

  /** Sets the client's id, right before its `initialize` is answered. */
  identify(initialize: ClientInitialize, clientId: string): void {
    invariant(this.#state === 'initializing', 'a client says who it is while it initialises');
    this.#says = initialize;
    this.#clientId = clientId;
    this.#era = eraOf(initialize.protocolVersion);
    this.#mayBatch = initialize.protocolVersion === BATCH_VERSION;
  }

  /** The answer to its `initialize`, kept for when it comes back. */
  get initializeAnswer(): InitializeAnswer | undefined {
    return this.#initializeAnswer;
  }

  keepInitializeAnswer(answer: InitializeAnswer): void {
    this.#initializeAnswer = answer;
  }

  /** Called when `initialize` has failed: the client may try again. */
  failInitialize(): void {
    this.#era = eraOf(LATEST_PROTOCOL_VERSION);
    this.#mayBatch = false;
    this.#transition('connecting');
  }

  /** Called when the client says that it is ready, or behaves so. */
  becomeReady(): void {
    if (this.#state !== 'initializing') return;
    this.#transition('ready');
    for (const task of this.#whenReady.splice(0)) task();
  }

  /** Calls back when it may be asked something, possibly at once. */
  whenReady(task: () => void): void {
    if (this.#state === 'ready') task();
    else this.#whenReady.push(task);
  }

  /** Stops serving it. Frames held behind an unanswered `initialize` are dropped. */
  beginClosing(): void {
    this.#transition('closing');
    this.#initializing = undefined;
  }

  /** True once the client sends no more requests; it waits for its answers. */
  get hasEnded(): boolean {
    return this.host.#hasEnded;
  }

  /** Called when the client has ended its side. */
  noteClientEnded(): void {
    this.#hasEnded = true;
  }

  /** Ends a client that sends no more, once all its requests are answered. */
  endWhenAnswered(): void {
    if (this.host !== this) return this.host.endWhenAnswered();
    if (this.isOpen && this.isAnswered && this.parts?.areAnswered !== false) this.#leave(this);
  }

  /** True while all its requests are answered. */
  get isAnswered(): boolean {
    return this.#calls.size === 0 && !this.isHolding;
  }

  /** True if the daemon stops and the client can ask the next one: only answers are still accepted from it. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  beginLeaving(): void {
    this.#isLeaving = true;
  }

  // --- frames behind an unanswered `initialize` ---

  /** True while `initialize` is being answered: frames behind it are held. */
  get isHolding(): boolean {
    return this.#initializing !== undefined;
  }

  /** The id of the `initialize` that is being answered. */
  get initializeId(): string {
    return this.#initializing?.idText ?? 'null';
  }

  /** Holds a frame behind `initialize`. If there are too many, reading from the client pauses. */
  hold(frame: Frame, most: number): void {
    const initializing = this.#initializing;
    if (initializing === undefined) return;
    initializing.held.push(ownFrame(frame));
    initializing.heldBytes += frame.end - frame.start;
    if (initializing.heldBytes > most || initializing.held.length >= MOST_HELD) this.pauses.addOver(Pause.held);
  }

  /** Drops a held frame; false if `isMeant` accepts none. */
  dropHeld(isMeant: (frame: Frame) => boolean): boolean {
    const held = this.#initializing?.held ?? [];
    const at = held.findIndex(isMeant);
    if (at >= 0) held.splice(at, 1);
    return at >= 0;
  }

  takeHeld(): readonly Frame[] {
    const held = this.#initializing?.held ?? [];
    this.#initializing = undefined;
    return held;
  }

  /** Handles the held frames. If the client has ended its side meanwhile, that came behind them. */
  letInHeld(letIn: (frame: Frame) => void): void {
    const held = this.takeHeld();
    if (!this.isOpen) return;
    this.pauses.remove(Pause.held); // first, because these frames may pause it again
    const hasEnded = this.#hasEnded;
    this.#hasEnded = false;
    for (const frame of held) letIn(frame);
    this.#hasEnded = hasEnded;
    if (!this.hasEnded) return;
    this.listens?.endAll(); // they would wait for ever
    this.endWhenAnswered();
  }

  // --- its questions ---

  /** Its unanswered questions, by our id towards it, which is also the progress token. */
  get questions(): ReadonlyMap<RequestId, ClientQuestion> {
    return this.#questions;
  }

  addQuestion(id: RequestId, question: ClientQuestion): void {
    this.#questions.set(id, question);
  }

  forgetQuestion(id: RequestId): void {
    this.#questions.delete(id);
  }

  /** Ends all questions: the client will answer none of them. */
  abandonQuestions(): void {
    for (const question of [...this.#questions.values()]) question.abandon();
  }

  canBeAsked(role: keyof ClientCapabilities): boolean {
    return this.capabilities[role] !== undefined;
  }

  // --- its tasks and calls ---

  /** Its tasks by id, and the instances that work on them. */
  get tasks(): ReadonlyMap<string, Instance> {
    return this.#tasks;
  }

  addTask(taskId: string, instance: Instance): void {
    this.#tasks.set(taskId, instance);
  }

  /** Forgets a task, unless another instance now uses its id. */
  forgetTask(taskId: string, instance: Instance): void {
    if (this.#tasks.get(taskId) === instance) this.#tasks.delete(taskId);
  }

  /** Its unanswered requests, sent and waiting. */
  get calls(): OpenCalls {
    return this.#calls;
  }

  /** True while it may have another call under way. */
  get maySend(): boolean {
    return this.#sentCount < this.#mostInFlight;
  }

  /** The number of its calls that were sent and are not answered. */
  get sentCount(): number {
    return this.#sentCount;
  }

  /** Bytes of its calls that wait for their turn. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Counts a call that is sent. */
  countSent(): void {
    this.#sentCount++;
  }

  /** Takes back the count of a call that waits again. */
  countUnsent(): void {
    this.#sentCount--;
  }

  /** Adds a new request; false if its id is still in use. */
  open(call: Call): boolean {
    if (this.#calls.has(call.id) || this.host.#isOpenElsewhere(call.id)) return false;
    this.#calls.add(call.id, call);
    if ('framePlace' in this.link) call.framePlace = this.link.framePlace;
    return true;
  }

  /** True if any part of the connection uses an id. */
  #isOpenElsewhere(id: RequestId): boolean {
    return this.parts !== undefined && (this.#calls.has(id) || this.parts.callOf(id) !== undefined);
  }

  /** Puts a sent call in the place of the retry that continues it. */
  replace(retry: Call, call: Call): void {
    this.#calls.delete(retry.id);
    this.#calls.add(call.id, call);
    this.#sentCount++;
  }

  /** Notes requests that may have been executed already and will be sent again; returns their number. */
  announceRepeated(ids: Iterable<RequestId>): number {
    this.#repeated ??= new Set();
    for (const id of ids) this.#repeated.add(id);
    return this.#repeated.size;
  }

  /** True, once, if an earlier daemon may have executed a request with this id. */
  takeRepeated(id: RequestId): boolean {
    return this.#repeated?.delete(id) ?? false;
  }

  /** Charges the bytes kept for a call that its server may ask to repeat; false if there is no room. */
  keep(bytes: number, most: number): boolean {
    if (this.#keptBytes + bytes > most) return false;
    this.#keptBytes += bytes;
    return true;
  }

  /** Releases the bytes kept for a call. */
  unkeep(call: Call): void {
    this.#keptBytes -= call.inRounds?.bytes ?? 0;
    call.inRounds = undefined;
  }

  /** Forgets a call that was answered or given up. */
  close(call: Call): void {
    const wasOpen = this.#calls.delete(call.id);
    invariant(wasOpen, 'a call is closed once');
    this.unkeep(call);
    if (this.#waitsAlsoAt.size > 0 && this.#calls.size === 0) this.#waitsAlsoAt.clear();
    this.events.callEnded.tell(call);
    this.link.streams?.over(call.idText);
    const mayHaveWaited = !this.maySend || call.serverRequestId === 0;
    if (call.serverRequestId !== 0) this.#sentCount--;
    if (!this.isOpen) return; // nothing more is sent for it
    if (mayHaveWaited && this.#waitingBytes > 0) this.#pumpOthers(call.owner);
    if (this.hasEnded) this.endWhenAnswered();
  }

  /** Lets other instances send: the limit of calls under way covers all servers of a client. */
  #pumpOthers(owner: CallOwner): void {
    for (const instance of this.instances()) if (instance !== owner) instance.pump();
  }

  /**
   * The instances where something of the client may wait: those it uses, and those with one of its tasks or old calls.
   */
  instances(): Iterable<Instance> {
    const used = this.#view?.servers().flatMap((server) => server.instanceOf(this) ?? []) ?? [];
    if (this.#tasks.size === 0 && this.#waitsAlsoAt.size === 0) return used;
    return new Set([...used, ...this.#tasks.values(), ...this.#waitsAlsoAt]);
  }

  /** Notes an instance where a call of the client waits to be repeated. */
  waitsAlsoAt(instance: Instance): void {
    this.#waitsAlsoAt.add(instance);
  }

  addWaiting(bytes: number, most: number): void {
    this.#waitingBytes += bytes;
    if (this.#waitingBytes > most) this.pauses.addOver(Pause.waiting);
    else if (this.#waitingBytes * 2 <= most) this.pauses.remove(Pause.waiting);
  }
}
