// The view `all`: tools and prompts of all servers under joined names, resources under their own URIs. A call goes to
// the server that its name begins with; other requests are answered here. It changes nothing in a call but the name.

import { aliasesOf } from '../model/aliases.ts';
import type { ClientSettings } from '../model/client-settings.ts';
import type { Limits } from '../model/limits.ts';
import { LIST_KINDS, LISTS, type ListKind } from '../protocol/era.ts';
import { capabilitiesOf, instructionsOf } from '../protocol/initialize.ts';
import { cursorIn, paramsOf } from '../protocol/request-params.ts';
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
import { isPage } from './app-pages.ts';
import type { Call, ClientRequest } from './call.ts';
import { namedPlan, type OtherServers, planInAll, resourcePlan, taskPlanIn } from './call-plan.ts';
import type { Instance } from './instance.ts';
import { JoinedLists, type JoinedPlace, type JoinedPlaces, JoinedServer } from './joined-lists.ts';
import { aliasIn, joinedTaskId } from './joined-names.ts';
import type { JoinedPart } from './joined-part.ts';
import type { ListLooks } from './list-looks.ts';
import type { ListedItem } from './listed-item.ts';
import { joinedTerms } from './lists-for-2026.ts';
import { openCall, type PendingRequests } from './pending-requests.ts';
import { followServers, type ListWatcher, type Server } from './server.ts';
import type { CachingTerms, ListPage, ServerProfile } from './server-knowledge.ts';
import type { Session } from './session.ts';
import { isLevel } from './shared-settings.ts';
import { listTasks } from './task-list.ts';
import { askForTask } from './task-requests.ts';
import { type ClientMarks, type InitializeAnswer, type TaskPlace, type View, ViewClients } from './view.ts';
import { type Seeing, type ServerDirectory, serversFor } from './view-choice.ts';

/** The bridge's own tools in a joined view. */
export interface OwnTools {
  /** Their definitions, in list order. */
  readonly items: readonly ListedItem[];
  /** Handles a call of one of these tools; false if the call is for another tool. */
  call(session: Session, request: ClientRequest, envelope: Envelope): boolean;
}

/** The bridge's own tools and resources, which a view may gain and lose. */
export interface BridgeTools extends OwnTools {
  /** True while there are resources. */
  readonly hasResources: boolean;
  /** Handles reading one of these resources; false if the request is for another one. */
  readResource(session: Session, request: ClientRequest, envelope: Envelope): boolean;
}

/** Tools that replace those of all servers, as in the view `discover`. They also handle calls of unknown tools. */
export interface ToolsInstead extends OwnTools {
  /** The name of the view that has them. */
  readonly name: 'discover' | 'code';
  /** Returns the instructions of a view with these servers, given by name. */
  instructions(servers: readonly string[]): string;
  /** Called when servers or their names may have changed. */
  serversChanged(): void;
}

export interface JoinedViewContext {
  readonly limits: Pick<Limits, 'maxToolNameLength'>;
  readonly clock: Clock;
  readonly pending: PendingRequests;
  readonly looks: ListLooks;
  readonly servers: ServerDirectory;
}

interface JoinedViewTools {
  readonly instead?: ((view: JoinedView) => ToolsInstead) | undefined;
  /** More tools of the bridge, beside the servers' tools or their replacements. */
  readonly also?: OwnTools | undefined;
  /** Makes the bridge's own tools that each joined view has. */
  readonly own?: ((view: JoinedView) => BridgeTools) | undefined;
}

function namesOf(items: readonly ListedItem[]): string {
  return items.map(({ key }) => key).join(' ');
}

/** The time after which an unused binding is dropped. */
const LOOK_MS = 30_000;

/** The target of a name, valid for this list of the server. */
interface NamedTarget {
  readonly server: Server;
  readonly pages: readonly ListPage[];
  readonly ownKey: string;
}

