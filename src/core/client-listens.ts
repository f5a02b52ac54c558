// The open `subscriptions/listen` requests of a client without a handshake. Each request is acknowledged with the part
// that the bridge honours, gets its notices under its own id, and ends with a result, a cancellation, or its
// connection. This file never asks a server itself: it subscribes to resources through the client's view, which counts
// all subscriptions.

import type { Limits } from '../model/limits.ts';
import type { ListKind } from '../protocol/era.ts';
import { ERA_2026, SUBSCRIPTION_ID } from '../protocol/era-2026.ts';
import { capabilitiesOf } from '../protocol/initialize.ts';
import { type ListenFilter, listenFilterIn } from '../protocol/listen-filter.ts';
import { failureOf, rpcErrorOf } from '../protocol/rpc-error.ts';
import { declaresTasks, TASKS_NOT_DECLARED } from '../protocol/tasks-extension.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { membersOf } from '../util/json-value.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Call, CallOwner, ClientRequest } from './call.ts';
import { type AnsweredRequest, ClientOutput } from './client-output.ts';
import { listNotice, resourceNotice } from './completed-output.ts';
import type { Instance } from './instance.ts';
import { openCall } from './pending-requests.ts';
import type { TaskWatcher } from './server-listen.ts';
import type { Session } from './session.ts';
import { isSameOrPart, weightOf } from './shared-settings.ts';
import { taskIn, taskNotice } from './task-requests.ts';
import type { InitializeAnswer, TaskPlace } from './view.ts';

/** The maximum per client. Each notice is written once for each of them. */
const MOST_LISTENS = 64;

/** Each change of these lists is one notice. */
const KINDS_OF = {
  tools: ['tools'],
  prompts: ['prompts'],
  resources: ['resources', 'templates'],
} as const satisfies Readonly<Record<string, readonly ListKind[]>>;
type ListedCapability = keyof typeof KINDS_OF;
const LISTED = Object.keys(KINDS_OF) as readonly ListedCapability[];

/** One open request of the client. */
interface ClientListen {
  readonly call: Call;
  readonly filter: ListenFilter;
  readonly bytes: number;
  /** The lists and resources that it gets notices about, once that is certain. */
  readonly lists: Set<ListKind>;
  readonly uris: Set<string>;
  /** True once the client was told what it will hear about. */
  isAcknowledged: boolean;
  /** Changes still to be reported. The acknowledgement comes first, and a slow client hears of each change once. */
  readonly dueLists: Set<ListKind>;
  readonly dueUris: Set<string>;
  /** The tasks, by the client's ids. */
  readonly tasks: Set<string>;
  readonly dueTasks: Set<string>;
}

/** A task that several listens of the client share. */
interface WatchedTask {
  /** The client's id of the task. */
  readonly id: string;
  readonly place: TaskPlace;
  readonly listens: Set<ClientListen>;
  /** Resolves to true if the server sends notices about the task. */
  readonly isTold: Promise<boolean>;
}

/** A resource that several listens of the client share. */
interface Topic {
  readonly uri: string;
  /** The id of the subscribe request that the bridge makes for the client. */
  readonly id: string;
  readonly listens: Set<ClientListen>;
  /** Resolves to true if a server has accepted the subscription. */
  readonly isTaken: Promise<boolean>;
  isSettled: boolean;
}

const ownEnvelope = new Envelope(ERA_2026.keys);

export class ClientListens implements CallOwner, TaskWatcher {
  readonly session: Session;
  readonly #limits: Limits;
  readonly #all = new Map<Call, ClientListen>();
  readonly #topics = new Map<string, Topic>();
  /** Keys are the client's task ids. */
  readonly #tasks = new Map<string, WatchedTask>();
  #bytes = 0;
  #asked = 0;

  constructor(session: Session, limits: Limits) {
    this.session = session;
    this.#limits = limits;
  }

  /** The number of open requests. */
  get size(): number {
    return this.#all.size;
  }

  // --- the client's side ---

