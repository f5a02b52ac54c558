// The bridge's one `subscriptions/listen` at an instance of 2026: for the server's lists, and for all resources that
// clients want. A change of resources needs a new listen that names all of them, so changes are gathered for a moment.
// The old listen is cancelled when the new one is acknowledged, so that no notice is missed. A listen that ends is
// opened again: each time after a longer pause, but at once if somebody waits for a resource.
//
//   wanted ─ some ms ─▶ sent ─ acknowledged ─▶ current ─ ended by the server ─▶ a pause ─▶ sent
//                         └─ refused ─▶ those who wait for it are told

import { cancelNotice, LIST_KINDS, LISTS, type ListKind } from '../protocol/era.ts';
import { capabilitiesOf } from '../protocol/initialize.ts';
import { METHOD_NOT_FOUND } from '../protocol/rpc-error.ts';
import type { Timer } from '../util/clock.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Instance } from './instance.ts';
import type { ServerProfile } from './server-knowledge.ts';
import type { Session } from './session.ts';

const METHOD = 'subscriptions/listen';

/** The list notices, by the capability that declares them. */
const LIST_NOTICES: Readonly<Record<string, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
};

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Changes within this time go into one listen. */
const GATHER_MS = 5;
/**
 * A longer listen is gathered for longer: otherwise adding resources one by one would cost the square of their number.
 */
const BYTES_PER_MS = 1024;
/** No listen is sent while more than this waits for the server; an outbox this full reports when it has drained. */
const MOST_BLOCKED_BYTES = 65_536;
/**
 * A listen that lasted this long did not fail, but was ended as idle, perhaps by a proxy: the next pause is the
 * shortest.
 */
const SOUND_MS = 10_000;

/** A client that listens to tasks. */
export interface TaskWatcher {
  readonly session: Session;
  /**
   * Takes a notice about the task. Returns false if the client gets it later. `notice` has the client's id of the task.
   */
  told(instance: Instance, taskId: string, notice: Frame): boolean;
  /** Called when the task may have changed while nobody listened. */
  mayHaveChanged(instance: Instance, taskId: string): void;
}

/** Called when the server reports a resource's changes, or with an error in JSON if it does not. */
type Covered = (error: string | undefined) => void;

interface Listen {
  /** The id of the request, and of the subscription. */
  readonly id: number;
  readonly uris: ReadonlySet<string>;
  /** The resources that the server reports; empty until acknowledged. */
  honored: ReadonlySet<string>;
  /** The task ids; once acknowledged, only those that the server reports. */
  tasks: ReadonlySet<string>;
  /** Undefined until acknowledged. */
  acknowledgedMs: number | undefined;
  /** True if the server has declined all of it. */
  isIdle: boolean;
}

export class ServerListen {
  readonly #instance: Instance;
  /** The list notices that the server declares. Undefined while it does not run, or if its era has no listen. */
  #lists: readonly string[] | undefined;
  #mayNameResources = false;
  /** The acknowledged listen, and the one sent since. */
  #current: Listen | undefined;
  #next: Listen | undefined;
  #waiting: { readonly uri: string; readonly done: Covered }[] = [];
  /** The listening clients of each task. */
  readonly #watchers = new Map<string, Set<TaskWatcher>>();
  #awaited: { readonly taskId: string; readonly done: Covered }[] = [];
  #pause: Timer | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  /** Runs while changes are gathered. */
  #gathering: Timer | undefined;
  #gatherMs = GATHER_MS;
  /** True if a listen must be sent once the server has read its backlog. */
  #isHeldUp = false;
  /** True if changes may have been missed since the last listen. */
  #hasGap = false;
  /** True if the server does not know the method. */
  #isUnknown = false;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** True if this server gets a listen, and therefore no single subscriptions. */
  get isUsed(): boolean {
    return !this.#instance.era.hasHandshake;
  }

