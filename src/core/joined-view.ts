// The view `all`: every server's tools and prompts under joined names, its resources under their own URIs. A call goes to
// the server that its name begins with; what no server could answer alone is answered here.

import { aliasesOf } from '../model/aliases.ts';
import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { Binding } from './binding.ts';
import type { Call, ClientRequest } from './call.ts';
import { listTasks } from './client-tasks.ts';
import { LIST_KINDS, LISTS, type ListKind, methodOf } from './era/era-2025.ts';
import { joinedCapabilities, joinedInstructions } from './era/joined-initialize.ts';
import type { Instance } from './instance.ts';
import { JoinedCompletions } from './joined-completions.ts';
import { type JoinedBinding, JoinedLists, type Target } from './joined-lists.ts';
import { JoinedResources } from './joined-resources.ts';
import { PendingRequests } from './pending-requests.ts';
import { calledErrorOf, INVALID_PARAMS, METHOD_NOT_FOUND, rpcError, withHint } from './rpc-error.ts';
import type { Server } from './server.ts';
import type { Session } from './session.ts';
import { isLevel } from './shared-settings.ts';
import {
  cursorIn,
  type InitializeAnswer,
  openCall,
  paramsOf,
  type ServerDirectory,
  serversFor,
  type View,
} from './view.ts';

export interface JoinedViewContext {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly servers: Pick<ServerDirectory, 'origin'>;
}

/** Bindings that were only looked at are let go after so long. */
const LOOK_MS = 30_000;

const NO_SUCH_CURSOR: string = rpcError(INVALID_PARAMS, 'There is no such cursor');

export class JoinedView implements View {
  readonly name = 'all';
  readonly isTransparent = false;
  readonly #session: Session;
  readonly #context: JoinedViewContext;
  readonly lists: JoinedLists;
  readonly pending: PendingRequests;
  readonly #resources: JoinedResources;
  readonly #completions: JoinedCompletions;
  /** Names as clients spell them, with their quotes, and whose they are; filled as they are used. */
  readonly #targets = { tools: new Map<string, Target>(), prompts: new Map<string, Target>() };
  /** What the client has listed, and was not told since that it is another list now. */
  readonly #listed = new Set<ListKind>();
  #lookedMs = 0;
  /** The log level it wants of every server, also of later ones. */
  #level: string | undefined;

  constructor(session: Session, servers: readonly Server[], context: JoinedViewContext) {
    this.#session = session;
    this.#context = context;
    this.lists = new JoinedLists(context.clock);
    this.lists.bindings = this.#bindingsTo(servers);
    this.pending = new PendingRequests(session, context.limits);
    this.#resources = new JoinedResources(this.lists, this.pending);
    const parts = { lists: this.lists, resources: this.#resources, pending: this.pending };
    this.#completions = new JoinedCompletions(session, parts);
  }

  get #bindings(): readonly JoinedBinding[] {
    return this.lists.bindings;
  }

  /** The bindings that there are, and new ones. */
  #bindingsTo(servers: readonly Server[]): JoinedBinding[] {
    const before = new Map(this.#bindings.map((joined) => [joined.binding.server.name, joined]));
    const nameOf = ({ name }: Server): string => this.#session.settings.nameOf(name);
    const known = new Map(this.#bindings.map(({ binding, alias }) => [binding.name, alias]));
    const aliases = aliasesOf(servers.map(nameOf), known);
    return servers.map(
      (server) =>
        before.get(server.name) ?? {
          alias: aliases.get(nameOf(server)) ?? server.name,
          binding: this.#newBinding(server),
        },
    );
  }

  #newBinding(server: Server): Binding {
    const binding = new Binding(this.#session, server, (kind) => this.#listChanged(kind));
    if (this.#level !== undefined) binding.setLevel(this.#level);
    return binding;
  }

  initializeAnswer(): Promise<InitializeAnswer> {
    const servers = this.#bindings.map(({ alias, binding }) => ({ alias, profile: binding.profile }));
    return Promise.resolve({
      of: 'bridge',
      capabilities: joinedCapabilities(servers.map(({ profile }) => profile)),
      instructions:
        servers.length === 0 ? `There is no server yet. ${this.#context.servers.origin}` : joinedInstructions(servers),
    });
  }

  submit(request: ClientRequest, read: Envelope): void {
    switch (request.role) {
      case 'call':
        return this.#call('tools', request, read);
      case 'get-prompt':
        return this.#call('prompts', request, read);
      case 'list':
        return this.#list(request, read);
      case 'read':
      case 'subscribe':
      case 'unsubscribe':
        return this.#resources.submit(request, read);
      case 'complete':
        return this.#completions.submit(request, read);
      case 'set-level':
        return this.#setLevel(request, read);
      case 'task':
      case 'task-result':
        return this.#ofTask(request, read);
      case 'list-tasks':
        return listTasks(this.#session, this.pending, request, read);
      case 'other':
        return this.#refuse(request, read, rpcError(METHOD_NOT_FOUND, 'Method not found'));
    }
  }

  #refuse({ frame }: ClientRequest, read: Envelope, error: string): void {
    this.#session.answerError(read.raw(frame.b, Field.id), error);
  }

  // --- by name ---

  #call(kind: 'tools' | 'prompts', request: ClientRequest, read: Envelope): void {
    const { b } = request.frame;
    const text = read.has(Field.name) ? read.raw(b, Field.name) : '';
    const target = this.#targets[kind].get(text);
    if (target === undefined) this.#callAnew(kind, request, read);
    else this.#callTarget(target, request, read);
  }

  #callTarget(target: Target, request: ClientRequest, read: Envelope): void {
    const instance = target.binding.use();
    const call = openCall(this.#session, request, read, instance);
    if (call === undefined) return;
    call.nameText = target.ownKey;
    instance.submit(call, request, read);
  }

  #callAnew(kind: 'tools' | 'prompts', request: ClientRequest, read: Envelope): void {
    const name = read.decode(request.frame.b, Field.name);
    if (typeof name !== 'string')
      return this.#refuse(request, read, rpcError(INVALID_PARAMS, 'params.name is missing'));
    const known = this.lists.find(kind, name);
    const found = known ?? this.lists.staleOwnerOf(kind, name);
    if (found === undefined)
      return this.#refuse(request, read, calledErrorOf(withHint(this.lists.notFound(kind, name))));
    if (!('alias' in found)) {
      const text = read.raw(request.frame.b, Field.name);
      // There are too many spellings with escapes to keep them.
      if (!text.includes('\\')) this.#targets[kind].set(text, found);
      return this.#callTarget(found, request, read);
    }
    const call = this.pending.open(request, read);
    if (call === undefined) return;
    call.errorOf = calledErrorOf;
    const learning = known === undefined ? this.lists.learnAnew(found, kind) : this.lists.learn(found, kind);
    this.pending.later(call, request, learning, (kept) => {
      const target = this.lists.find(kind, name);
      if (target === undefined || 'alias' in target) throw withHint(this.lists.notFound(kind, name));
      this.pending.give(call, kept, target.binding.use(), target.ownKey);
    });
  }

