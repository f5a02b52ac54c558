// What a notification of a server means, and which clients hear of it: progress and the end of a visit the one that it is
// about, an update those who have subscribed, what is said of a task its owner alone, everything else all of them.

import { membersOf, textOf } from '../util/json-value.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Span } from '../wire/json-members.ts';
import { isRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import { serverRequestIdAt } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { CrowdedClients } from './crowded-clients.ts';
import { extend } from './deadline.ts';
import { type ListKind, type MethodRole, methodOf, relatedTask, wantsAnswer } from './era/era-2025.ts';
import type { Instance } from './instance.ts';
import type { InstanceContext } from './instance-context.ts';
import type { Questions } from './questions.ts';
import type { Session } from './session.ts';
import type { SharedSettings } from './shared-settings.ts';
import type { Tasks } from './tasks.ts';

export interface ServerNoticesPorts {
  readonly calls: CallTable;
  readonly sessions: ReadonlySet<Session>;
  readonly sharedSettings: SharedSettings;
  readonly questions: Questions;
  readonly tasks: Tasks;
  readonly crowded: CrowdedClients;
  /** The instance that it is all about. */
  readonly instance: Instance;
  /** The server says that these are others now. */
  readonly listsChanged: (kinds: readonly ListKind[]) => void;
}

/** After them a task makes no more progress. */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

const NOBODY = { session: undefined, tokenText: '' };

const splice = new Splice();

export class ServerNotices {
  readonly #context: InstanceContext;
  readonly #ports: ServerNoticesPorts;

  constructor(context: InstanceContext, ports: ServerNoticesPorts) {
    this.#context = context;
    this.#ports = ports;
  }

  take(b: Buffer, start: number, end: number, read: Envelope): void {
    const method = methodOf(b, read);
    const { role, reads, lists } = method;
    if ((read.ambiguous & reads) !== 0 || wantsAnswer(method)) {
      this.#context.counters.serverNoise++;
      return;
    }
    const owner = this.#taskOwner(b, role, read);
    if (owner !== undefined) return this.#tellOne(owner, { b, start, end });
    switch (role) {
      case 'progress':
        return this.#onProgress(b, start, end, read);
      case 'cancelled':
        if (!this.#ports.questions.cancel({ b, start, end }, read)) this.#context.counters.strayCancels++;
        return;
      case 'updated':
        return this.#onUpdated({ b, start, end }, read);
      case 'log':
        return this.#onLog({ b, start, end }, read);
      case 'list-changed':
        return this.#onListsChanged(lists, { b, start, end });
      case 'elicited':
        return this.#onElicited({ b, start, end }, read);
      case 'task-status':
        return this.#onTaskStatus({ b, start, end }, read);
      case 'bridge-received':
      case 'bridge-again':
      case 'bridge-leave':
      case 'bridge-leaving':
        this.#context.counters.serverNoise++; // these are between the bridge and its clients
        return;
      default:
        return this.#broadcast(this.#ports.sessions, { b, start, end }, false);
    }
  }

  /** What a notice says of a task is its owner's business alone. */
  #taskOwner(b: Buffer, role: MethodRole, read: Envelope): Session | undefined {
    if (!read.has(Field.meta) || role === 'progress' || role === 'cancelled') return undefined;
    return this.#ports.tasks.ownerOf(relatedTask(read.decode(b, Field.meta)) ?? '');
  }

  #onProgress(b: Buffer, start: number, end: number, read: Envelope): void {
    const token = serverRequestIdAt(b, Field.progressToken, read);
    const call = this.#ports.calls.peekSent(token);
    if (call !== undefined && this.#context.limits.progressExtendsTimeout) extend(call);
    const { session, tokenText } = call ?? this.#ports.tasks.byToken(token) ?? NOBODY;
    if (session === undefined || tokenText === '') {
      this.#context.counters.strayProgress++;
      return;
    }
    if (this.#ports.crowded.drops(session)) return;
    splice.clear().replace(read.from(Field.progressToken), read.to(Field.progressToken), tokenText);
    splice.send(session.link.outbox, b, start, end);
  }

  #onListsChanged(kinds: readonly ListKind[], frame: Frame): void {
    const sessions = this.#transparentSessions();
    for (const { view } of sessions) view?.listsToldChanged(kinds);
    this.#broadcast(sessions, frame, true);
    this.#ports.listsChanged(kinds);
  }

  /** Clients of joined views hear of it when the list was read again. */
  #transparentSessions(): Session[] {
    return [...this.#ports.sessions].filter(({ view }) => view?.isTransparent === true);
  }

  /** Only who was shown the page is told that the visit has ended. */
  #onElicited(frame: Frame, read: Envelope): void {
    const id = textOf(membersOf(read.decode(frame.b, Field.params)).elicitationId);
    this.#tellOne(this.#ports.questions.elicitations.shownTo(id), frame);
  }

  #onTaskStatus(frame: Frame, read: Envelope): void {
    const taskId = textOf(read.decode(frame.b, Field.taskId));
    const { status } = membersOf(read.decode(frame.b, Field.params));
    const owner = this.#ports.tasks.ownerOf(taskId);
    if (owner === undefined && this.#mayBeBegun(taskId)) return this.#ports.tasks.keepEarly(taskId, frame);
    this.#tellOne(owner, frame);
    if (FINAL_STATUSES.has(status)) this.#ports.tasks.settled(taskId);
  }

  /** Whether the answer to a call that is under way may say that it has become this task. */
  #mayBeBegun(taskId: string): boolean {
    if (!isRequestId(taskId)) return false;
    for (const { makesTask } of this.#ports.calls.sent()) if (makesTask) return true;
    return false;
  }

  /** A call has become a task: its client is told what the server has said of that before. */
  taskBegun(): void {
    for (const { session, notice } of this.#ports.tasks.takeDue()) this.#broadcast([session], notice, false);
  }

  #tellOne(session: Session | undefined, frame: Frame): void {
    if (session === undefined) this.#context.counters.notificationsDropped++;
    else this.#broadcast([session], frame, false);
  }

  #onUpdated(frame: Frame, read: Envelope): void {
    if (!read.has(Field.uri)) return;
    const uri = textOf(read.decode(frame.b, Field.uri));
    const at = read.span(Field.uri);
    const subscribers = this.#ports.sharedSettings.subscriptions.subscribersOf(uri);
    if (subscribers.size === 0) this.#context.counters.notificationsDropped++;
    for (const session of subscribers) this.#tellUpdated(session, uri, frame, at);
  }

  /** In a joined view it may go by another URI. */
  #tellUpdated(session: Session, uri: string, frame: Frame, at: Span): void {
    const outward = session.view?.outwardUri(this.#ports.instance, uri) ?? '';
    const named = outward === '' ? frame : changedFrame(frame, at, JSON.stringify(outward));
    this.#broadcast([session], named, false);
  }

  #onLog(frame: Frame, read: Envelope): void {
    const { sessions } = this.#ports;
    const { levels } = this.#ports.sharedSettings;
    if (!levels.areSet || !read.has(Field.params)) return this.#broadcast(sessions, frame, true);
    const params = read.decode(frame.b, Field.params);
    const level = textOf(membersOf(params).level);
    const readers = [...sessions].filter((session) => levels.admits(session, level));
    this.#broadcast(readers, frame, true);
  }

  #broadcast(sessions: Iterable<Session>, { b, start, end }: Frame, mayDrop: boolean): void {
    for (const session of sessions) {
      if (session.state !== 'ready' || (mayDrop && this.#ports.crowded.drops(session))) continue;
      splice.clear().send(session.link.outbox, b, start, end);
      session.noticed(end - start);
      this.#ports.crowded.check(session);
    }
  }
}
