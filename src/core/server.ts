// One server by name: which client uses which of its instances, and when another instance is needed. It never starts or
// ends an instance itself; a Runner does.

import type { ClientSettings } from '../model/client-settings.ts';
import type { ServerDefinition, Sharing } from '../model/server-definition.ts';
import { type SharingTerms, sharingOf } from '../model/sharing.ts';
import type { ToolGate } from '../model/tool-gate.ts';
import { LISTS, type ListKind } from '../protocol/era.ts';
import type { ClientCapabilities } from '../protocol/initialize.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { MoveResult } from './call-table.ts';
import type { ServerReach } from './events.ts';
import { Faults } from './faults.ts';
import { Instance, type InstanceContext, type InstancePorts } from './instance.ts';
import { type InstanceKey, NO_ROOTS_KEY, ROOTS_IN_DOUBT } from './instance-key.ts';
import type { ListChange } from './lists.ts';
import { joinedTerms, termsAfter, toolPagesFor2026 } from './lists-for-2026.ts';
import type { CachingTerms, KnownServer, ListPage, ServerProfile } from './server-knowledge.ts';
import type { Session } from './session.ts';
import type { TaskPlace } from './view.ts';

export interface ServerOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'description' | 'timeoutMs' | 'trustHints'> &
    SharingTerms &
    ServerReach;
  readonly known: KnownServer;
  readonly gate: ToolGate;
  /** The tool rules for a client with these settings; undefined if they are the same as for all clients. */
  readonly gateOf?: ((settings: ClientSettings) => ToolGate | undefined) | undefined;
  readonly context: InstanceContext;
  /** Makes the runner that starts and ends an instance. */
  readonly makeRunner: (instance: Instance) => Runner;
}

export interface Runner {
  readonly start: () => void;
  readonly usersChanged: (users: number) => void;
  /** Ends the instance because nobody uses it. It can be started again. */
  readonly vacate: () => void;
  /** Ends the instance after a fault of the bridge; everybody who waits for it gets an error. */
  readonly broken: (error: unknown) => void;
  /** Ends the instance for good. */
  readonly retire: () => void;
}

/** A view, which must know of changed lists. */
export interface ListWatcher {
  /** Called when a list of this server has changed for the clients for which `concerns` returns true. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void;
}

interface GateOf {
  readonly settings: ClientSettings;
  readonly gate: ToolGate;
}

/** Instances that are never started: clients wait there until their roots are known. */
const awaitingRoots = new WeakSet<Instance>();

/**
 * A server that the bridge knows by name, with its instances and the bindings of its clients. There may be thousands: what most of them never
 * need is made when they do.
 */
export class Server {
  readonly name: string;
  readonly description: string;
  readonly known: KnownServer;
  #gate: ToolGate;
  /** The gate of the client that asked first, and its settings: nearly all clients have the same. */
  #firstGate: GateOf | undefined;
  #gates: WeakMap<ClientSettings, ToolGate> | undefined;
  readonly #options: ServerOptions;
  #runners: Map<Instance, Runner> | undefined;
  #bindings: Map<Session, Binding> | undefined;
  /** The views that show the server. */
  #views: Set<ListWatcher> | undefined;
  /** True after a joined list was made without this server, because it had not answered. */
  isLeftOut = false;
  /** The instance that goes on without its client until it has listed its tools. */
  #learner: Instance | undefined;

  constructor(options: ServerOptions) {
    this.name = options.definition.name;
    this.description = options.definition.description;
    this.known = options.known;
    this.#gate = options.gate;
    this.#options = options;
  }

  /** True if it runs on another host. */
  get isElsewhere(): boolean {
    return this.#options.definition.transport === 'bus';
  }