/** The view that shows clients all their servers. */
export class JoinedView implements View, ListWatcher {
  readonly name: 'all' | 'discover' | 'code';
  readonly isTransparent = false;
  #terms: Seeing;
  readonly #context: JoinedViewContext;
  readonly #instead: ToolsInstead | undefined;
  readonly #also: OwnTools | undefined;
  readonly #own: BridgeTools | undefined;
  readonly #clients = new ViewClients();
  /** The bridge's own tools as last listed. */
  #ownNames: string;
  /** Clients that have read the list of the replacing tools and were not notified since. */
  readonly #readInstead = new Set<Session>();
  #places: JoinedPlaces = { all: [], byAlias: new Map() };
  #servers: ReadonlySet<Server> = new Set();
  /** Servers that clients have asked for by names that no list has; keys are these names. */
  readonly #unlisted = new Map<string, JoinedPlace>();
  /** The targets of names as clients spell them, quotes included; filled on first use. */
  readonly #targets = { tools: new Map<string, NamedTarget>(), prompts: new Map<string, NamedTarget>() };

  constructor(terms: Seeing, { instead, also, own }: JoinedViewTools, context: JoinedViewContext) {
    this.#terms = terms;
    this.#context = context;
    this.#also = also;
    this.#instead = instead?.(this);
    this.name = this.#instead?.name ?? 'all';
    this.#own = own?.(this);
    this.#ownNames = namesOf(this.ownItems);
    this.#place(serversFor(terms, context.servers));
  }