  /** Opens a `subscriptions/listen` request. */
  open(request: ClientRequest, envelope: Envelope): void {
    const call = openCall(this.session, request, envelope, this);
    if (call === undefined) return;
    const filter = listenFilterIn(envelope.decode(request.frame.b, Field.params));
    if (typeof filter === 'string') return this.#refuse(call, filter);
    if (filter.tasks.length > 0 && !declaresTasks(this.session.capabilities))
      return this.#refuse(call, TASKS_NOT_DECLARED);
    const bytes = [...filter.uris, ...filter.tasks].reduce((sum, uri) => sum + weightOf(uri), 0);
    if (this.#all.size >= MOST_LISTENS || this.#bytes + bytes > this.#limits.maxSubscribedBytesPerClient)
      return this.#refuseTooMany(call);
    const listen = {
      ...{ call, filter, bytes, isAcknowledged: false },
      ...{ lists: new Set<ListKind>(), uris: new Set<string>() },
      ...{ dueLists: new Set<ListKind>(), dueUris: new Set<string>() },
      ...{ tasks: new Set<string>(), dueTasks: new Set<string>() },
    };
    this.#all.set(call, listen);
    this.#bytes += bytes;
    this.#begin(listen).catch((error: unknown) => {
      if (this.#isOpen(listen)) this.#end(listen, () => this.#refuse(call, failureOf(error)));
    });
  }

