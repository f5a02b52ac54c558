// The view `all`: tools and prompts of all servers under joined names, resources under their own URIs. A call goes to
// the server that its name begins with; the rest is answered here. Never changes more than the name in a call.

import { aliasesOf } from '../model/aliases.ts';
import type { Limits } from '../model/limits.ts';
import { LIST_KINDS, LISTS, type ListKind, methodOf } from '../protocol/era-2025.ts';
import { capabilitiesOf, instructionsOf } from '../protocol/initialize.ts';
import {
  calledErrorOf,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  NO_SUCH_CURSOR,
  rpcError,
  rpcErrorOf,
  withHint,
} from '../protocol/rpc-error.ts';
import type { Clock } from '../util/clock.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import type { Call, ClientRequest } from './call.ts';
import { namedPlan, type OtherServers, resourcePlan } from './call-plan.ts';
import type { Instance } from './instance.ts';
import { isOfApp, type JoinedBinding, JoinedLists, type JoinedPart, type Target } from './joined-lists.ts';
import { Binding, type Server } from './server.ts';
import type { ServerProfile } from './server-knowledge.ts';
import type { Session } from './session.ts';
import { isLevel } from './shared-settings.ts';
import { listTasks } from './tasks.ts';
import {
  cursorIn,
  type InitializeAnswer,
  openCall,
  PendingRequests,
  paramsOf,
  type ServerDirectory,
  serversFor,
  type View,
} from './view.ts';

interface JoinedViewContext {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly servers: Pick<ServerDirectory, 'origin'>;
}

/** The time after which an unused binding is let go. */
const LOOK_MS = 30_000;

/** The view of one client on all its servers. */
export class JoinedView implements View {
  readonly name = 'all';
  readonly isTransparent = false;
  readonly #session: Session;
  readonly #context: JoinedViewContext;
  readonly lists: JoinedLists;
  readonly pending: PendingRequests;
  readonly #resources: JoinedResources;
  readonly #completions: JoinedCompletions;
  /** The targets of names as clients spell them, with their quotes; filled on first use. */
  readonly #targets = { tools: new Map<string, Target>(), prompts: new Map<string, Target>() };
  /** The lists that the client has read and was not notified about since. */
  readonly #listed = new Set<ListKind>();
  #lookedMs = 0;
  /** The log level that the client wants of every server, also of later ones. */
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

  /** The present bindings to these servers, and new ones. */
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

  submit(request: ClientRequest, envelope: Envelope): void {
    switch (request.role) {
      case 'call':
        return this.#call('tools', request, envelope);
      case 'get-prompt':
        return this.#call('prompts', request, envelope);
      case 'list':
        return this.#list(request, envelope);
      case 'read':
      case 'subscribe':
      case 'unsubscribe':
        return this.#resources.submit(request, envelope);
      case 'complete':
        return this.#completions.submit(request, envelope);
      case 'set-level':
        return this.#setLevel(request, envelope);
      case 'task':
      case 'task-result':
        return this.#ofTask(request, envelope);
      case 'list-tasks':
        return listTasks(this.#session, this.pending, request, envelope);
      case 'other':
        return this.#refuse(request, envelope, rpcError(METHOD_NOT_FOUND, 'Method not found'));
    }
  }

  #refuse({ frame }: ClientRequest, envelope: Envelope, error: string): void {
    this.#session.output.fail(envelope.raw(frame.b, Field.id), error);
  }

