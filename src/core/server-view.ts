// The view `server:NAME`: one server with its own names, capabilities and bytes. While the server does not run, lists
// are answered from knowledge, so that a client that only looks starts nothing.

import type { ClientSettings } from '../model/client-settings.ts';
import { withPermittedTools } from '../model/tool-gate.ts';
import { LIST_KINDS, LISTS, type ListKind } from '../protocol/era.ts';
import { cursorIn } from '../protocol/request-params.ts';
import { INVALID_PARAMS, rpcError, rpcErrorOf } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ClientRequest } from './call.ts';
import { type CallPlan, type ListReader, planOf } from './call-plan.ts';
import type { Instance } from './instance.ts';
import { pageIn } from './lists.ts';
import { forOneUserOnly, toolsFor2026 } from './lists-for-2026.ts';
import { openCall, outputFor, type PendingRequests } from './pending-requests.ts';
import { followServers, type ListWatcher, notOffered, type Server } from './server.ts';
import type { Session } from './session.ts';
import { listTasks } from './task-list.ts';
import { askForTask } from './task-requests.ts';
import { type ClientMarks, type InitializeAnswer, type TaskPlace, type View, ViewClients } from './view.ts';
import type { Seeing, ServerDirectory } from './view-choice.ts';

interface ServerViewContext {
  readonly servers: ServerDirectory;
  readonly pending: PendingRequests;
}

export class ServerView implements View, ListWatcher {
  readonly name: string;
  readonly isTransparent = true;
  readonly #cwd: string | undefined;
  readonly #context: ServerViewContext;
  readonly #clients = new ViewClients();
  #server: Server;
  /** The error for all further requests; undefined while the server is offered. */
  #refusal: BridgeError | undefined;

  constructor(terms: Seeing, server: Server, context: ServerViewContext) {
    this.name = `server:${terms.settings.nameOf(server.name)}`;
    this.#cwd = terms.cwd;
    this.#server = server;
    this.#context = context;
    server.shownIn(this);
  }

  join(session: Session, marks: ClientMarks | undefined): void {
    this.#clients.join(session, marks);
  }