  get sharing(): Sharing {
    return sharingOf(this.#options.definition, this.known.declaredSharing);
  }

  /** The tool rules that apply without a client. */
  get gate(): ToolGate {
    return this.#gate;
  }

  /** Replaces the rules, for all clients. */
  set gate(gate: ToolGate) {
    this.#gate = gate;
    this.#gates = this.#firstGate = undefined;
  }

  gateFor({ settings }: Session): ToolGate {
    if (this.#firstGate?.settings === settings) return this.#firstGate.gate;
    const known = this.#gates?.get(settings);
    if (known !== undefined) return known;
    const gate = this.#options.gateOf?.(settings) ?? this.#gate;
    if (this.#firstGate === undefined) this.#firstGate = { settings, gate };
    else this.#gates = (this.#gates ?? new WeakMap<ClientSettings, ToolGate>()).set(settings, gate);
    return gate;
  }

  /** The binding of each client that has used the server. */
  get bindings(): ReadonlyMap<Session, Binding> {
    return this.#bindings ?? NO_BINDINGS;
  }

  /** Keeps a client's binding. For `Binding` alone. */
  keep(binding: Binding): void {
    this.#bindings ??= new Map();
    this.#bindings.set(binding.session, binding);
  }

  /** Forgets a client's binding. For `Binding` alone. */
  forget({ session }: Binding): void {
    this.#bindings?.delete(session);
  }

  /** A view shows the server from now on. */
  shownIn(view: ListWatcher): void {
    this.#views ??= new Set();
    this.#views.add(view);
  }

  /** A view shows the server no more. */
  notShownIn(view: ListWatcher): void {
    this.#views?.delete(view);
  }

  /** The client's binding, made on first use. Throws if the client has gone, or no longer sees the server. */
  bindingFor(session: Session): Binding {
    const known = this.bindings.get(session);
    if (known !== undefined) return known;
    if (!session.isOpen) throw new BridgeError('REQUEST_REFUSED', 'The client has gone');
    if (session.view?.sees(this) !== true) throw notOffered(this.name);
    const binding = new Binding(session, this);
    this.keep(binding);
    return binding;
  }

  /** The instance that the client uses, if any. */
  instanceOf(session: Session): Instance | undefined {
    return this.bindings.get(session)?.instance;
  }

  /**
   * The place to ask about a task of 2026; undefined if it is not the client's user's task, or the server has no such
   * tasks.
   */
  placeOfTask(session: Session, taskId: string): TaskPlace | undefined {
    const found = this.#options.context.ownedTasks.find(session, this, taskId);
    if (found === 'another') return undefined;
    if (found !== 'nobody') return { instance: found, taskId, isKnown: true };
    if (!session.isOpen || session.view?.sees(this) !== true) return undefined;
    const instance = this.bindingFor(session).use();
    const isOf2025 = instance.protocolVersion !== undefined && instance.era.hasHandshake;
    return isOf2025 ? undefined : { instance, taskId, isKnown: false };
  }

  /** The server's profile for this client, if it is known. */
  profileFor(session: Session): ServerProfile | undefined {
    return this.instanceOf(session)?.profile ?? this.known.profileFor(this.keyFor(session));
  }

  /** The server's list as this client sees it; undefined until known. */
  pagesFor(session: Session, kind: ListKind): readonly ListPage[] | undefined {
    return asShownTo(session, kind, this.#pagesFor(session, kind));
  }

  #pagesFor(session: Session, kind: ListKind): readonly ListPage[] | undefined {
    const instance = this.instanceOf(session);
    const profile = instance?.profile ?? this.known.profileFor(this.keyFor(session));
    if (profile === undefined) return undefined;
    if (!profile.declares(LISTS[kind].capability)) return [];
    return instance?.lists.pagesOf(kind) ?? this.known.pagesFor(profile, kind, this.keyFor(session));
  }

  /**
   * The last known list of the server, for people and models who browse: no process is started for that. The list may
   * be old if the server cannot be started; a dedicated server may have listed it for another client.
   */
  lastPagesFor(session: Session, kind: ListKind): readonly ListPage[] | undefined {
    const pages = this.#pagesFor(session, kind);
    const mayBeAnothers = this.isDown || this.sharing === 'dedicated';
    const profile = pages === undefined && mayBeAnothers ? this.known.lastProfileFor(this.keyFor(session)) : undefined;
    const last = profile === undefined ? pages : this.known.pagesFor(profile, kind, this.keyFor(session));
    return asShownTo(session, kind, last);
  }

  /** The caching terms that the client gets for a page, or for the whole list. */
  termsFor(session: Session, kind: ListKind, page?: ListPage): CachingTerms {
    const pages = this.#pagesFor(session, kind) ?? [];
    const ageMs = this.known.ageOf(pages);
    return page === undefined
      ? joinedTerms(pages.map(({ caching }) => termsAfter(caching, ageMs)))
      : termsAfter(page.caching, ageMs);
  }

  get instances(): IterableIterator<Instance> {
    return (this.#runners ?? NO_RUNNERS).keys();
  }

  get #size(): number {
    return this.#runners?.size ?? 0;
  }

  /**
   * Chooses the instance of a client: its current one if that still fits, else one that it may share, a vacant one, or
   * a new one. If the choice depends on roots that are not known, the client waits at an instance that is never
   * started. With `mustStart` it gets an instance that asks for the roots itself.
   */
  instanceFor(session: Session, current?: Instance, mustStart = false): Instance {
    const key = this.keyFor(session);
    if (!this.known.asksForRoots || this.sharing === 'shared')
      return this.#instanceWith({ ...key, rootsKey: undefined }, current);
    if (key.rootsKey !== undefined) return this.#instanceWith(key, current);
    if (!mustStart) return this.#unstarted();
    return this.#vacant(key) ?? this.#make(key);
  }

  /** The instance key that this client needs, from what is known so far. */
  keyFor(session: Session): InstanceKey<Session> {
    const owner = this.sharing === 'dedicated' ? session : undefined;
    const rootsKey = session.canBeAsked('roots') ? session.roots.key : NO_ROOTS_KEY;
    return { capabilities: session.capabilities, rootsKey, owner };
  }

  /** The instance for requests of the bridge: a running one, else one for a client without capabilities. */
  ownInstance(): Instance {
    for (const instance of this.instances) if (instance.isOpen) return instance;
    const rootsKey = this.known.asksForRoots ? NO_ROOTS_KEY : undefined;
    return this.#instanceWith({ capabilities: {}, rootsKey, owner: undefined }, undefined);
  }

  /** True while an instance runs. */
  get isOpen(): boolean {
    return [...this.instances].some(({ isOpen }) => isOpen);
  }

  /** True while the first instance starts. */
  get isStarting(): boolean {
    return !this.isOpen && [...this.instances].some(({ isStarting }) => isStarting);
  }

  /** True if no instance runs because the last start failed. */
  get isDown(): boolean {
    return !this.isOpen && [...this.instances].some(({ hasFailed }) => hasFailed);
  }

  #instanceWith(wanted: InstanceKey<Session>, current: Instance | undefined): Instance {
    if (current !== undefined && this.#fits(current, wanted)) return current;
    for (const instance of this.instances) if (this.#fits(instance, wanted)) return instance;
    return this.#vacant(wanted) ?? this.#make(wanted);
  }

  #fits(instance: Instance, wanted: InstanceKey<Session>): boolean {
    const { key } = instance;
    if (this.#runners?.has(instance) !== true || key.owner !== wanted.owner) return false;
    if (this.sharing === 'shared') return true;
    if (!this.#suits(instance, wanted.capabilities)) return false;
    return wanted.rootsKey === undefined || this.#sameRoots(instance, wanted.rootsKey);
  }

  /** True if a client with these capabilities may use the instance. If each request names them, every client may. */
  #suits({ era, key }: Instance, capabilities: ClientCapabilities): boolean {
    return !era.hasHandshake || this.known.suits(key.capabilities, capabilities);
  }

  /** True if the instance has these roots. An unused instance that has not asked yet accepts any roots. */
  #sameRoots(instance: Instance, rootsKey: string): boolean {
    const { key } = instance;
    if (key.rootsKey === rootsKey) return true;
    if (key.rootsKey !== undefined || instance.sessions.size > 0) return false;
    key.rootsKey = rootsKey;
    return true;
  }

  #vacant(wanted: InstanceKey<Session>): Instance | undefined {
    for (const instance of this.instances) {
      if (!instance.isVacant) continue;
      Object.assign(instance.key, wanted);
      return instance;
    }
    return undefined;
  }

  #make(key: InstanceKey<Session>): Instance {
    const { definition, known, context, makeRunner } = this.#options;
    if (this.#size >= context.limits.maxInstancesPerServer) this.#retireUnused();
    let runner: Runner | undefined;
    const instance: Instance = new Instance({
      definition,
      known,
      gate: (session) => this.gateFor(session),
      key,
      context,
      ports: {
        start: () => runner?.start(),
        usersChanged: (users) => this.#usersChanged(instance, users),
        declared: () => this.#declared(instance),
        divide: (staying) => this.#divide(instance, staying),
        broken: (error) => this.#onBroken(instance, error),
        contended: (session) => this.#contended(instance, session),
        listLearnt: (kind, change) => this.#listLearnt(instance, kind, change),
      },
    });
    runner = makeRunner(instance);
    this.#runners = (this.#runners ?? new Map<Instance, Runner>()).set(instance, runner);
    return instance;
  }

  #unstarted(): Instance {
    const nothing = (): void => undefined;
    const { definition, known, context } = this.#options;
    const ports: InstancePorts = {
      start: nothing,
      usersChanged: nothing,
      declared: nothing,
      divide: nothing,
      broken: (error) => this.#onBroken(unstarted, error),
      contended: () => 'shared',
      listLearnt: nothing,
    };
    const key = { capabilities: {}, rootsKey: undefined, owner: undefined };
    const gate = (session: Session): ToolGate => this.gateFor(session);
    const unstarted: Instance = new Instance({ definition, known, gate, key, ports, context });
    awaitingRoots.add(unstarted);
    return unstarted;
  }

  #onBroken(instance: Instance, error: unknown): void {
    new Faults(this.#options.context).note('an instance could not be served', error, { server: this.name });
    this.#runners?.get(instance)?.broken(error);
  }

  isAwaitingRoots(instance: Instance): boolean {
    return awaitingRoots.has(instance);
  }

  /**
   * Called when the server has declared its sharing. If clients cannot share it, one keeps this instance and the others
   * get their own.
   */
  #declared(instance: Instance): void {
    const { key, sessions } = instance;
    const [first] = sessions;
    if (this.sharing !== 'dedicated') key.owner = undefined;
    if (this.sharing !== 'dedicated' || key.owner !== undefined || first === undefined) return;
    key.owner = first;
    for (const binding of [...this.bindings.values()])
      if (binding.instance === instance && binding.session !== first) binding.rebind();
  }