  #call(kind: 'tools' | 'prompts', request: ClientRequest, envelope: Envelope): void {
    const { b } = request.frame;
    const text = envelope.has(Field.name) ? envelope.raw(b, Field.name) : '';
    const target = this.#targets[kind].get(text);
    if (target === undefined) this.#callUnlisted(kind, request, envelope);
    else this.#callTarget(target, request, envelope);
  }

  #callTarget(target: Target, request: ClientRequest, envelope: Envelope): void {
    const instance = target.binding.use();
    const call = openCall(this.#session, request, envelope, instance);
    if (call === undefined) return;
    call.nameText = target.ownKey;
    instance.submit(call, request.frame, envelope);
  }

  #callUnlisted(kind: 'tools' | 'prompts', request: ClientRequest, envelope: Envelope): void {
    const name = envelope.decode(request.frame.b, Field.name);
    if (typeof name !== 'string')
      return this.#refuse(request, envelope, rpcError(INVALID_PARAMS, 'params.name is missing'));
    const known = this.lists.find(kind, name);
    const found = known ?? this.lists.staleOwnerOf(kind, name);
    if (found === undefined)
      return this.#refuse(request, envelope, calledErrorOf(withHint(this.lists.notFound(kind, name))));
    if (!('alias' in found)) {
      const text = envelope.raw(request.frame.b, Field.name);
      // Names with escapes are not kept: each name has too many spellings.
      if (!text.includes('\\')) this.#targets[kind].set(text, found);
      return this.#callTarget(found, request, envelope);
    }
    const role = kind === 'tools' ? 'call' : 'get-prompt';
    const call = this.pending.open(request, envelope, namedPlan(role, envelope.has(Field.task), calledErrorOf));
    if (call === undefined) return;
    const learning = known === undefined ? this.lists.askAgain(found, kind) : this.lists.learn(found, kind);
    this.pending.later(call, request, learning, (kept) => {
      const target = this.lists.find(kind, name);
      if (target === undefined || 'alias' in target) throw withHint(this.lists.notFound(kind, name));
      this.pending.give(call, kept, target.binding.use(), target.ownKey);
    });
  }

  #list(request: ClientRequest, envelope: Envelope): void {
    const [kind] = methodOf(request.frame.b, envelope).lists;
    const call = this.pending.open(request, envelope);
    if (call === undefined || kind === undefined) return;
    const cursor = cursorIn(request.frame, envelope);
    if (this.lists.isKnown(kind)) return this.#answerList(call, kind, cursor);
    this.#lookedMs = this.#context.clock.now();
    this.pending.later(call, request, this.lists.whenListed(kind), () => this.#answerList(call, kind, cursor));
  }

  #answerList(call: Call, kind: ListKind, cursor: unknown): void {
    const page = this.lists.page(kind, cursor);
    if (page === undefined) return this.pending.refuse(call, NO_SUCH_CURSOR);
    this.#listed.add(kind);
    this.pending.answer(call, () => this.#session.output.answerList(call.idText, LISTS[kind].member, page));
  }

  #listChanged(kind: ListKind): void {
    if (kind === 'tools' || kind === 'prompts') this.#targets[kind].clear();
    if (this.#session.state === 'ready' && this.#listed.delete(kind))
      this.#session.output.notify(LISTS[kind].changedNotice);
  }

  outwardUri(instance: Instance, uri: string): string {
    const joined = this.#bindings.find(({ binding }) => binding.instance === instance);
    return joined === undefined ? '' : this.#resources.outwardUri(joined, uri);
  }

  #setLevel(request: ClientRequest, envelope: Envelope): void {
    const { level } = paramsOf(request.frame, envelope);
    if (typeof level !== 'string' || !isLevel(level))
      return this.#refuse(request, envelope, rpcError(INVALID_PARAMS, 'params.level is none of the protocol’s'));
    this.#level = level;
    for (const { binding } of this.#bindings) binding.setLevel(level);
    this.#session.output.answer(envelope.raw(request.frame.b, Field.id), '{}');
  }

  #ofTask(request: ClientRequest, envelope: Envelope): void {
    const instance = this.#session.tasks.get(textOf(envelope.decode(request.frame.b, Field.taskId)));
    if (instance === undefined)
      return this.#refuse(request, envelope, rpcError(INVALID_PARAMS, 'There is no such task of this client'));
    const call = openCall(this.#session, request, envelope, instance);
    if (call !== undefined) instance.submit(call, request.frame, envelope);
  }

  listsToldChanged(): void {
    // The client is notified later, when the lists were read.
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

  /** Lets go of bindings that were only looked at. */
  tick(nowMs: number): void {
    if (this.#lookedMs === 0 || nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = 0;
    for (const { binding } of this.#bindings) if (!binding.isUsed) binding.unbind();
  }

  leave(): void {
    for (const { binding } of this.#bindings) binding.leave();
  }
}

/**
 * The reference of a `completion/complete`: the name of a prompt, or the URI of a resource or template, with its place.
 */
interface CompletionRef {
  readonly kind: 'prompt' | 'resource';
  readonly key: string;
  readonly span: Span;
}

function refIn({ b }: Frame, envelope: Envelope): CompletionRef | undefined {
  const ref = findMembers(b, envelope.from(Field.params), ['ref'])?.spans.get('ref');
  const members = ref === undefined ? undefined : findMembers(b, ref.from, ['type', 'name', 'uri'])?.spans;
  const text = (name: string): unknown => {
    const span = members?.get(name);
    return span === undefined ? undefined : JSON.parse(b.toString('utf8', span.from, span.to));
  };
  const kind = text('type') === 'ref/prompt' ? 'prompt' : 'resource';
  const member = kind === 'prompt' ? 'name' : 'uri';
  const span = members?.get(member);
  const key = text(member);
  return span === undefined || typeof key !== 'string' ? undefined : { kind, key, span };
}

const NO_SUCH_REF: string = rpcError(INVALID_PARAMS, 'params.ref names no known prompt, resource or template');

/**
 * Completes arguments in a joined view: the server that has the prompt or resource is asked, under its own name for it.
 */
class JoinedCompletions {
  readonly #session: Session;
  readonly #lists: JoinedLists;
  readonly #resources: JoinedResources;
  readonly #pending: PendingRequests;

  constructor(
    session: Session,
    parts: { readonly lists: JoinedLists; readonly resources: JoinedResources; readonly pending: PendingRequests },
  ) {
    this.#session = session;
    this.#lists = parts.lists;
    this.#resources = parts.resources;
    this.#pending = parts.pending;
  }

  submit(request: ClientRequest, envelope: Envelope): void {
    const ref = refIn(request.frame, envelope);
    if (ref === undefined) return this.#session.output.fail(envelope.raw(request.frame.b, Field.id), NO_SUCH_REF);
    const call = this.#pending.open(request, envelope);
    if (call === undefined) return;
    const learning = this.#learn(ref);
    if (learning === undefined) this.#pass(call, request, ref);
    else this.#pending.later(call, request, learning, (kept) => this.#passKept(call, kept));
  }

  /** Asks the servers that may have the reference; undefined if their lists are known. */
  #learn({ kind, key }: CompletionRef): Promise<void> | undefined {
    if (kind === 'resource') return this.#resources.learn();
    const found = this.#lists.find('prompts', key);
    return found !== undefined && 'alias' in found ? this.#lists.learn(found, 'prompts') : undefined;
  }

  #passKept(call: Call, kept: ClientRequest): void {
    const ref = refIn(kept.frame, this.#pending.read(kept.frame));
    if (ref !== undefined) this.#pass(call, kept, ref);
    else this.#pending.refuse(call, NO_SUCH_REF);
  }

  #pass(call: Call, request: ClientRequest, ref: CompletionRef): void {
    const target = this.#targetOf(ref);
    if (target === undefined) return this.#pending.refuse(call, NO_SUCH_REF);
    const frame = changedFrame(request.frame, ref.span, JSON.stringify(target.key));
    this.#pending.give(call, { ...request, frame }, target.binding.use());
  }

  #targetOf({ kind, key }: CompletionRef): { readonly binding: Binding; readonly key: string } | undefined {
    if (kind === 'resource') {
      const place = this.#resources.likeliestPlace(key);
      return place === undefined ? undefined : { binding: place.binding, key: place.uri };
    }
    const found = this.#lists.find('prompts', key);
    if (found === undefined || 'alias' in found) return undefined;
    return { binding: found.binding, key: JSON.parse(Buffer.from(found.ownKey, 'latin1').toString()) as string };
  }
}