  /** Called when the instance runs. */
  opened({ initializeResult }: ServerProfile): void {
    if (!this.isUsed) return;
    const capabilities = capabilitiesOf(initializeResult);
    const declares = (capability: string, detail: string): boolean =>
      membersOf(capabilities[capability])[detail] === true;
    this.#lists = Object.keys(LIST_NOTICES).filter((capability) => declares(capability, 'listChanged'));
    this.#mayNameResources = declares('resources', 'subscribe');
    this.#isUnknown = false;
    this.#update();
  }

  /** Called when the instance has gone. */
  closed(error: string): void {
    this.#lists = undefined;
    this.#current = undefined;
    this.#next = undefined;
    this.#hasGap = false;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#gatherMs = GATHER_MS;
    this.#isHeldUp = false;
    this.#gathering?.cancel();
    this.#gathering = undefined;
    this.#endPause();
    for (const { done } of [...this.#waiting.splice(0), ...this.#awaited.splice(0)]) done(error);
  }

  /** Starts reporting a task to a client; calls back when that is certain. */
  watch(taskId: string, watcher: TaskWatcher, done: Covered): void {
    if (this.#lists === undefined || this.#isUnknown) return done(NOT_REPORTED);
    const watchers = this.#watchers.get(taskId) ?? new Set();
    this.#watchers.set(taskId, watchers.add(watcher));
    if (this.#current?.tasks.has(taskId) === true) return done(undefined);
    this.#awaited.push({ taskId, done });
    this.#endPause();
    this.changed();
  }

  unwatch(taskId: string, watcher: TaskWatcher): void {
    const watchers = this.#watchers.get(taskId);
    if (watchers?.delete(watcher) !== true || watchers.size > 0) return;
    this.#watchers.delete(taskId);
    this.changed();
  }

  watchersOf(taskId: string): readonly TaskWatcher[] {
    return [...(this.#watchers.get(taskId) ?? [])];
  }

  /** Calls back when the server reports changes of this resource, which a client now wants. */
  cover(uri: string, done: Covered): void {
    if (!this.#mayNameResources || this.#isUnknown) return done(NOT_REPORTED);
    if (this.#current?.honored.has(uri) === true) return done(undefined);
    this.#waiting.push({ uri, done });
    this.#endPause();
    this.changed();
  }

  #endPause(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
  }

  /** Called when clients' wishes may have changed. More changes may follow in a moment. */
  changed(): void {
    if (this.#lists === undefined || this.#gathering !== undefined || this.#isBusy) return;
    this.#gathering = this.#instance.context.clock.after(this.#gatherMs, () => {
      this.#gathering = undefined;
      this.#update();
    });
  }

  /** True while no listen can be sent; afterwards the wishes are compared again. */
  get #isBusy(): boolean {
    return this.#isUnknown || this.#next !== undefined || this.#pause !== undefined || this.#isHeldUp;
  }

  /** Called when the server has read some of its backlog. */
  drained(): void {
    if (!this.#isHeldUp) return;
    this.#isHeldUp = false;
    this.#update();
  }

  /** Sends a listen if clients want something other than the server reports. */
  #update(): void {
    const lists = this.#lists;
    if (lists === undefined || this.#isBusy) return;
    this.#isHeldUp = (this.#instance.outbox?.blockedBytes ?? 0) > MOST_BLOCKED_BYTES;
    if (this.#isHeldUp) return;
    const current = this.#current;
    if (current !== undefined && this.#isWhatIsWanted(current)) return this.#settle(current);
    const { uris, tasks } = this.#wanted();
    if (lists.length > 0 || uris.size > 0 || tasks.size > 0) this.#listen(lists, uris, tasks);
    else if (this.#current !== undefined) this.#cancel(this.#current);
  }

  #wanted(): Pick<Listen, 'uris' | 'tasks'> {
    const uris = this.#mayNameResources ? this.#instance.sharedSettings.subscriptions.uris() : [];
    return { uris: new Set(uris), tasks: new Set(this.#watchers.keys()) };
  }

  #isWhatIsWanted(listen: Listen): boolean {
    const { uris, tasks } = this.#wanted();
    return isSame(listen.uris, uris) && isSame(listen.tasks, tasks);
  }

  #listen(lists: readonly string[], uris: ReadonlySet<string>, tasks: ReadonlySet<string>): void {
    const notices = Object.fromEntries(lists.map((capability) => [LIST_NOTICES[capability], true]));
    const resources = uris.size === 0 ? {} : { resourceSubscriptions: [...uris] };
    const taskIds = tasks.size === 0 ? {} : { taskIds: [...tasks] };
    const { own } = this.#instance.calls;
    const id = own.ask(
      METHOD,
      { notifications: { ...notices, ...resources, ...taskIds } },
      (answer, envelope) => this.#answered(listen, answer, envelope),
      tasks.size === 0 ? undefined : this.#instance.metaForTasks(),
    );
    const listen: Listen = { id, uris, tasks, honored: new Set(), acknowledgedMs: undefined, isIdle: false };
    const bytes = [...uris, ...tasks].reduce((sum, { length }) => sum + length, 0);
    this.#gatherMs = GATHER_MS + bytes / BYTES_PER_MS;
    this.#next = listen;
  }

  /** Takes `notifications/subscriptions/acknowledged`. */
  acknowledged({ b }: Frame, envelope: Envelope): void {
    const { clock } = this.#instance.context;
    const listen = this.#next;
    if (listen === undefined || envelope.id(b, Field.subscriptionId) !== listen.id) return;
    const { notifications } = membersOf(envelope.decode(b, Field.params));
    const honored = membersOf(notifications);
    const tasks = textsIn(honored.taskIds);
    const before = this.#current;
    listen.acknowledgedMs = clock.now();
    listen.honored = textsIn(honored.resourceSubscriptions);
    listen.isIdle = Object.keys(honored).length === 0;
    this.#instance.calls.own.keep(listen.id);
    this.#next = undefined;
    this.#current = listen;
    if (before !== undefined) this.#cancel(before);
    this.#settleTasks(listen, tasks);
    this.#settle(listen);
    this.#catchUp(listen);
    this.changed();
  }

  /** Leaves tasks that the server does not report out of the next listen. */
  #settleTasks(listen: Listen, honored: ReadonlySet<string>): void {
    for (const taskId of listen.tasks) if (!honored.has(taskId)) this.#watchers.delete(taskId);
    const answered = this.#awaited.filter(({ taskId }) => listen.tasks.has(taskId));
    this.#awaited = this.#awaited.filter(({ taskId }) => !listen.tasks.has(taskId));
    listen.tasks = new Set([...listen.tasks].filter((taskId) => honored.has(taskId)));
    for (const { taskId, done } of answered) done(honored.has(taskId) ? undefined : NOT_REPORTED);
  }

  /** Tells those who wait for a resource whether the server reports it. */
  #settle({ uris, honored }: Listen): void {
    const settled = this.#waiting.filter(({ uri }) => uris.has(uri));
    this.#waiting = this.#waiting.filter(({ uri }) => !uris.has(uri));
    for (const { uri, done } of settled) done(honored.has(uri) ? undefined : NOT_REPORTED);
  }

  /** Checks everything again that may have changed unnoticed. */
  #catchUp({ uris, tasks }: Listen): void {
    if (!this.#hasGap) return;
    this.#hasGap = false;
    const { lists, fromServer } = this.#instance;
    lists.read(this.#listened());
    for (const taskId of tasks)
      for (const watcher of this.watchersOf(taskId)) watcher.mayHaveChanged(this.#instance, taskId);
    for (const uri of uris) {
      const notice = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
      const b = Buffer.from(`${JSON.stringify(notice)}\n`);
      fromServer.frame(b, 0, b.length - 1);
    }
  }

  #listened(): ListKind[] {
    return LIST_KINDS.filter((kind) => this.#lists?.includes(LISTS[kind].capability) === true);
  }

  /** Called when a listen was answered, or its answer is no longer awaited: it has ended. */
  #answered(listen: Listen, answer: Frame | undefined, envelope: Envelope): void {
    const error = answer === undefined ? undefined : membersOf(envelope.decode(answer.b, Field.error));
    this.#isUnknown ||= error?.code === METHOD_NOT_FOUND;
    if (answer === undefined)
      this.#instance.calls.tell(cancelNotice(String(listen.id), 'It was not acknowledged in time'));
    this.#over(listen, error?.code === undefined ? NOT_REPORTED : JSON.stringify(error));
  }

  /** Handles the server's cancellation of one of our requests. Returns true if it was a listen. */
  cancelled({ b }: Frame, envelope: Envelope): boolean {
    const id = envelope.id(b, Field.requestId);
    const listen = [this.#current, this.#next].find((open) => open !== undefined && open.id === id);
    if (listen === undefined) return false;
    this.#instance.calls.own.forget(listen.id);
    this.#over(listen, NOT_REPORTED);
    return true;
  }

  #over(listen: Listen, error: string): void {
    const { acknowledgedMs } = listen;
    if (this.#next === listen) {
      this.#next = undefined;
      const failed = this.#waiting.filter(({ uri }) => this.#isUnknown || listen.uris.has(uri));
      this.#waiting = this.#waiting.filter((waiting) => !failed.includes(waiting));
      for (const { done } of failed) done(error);
      this.#leaveOutTasks(listen, error);
    } else if (this.#current === listen) {
      this.#current = undefined;
      this.#hasGap = true;
    } else return;
    if (this.#waiting.length > 0 || this.#awaited.length > 0) return this.changed();
    // A server that accepts no second listen would refuse the same one again and again.
    if (this.#current !== undefined && !this.#isWhatIsWanted(listen)) return this.changed();
    if (this.#lists === undefined || this.#isUnknown || listen.isIdle) return;
    const { clock } = this.#instance.context;
    if (acknowledgedMs !== undefined && clock.now() - acknowledgedMs >= SOUND_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#pause = clock.after(this.#pauseMs, () => {
      this.#pause = undefined;
      this.#update();
    });
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /**
   * Called when the server has refused a listen, maybe because of an unknown task: leaves the tasks out, so that others
   * get their notices.
   */
  #leaveOutTasks({ tasks }: Listen, error: string): void {
    const isNew = (taskId: string): boolean => this.#current?.tasks.has(taskId) !== true;
    for (const taskId of tasks) if (isNew(taskId)) this.#watchers.delete(taskId);
    const failed = this.#awaited.filter(({ taskId }) => this.#isUnknown || (tasks.has(taskId) && isNew(taskId)));
    this.#awaited = this.#awaited.filter((awaited) => !failed.includes(awaited));
    for (const { done } of failed) done(error);
  }

  /** Ends a listen that was replaced, or that nobody needs. */
  #cancel(listen: Listen): void {
    if (this.#current === listen) this.#current = undefined;
    this.#instance.calls.own.forget(listen.id);
    this.#instance.calls.tell(cancelNotice(String(listen.id), 'Another one has taken its place'));
  }

  /** True if a notice is passed on: it belongs to the current listen, or names none. */
  accepts(b: Buffer, envelope: Envelope): boolean {
    if (!envelope.has(Field.subscriptionId)) return true;
    return this.#current !== undefined && envelope.id(b, Field.subscriptionId) === this.#current.id;
  }
}

const NOT_REPORTED = JSON.stringify({
  code: METHOD_NOT_FOUND,
  message: 'The server does not report changes of this resource',
});

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((text) => other.has(text));
}

function textsIn(list: unknown): ReadonlySet<string> {
  return new Set(Array.isArray(list) ? list.map(textOf) : []);
}
