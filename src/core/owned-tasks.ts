// The tasks of servers of 2026 and their owners. A task belongs to the user whose call began it, on any of the user's
// connections, and outlives the connection. Only its id is kept. A task that is unknown here may still be known to its
// server.
//
//   living ─ its owner has read how it ended, or has cancelled it ─▶ over ─ its time is up ─▶ forgotten
//      └─ its instance has gone ─▶ without an instance ─ its server tells of it ─▶ living

import { createHash } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import { principalKey } from '../model/principal.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Events } from './events.ts';
import type { Instance } from './instance.ts';
import type { Server } from './server.ts';
import type { Session } from './session.ts';

/** The interval at which all tasks are checked. */
const TICK_MS = 10_000;
/** The longest time that a task is kept without news of it, whatever its server promises. */
const LONGEST_MS = 86_400_000;
/** Longer ids are kept as a digest. */
const LONGEST_ID = 128;

/** The statuses after which a task changes no more. */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** The parts of a task that the bridge reads, as its server writes them. */
export interface TaskState {
  readonly status: unknown;
  readonly ttlMs: unknown;
}

interface OwnedTask {
  readonly key: string;
  readonly owner: string;
  readonly server: string;
  /** The connection on which the task began, while it exists. */
  readonly host: WeakRef<Session>;
  readonly createdMs: number;
  /** Undefined once the instance has gone; its server may still know the task. */
  instance: Instance | undefined;
  untilMs: number;
  isOver: boolean;
}

interface OwnedTasksContext {
  readonly limits: Limits;
  readonly events: Events;
  readonly clock: Clock;
}

export class OwnedTasks {
  readonly #context: OwnedTasksContext;
  readonly #byKey = new Map<string, OwnedTask[]>();
  /** In the order in which the tasks began. */
  readonly #byInstance = new Map<Instance, Map<string, OwnedTask>>();
  /** Tasks whose instances have gone, oldest first. */
  readonly #gone = new Set<OwnedTask>();
  #tick: Timer | undefined;

  constructor(context: OwnedTasksContext) {
    this.#context = context;
  }

  /** The number of known tasks. */
  get size(): number {
    let size = 0;
    for (const tasks of this.#byKey.values()) size += tasks.length;
    return size;
  }

  /**
   * Notes a task; false if another task on the same connection has the same id, because they could not be told apart.
   */
  note(instance: Instance, session: Session, taskId: string, state: TaskState): boolean {
    const key = keyOf(taskId);
    const owner = principalKey(session.principal);
    const host = new WeakRef(session.host);
    const others = this.#of(key, owner, instance.server);
    if (others.some((other) => isElsewhere(other, instance) && other.host.deref() === session.host)) return false;
    // A server may use an id twice.
    for (const other of others) if (!isElsewhere(other, instance)) this.#drop(other);
    this.#dropOne(this.#byInstance.get(instance)?.get(key));
    const createdMs = this.#context.clock.now();
    const task = { key, owner, server: instance.server, host, createdMs, instance, untilMs: 0, isOver: false };
    this.#update(task, state);
    this.#add(task, instance);
    return true;
  }

  #add(task: OwnedTask, instance: Instance): void {
    const { limits, events, clock } = this.#context;
    const same = this.#byKey.get(task.key);
    if (same === undefined) this.#byKey.set(task.key, [task]);
    else same.push(task);
    const tasks = this.#byInstance.get(instance) ?? new Map<string, OwnedTask>();
    this.#byInstance.set(instance, tasks.set(task.key, task));
    this.#tick ??= clock.after(TICK_MS, () => this.#onTick());
    if (tasks.size <= limits.maxTasksPerServer) return;
    events.incident.tell('tasksForgotten', instance.server);
    const [oldest] = tasks.values();
    this.#dropOne(oldest);
  }