/** The most characters that are compared for all templates of one list: some milliseconds. */
export const MOST_TEMPLATE_STEPS = 2_000_000;
/** The cost of a template that does not even begin as the URI does. */
const STEPS_EACH = 32;

/**
 * Decides if a URI may come from one of a list's templates (RFC 6570): the text between the variables must occur in
 * order. A wrong yes does no harm, because it only decides which server is asked first. Templates are parsed on first
 * use.
 */
export class TemplateSet {
  readonly #templates: Iterable<string>;
  #literals: (readonly string[])[] | undefined;
  /** The steps of the last question. */
  steps = 0;

  constructor(templates: Iterable<string>) {
    this.#templates = templates;
  }

  /** True if a template fits. False where the search would take too long; then all servers are asked in turn. */
  fits(uri: string): boolean {
    this.#literals ??= Array.from(this.#templates, literalsOf);
    this.steps = 0;
    for (const literals of this.#literals) {
      const steps = STEPS_EACH + (isFramed(literals, uri) ? stepsToSearch(literals, uri) : 0);
      if (this.steps + steps > MOST_TEMPLATE_STEPS) return false;
      this.steps += steps;
      if (comesFrom(literals, uri)) return true;
    }
    return false;
  }
}

export function matchesTemplate(template: string, uri: string): boolean {
  return comesFrom(literalsOf(template), uri);
}