  /**
   * Moves all clients but one to other instances. First all of them wait at instances that are never started, so that
   * the first client with known roots gets the vacant one.
   */
  #divide(instance: Instance, staying: Session | undefined): void {
    const leaving = [...this.bindings.values()].filter(
      (binding) => binding.instance === instance && binding.session !== staying,
    );
    for (const binding of leaving) binding.moveTo(this.#unstarted());
    for (const binding of leaving) binding.stopAwaitingRoots();
  }

  #usersChanged(instance: Instance, users: number): void {
    // A busy instance ends later, when it is done or idle.
    const isLeft = users === 0 && instance.key.owner !== undefined && !instance.isBusy;
    if (isLeft && !this.#learnsFirst(instance)) return this.#retire(instance);
    this.#runners?.get(instance)?.usersChanged(users);
  }

  /**
   * Lets an instance that its only client has left go on until it has listed its tools, if nobody knows them yet.
   * Otherwise clients that leave sooner than the server starts would never learn them. One instance does this at a time.
   */
  #learnsFirst(instance: Instance): boolean {
    if (this.#learner === instance) return true;
    if (this.#learner !== undefined || !this.known.outlivesServer || this.known.hasTools) return false;
    if (!instance.isOpen && !instance.isStarting) return false;
    this.#learner = instance;
    void this.#learn(instance);
    return true;
  }

  async #learn(instance: Instance): Promise<void> {
    try {
      await instance.whenOpen();
      await instance.lists.whenListed();
    } catch {
      // `status` shows why it cannot be started; the next client has it tried again.
    }
    if (this.#learner !== instance) return;
    this.#learner = undefined;
    if (instance.sessions.size === 0 && instance.key.owner !== undefined && !instance.isBusy) this.#retire(instance);
  }

  #retire(instance: Instance): void {
    if (this.#learner === instance) this.#learner = undefined;
    const runner = this.#runners?.get(instance);
    this.#runners?.delete(instance);
    runner?.retire();
  }

  /**
   * Called when a client has read the lists and wants nothing else now. If nobody used the connection for more, it ends
   * once all lists are read.
   */
  async endLook(session: Session): Promise<void> {
    const binding = this.bindings.get(session);
    const instance = binding?.instance;
    if (binding === undefined || instance === undefined || !this.known.outlivesServer) return;
    await instance.lists.whenListed();
    if (binding.isUsed || binding.instance !== instance) return;
    binding.unbind();
    const isOnlyLookedAt = instance.requestsSent === 0 && instance.sessions.size === 0;
    if (isOnlyLookedAt && instance.isDone) this.#runners?.get(instance)?.vacate();
  }

  /** True if a client sees the server, or has used it. */
  get isSeen(): boolean {
    return (this.#views?.size ?? 0) > 0 || this.bindings.size > 0;
  }

  /** True if nothing is lost by forgetting this server. */
  get isUnused(): boolean {
    return !this.isSeen && [...this.instances].every((instance) => instance.isVacant);
  }

  /**
   * Called when an instance without clients has stopped. One such instance is kept, so that `status` can still
   * show its process; none of a server on another host.
   */
  stopped(instance: Instance): void {
    if ((this.#size > 1 || this.isElsewhere) && instance.isVacant) this.#retire(instance);
  }

  /** Makes room by ending an instance that no client uses. */
  #retireUnused(): void {
    for (const instance of this.instances)
      if (instance.sessions.size === 0 && !instance.isBusy) return this.#retire(instance);
  }

  /** Ends the instances that have nothing left to do; returns true if none remain. */
  retireDone(): boolean {
    for (const instance of [...this.instances]) if (instance.isDone) this.#retire(instance);
    return this.#size === 0;
  }

  /** Gives a client its own instance, within the limit, if it would wait for another client's conversation. */
  #contended(instance: Instance, session: Session): MoveResult {
    if (this.sharing !== 'auto') return 'shared';
    const binding = this.bindings.get(session);
    if (binding?.instance !== instance) return 'full';
    const other = this.#free(instance, session) ?? this.#another(instance.key, session);
    if (other === undefined) return 'full';
    binding.moveTo(other);
    return 'moved';
  }

  #free(busy: Instance, session: Session): Instance | undefined {
    for (const instance of this.instances) {
      if (instance === busy || instance.isEngaged || instance.hasFailed || instance.key.owner !== undefined) continue;
      if (this.#isForSameRoots(instance, busy, session) && this.#suits(instance, session.capabilities)) return instance;
    }
    return undefined;
  }

  #isForSameRoots(instance: Instance, busy: Instance, session: Session): boolean {
    if (!this.known.asksForRoots) return instance.key.rootsKey === busy.key.rootsKey;
    const { rootsKey } = this.keyFor(session);
    return rootsKey !== undefined && this.#sameRoots(instance, rootsKey);
  }

  #another(busy: InstanceKey<Session>, session: Session): Instance | undefined {
    const rootsKey = this.known.asksForRoots ? this.keyFor(session).rootsKey : busy.rootsKey;
    const key = { capabilities: session.capabilities, rootsKey, owner: undefined };
    const vacant = this.#vacant(key);
    if (vacant !== undefined) return vacant;
    const { limits, events } = this.#options.context;
    if (this.#size < limits.maxInstancesPerServer) return this.#make(key);
    events.incident.tell('instancesRefused', this.name);
    return undefined;
  }

  /** Notifies the clients of this instance, and those that see the known list while their own instance does not run. */
  #listLearnt(instance: Instance, kind: ListKind, { wasAnnounced, isFirst }: ListChange): void {
    this.isLeftOut = false;
    this.listChanged(kind, (session) => {
      const used = this.instanceOf(session);
      const seesItAsItIs = session.view?.isTransparent === true;
      if (isFirst && seesItAsItIs) return false; // joined lists left it out before
      return used === instance ? !wasAnnounced || !seesItAsItIs : used?.isOpen !== true;
    });
  }

