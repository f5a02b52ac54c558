// The tasks of one instance: work that continues after its call was answered. Each task belongs to the client of that
// call. No other client may ask for it, cancel it, or hear of it.

import { INTERNAL_ERROR, rpcError } from '../protocol/rpc-error.ts';
import { membersOf } from '../util/json-value.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { isRequestId } from '../wire/request-id.ts';
import type { Call } from './call.ts';
import type { Instance, InstanceContext } from './instance.ts';
import type { Session } from './session.ts';

interface Task {
  readonly session: Session;
  /** The progress token of its call, as the server and as the client know it. */
  readonly serverRequestId: number;
  readonly tokenText: string;
}

interface EarlyNotice {
  readonly taskId: string;
  readonly notice: Frame;
}

/** The limits of early notices, per instance. */
const MOST_EARLY = 32;
const MOST_EARLY_BYTES = 262_144;

const IN_USE = {
  code: 'TASK_ID_IN_USE',
  message: 'The server gave the task an id that another server uses for a task of this client',
};
const TOO_LONG = {
  code: 'TASK_ID_TOO_LONG',
  message: 'The server gave the task an id that is too long',
};

/** Knows the owner of each task, and passes its notices and lists to that client only. */
export class Tasks {
  readonly #instance: Instance;
  readonly #context: Pick<InstanceContext, 'limits' | 'events'>;
  readonly #tell: (method: string, params: object) => void;
  readonly #byId = new Map<string, Task>();
  readonly #byToken = new Map<number, Task>();

  /** Notices of tasks whose call has no answer yet, or was just answered; then with the client. */
  #early: EarlyNotice[] = [];
  #due: { readonly session: Session; readonly notice: Frame }[] = [];

  constructor(
    instance: Instance,
    context: Pick<InstanceContext, 'limits' | 'events'>,
    tell: (method: string, params: object) => void,
  ) {
    this.#instance = instance;
    this.#context = context;
    this.#tell = tell;
  }

  /** Reads the answer to a call that may have become a task. */
  learn(call: Call, answer: Frame, envelope: Envelope): Frame {
    const id = envelope.has(Field.result) ? taskIdInResult(envelope.decode(answer.b, Field.result)) : undefined;
    if (id === undefined) return answer;
    const { session, serverRequestId, tokenText } = call;
    const known = session.tasks.get(id);
    if (!isRequestId(id)) return this.#refuse(id, serverRequestId, TOO_LONG);
    if (known !== undefined && known !== this.#instance) return this.#refuse(id, serverRequestId, IN_USE);
    this.#drop(id); // a server may reuse an id
    const task = { session, serverRequestId, tokenText };
    this.#byId.set(id, task);
    if (tokenText !== '') this.#byToken.set(serverRequestId, task);
    session.addTask(id, this.#instance);
    this.#forgetOldest();
    this.#due = this.#early.flatMap((early) => (early.taskId === id ? [{ session, notice: early.notice }] : []));
    this.#early = this.#early.filter((early) => early.taskId !== id);
    return answer;
  }

  /** Keeps a notice of an unknown task: a server may send it before it answers the call. */
  keepEarly(taskId: string, notice: Frame): void {
    this.#early.push({ taskId, notice: ownFrame(notice) });
    while (this.#early.length > MOST_EARLY || bytesOf(this.#early) > MOST_EARLY_BYTES) {
      this.#early.shift();
      this.#context.events.incident.tell('notificationsDropped', this.#instance.server);
    }
  }

  /** Returns the notices of the task whose call was just answered, and drops them. */
  takeDue(): readonly { readonly session: Session; readonly notice: Frame }[] {
    return this.#due.splice(0);
  }

  #forgetOldest(): void {
    const [oldest] = this.#byId.keys();
    const { limits, events } = this.#context;
    if (this.#byId.size <= limits.maxTasksPerServer || oldest === undefined) return;
    events.incident.tell('tasksForgotten', this.#instance.server);
    this.#drop(oldest);
  }

  /** Refuses a task whose id is in use or too long, and cancels it at the server. */
  #refuse(taskId: string, serverRequestId: number, { code, message }: typeof IN_USE): Frame {
    this.#tell(this.#instance.era.own.cancelTask, { taskId });
    const error = rpcError(INTERNAL_ERROR, message, { code, server: this.#instance.server });
    const b = Buffer.from(`{"jsonrpc":"2.0","id":${serverRequestId},"error":${error}}\n`);
    return { b, start: 0, end: b.length - 1 };
  }

  /** Called when the task has ended: it makes no more progress. */
  settled(taskId: string): void {
    const task = this.#byId.get(taskId);
    if (task !== undefined) this.#byToken.delete(task.serverRequestId);
  }

  get size(): number {
    return this.#byId.size;
  }

  ownerOf(taskId: string): Session | undefined {
    return this.#byId.get(taskId)?.session;
  }

  /** The task with this progress token, after its call was answered. */
  byToken(token: number): Task | undefined {
    return this.#byToken.get(token);
  }

  /** Cancels the tasks of a client that leaves. */
  abandon(session: Session): void {
    for (const [taskId, task] of this.#byId) {
      if (task.session !== session) continue;
      this.#tell(this.#instance.era.own.cancelTask, { taskId });
      this.#drop(taskId);
    }
  }

  /** Called when the server has gone, and its tasks with it. */
  closed(): void {
    this.#early = [];
    for (const taskId of [...this.#byId.keys()]) this.#drop(taskId);
  }

  /** Reduces the server's list to the client's own tasks. */
  filterList(session: Session, answer: Frame, envelope: Envelope): Frame {
    const { b } = answer;
    if (!envelope.has(Field.result)) return answer;
    const span = findMembers(b, envelope.from(Field.result), ['tasks'])?.spans.get('tasks');
    const items = span === undefined ? undefined : findItems(b, span.from);
    if (span === undefined || items === undefined) return answer;
    const own = this.#ownItems(session, b, items);
    if (own.length === 0) return withoutTasks(answer, envelope);
    return changedFrame(answer, span, `[${own.join(',')}]`);
  }

  #ownItems(session: Session, b: Buffer, items: readonly Span[]): string[] {
    const texts = items.map(({ from, to }) => b.toString('utf8', from, to));
    return texts.filter((text) => {
      const taskId = taskIdOf(JSON.parse(text));
      return taskId !== undefined && this.ownerOf(taskId) === session;
    });
  }

  #drop(taskId: string): void {
    const task = this.#byId.get(taskId);
    this.#byId.delete(taskId);
    if (task === undefined) return;
    this.#byToken.delete(task.serverRequestId);
    task.session.forgetTask(taskId, this.#instance);
  }
}

function bytesOf(early: readonly EarlyNotice[]): number {
  return early.reduce((sum, { notice }) => sum + notice.end - notice.start, 0);
}

/** An answer without tasks and without a next page: if the client had tasks, they would be known here. */
function withoutTasks(answer: Frame, envelope: Envelope): Frame {
  const { nextCursor, ...result } = membersOf(envelope.decode(answer.b, Field.result));
  if (nextCursor === undefined && Array.isArray(result.tasks) && result.tasks.length === 0) return answer;
  return changedFrame(answer, envelope.span(Field.result), JSON.stringify({ ...result, tasks: [] }));
}

function taskIdInResult(result: unknown): string | undefined {
  return taskIdOf(membersOf(result).task);
}

function taskIdOf(task: unknown): string | undefined {
  const { taskId } = membersOf(task);
  return typeof taskId === 'string' ? taskId : undefined;
}