  /** Gives each server its place: the existing one, or a new one. */
  #place(servers: readonly Server[]): void {
    const { settings } = this.#terms;
    const before = new Map(this.#places.all.map((place) => [place.server.name, place]));
    const nameOf = ({ name }: Server): string => settings.nameOf(name);
    const aliases = aliasesOf(servers.map(nameOf), this.#aliases);
    const all = servers.map((server) => {
      const place = before.get(server.name) ?? { alias: aliases.get(nameOf(server)) ?? server.name, server };
      place.server = server;
      return place;
    });
    this.#keep(all);
  }

  /** The taken aliases, by the clients' names for the servers. */
  get #aliases(): Map<string, string> {
    const { settings } = this.#terms;
    const listed = this.#places.all.map(({ server, alias }): [string, string] => [settings.nameOf(server.name), alias]);
    return new Map([...[...this.#unlisted].map(([name, { alias }]): [string, string] => [name, alias]), ...listed]);
  }

  /** Keeps these places and those that no list has, and watches exactly their servers. */
  #keep(all: readonly JoinedPlace[]): void {
    const places = [...this.#unlisted.values(), ...all];
    this.#places = { all, byAlias: new Map(places.map((place) => [place.alias, place])) };
    for (const server of this.#servers) server.notShownIn(this);
    this.#servers = new Set(places.map(({ server }) => server));
    for (const server of this.#servers) server.shownIn(this);
  }

  /** Finds a server by a name that the lists do not use for it, or, with other hosts, one that they do not list. */
  #placeNamed(name: string): JoinedPlace | undefined {
    const server = this.#serverNamed(name);
    if (server === undefined) return undefined;
    const listed = this.#places.all.find((place) => place.server === server);
    if (listed !== undefined) return listed;
    const known = this.#unlisted.get(name);
    if (known?.server === server) return known;
    const names = [...this.#aliases.keys(), name];
    const place = { alias: aliasesOf(names, this.#aliases).get(name) ?? name, server };
    this.#unlisted.set(name, place);
    this.#keep(this.#places.all);
    return place;
  }

  #serverNamed(name: string): Server | undefined {
    const { settings, cwd } = this.#terms;
    const id = settings.idOf(name);
    return settings.sees(id) ? this.#context.servers.find(id, cwd) : undefined;
  }

  /** Updates the servers that no list has: they may have changed or gone. */
  #lookAtUnlisted(): void {
    for (const [name, place] of [...this.#unlisted]) {
      const now = this.#serverNamed(name);
      if (now === undefined || this.#places.all.some(({ server }) => server === now)) this.#unlisted.delete(name);
      else place.server = now;
    }
    this.#keep(this.#places.all);
  }

  get pending(): PendingRequests {
    return this.#context.pending;
  }

  /** The definitions of the bridge's own tools, beside the replacing ones. */
  get ownItems(): readonly ListedItem[] {
    return [...(this.#own?.items ?? []), ...(this.#also?.items ?? [])];
  }

  /** The lists of the view as this client sees them. */
  listsFor(session: Session): JoinedLists {
    return new JoinedLists({
      session,
      places: () => this.#places,
      placeNamed: (name) => this.#placeNamed(name),
      ownTools: this.ownItems,
      longestName: this.#context.limits.maxToolNameLength,
      looks: this.#context.looks,
      clock: this.#context.clock,
    });
  }

  join(session: Session, marks: ClientMarks | undefined): void {
    this.#clients.join(session, marks);
  }

  initializeAnswer(session: Session): Promise<InitializeAnswer> {
    const { servers } = this.listsFor(session);
    const joined = joinedCapabilities(servers.map(({ profile }) => profile));
    const capabilities = this.#own?.hasResources === true ? { ...joined, resources: joined.resources ?? {} } : joined;
    return Promise.resolve({
      of: 'bridge',
      capabilities: this.#instead === undefined ? capabilities : { ...capabilities, tools: { listChanged: true } },
      instructions: this.#instructions(servers),
    });
  }

  #instructions(servers: readonly JoinedServer[]) {
    if (this.#places.all.length === 0) return `There is no server yet. ${this.#context.servers.origin}`;
    return this.#instead === undefined
      ? joinedInstructions(servers)
      : this.#instead.instructions(servers.map(({ name }) => name));
  }

  submit(session: Session, request: ClientRequest, envelope: Envelope): void {
    switch (request.role) {
      case 'call':
        if (this.#own?.call(session, request, envelope) === true) return;
        if (this.#also?.call(session, request, envelope) === true) return;
        if (this.#instead?.call(session, request, envelope) === true) return;
        return this.#call(session, 'tools', request, envelope);
      case 'get-prompt':
        return this.#call(session, 'prompts', request, envelope);
      case 'list':
        return this.#list(session, request, envelope);
      case 'read':
        if (this.#own?.readResource(session, request, envelope) === true) return;
        return this.#resourcesFor(session).submit(request, envelope);
      case 'subscribe':
      case 'unsubscribe':
        return this.#resourcesFor(session).submit(request, envelope);
      case 'complete': {
        const parts = { lists: this.listsFor(session), resources: this.#resourcesFor(session), pending: this.pending };
        return new JoinedCompletions(session, parts).submit(request, envelope);
      }
      case 'set-level':
        return this.#setLevel(session, request, envelope);
      case 'task':
      case 'task-result':
        return this.#ofTask(session, request, envelope);
      case 'list-tasks':
        return listTasks(session, this.pending, request, envelope);
      case 'other':
        return refuse(session, request, envelope, rpcError(METHOD_NOT_FOUND, 'Method not found'));
    }
  }

  #resourcesFor(session: Session): JoinedResources {
    return new JoinedResources(this.listsFor(session), this.pending);
  }

  #call(session: Session, kind: 'tools' | 'prompts', request: ClientRequest, envelope: Envelope): void {
    const { b } = request.frame;
    const text = envelope.has(Field.name) ? envelope.raw(b, Field.name) : '';
    const target = this.#targets[kind].get(text);
    if (target === undefined || target.server.pagesFor(session, kind) !== target.pages)
      this.#callUnlisted(session, kind, request, envelope);
    else callTarget(session, target, request, envelope);
  }

  #callUnlisted(session: Session, kind: 'tools' | 'prompts', request: ClientRequest, envelope: Envelope): void {
    const name = envelope.decode(request.frame.b, Field.name);
    if (typeof name !== 'string')
      return refuse(session, request, envelope, rpcError(INVALID_PARAMS, 'params.name is missing'));
    const lists = this.listsFor(session);
    const known = lists.find(kind, name);
    const found = known ?? lists.staleOwnerOf(kind, name);
    if (found === undefined)
      return refuse(session, request, envelope, calledErrorOf(withHint(lists.notFound(kind, name))));
    if ('ownKey' in found) {
      const { server } = found.joined;
      const target = { server, pages: found.joined.pagesOf(kind) ?? [], ownKey: found.ownKey };
      const text = envelope.raw(request.frame.b, Field.name);
      // Names with escapes are not cached: each name has too many spellings.
      if (!text.includes('\\')) this.#targets[kind].set(text, target);
      return callTarget(session, target, request, envelope);
    }
    const role = kind === 'tools' ? 'call' : 'get-prompt';
    const plan = namedPlan(role, envelope.has(Field.task), calledErrorOf, role === 'call' ? 'all' : undefined);
    const call = this.pending.open(session, request, envelope, plan);
    if (call === undefined) return;
    const learning = known === undefined ? lists.askAgain(found, kind) : lists.learn(found, kind);
    this.pending.later(call, request, learning, (kept) => {
      const target = lists.find(kind, name);
      if (target === undefined || !('ownKey' in target)) throw withHint(lists.notFound(kind, name));
      this.pending.give(call, kept, target.joined.binding.use(), target.ownKey);
    });
  }

  #list(session: Session, request: ClientRequest, envelope: Envelope): void {
    const [kind] = session.era.methods.of(request.frame.b, envelope).lists;
    if (kind === 'tools' && this.#instead !== undefined) return this.#listInstead(session, request, envelope);
    const call = this.pending.open(session, request, envelope);
    if (call === undefined || kind === undefined) return;
    const cursor = cursorIn(request.frame, envelope);
    const lists = this.listsFor(session);
    if (lists.isKnown(kind)) return this.#answerList(call, lists, kind, cursor);
    this.#clients.mark(session).lookedMs = this.#context.clock.now();
    this.pending.later(call, request, lists.whenListed(kind), () => this.#answerList(call, lists, kind, cursor));
  }

  #listInstead(session: Session, { frame }: ClientRequest, envelope: Envelope): void {
    const items = [...(this.#instead?.items ?? []), ...this.ownItems];
    if (session.view === this) this.#readInstead.add(session);
    session.output.answerList(envelope.raw(frame.b, Field.id), LISTS.tools.member, { items, nextCursor: undefined });
  }

  #answerList(call: Call, lists: JoinedLists, kind: ListKind, cursor: unknown): void {
    const page = lists.page(kind, cursor);
    if (page === undefined) return this.pending.refuse(call, NO_SUCH_CURSOR);
    this.#clients.mark(call.session).read.add(kind);
    const terms = (): CachingTerms => joinedTerms(this.servers().map((server) => server.termsFor(call.session, kind)));
    this.pending.answer(call, () => call.output.answerList(call.idText, LISTS[kind].member, page, terms));
  }

  ownToolsChanged(): void {
    const names = namesOf(this.ownItems);
    if (names === this.#ownNames) return;
    this.#ownNames = names;
    if (this.#instead === undefined) return this.listChanged('tools', () => true);
    for (const session of this.#clients.all())
      if (session.state === 'ready') session.output.listChanged('tools', this.#readInstead.delete(session));
  }

  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void {
    if (kind === 'tools' || kind === 'prompts') this.#targets[kind].clear();
    // With a tool set, the servers of the other lists depend on these tools.
    const isOfSet = kind === 'tools' && this.#terms.settings.toolset !== undefined;
    // The replacing tools stay the same.
    for (const changed of isOfSet ? LIST_KINDS : [kind])
      if (changed !== 'tools' || this.#instead === undefined) this.#clients.listChanged(changed, concerns);
  }

  outwardUri(session: Session, instance: Instance, uri: string): string {
    const lists = this.listsFor(session);
    const unlisted = [...this.#unlisted.values()].map((place) => new JoinedServer(session, place));
    const joined = [...lists.servers, ...unlisted].find((one) => one.instance === instance);
    return joined === undefined ? '' : new JoinedResources(lists, this.pending).outwardUri(joined, uri);
  }

  endSubscription(session: Session, uri: string): void {
    this.#resourcesFor(session).endSubscription(uri);
  }

  #setLevel(session: Session, request: ClientRequest, envelope: Envelope): void {
    const { level } = paramsOf(request.frame, envelope);
    if (typeof level !== 'string' || !isLevel(level))
      return refuse(session, request, envelope, rpcError(INVALID_PARAMS, 'params.level is none of the protocol’s'));
    this.#clients.mark(session).level = level;
    for (const server of this.#servers) server.bindings.get(session)?.tellLevel();
    session.output.answer(envelope.raw(request.frame.b, Field.id), '{}');
  }

  levelFor(session: Session): string | undefined {
    return this.#clients.marksOf(session)?.level;
  }

  taskPlace(session: Session, taskId: string): TaskPlace | undefined {
    const alias = aliasIn(taskId);
    const place = alias === undefined ? undefined : this.#places.byAlias.get(alias);
    return place?.server.placeOfTask(session, taskId.slice(joinedTaskId(place.alias, '').length));
  }

  outwardTaskId({ server: name }: Instance, taskId: string): string {
    const place = [...this.#places.byAlias.values()].find(({ server }) => server.name === name);
    return place === undefined ? '' : joinedTaskId(place.alias, taskId);
  }

  #ofTask(session: Session, request: ClientRequest, envelope: Envelope): void {
    if (!session.era.hasHandshake) return askForTask(session, this, this.pending, request, envelope);
    const instance = session.tasks.get(textOf(envelope.decode(request.frame.b, Field.taskId)));
    if (instance === undefined)
      return refuse(session, request, envelope, rpcError(INVALID_PARAMS, 'There is no such task of this client'));
    const call = openCall(session, request, envelope, instance, taskPlanIn(request.role, envelope, this.name));
    if (call !== undefined) instance.submit(call, request.frame, envelope);
  }

  listsToldChanged(): void {
    // The client is notified later, when the lists were read.
  }

  notify(session: Session, { b, start, end }: Frame): void {
    for (const server of this.#servers) server.instanceOf(session)?.notify(session, b, start, end);
  }

  rootsChanged(session: Session, frame: Frame): void {
    for (const server of this.#servers) server.bindings.get(session)?.rootsChanged(frame);
  }

  sees(server: Server): boolean {
    return this.#servers.has(server);
  }

  servers(): readonly Server[] {
    return this.#places.all.map(({ server }) => server);
  }

  usable(): Iterable<Server> {
    return this.#servers;
  }

  serversChanged(settings: ClientSettings, each: (session: Session, follow: () => void) => void): void {
    this.#terms = { cwd: this.#terms.cwd, settings };
    this.#instead?.serversChanged(); // the same servers may have new names
    const before = this.servers();
    const now = serversFor(this.#terms, this.#context.servers);
    const areListedAlike = before.length === now.length && before.every((server, i) => server === now[i]);
    const seenBefore = [...this.#servers];
    if (!areListedAlike) this.#place(now);
    if (this.#unlisted.size > 0) this.#lookAtUnlisted();
    const seen = [...this.#servers];
    if (seenBefore.length !== seen.length || !seenBefore.every((server) => this.#servers.has(server)))
      for (const session of this.#clients.all()) each(session, () => followServers(session, seenBefore, seen));
    if (areListedAlike) return;
    for (const kind of LIST_KINDS) this.listChanged(kind, () => true);
  }

  /** Drops bindings that were only used for a look. */
  tick(session: Session, nowMs: number): void {
    const marks = this.#clients.marksOf(session);
    if (marks === undefined || marks.lookedMs === 0 || nowMs - marks.lookedMs < LOOK_MS) return;
    marks.lookedMs = 0;
    for (const server of this.#servers) {
      const binding = server.bindings.get(session);
      if (binding?.isUsed === false) binding.unbind();
    }
  }

  leave(session: Session): ClientMarks | undefined {
    this.#readInstead.delete(session);
    return this.#clients.leave(session);
  }

  close(): void {
    for (const server of this.#servers) server.notShownIn(this);
  }
}

function refuse(session: Session, { frame }: ClientRequest, envelope: Envelope, error: string): void {
  session.output.fail(envelope.raw(frame.b, Field.id), error);
}

function callTarget(session: Session, target: NamedTarget, request: ClientRequest, envelope: Envelope): void {
  const instance = target.server.bindingFor(session).use();
  const call = openCall(session, request, envelope, instance, planInAll(request.role, envelope));
  if (call === undefined) return;
  call.nameText = target.ownKey;
  instance.submit(call, request.frame, envelope);
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
 * Completes arguments in a joined view: asks the server that has the prompt or resource, under the server's own name.
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
    const call = this.#pending.open(this.#session, request, envelope);
    if (call === undefined) return;
    const learning = this.#learn(ref);
    if (learning === undefined) this.#pass(call, request, ref);
    else this.#pending.later(call, request, learning, (kept) => this.#passKept(call, kept));
  }

  /** Asks the servers that may have the reference; undefined if their lists are known. */
  #learn({ kind, key }: CompletionRef): Promise<void> | undefined {
    if (kind === 'resource') return this.#resources.learn();
    const found = this.#lists.find('prompts', key);
    return found !== undefined && !('ownKey' in found) ? this.#lists.learn(found, 'prompts') : undefined;
  }

  #passKept(call: Call, kept: ClientRequest): void {
    const ref = refIn(kept.frame, this.#pending.read(call.session, kept.frame));
    if (ref !== undefined) this.#pass(call, kept, ref);
    else this.#pending.refuse(call, NO_SUCH_REF);
  }

  #pass(call: Call, request: ClientRequest, ref: CompletionRef): void {
    const target = this.#targetOf(ref);
    if (target === undefined) return this.#pending.refuse(call, NO_SUCH_REF);
    const frame = changedFrame(request.frame, ref.span, JSON.stringify(target.key));
    this.#pending.give(call, { ...request, frame }, target.joined.binding.use());
  }

  #targetOf({ kind, key }: CompletionRef): { readonly joined: JoinedServer; readonly key: string } | undefined {
    if (kind === 'resource') {
      const place = this.#resources.likeliestPlace(key);
      return place === undefined ? undefined : { joined: place.joined, key: place.uri };
    }
    const found = this.#lists.find('prompts', key);
    if (found === undefined || !('ownKey' in found)) return undefined;
    return { joined: found.joined, key: JSON.parse(Buffer.from(found.ownKey, 'latin1').toString()) as string };
  }
}

/** The maximum number of characters compared for all templates of one list: some milliseconds. */
export const MOST_TEMPLATE_STEPS = 2_000_000;
/** The cost of a template whose beginning already differs from the URI. */
const STEPS_EACH = 32;

/**
 * Decides if a URI may come from one of a list's templates (RFC 6570): the literals between the variables must occur in
 * order. A wrong yes does no harm, because it only decides which server is asked first. Templates are parsed on first
 * use.
 */
export class TemplateSet {
  readonly #templates: Iterable<string>;
  #literals: (readonly string[])[] | undefined;
  /** The steps that the last `fits` took. */
  steps = 0;

  constructor(templates: Iterable<string>) {
    this.#templates = templates;
  }

  /** True if a template fits. False if the search would take too long; then all servers are asked in turn. */
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
  readonly joined: JoinedServer;
  /** The server's own URI of the resource. */
  readonly uri: string;
}

/**
 * The resources of a joined view. A URI belongs to the server that lists it or has a template for it. Otherwise any
 * server may have it, because a server need not list everything that its tools mention.
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
    const call = this.#pending.open(
      this.#lists.session,
      request,
      envelope,
      resourcePlan(request.role, search, isNamed),
    );
    if (call === undefined) return;
    if (typeof uri !== 'string') return this.#pending.refuse(call, rpcError(INVALID_PARAMS, 'params.uri is missing'));
    const { isCertain } = candidatesFor(uri, this.#lists);
    const learning = isCertain ? undefined : this.learn();
    if (learning === undefined) return search.begin(call, request, this.#placesFor(uri, request));
    this.#pending.later(call, request, learning, (kept) => search.begin(call, kept, this.#placesFor(uri, kept)));
  }

  /** Asks all servers whose resources are unknown; undefined if all are known. */
  learn(): Promise<void> | undefined {
    if (this.#lists.isKnown('resources') && this.#lists.isKnown('templates')) return undefined;
    return this.#lists.whenListed('resources').then(() => this.#lists.whenListed('templates'));
  }

  /**
   * The client's URI for a server's resource, or the URI that the client has subscribed to; '' if it is the server's
   * own.
   */
  outwardUri(joined: JoinedServer, uri: string): string {
    const { instance, session } = joined;
    const isNamed = instance?.sharedSettings.subscriptions.isNamed(session, uri) === true;
    const owner = this.#lists.ownerOf('resources', uri);
    const isOwn = isPage(uri) || owner === undefined || owner === joined;
    return isOwn && !isNamed ? '' : this.#lists.outward(joined, uri);
  }

  /** Ends a subscription at the server that holds it. That may not be the server that lists the resource now. */
  endSubscription(uri: string): void {
    const named = this.#lists.inward(uri);
    const places = named === undefined ? this.#lists.servers.map((joined) => ({ joined, uri })) : [named];
    for (const { joined, uri: own } of places) {
      const subscriptions = joined.instance?.sharedSettings.subscriptions;
      if (subscriptions?.isNamed(joined.session, own) === (named !== undefined)) subscriptions.end(joined.session, own);
    }
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

/** The servers that may have one resource. Each is asked after the one before has refused. */
class ResourceSearch implements OtherServers {
  readonly #lists: JoinedLists;
  readonly #pending: PendingRequests;
  /** The request as the last server got it, and the servers that are left. */
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

  /** Asks the first of these servers. If a server lists the resource, only that one is asked. */
  begin(call: Call, request: ClientRequest, [place, ...places]: readonly ResourcePlace[]): void {
    const envelope = this.#pending.read(call.session, request.frame);
    if (place === undefined) {
      const uri = textOf(envelope.decode(request.frame.b, Field.uri));
      return this.#pending.refuse(call, rpcErrorOf(this.#lists.noSuchResource(uri)));
    }
    const frame = changedFrame(request.frame, envelope.span(Field.uri), JSON.stringify(place.uri));
    this.#next = places.length === 0 ? undefined : { call, request, places };
    this.#pending.give(call, { ...request, frame }, place.joined.binding.use());
  }

  askNext(): void {
    if (this.#next === undefined) return;
    const { call, request, places } = this.#next;
    this.#pending.later(call, request, Promise.resolve(), (kept) => this.begin(call, kept, places));
  }
}

/** The servers that may have the resource, likeliest first; certain if a server lists it. */
function candidatesFor(uri: string, lists: JoinedLists): { found: readonly ResourcePlace[]; isCertain: boolean } {
  const named = lists.inward(uri);
  if (named !== undefined) return { found: [{ joined: named.joined, uri: named.uri }], isCertain: true };
  if (isPage(uri)) return { found: pagePlaces(uri, lists), isCertain: false };
  const owner = lists.ownerOf('resources', uri) ?? lists.ownerOf('templates', uri);
  if (owner !== undefined) return { found: [{ joined: owner, uri }], isCertain: true };
  const having = lists.servers.filter(({ profile }) => profile?.declares('resources') === true);
  const matching = having.filter((joined) => hasTemplateFor(uri, joined, lists));
  const others = having.filter((joined) => !matching.includes(joined));
  return { found: [...matching, ...others].map((joined) => ({ joined, uri })), isCertain: false };
}

/**
 * The one server that has a page, if the client names the page without its server. A page acts for the user, so no page
 * of another server may take its place: if several servers may have it, none is asked.
 */
function pagePlaces(uri: string, lists: JoinedLists): readonly ResourcePlace[] {
  const having = lists.servers.filter(({ profile }) => profile?.declares('resources') === true);
  const listing = having.filter(
    (joined) => lists.partOf(joined, 'resources')?.has(uri) === true || hasTemplateFor(uri, joined, lists),
  );
  const places = listing.length === 0 ? having : listing;
  return places.length === 1 ? places.map((joined) => ({ joined, uri })) : [];
}

/**
 * The servers where the client has subscribed, or else all: a server may confirm the end of a subscription that it
 * never had.
 */
function subscribedAmong(places: readonly ResourcePlace[]): readonly ResourcePlace[] {
  const found = places.filter(
    ({ joined, uri }) => joined.instance?.sharedSettings.subscriptions.has(joined.session, uri) === true,
  );
  return found.length === 0 ? places : found;
}

const templates = new WeakMap<JoinedPart, TemplateSet>();

function hasTemplateFor(uri: string, joined: JoinedServer, lists: JoinedLists): boolean {
  const part = lists.partOf(joined, 'templates');
  if (part === undefined) return false;
  const set = templates.get(part) ?? new TemplateSet(part.keys());
  templates.set(part, set);
  return set.fits(uri);
}

/** The assumption for a server that has never run. The bridge can honour it whatever the server turns out to have. */
const ASSUMED = { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {}, completions: {}, tasks: {} };

/**
 * The capabilities of all servers together, for the answer to `initialize`. An unknown server's profile is undefined.
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

/** The extensions of all servers. If several declare the same one, the first server's settings count. */
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