  /** Notifies the clients that have read the list. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean = () => true): void {
    for (const view of [...(this.#views ?? [])]) view.listChanged(kind, concerns);
  }
}

function asShownTo({ era }: Session, kind: ListKind, pages: readonly ListPage[] | undefined) {
  return era.hasHandshake || kind !== 'tools' || pages === undefined ? pages : toolPagesFor2026(pages);
}

const NO_BINDINGS: ReadonlyMap<Session, Binding> = new Map();
const NO_RUNNERS: ReadonlyMap<Instance, Runner> = new Map();

/** The error for using a server that is no longer offered. */
export function notOffered(server: string): BridgeError {
  return new BridgeError('SERVER_NOT_FOUND', `Server ${server} is not offered any more`, { server });
}

/**
 * One client's use of one server, from the first use on. It is bound to an instance when the client needs one, and
 * moved when another instance fits better.
 */
export class Binding {
  readonly session: Session;
  #server: Server;
  instance: Instance | undefined;
  /** The error for further use. */
  #refusal: BridgeError | undefined;
  isUsed = false;

  /** Only `Server.bindingFor` calls this. */
  constructor(session: Session, server: Server) {
    this.session = session;
    this.#server = server;
  }

  get server(): Server {
    return this.#server;
  }

  /** Binds the client to an instance. The instance need not run, unless it must be started at once. */
  bind(mustStart = false): Instance {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.instance !== undefined) return this.instance;
    const instance = this.server.instanceFor(this.session, undefined, mustStart);
    this.instance = instance;
    instance.attach(this.session);
    this.tellLevel();
    this.stopAwaitingRoots();
    return instance;
  }