  // --- lists ---

  #list(request: ClientRequest, read: Envelope): void {
    const [kind] = methodOf(request.frame.b, read).lists;
    const call = this.pending.open(request, read);
    if (call === undefined || kind === undefined) return;
    const cursor = cursorIn(request.frame, read);
    if (this.lists.isKnown(kind)) return this.#answerList(call, kind, cursor);
    this.#lookedMs = this.#context.clock.now();
    this.pending.later(call, request, this.lists.whenListed(kind), () => this.#answerList(call, kind, cursor));
  }

  #answerList(call: Call, kind: ListKind, cursor: unknown): void {
    const page = this.lists.page(kind, cursor);
    if (page === undefined) return this.pending.refuse(call, NO_SUCH_CURSOR);
    this.#listed.add(kind);
    this.pending.answer(call, () => this.#session.answerList(call.idText, LISTS[kind].member, page));
  }

  #listChanged(kind: ListKind): void {
    if (kind === 'tools' || kind === 'prompts') this.#targets[kind].clear();
    if (this.#session.state === 'ready' && this.#listed.delete(kind)) this.#session.tell(LISTS[kind].changedNotice);
  }

  outwardUri(instance: Instance, uri: string): string {
    const joined = this.#bindings.find(({ binding }) => binding.instance === instance);
    return joined === undefined ? '' : this.#resources.outwardUri(joined, uri);
  }

  // --- the rest ---

  #setLevel(request: ClientRequest, read: Envelope): void {
    const { level } = paramsOf(request.frame, read);
    if (typeof level !== 'string' || !isLevel(level))
      return this.#refuse(request, read, rpcError(INVALID_PARAMS, 'params.level is none of the protocol’s'));
    this.#level = level;
    for (const { binding } of this.#bindings) binding.setLevel(level);
    this.#session.answer(read.raw(request.frame.b, Field.id), '{}');
  }

  #ofTask(request: ClientRequest, read: Envelope): void {
    const instance = this.#session.tasks.get(textOf(read.decode(request.frame.b, Field.taskId)));
    if (instance === undefined)
      return this.#refuse(request, read, rpcError(INVALID_PARAMS, 'There is no such task of this client'));
    const call = openCall(this.#session, request, read, instance);
    if (call !== undefined) instance.submit(call, request, read);
  }

  listsToldChanged(): void {
    // It is told when they have been read.
  }

  notify({ b, start, end }: Frame): void {
    for (const instance of this.instances()) instance.notify(this.#session, b, start, end);
  }

  rootsChanged(frame: Frame): void {
    for (const { binding } of this.#bindings) binding.rootsChanged(frame);
  }

  serversChanged(servers: ServerDirectory): void {
    const now = new Map(serversFor(this.#session, servers).map((server) => [server.name, server]));
    const before = this.#bindings;
    this.lists.bindings = this.#bindingsTo([...now.values()]);
    const isSame = before.length === this.#bindings.length && before.every((joined, i) => joined === this.#bindings[i]);
    for (const { binding } of before) {
      const server = now.get(binding.server.name);
      if (server === undefined) binding.release();
      else if (server !== binding.server) binding.replaceServer(server);
    }
    if (!isSame) for (const kind of LIST_KINDS) this.#listChanged(kind);
  }

  instances(): Iterable<Instance> {
    return this.#bindings.flatMap(({ binding }) => binding.instance ?? []);
  }

  /** Servers that were only looked at need not be kept for this client. */
  tick(nowMs: number): void {
    if (this.#lookedMs === 0 || nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = 0;
    for (const { binding } of this.#bindings) if (!binding.isUsed) binding.unbind();
  }

  leave(): void {
    for (const { binding } of this.#bindings) binding.leave();
  }
}