function literalsOf(template: string): readonly string[] {
  return template.split(/\{[^{}]*\}/);
}

function comesFrom(literals: readonly string[], uri: string): boolean {
  if (!isFramed(literals, uri)) return false;
  if (literals.length === 1) return true;
  let at = (literals[0] ?? '').length;
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return uri.length - (literals.at(-1) ?? '').length >= at;
}

/** True if the URI begins and ends as the template does. */
function isFramed(literals: readonly string[], uri: string): boolean {
  const [first = ''] = literals;
  if (literals.length === 1) return uri === first;
  return uri.startsWith(first) && uri.endsWith(literals.at(-1) ?? '');
}

/** The worst case: each literal is compared at each place of the URI. */
function stepsToSearch(literals: readonly string[], uri: string): number {
  const inner = literals.slice(1, -1);
  return inner.reduce((sum, literal) => sum + literal.length, 0) * uri.length;
}

/** A server that may have a resource. */
interface ResourcePlace {
  readonly binding: Binding;
  /** The server's own URI of the resource. */
  readonly uri: string;
}

/**
 * The resources of a joined view. A URI belongs to the server that lists it or has a template for it, or else to any
 * server that has it: a server need not list what its tools speak of.
 */
class JoinedResources {
  readonly #lists: JoinedLists;
  readonly #pending: PendingRequests;

  constructor(lists: JoinedLists, pending: PendingRequests) {
    this.#lists = lists;
    this.#pending = pending;
  }