  async initializeAnswer(session: Session): Promise<InitializeAnswer> {
    const server = this.#server;
    if (this.#refusal !== undefined) throw this.#refusal;
    const profile = server.profileFor(session);
    // Binds the client now, because it also gets the server's notifications.
    const binding = server.bindingFor(session);
    if (profile !== undefined) {
      const { instanceId } = binding.bind();
      return { of: 'server', initializeResult: profile.initializeResult, instanceId };
    }
    try {
      const { initializeResult, instanceId } = await binding.bind(true).whenOpen(session);
      if (this.#server === server && this.#refusal === undefined) return { of: 'server', initializeResult, instanceId };
    } catch (error) {
      if (this.#server === server) throw this.#refusal ?? error;
    }
    return this.initializeAnswer(session); // the profile may have changed meanwhile
  }

  submit(session: Session, request: ClientRequest, envelope: Envelope): void {
    const { role } = request;
    if (role === 'task' && !session.era.hasHandshake)
      return askForTask(session, this, this.#context.pending, request, envelope);
    const isOfTask = role === 'task' || role === 'task-result';
    if (this.#refusal !== undefined && !isOfTask)
      return outputFor(session, request).fail(envelope.raw(request.frame.b, Field.id), rpcErrorOf(this.#refusal));
    if (role === 'list' && this.#answersFromKnown(session, request, envelope)) return;
    // A page of the server's list may hold no task of this client, and only a cursor.
    if (role === 'list-tasks' && (this.#hasTasksElsewhere(session) || this.#hasDeclaredTasks(session)))
      return listTasks(session, this.#context.pending, request, envelope);
    const instance = isOfTask
      ? instanceOfTask(session, request.frame.b, envelope)
      : this.#server.bindingFor(session).bind();
    if (instance === undefined) {
      const refusal = rpcError(INVALID_PARAMS, 'There is no such task of this client');
      return session.output.fail(envelope.raw(request.frame.b, Field.id), refusal);
    }
    const call = openCall(session, request, envelope, instance, this.#planOf(session, request, envelope));
    if (call !== undefined) instance.submit(call, request.frame, envelope);
  }

  #planOf(session: Session, { role, frame }: ClientRequest, envelope: Envelope): CallPlan {
    const [kind] = role === 'list' ? session.era.methods.of(frame.b, envelope).lists : [];
    if (kind === undefined) return planOf(role, envelope);
    const reader: ListReader = {
      given: () => void this.#clients.mark(session).read.add(kind),
      shown: (_, answer, read) => (kind === 'tools' ? this.#permitted(session, answer, read) : answer),
    };
    return { role: 'list', kind, reader };
  }

  /** True if the client has tasks on an instance that it no longer uses. */
  #hasTasksElsewhere(session: Session): boolean {
    const used = this.#server.instanceOf(session);
    for (const instance of session.tasks.values()) if (instance !== used) return true;
    return false;
  }

  #hasDeclaredTasks(session: Session): boolean {
    return session.tasks.size > 0 && this.#server.profileFor(session)?.declares('tasks') === true;
  }

  #answersFromKnown(session: Session, { id, frame }: ClientRequest, envelope: Envelope): boolean {
    const [kind] = session.era.methods.of(frame.b, envelope).lists;
    if (kind === undefined) return false;
    const server = this.#server;
    const profile = server.profileFor(session);
    if (server.instanceOf(session)?.isOpen === true || profile === undefined || session.calls.has(id)) return false;
    if (!profile.declares(LISTS[kind].capability)) return false;
    const cursor = cursorIn(frame, envelope);
    const page = server.pagesFor(session, kind)?.find((known) => known.cursor === cursor);
    if (page === undefined) return false;
    const gate = server.gateFor(session);
    const { result } = page;
    const whole = { b: result, start: 0, end: result.length - 1 };
    const seen = kind === 'tools' && !gate.isOpen ? withPermittedTools(whole, 0, gate) : whole;
    this.#clients.mark(session).read.add(kind);
    const terms = server.termsFor(session, kind, page);
    const isWhole = seen.b === result;
    session.output.answerBytes(
      envelope.raw(frame.b, Field.id),
      seen.b,
      isWhole ? terms : { ...terms, cacheScope: 'private' },
    );
    return true;
  }

  /**
   * The server's list without forbidden tools. The server's list may differ from the known one, so both are checked.
   */
  #permitted(session: Session, answer: Frame, envelope: Envelope): Frame {
    if (!envelope.has(Field.result)) return answer;
    const server = this.#server;
    const gate = server.gateFor(session);
    const instance = server.instanceOf(session);
    const page =
      instance === undefined ? undefined : pageIn({ kind: 'tools', cursor: undefined }, instance.era, answer, envelope);
    const isRead =
      instance?.lists.pagesOf('tools')?.some(({ result }) => page?.result.equals(result) === true) === true;
    if (!isRead && page !== undefined) server.known.toolsPassed(page);
    const from = envelope.from(Field.result);
    const isTranslated = !session.era.hasHandshake && instance?.era.hasHandshake !== false;
    const seen = isTranslated ? toolsFor2026(answer, from) : answer;
    const permitted = gate.isOpen ? seen : withPermittedTools(seen, from, gate);
    return permitted === seen ? seen : forOneUserOnly(permitted, from);
  }

  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void {
    this.#clients.listChanged(kind, concerns);
  }

  /** Called when the server itself has announced the change. */
  listsToldChanged(session: Session, kinds: readonly ListKind[]): void {
    for (const kind of kinds) this.#clients.marksOf(session)?.read.delete(kind);
  }

  notify(session: Session, { b, start, end }: Frame): void {
    this.#server.instanceOf(session)?.notify(session, b, start, end);
  }

  rootsChanged(session: Session, frame: Frame): void {
    this.#server.bindings.get(session)?.rootsChanged(frame);
  }

  sees(server: Server): boolean {
    return server === this.#server && this.#refusal === undefined;
  }

  servers(): readonly Server[] {
    return [this.#server];
  }

  usable(): Iterable<Server> {
    return this.servers();
  }

  ownToolsChanged(): void {
    // The bridge has no tools here.
  }

  serversChanged(settings: ClientSettings, each: (session: Session, follow: () => void) => void): void {
    const before = this.#server;
    const now = settings.sees(before.name) ? this.#context.servers.find(before.name, this.#cwd) : undefined;
    if (now === before && this.#refusal === undefined) return;
    this.#refusal = now === undefined ? notOffered(before.name) : undefined;
    before.notShownIn(this);
    now?.shownIn(this);
    this.#server = now ?? before;
    for (const session of this.#clients.all())
      each(session, () => {
        if (now === undefined) session.listens?.endAll();
        followServers(session, [before], now === undefined ? [] : [now]);
      });
    if (now !== undefined) for (const kind of LIST_KINDS) this.listChanged(kind, () => true);
  }

  levelFor(): undefined {
    return undefined;
  }

  outwardUri(): string {
    return '';
  }

  taskPlace(session: Session, taskId: string): TaskPlace | undefined {
    return this.#server.placeOfTask(session, taskId);
  }

  outwardTaskId(): string {
    return '';
  }

  endSubscription(session: Session, uri: string): void {
    this.#server.instanceOf(session)?.sharedSettings.subscriptions.end(session, uri);
  }

  tick(): void {
    // The view always keeps its one server.
  }

  leave(session: Session): ClientMarks | undefined {
    return this.#clients.leave(session);
  }

  close(): void {
    this.#server.notShownIn(this);
  }
}

function instanceOfTask(session: Session, b: Buffer, envelope: Envelope): Instance | undefined {
  return session.tasks.get(textOf(envelope.decode(b, Field.taskId)));
}