  /**
   * Updates a task that its client gets news of. Its server may know it from before the bridge or instance was started.
   */
  heard(instance: Instance, session: Session, taskId: string, state: TaskState): void {
    const known = this.#byInstance.get(instance)?.get(keyOf(taskId));
    if (known === undefined && !this.note(instance, session, taskId, state)) return;
    const task = known ?? this.#byInstance.get(instance)?.get(keyOf(taskId));
    if (task === undefined) return;
    this.#update(task, state);
    task.isOver ||= FINAL_STATUSES.has(state.status);
  }

  /**
   * Sets how long a task is kept. Without a time of its own, it is kept as long as a call may take after the last news.
   */
  #update(task: OwnedTask, { ttlMs }: TaskState): void {
    const { clock, limits } = this.#context;
    const nowMs = clock.now();
    task.untilMs =
      typeof ttlMs === 'number' && ttlMs >= 0
        ? Math.min(task.createdMs + ttlMs, nowMs + LONGEST_MS)
        : nowMs + limits.maxCallMs;
  }

  /** Ends a task: its owner is done with it, or the server does not know it. */
  over(instance: Instance, taskId: string): void {
    const task = this.#byInstance.get(instance)?.get(keyOf(taskId));
    if (task !== undefined) task.isOver = true;
  }

  /**
   * Finds the instance that works on a task of the client's user. `nobody` if the owner is unknown or the instance has
   * gone; `another` if the task is another user's, or there are two such tasks.
   */
  find(session: Session, server: Server, taskId: string): Instance | 'nobody' | 'another' {
    const key = keyOf(taskId);
    const known = (this.#byKey.get(key) ?? []).filter((task) => task.server === server.name);
    const own = this.#of(key, principalKey(session.principal), server.name);
    if (own.length === 0) return known.length === 0 ? 'nobody' : 'another';
    const begunHere = own.find(({ host }) => host.deref() === session.host);
    const [only, ...others] = begunHere === undefined ? own : [begunHere];
    return others.length > 0 ? 'another' : (only?.instance ?? 'nobody');
  }

  #of(key: string, owner: string, server: string): OwnedTask[] {
    return (this.#byKey.get(key) ?? []).filter((task) => task.owner === owner && task.server === server);
  }

  /** True while the instance works on a task whose end its owner has not read. */
  hasLiving(instance: Instance): boolean {
    const nowMs = this.#context.clock.now();
    for (const { isOver, untilMs } of this.#byInstance.get(instance)?.values() ?? [])
      if (!isOver && nowMs < untilMs) return true;
    return false;
  }

  /** Called when the instance has gone. The owners may ask the next one. */
  closed(instance: Instance): void {
    for (const task of this.#byInstance.get(instance)?.values() ?? []) {
      task.instance = undefined;
      this.#gone.add(task);
    }
    this.#byInstance.delete(instance);
    for (const oldest of this.#gone) {
      if (this.#gone.size <= this.#context.limits.maxTasksPerServer) return;
      this.#drop(oldest);
    }
  }

  #onTick(): void {
    const { clock } = this.#context;
    const nowMs = clock.now();
    this.#tick = undefined;
    for (const tasks of [...this.#byKey.values()])
      for (const task of [...tasks]) if (nowMs >= task.untilMs) this.#drop(task);
    if (this.#byKey.size > 0) this.#tick = clock.after(TICK_MS, () => this.#onTick());
  }

  #dropOne(task: OwnedTask | undefined): void {
    if (task !== undefined) this.#drop(task);
  }

  #drop(task: OwnedTask): void {
    const { key, instance } = task;
    const others = (this.#byKey.get(key) ?? []).filter((other) => other !== task);
    if (others.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, others);
    this.#gone.delete(task);
    if (instance === undefined) return;
    const tasks = this.#byInstance.get(instance);
    if (tasks?.get(key) === task) tasks.delete(key);
    if (tasks?.size === 0) this.#byInstance.delete(instance);
  }
}

function isElsewhere({ instance }: OwnedTask, here: Instance): boolean {
  return instance !== undefined && instance !== here;
}

function keyOf(taskId: string): string {
  return taskId.length <= LONGEST_ID ? taskId : createHash('sha256').update(taskId).digest('base64url');
}