  /** Reads a resource, subscribes to it, or unsubscribes. */
  submit(request: ClientRequest, envelope: Envelope): void {
    const uri = envelope.decode(request.frame.b, Field.uri);
    const isNamed = typeof uri === 'string' && this.#lists.inward(uri) !== undefined;
    const search = new ResourceSearch(this.#lists, this.#pending);
    const call = this.#pending.open(request, envelope, resourcePlan(request.role, search, isNamed));
    if (call === undefined) return;
    if (typeof uri !== 'string') return this.#pending.refuse(call, rpcError(INVALID_PARAMS, 'params.uri is missing'));
    const { isCertain } = candidatesFor(uri, this.#lists);
    const learning = isCertain ? undefined : this.learn();
    if (learning === undefined) return search.begin(call, request, this.#placesFor(uri, request));
    this.#pending.later(call, request, learning, (kept) => search.begin(call, kept, this.#placesFor(uri, kept)));
  }

  /** Asks all servers with unknown resources; undefined if all are known. */
  learn(): Promise<void> | undefined {
    if (this.#lists.isKnown('resources') && this.#lists.isKnown('templates')) return undefined;
    return this.#lists.whenListed('resources').then(() => this.#lists.whenListed('templates'));
  }

  /** The client's URI for a server's resource, or the one it has subscribed to; '' if that is the server's own. */
  outwardUri(joined: JoinedBinding, uri: string): string {
    const { instance, session } = joined.binding;
    if (isOfApp(uri)) return '';
    const owner = this.#lists.ownerOf('resources', uri);
    const isOwn = owner === undefined || owner === joined;
    return isOwn && instance?.sharedSettings.subscriptions.isNamed(session, uri) !== true
      ? ''
      : this.#lists.outward(joined, uri);
  }

  /** The likeliest server of the resource. */
  likeliestPlace(uri: string): ResourcePlace | undefined {
    return candidatesFor(uri, this.#lists).found[0];
  }

  #placesFor(uri: string, { role }: ClientRequest): readonly ResourcePlace[] {
    const { found } = candidatesFor(uri, this.#lists);
    return role === 'unsubscribe' ? subscribedAmong(found) : found;
  }
}

/** The servers that may have one resource: each is asked once the one before it has refused. */
class ResourceSearch implements OtherServers {
  readonly #lists: JoinedLists;
  readonly #pending: PendingRequests;
  /** The request as it was when the last server was asked, with the servers that are left. */
  #next:
    | { readonly call: Call; readonly request: ClientRequest; readonly places: readonly ResourcePlace[] }
    | undefined;

  constructor(lists: JoinedLists, pending: PendingRequests) {
    this.#lists = lists;
    this.#pending = pending;
  }

  get isEmpty(): boolean {
    return this.#next === undefined;
  }

  /** Asks the first of these servers. A server that lists the resource is the only one asked. */
  begin(call: Call, request: ClientRequest, [place, ...places]: readonly ResourcePlace[]): void {
    if (place === undefined) return this.#pending.refuse(call, rpcErrorOf(this.#lists.noSuchResource()));
    const envelope = this.#pending.read(request.frame);
    const frame = changedFrame(request.frame, envelope.span(Field.uri), JSON.stringify(place.uri));
    this.#next = places.length === 0 ? undefined : { call, request, places };
    this.#pending.give(call, { ...request, frame }, place.binding.use());
  }

  askNext(): void {
    if (this.#next === undefined) return;
    const { call, request, places } = this.#next;
    this.#pending.later(call, request, Promise.resolve(), (kept) => this.begin(call, kept, places));
  }
}

/** The servers that may have the resource, the likeliest first; certain if a server lists it. */
function candidatesFor(uri: string, lists: JoinedLists): { found: readonly ResourcePlace[]; isCertain: boolean } {
  const named = lists.inward(uri);
  if (named !== undefined) return { found: [{ binding: named.joined.binding, uri: named.uri }], isCertain: true };
  const owner = lists.ownerOf('resources', uri) ?? lists.ownerOf('templates', uri);
  if (owner !== undefined) return { found: [{ binding: owner.binding, uri }], isCertain: true };
  const having = lists.bindings.filter(({ binding }) => binding.profile?.declares('resources') === true);
  const matching = having.filter((joined) => hasTemplateFor(uri, joined, lists));
  const others = having.filter((joined) => !matching.includes(joined));
  return { found: [...matching, ...others].map(({ binding }) => ({ binding, uri })), isCertain: false };
}

/**
 * The servers at which the client has subscribed, or else all: a server may confirm the end of a subscription that it
 * never had.
 */
function subscribedAmong(places: readonly ResourcePlace[]): readonly ResourcePlace[] {
  const found = places.filter(
    ({ binding, uri }) => binding.instance?.sharedSettings.subscriptions.has(binding.session, uri) === true,
  );
  return found.length === 0 ? places : found;
}

const templates = new WeakMap<JoinedPart, TemplateSet>();

function hasTemplateFor(uri: string, joined: JoinedBinding, lists: JoinedLists): boolean {
  const part = lists.partOf(joined, 'templates');
  if (part === undefined) return false;
  const set = templates.get(part) ?? new TemplateSet(part.ownKeys.keys());
  templates.set(part, set);
  return set.fits(uri);
}

/**
 * The assumption for a server that has not run yet. The bridge can honour it whatever the server turns out to have.
 */
const ASSUMED = { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {}, completions: {}, tasks: {} };

/**
 * The capabilities of all servers together, for the answer to `initialize`. `profiles` are undefined for unknown
 * servers.
 */
export function joinedCapabilities(profiles: readonly (ServerProfile | undefined)[]): Record<string, object> {
  const declared = profiles.map(
    (profile): Readonly<Record<string, unknown>> =>
      profile === undefined ? ASSUMED : capabilitiesOf(profile.initializeResult),
  );
  const has = (name: string): boolean => declared.some((capabilities) => capabilities[name] !== undefined);
  const subscribe = declared.some(({ resources }) => isRecord(resources) && resources.subscribe === true);
  return {
    // A slow server may add to the lists later.
    tools: { listChanged: true },
    ...(has('prompts') && { prompts: { listChanged: true } }),
    ...(has('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
    ...(has('logging') && { logging: {} }),
    ...(has('completions') && { completions: {} }),
    ...extensionsOf(declared),
    ...(has('tasks') && { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
  };
}

/** The extensions of all servers. Of a shared extension, the first server's settings count. */
function extensionsOf(declared: readonly Readonly<Record<string, unknown>>[]): { extensions?: object } {
  const all = declared.flatMap(({ extensions }) => (isRecord(extensions) ? Object.entries(extensions) : []));
  return all.length === 0 ? {} : { extensions: Object.fromEntries(all.reverse()) };
}

/** The instructions of all servers, each under a heading. */
export function joinedInstructions(
  servers: readonly { readonly alias: string; readonly profile: ServerProfile | undefined }[],
): string | undefined {
  const parts = servers.flatMap(({ alias, profile }) => {
    const text = profile === undefined ? '' : instructionsOf(profile.initializeResult).trim();
    return text === '' ? [] : [`# ${alias}\n\n${text}`];
  });
  return parts.length === 0 ? undefined : parts.join('\n\n');
}