  #refuse(call: Call, error: string): void {
    this.session.events.callFailed.tell(call, error);
    call.output.fail(call.idText, error);
    call.close();
  }

  #refuseTooMany(call: Call): void {
    this.session.events.incident.tell('subscriptionsRefused', this.session);
    const { maxSubscribedBytesPerClient } = this.#limits;
    const message = `A client may listen with at most ${MOST_LISTENS} requests, and to ${maxSubscribedBytesPerClient} bytes of URIs`;
    const hint = 'End one of them, or raise limits.maxSubscribedBytesPerClient.';
    this.#refuse(call, rpcErrorOf(new BridgeError('REQUEST_REFUSED', message, { hint })));
  }

  async #begin(listen: ClientListen): Promise<void> {
    const { view } = this.session;
    if (view === undefined) throw new BridgeError('REQUEST_REFUSED', 'The client has gone');
    const capabilities = declaredIn(await view.initializeAnswer(this.session));
    if (!this.#isOpen(listen)) return;
    for (const name of listen.filter.lists)
      if (membersOf(capabilities[name]).listChanged === true) for (const kind of KINDS_OF[name]) listen.lists.add(kind);
    const { uris, tasks } = listen.filter;
    const isSubscribing = membersOf(capabilities.resources).subscribe === true;
    await Promise.all([
      ...(isSubscribing ? uris.map((uri) => this.#listenTo(uri, listen)) : []),
      ...tasks.map((id) => this.#watch(id, listen)),
    ]);
    if (this.#isOpen(listen)) this.#acknowledge(listen);
  }

  #isOpen(listen: ClientListen): boolean {
    return this.#all.get(listen.call) === listen;
  }

  #acknowledge(listen: ClientListen): void {
    const { call, filter, lists, uris, tasks, dueUris } = listen;
    const honoured = LISTED.filter((name) => KINDS_OF[name].some((kind) => lists.has(kind)));
    const notifications = {
      ...Object.fromEntries(honoured.map((name) => [`${name}ListChanged`, true])),
      ...(uris.size > 0 && { resourceSubscriptions: filter.uris.filter((uri) => uris.has(uri)) }),
      ...(tasks.size > 0 && { taskIds: filter.tasks.filter((id) => tasks.has(id)) }),
    };
    const params = { _meta: { [SUBSCRIPTION_ID]: call.id }, notifications };
    const method = 'notifications/subscriptions/acknowledged';
    call.output.noticeWith((outbox) => {
      outbox.utf8(JSON.stringify({ jsonrpc: '2.0', method, params }));
      outbox.endFrame();
    }, call.idText);
    listen.isAcknowledged = true;
    for (const uri of dueUris) if (!uris.has(uri)) dueUris.delete(uri);
    this.#catchUp(listen);
  }

  /** Sends the notices that are due. */
  #catchUp(listen: ClientListen): void {
    const { call, dueLists, dueUris, dueTasks } = listen;
    const notices = new Set([...dueLists].map((kind) => listNotice(kind, call.idText)));
    for (const uri of dueUris) notices.add(resourceNotice(uri, call.idText));
    dueLists.clear();
    dueUris.clear();
    for (const notice of notices)
      call.output.noticeWith((outbox) => {
        outbox.latin1(notice);
        outbox.endFrame();
      }, call.idText);
    for (const id of dueTasks) this.#askFor(id, listen);
    dueTasks.clear();
  }

  /** Asks the server for a task's state and passes that on, which is what a notice would say. */
  #askFor(id: string, listen: ClientListen): void {
    const task = this.#tasks.get(id);
    if (task === undefined) return;
    const { instance, taskId } = task.place;
    instance.askOfTask(instance.era.own.taskState, taskId, (answer, envelope) => {
      if (answer === undefined || !this.#isOpen(listen) || !envelope.has(Field.result)) return;
      const told = taskIn(answer.b, envelope.from(Field.result));
      if (told === undefined) return;
      listen.call.output.passListened(listen.call.idText, taskNotice(answer, envelope, id));
      instance.context.ownedTasks.heard(instance, this.session, taskId, told.state);
    });
  }

  /** Goes on after the client has read some of its backlog. */
  drained(): void {
    if (this.#mustWait) return;
    for (const listen of this.#all.values()) if (listen.isAcknowledged) this.#catchUp(listen);
  }

  /** True while the client's backlog is so long that further notices wait. */
  get #mustWait(): boolean {
    return this.session.backlog.isCrowded;
  }

  // --- the servers' side ---

  /** The ids of the requests that listen to one of these lists, as JSON in latin1. */
  hearingOfLists(kinds: readonly ListKind[]): readonly string[] {
    const mustWait = this.#mustWait;
    const found: string[] = [];
    for (const { call, lists, isAcknowledged, dueLists } of this.#all.values()) {
      const heard = kinds.find((kind) => lists.has(kind));
      if (heard === undefined) continue;
      if (isAcknowledged && !mustWait) found.push(call.idText);
      else dueLists.add(heard);
    }
    return found;
  }

  /** The ids of the requests that listen to this resource, as JSON in latin1. */
  hearingOf(uri: string): readonly string[] {
    const mustWait = this.#mustWait;
    const found: string[] = [];
    for (const { call, filter, uris, isAcknowledged, dueUris } of this.#all.values()) {
      const heard = filter.uris.find((whole) => isSameOrPart(whole, uri) && (!isAcknowledged || uris.has(whole)));
      if (heard === undefined) continue;
      if (isAcknowledged && !mustWait) found.push(call.idText);
      else dueUris.add(heard);
    }
    return found;
  }

  // --- tasks ---

  /** Reports a task from the moment its server agrees. */
  async #watch(id: string, listen: ClientListen): Promise<void> {
    const task = this.#tasks.get(id) ?? this.#watched(id);
    if (task === undefined) return;
    task.listens.add(listen);
    if (await task.isTold) listen.tasks.add(id);
    else this.#leaveTask(id, listen);
  }

  #watched(id: string): WatchedTask | undefined {
    const place = this.session.view?.taskPlace(this.session, id);
    if (place === undefined) return undefined;
    const { instance, taskId } = place;
    const isTold = instance.whenOpen(this.session).then(
      () =>
        new Promise<boolean>((resolve) => {
          const isWanted = this.#tasks.get(id) === task && !instance.era.hasHandshake;
          if (isWanted) instance.serverListen.watch(taskId, this, (error) => resolve(error === undefined));
          else resolve(false);
        }),
      () => false, // the server cannot be started
    );
    const task: WatchedTask = { id, place, listens: new Set(), isTold };
    this.#tasks.set(id, task);
    return task;
  }

  #leaveTask(id: string, listen: ClientListen): void {
    const task = this.#tasks.get(id);
    if (task === undefined || !task.listens.delete(listen) || task.listens.size > 0) return;
    this.#tasks.delete(id);
    task.place.instance.serverListen.unwatch(task.place.taskId, this);
  }

  #taskAt(instance: Instance, taskId: string): WatchedTask | undefined {
    for (const task of this.#tasks.values())
      if (task.place.instance === instance && task.place.taskId === taskId) return task;
    return undefined;
  }

  told(instance: Instance, taskId: string, notice: Frame): boolean {
    const mustWait = this.#mustWait;
    const task = this.#taskAt(instance, taskId);
    let isPassed = false;
    for (const { call, isAcknowledged, dueTasks } of task?.listens ?? []) {
      isPassed ||= isAcknowledged && !mustWait;
      if (isAcknowledged && !mustWait) call.output.passListened(call.idText, notice);
      else dueTasks.add(task?.id ?? '');
    }
    return isPassed;
  }

  mayHaveChanged(instance: Instance, taskId: string): void {
    const task = this.#taskAt(instance, taskId);
    for (const listen of task?.listens ?? []) {
      listen.dueTasks.add(task?.id ?? '');
      if (listen.isAcknowledged && !this.#mustWait) this.#catchUp(listen);
    }
  }

  // --- resources ---

  /** Reports a resource from the moment a server has accepted the subscription. */
  async #listenTo(uri: string, listen: ClientListen): Promise<void> {
    const topic = this.#topics.get(uri) ?? this.#subscribe(uri);
    topic.listens.add(listen);
    if (await topic.isTaken) listen.uris.add(uri);
    else topic.listens.delete(listen);
  }

  /** Subscribes as a client of 2025 would, so that this subscription is counted and moved like the others. */
  #subscribe(uri: string): Topic {
    const id = `mcp-bridge/listens-${++this.#asked}`;
    const isTaken = new Promise<boolean>((resolve) => this.#ask(id, uri, resolve));
    const topic: Topic = { uri, id, listens: new Set(), isTaken, isSettled: false };
    this.#topics.set(uri, topic);
    const settled = (hasTaken: boolean): void => {
      topic.isSettled = true;
      if (!hasTaken && this.#topics.get(uri) === topic) this.#topics.delete(uri);
    };
    isTaken.then(settled, () => settled(false)); // the waiters handle an error
    return topic;
  }

  #ask(id: string, uri: string, taken: (hasTaken: boolean) => void): void {
    const { view } = this.session;
    const text = JSON.stringify({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri } });
    const b = Buffer.from(`${text}\n`);
    const output = new SubscriptionOutput(this.session, taken);
    ownEnvelope.scan(b, 0, b.length - 1, this.#limits.maxDepth);
    try {
      const request = { id, role: 'subscribe', frame: { b, start: 0, end: b.length - 1 }, output } as const;
      if (view === undefined) taken(false);
      else view.submit(this.session, request, ownEnvelope);
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      taken(false); // the server is no longer offered
    }
  }

  // --- its end ---

  /** Ends all requests with their result. */
  endAll(): void {
    for (const listen of [...this.#all.values()]) this.#end(listen, () => this.#answerEnd(listen.call));
  }

  #answerEnd(call: Call): void {
    this.session.events.callAnsweredHere.tell(call);
    call.output.answer(call.idText, JSON.stringify({ _meta: { [SUBSCRIPTION_ID]: call.id } }));
    call.close();
  }

  #end(listen: ClientListen, answer: () => void): void {
    this.#all.delete(listen.call);
    this.#bytes -= listen.bytes;
    for (const uri of listen.filter.uris) this.#leave(uri, listen);
    for (const id of listen.filter.tasks) this.#leaveTask(id, listen);
    answer();
  }

  #leave(uri: string, listen: ClientListen): void {
    const topic = this.#topics.get(uri);
    if (topic === undefined || !topic.listens.delete(listen) || topic.listens.size > 0) return;
    this.#topics.delete(uri);
    const session = this.session;
    if (!session.isOpen) return; // the session closes, and takes back all its subscriptions
    if (topic.isSettled) return session.view?.endSubscription(session, uri);
    const call = session.calls.get(topic.id);
    call?.owner.withdraw(call);
    call?.owner.abandon(call);
  }

  cancel(call: Call): void {
    this.#drop(call);
  }

  /** Ends a lasting request with its result. */
  stop(call: Call): void {
    const listen = this.#all.get(call);
    if (listen !== undefined) this.#end(listen, () => this.#answerEnd(call));
  }

  abandon(call: Call): void {
    this.#drop(call);
  }

  #drop(call: Call): void {
    const listen = this.#all.get(call);
    if (listen !== undefined) this.#end(listen, () => call.close());
  }

  wasSent(): boolean {
    return false;
  }

  withdraw(): void {
    // Nothing was sent.
  }

  tickCall(): void {
    // The client decides how long it lasts.
  }
}

function declaredIn(answer: InitializeAnswer): Readonly<Record<string, unknown>> {
  return answer.of === 'bridge' ? membersOf(answer.capabilities) : capabilitiesOf(answer.initializeResult);
}

/** Takes the outcome of a subscription. The client hears of it in the acknowledgement. */
class SubscriptionOutput extends ClientOutput {
  readonly #taken: (hasTaken: boolean) => void;

  constructor(session: Session, taken: (hasTaken: boolean) => void) {
    super(session, session.events);
    this.#taken = taken;
  }

  override answer(): void {
    this.#taken(true);
  }

  override fail(): void {
    this.#taken(false);
  }

  override passAnswer(_answered: AnsweredRequest, _frame: unknown, envelope: Envelope): void {
    this.#taken(envelope.has(Field.result));
  }
}
