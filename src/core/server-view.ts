// The view `server:NAME`: one server with its own names, capabilities and bytes. Lists are answered from what is known
// while it does not run, so that a client that only looks starts nothing.

import type { Limits } from '../model/limits.ts';
import { LISTS, type ListKind, methodOf } from '../protocol/era-2025.ts';
import { INVALID_PARAMS, rpcError, rpcErrorOf } from '../protocol/rpc-error.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ClientRequest } from './call.ts';
import { type CallPlan, type ListReader, planOf } from './call-plan.ts';
import type { Instance } from './instance.ts';
import { Binding, type Server } from './server.ts';
import type { Session } from './session.ts';
import { listTasks } from './tasks.ts';
import { withPermittedTools } from './tool-gate.ts';
import { cursorIn, type InitializeAnswer, openCall, PendingRequests, type ServerDirectory, type View } from './view.ts';

export class ServerView implements View, ListReader {
  readonly name: string;
  readonly isTransparent = true;
  readonly #session: Session;
  readonly #binding: Binding;
  readonly #pending: PendingRequests;
  /** The lists that the client has read and was not notified about since. */
  readonly #given = new Set<ListKind>();

  constructor(session: Session, server: Server, limits: Limits) {
    this.#pending = new PendingRequests(session, limits);
    this.name = `server:${session.settings.nameOf(server.name)}`;
    this.#session = session;
    this.#binding = new Binding(session, server, (kind) => this.#listChanged(kind));
  }

  async initializeAnswer(): Promise<InitializeAnswer> {
    const { profile, server } = this.#binding;
    if (profile !== undefined)
      return { of: 'server', initializeResult: profile.initializeResult, instanceId: this.#runningId() };
    try {
      const { initializeResult, instanceId } = await this.#binding.bind(true).whenOpen(this.#session);
      if (this.#binding.server === server && this.#binding.refusal === undefined)
        return { of: 'server', initializeResult, instanceId };
    } catch (error) {
      if (this.#binding.server === server) throw this.#binding.refusal ?? error;
    }
    return this.initializeAnswer(); // the profile may have changed meanwhile
  }

  /** The id of the instance that the client will use, if it runs. */
  #runningId(): string | undefined {
    return this.#binding.bind().instanceId;
  }

  submit(request: ClientRequest, envelope: Envelope): void {
    const { role } = request;
    const { refusal } = this.#binding;
    const isOfTask = role === 'task' || role === 'task-result';
    if (refusal !== undefined && !isOfTask)
      return this.#session.output.fail(envelope.raw(request.frame.b, Field.id), rpcErrorOf(refusal));
    if (role === 'list' && this.#answersFromKnown(request, envelope)) return;
    // A page of the server's list may have no task of this client, only a cursor of the next page.
    if (role === 'list-tasks' && (this.#hasTasksElsewhere() || this.#hasDeclaredTasks()))
      return listTasks(this.#session, this.#pending, request, envelope);
    const instance = isOfTask ? this.#instanceOfTask(request.frame.b, envelope) : this.#binding.bind();
    if (instance === undefined) {
      const refusal = rpcError(INVALID_PARAMS, 'There is no such task of this client');
      return this.#session.output.fail(envelope.raw(request.frame.b, Field.id), refusal);
    }
    const call = openCall(this.#session, request, envelope, instance, this.#planOf(request, envelope));
    if (call !== undefined) instance.submit(call, request.frame, envelope);
  }

  #planOf({ role, frame }: ClientRequest, envelope: Envelope): CallPlan {
    const [kind] = role === 'list' ? methodOf(frame.b, envelope).lists : [];
    return kind === undefined ? planOf(role, envelope) : { role: 'list', kind, reader: this };
  }

  given(kind: ListKind): void {
    this.#given.add(kind);
  }

  shown(kind: ListKind, answer: Frame, envelope: Envelope): Frame {
    return kind === 'tools' ? this.#permitted(answer, envelope) : answer;
  }

  /** True if the client has tasks on an instance that it does not use any more. */
  #hasTasksElsewhere(): boolean {
    for (const instance of this.#session.tasks.values()) if (instance !== this.#binding.instance) return true;
    return false;
  }

  #hasDeclaredTasks(): boolean {
    return this.#session.tasks.size > 0 && this.#binding.profile?.declares('tasks') === true;
  }

  #instanceOfTask(b: Buffer, envelope: Envelope): Instance | undefined {
    return this.#session.tasks.get(textOf(envelope.decode(b, Field.taskId)));
  }

  #answersFromKnown({ id, frame }: ClientRequest, envelope: Envelope): boolean {
    const [kind] = methodOf(frame.b, envelope).lists;
    if (kind === undefined) return false;
    const { profile, instance } = this.#binding;
    if (instance?.isOpen === true || profile === undefined || this.#session.calls.has(id)) return false;
    if (!profile.declares(LISTS[kind].capability)) return false;
    const cursor = cursorIn(frame, envelope);
    const page = this.#binding.pagesOf(kind)?.find((known) => known.cursor === cursor);
    if (page === undefined) return false;
    const { gate } = this.#binding;
    const { result } = page;
    const whole = { b: result, start: 0, end: result.length - 1 };
    const seen = kind === 'tools' && !gate.isOpen ? withPermittedTools(whole, 0, gate) : whole;
    this.#given.add(kind);
    this.#session.output.answerBytes(envelope.raw(frame.b, Field.id), seen.b);
    return true;
  }

  /**
   * The server's list without forbidden tools. The list may differ from the one that the bridge knows, so both decide.
   */
  #permitted(answer: Frame, envelope: Envelope): Frame {
    if (!envelope.has(Field.result)) return answer;
    const { server, instance, gate } = this.#binding;
    const result = answer.b.subarray(envelope.from(Field.result), envelope.to(Field.result));
    const isRead =
      instance?.lists.pagesOf('tools')?.some((page) => page.result.subarray(0, -1).equals(result)) === true;
    if (!isRead) server.known.toolsPassed({ cursor: undefined, result });
    return gate.isOpen ? answer : withPermittedTools(answer, envelope.from(Field.result), gate);
  }

  /** Notifies the client that a list it has read is out of date. */
  #listChanged(kind: ListKind): void {
    if (this.#session.state !== 'ready' || !this.#given.delete(kind)) return;
    this.#session.output.notify(LISTS[kind].changedNotice);
  }

  /** The server itself has announced the change. */
  listsToldChanged(kinds: readonly ListKind[]): void {
    for (const kind of kinds) this.#given.delete(kind);
  }

  notify({ b, start, end }: Frame): void {
    this.#binding.instance?.notify(this.#session, b, start, end);
  }

  rootsChanged(frame: Frame): void {
    this.#binding.rootsChanged(frame);
  }

  serversChanged(servers: ServerDirectory): void {
    const { name } = this.#binding.server;
    const isSeen = this.#session.settings.sees(name);
    const server = isSeen ? servers.find(name, this.#session.cwd) : undefined;
    const { refusal } = this.#binding;
    if (server === undefined) this.#binding.release();
    else if (server !== this.#binding.server || refusal !== undefined) this.#binding.replaceServer(server);
  }

  instances(): Iterable<Instance> {
    return this.#binding.instance === undefined ? [] : [this.#binding.instance];
  }

  outwardUri(): string {
    return '';
  }

  tick(): void {
    // The view has one server, and keeps it.
  }

  leave(): void {
    this.#binding.leave();
  }
}