  /** Moves to the right instance as soon as the client's roots are known. */
  stopAwaitingRoots(): void {
    if (this.instance !== undefined && this.server.isAwaitingRoots(this.instance))
      this.session.roots.whenKnown(() => this.rebind());
  }

  /** Starts the instance if needed, and resolves when it runs. */
  async whenOpen(): Promise<Instance> {
    if (this.server.isAwaitingRoots(this.bind())) await whenRootsKnown(this.session);
    const instance = this.bind();
    await instance.whenOpen(this.session);
    return instance;
  }

  /** Binds for a call: from now on the instance may hold state of the client. */
  use(): Instance {
    this.isUsed = true;
    return this.instance ?? this.bind();
  }

  /** Ends the binding of a client that has only looked at the server. */
  unbind(): void {
    this.instance?.detach(this.session);
    this.instance = undefined;
  }

  /** Moves to a better instance after something about the client has changed or become known. */
  rebind(): void {
    if (this.instance === undefined || this.#refusal !== undefined) return;
    const better = this.server.instanceFor(this.session, this.instance);
    if (better === this.instance) return;
    this.moveTo(better);
    this.stopAwaitingRoots();
  }

  /** Called when the client announces changed roots. */
  rootsChanged({ b, start, end }: Frame): void {
    const { instance, session } = this;
    if (instance === undefined || !instance.era.hasHandshake) return; // otherwise the server gets the roots in an answer, when it asks
    const isShared = this.server.known.asksForRoots && instance.sessions.size > 1;
    if (isShared) return this.rebind();
    // The server asks for the new roots itself. Until then no other client may join.
    instance.key.rootsKey = ROOTS_IN_DOUBT;
    instance.notify(session, b, start, end);
  }

  moveTo(instance: Instance): void {
    const before = this.instance;
    this.instance = instance;
    before?.handOver(this.session, instance);
  }

  /** Called when the server has a new definition: waiting calls go to the new one. */
  replaceServer(server: Server): void {
    this.server.forget(this);
    this.#server = server;
    server.keep(this);
    this.rebind();
  }

  /** Called when the server is no longer offered. Calls under way are still answered. */
  release(): void {
    this.#refusal = notOffered(this.server.name);
    this.server.forget(this);
    this.instance?.release(this.session, this.#refusal);
    this.instance = undefined;
  }

  /** Tells the server the log level that the client wants from every server. */
  tellLevel(): void {
    const { instance, session } = this;
    const level = session.view?.levelFor(session);
    if (level !== undefined && this.server.profileFor(session)?.declares('logging') !== false)
      instance?.sharedSettings.levels.set(session, level);
  }

  leave(): void {
    this.#refusal = new BridgeError('REQUEST_REFUSED', 'The client has gone');
    this.server.forget(this);
    this.unbind();
  }
}

export function whenRootsKnown({ roots }: Session): Promise<void> {
  return new Promise((resolve) => roots.whenKnown(resolve));
}

/** Updates a client's bindings after its set of servers has changed. */
export function followServers(session: Session, before: readonly Server[], now: readonly Server[]): void {
  const byName = new Map(now.map((server) => [server.name, server]));
  for (const server of before) {
    const binding = server.bindings.get(session);
    const next = byName.get(server.name);
    if (next === undefined) binding?.release();
    else if (next !== server) binding?.replaceServer(next);
  }
}
