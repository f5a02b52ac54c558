// A server that the bridge knows by name, and its instances: which client uses which of them, and when there has to be
// another one. What an instance is, and how one is started, is the business of whoever makes them.

import type { ServerDefinition, Sharing } from '../model/server-definition.ts';
import { LIST_KINDS, LISTS, type ListKind } from '../protocol/era-2025.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { MoveResult } from './call-table.ts';
import type { ClientSettings } from './client-settings.ts';
import { Faults } from './faults.ts';
import { Instance, type InstanceContext, type InstanceKey, type InstancePorts } from './instance.ts';
import { NO_ROOTS_KEY, ROOTS_IN_DOUBT } from './roots.ts';
import type { KnownServer, ListPage, ServerProfile } from './server-knowledge.ts';
import type { Session } from './session.ts';
import { type SharingTerms, sharingOf } from './sharing.ts';
import type { ToolGate } from './tool-gate.ts';

export interface ServerOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'description' | 'timeoutMs' | 'trustHints'> & SharingTerms;
  readonly known: KnownServer;
  readonly gate: ToolGate;
  /** The tools a client with these settings may use; undefined if they are the same as for everybody. */
  readonly gateOf?: ((settings: ClientSettings) => ToolGate | undefined) | undefined;
  readonly context: InstanceContext;
  /** Makes what starts and ends an instance. */
  readonly makeRunner: (instance: Instance) => Runner;
}

export interface Runner {
  readonly start: () => void;
  readonly usersChanged: (users: number) => void;
  /** An error of ours over it: it is ended, and whoever waits for it gets an error. */
  readonly broken: (error: unknown) => void;
  /** Nobody will use it any more. */
  readonly retire: () => void;
}

export class Server {
  readonly name: string;
  readonly description: string;
  readonly known: KnownServer;
  #gate: ToolGate;
  #gates = new WeakMap<ClientSettings, ToolGate>();
  readonly #options: ServerOptions;
  readonly #runners = new Map<Instance, Runner>();
  /** Where clients wait whose roots are not known yet. */
  readonly #awaitingRoots = new WeakSet<Instance>();
  /** One for each client that sees it. */
  readonly bindings = new Map<Session, Binding>();
  /** A joined list was made without it, because it had not answered. */
  isLeftOut = false;

  constructor(options: ServerOptions) {
    this.name = options.definition.name;
    this.description = options.definition.description;
    this.known = options.known;
    this.#gate = options.gate;
    this.#options = options;
  }

  get sharing(): Sharing {
    return sharingOf(this.#options.definition, this.known.declaredSharing);
  }

  /** For whoever is no client. */
  get gate(): ToolGate {
    return this.#gate;
  }

  /** The rules are others now. */
  set gate(gate: ToolGate) {
    this.#gate = gate;
    this.#gates = new WeakMap();
  }

  gateFor({ settings }: Session): ToolGate {
    const known = this.#gates.get(settings);
    if (known !== undefined) return known;
    const gate = this.#options.gateOf?.(settings) ?? this.#gate;
    this.#gates.set(settings, gate);
    return gate;
  }

  get instances(): IterableIterator<Instance> {
    return this.#runners.keys();
  }

  /**
   * The instance for a client: the one that it has, if that still fits; one that it may share; one that nobody uses; or a
   * new one. Where it depends on roots that are not known yet, the client waits at an instance that is not started, or gets one that asks for them itself.
   */
  instanceFor(session: Session, current?: Instance, mustStart = false): Instance {
    const key = this.keyFor(session);
    if (!this.known.asksForRoots || this.sharing === 'shared')
      return this.#instanceWith({ ...key, rootsKey: undefined }, current);
    if (key.rootsKey !== undefined) return this.#instanceWith(key, current);
    if (!mustStart) return this.#unstarted();
    return this.#vacant(key) ?? this.#make(key);
  }

  /** For what an instance would be that is the client's, as far as is known. */
  keyFor(session: Session): InstanceKey {
    const owner = this.sharing === 'dedicated' ? session : undefined;
    const rootsKey = session.canBeAsked('roots') ? session.roots.key : NO_ROOTS_KEY;
    return { capabilities: session.capabilities, rootsKey, owner };
  }

  /** An instance for the bridge itself: one that runs, else one for whoever comes with no capabilities. */
  ownInstance(): Instance {
    for (const instance of this.instances) if (instance.isOpen) return instance;
    const rootsKey = this.known.asksForRoots ? NO_ROOTS_KEY : undefined;
    return this.#instanceWith({ capabilities: {}, rootsKey, owner: undefined }, undefined);
  }

  /** Whether an instance of it runs. */
  get isOpen(): boolean {
    return [...this.instances].some(({ isOpen }) => isOpen);
  }

  /** Whether none runs yet, and one is on its way. */
  get isStarting(): boolean {
    return !this.isOpen && [...this.instances].some(({ isStarting }) => isStarting);
  }

  /** Whether it could not be started the last time, and does not run. */
  get isDown(): boolean {
    return !this.isOpen && [...this.instances].some(({ hasFailed }) => hasFailed);
  }

  #instanceWith(wanted: InstanceKey, current: Instance | undefined): Instance {
    if (current !== undefined && this.#fits(current, wanted)) return current;
    for (const instance of this.instances) if (this.#fits(instance, wanted)) return instance;
    return this.#vacant(wanted) ?? this.#make(wanted);
  }

  #fits(instance: Instance, wanted: InstanceKey): boolean {
    const { key } = instance;
    if (!this.#runners.has(instance) || key.owner !== wanted.owner) return false;
    if (this.sharing === 'shared') return true;
    if (!this.known.suits(key.capabilities, wanted.capabilities)) return false;
    return wanted.rootsKey === undefined || this.#sameRoots(instance, wanted.rootsKey);
  }

  /** One that has not asked yet, and is used by nobody else, gets the roots of the one who comes. */
  #sameRoots(instance: Instance, rootsKey: string): boolean {
    const { key } = instance;
    if (key.rootsKey === rootsKey) return true;
    if (key.rootsKey !== undefined || instance.sessions.size > 0) return false;
    key.rootsKey = rootsKey;
    return true;
  }

  #vacant(wanted: InstanceKey): Instance | undefined {
    for (const instance of this.instances) {
      if (!instance.isVacant) continue;
      Object.assign(instance.key, wanted);
      return instance;
    }
    return undefined;
  }

  #make(key: InstanceKey): Instance {
    const { definition, known, context, makeRunner } = this.#options;
    if (this.#runners.size >= context.limits.maxInstancesPerServer) this.#retireUnused();
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
        listLearnt: (kind) => this.#listLearnt(instance, kind),
      },
    });
    runner = makeRunner(instance);
    this.#runners.set(instance, runner);
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
    this.#awaitingRoots.add(unstarted);
    return unstarted;
  }

  #onBroken(instance: Instance, error: unknown): void {
    new Faults(this.#options.context).note('an instance could not be served', error, { server: this.name });
    this.#runners.get(instance)?.broken(error);
  }

  isAwaitingRoots(instance: Instance): boolean {
    return this.#awaitingRoots.has(instance);
  }

  /** It has said that clients cannot share it, and one keeps this instance, the others get their own; or that they can. */
  #declared(instance: Instance): void {
    const { key, sessions } = instance;
    const [first] = sessions;
    if (this.sharing !== 'dedicated') key.owner = undefined;
    if (this.sharing !== 'dedicated' || key.owner !== undefined || first === undefined) return;
    key.owner = first;
    for (const binding of [...this.bindings.values()])
      if (binding.instance === instance && binding.session !== first) binding.rebind();
  }

  /** All wait at instances that are not started first, so that the first one whose roots are known gets the instance. */
  #divide(instance: Instance, staying: Session | undefined): void {
    const leaving = [...this.bindings.values()].filter(
      (binding) => binding.instance === instance && binding.session !== staying,
    );
    for (const binding of leaving) binding.moveTo(this.#unstarted());
    for (const binding of leaving) binding.stopAwaitingRoots();
  }

  #usersChanged(instance: Instance, users: number): void {
    // With something under way, whoever looks for what is done, or is idle, finds it later.
    if (users === 0 && instance.key.owner !== undefined && !instance.isBusy) return this.#retire(instance);
    this.#runners.get(instance)?.usersChanged(users);
  }

  #retire(instance: Instance): void {
    const runner = this.#runners.get(instance);
    this.#runners.delete(instance);
    runner?.retire();
  }

  /** Whether nobody would notice if it were forgotten. */
  get isUnused(): boolean {
    return this.bindings.size === 0 && [...this.instances].every((instance) => instance.isVacant);
  }

  /** An instance has stopped for want of clients: one is enough to remember. */
  stopped(instance: Instance): void {
    if (this.#runners.size > 1 && instance.isVacant) this.#retire(instance);
  }

  /** Makes room: what runs for nobody any more goes first. */
  #retireUnused(): void {
    for (const instance of this.instances)
      if (instance.sessions.size === 0 && !instance.isBusy) return this.#retire(instance);
  }

  /** Nobody will ask for it any more: what has nothing left to do ends. Whether that is all of it. */
  retireDone(): boolean {
    for (const instance of [...this.instances]) if (instance.isDone) this.#retire(instance);
    return this.#runners.size === 0;
  }

  // --- conversations ---

  /** Rather than let one client wait for another's conversation, it gets an instance of its own, within the limit. */
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
      if (
        this.#isForSameRoots(instance, busy, session) &&
        this.known.suits(instance.key.capabilities, session.capabilities)
      )
        return instance;
    }
    return undefined;
  }

  #isForSameRoots(instance: Instance, busy: Instance, session: Session): boolean {
    if (!this.known.asksForRoots) return instance.key.rootsKey === busy.key.rootsKey;
    const { rootsKey } = this.keyFor(session);
    return rootsKey !== undefined && this.#sameRoots(instance, rootsKey);
  }

  #another(busy: InstanceKey, session: Session): Instance | undefined {
    const rootsKey = this.known.asksForRoots ? this.keyFor(session).rootsKey : busy.rootsKey;
    const key = { capabilities: session.capabilities, rootsKey, owner: undefined };
    const vacant = this.#vacant(key);
    if (vacant !== undefined) return vacant;
    const { limits, counters } = this.#options.context;
    if (this.#runners.size < limits.maxInstancesPerServer) return this.#make(key);
    counters.instancesRefused++;
    return undefined;
  }

  // --- what clients are told ---

  /** Those who use this instance are told, and those who see what is known while theirs does not run. */
  #listLearnt(instance: Instance, kind: ListKind): void {
    this.isLeftOut = false;
    for (const binding of [...this.bindings.values()])
      if (binding.instance === instance || binding.instance?.isOpen !== true) binding.listChanged(kind);
  }
}

// One client's side of one server: which of the server's instances it uses. It is bound to one when it first needs it,
// and to another one when that turns out to be the right one.

export class Binding {
  readonly session: Session;
  #server: Server;
  readonly #listChanged: (kind: ListKind) => void;
  instance: Instance | undefined;
  /** The log level the client wants of every server. */
  #level: string | undefined;
  /** Why it binds no more. */
  #refusal: BridgeError | undefined;
  isUsed = false;

  constructor(session: Session, server: Server, listChanged: (kind: ListKind) => void) {
    this.session = session;
    this.#server = server;
    this.#listChanged = listChanged;
    server.bindings.set(session, this);
  }

  get server(): Server {
    return this.#server;
  }

  /** What the client calls the server. */
  get name(): string {
    return this.session.settings.nameOf(this.#server.name);
  }

  /** Which of its tools the client may use. */
  get gate(): ToolGate {
    return this.#server.gateFor(this.session);
  }

  /** Why it is of no use any more, if it is not. */
  get refusal(): BridgeError | undefined {
    return this.#refusal;
  }

  /** What the client sees of the server, if that is known. */
  get profile(): ServerProfile | undefined {
    return this.instance?.profile ?? this.server.known.profileFor(this.server.keyFor(this.session));
  }

  /** What the server lists for this client; undefined while that is not known. */
  pagesOf(kind: ListKind): readonly ListPage[] | undefined {
    const { profile, session, server } = this;
    if (profile === undefined) return undefined;
    if (!profile.declares(LISTS[kind].capability)) return [];
    return this.instance?.lists.pagesOf(kind) ?? server.known.pagesFor(profile, kind, server.keyFor(session));
  }

  /**
   * The last list of the server, for people and models that look around. A server that cannot be started has listed it long ago.
   * A dedicated server has listed it for another client: nobody starts a process for a look.
   */
  lastPagesOf(kind: ListKind): readonly ListPage[] | undefined {
    const { session, server } = this;
    const pages = this.pagesOf(kind);
    const mayBeAnothers = server.isDown || server.sharing === 'dedicated';
    const profile =
      pages === undefined && mayBeAnothers ? server.known.lastProfileFor(server.keyFor(session)) : undefined;
    return profile === undefined ? pages : server.known.pagesFor(profile, kind, server.keyFor(session));
  }

  /** The instance that the client uses. It need not run, unless it must be started at once. */
  bind(mustStart = false): Instance {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.instance !== undefined) return this.instance;
    const instance = this.server.instanceFor(this.session, undefined, mustStart);
    this.instance = instance;
    instance.attach(this.session);
    this.#tellLevel();
    this.stopAwaitingRoots();
    return instance;
  }

  /** Goes on to the right instance as soon as the client's roots are known. */
  stopAwaitingRoots(): void {
    if (this.instance !== undefined && this.server.isAwaitingRoots(this.instance))
      this.session.roots.whenKnown(() => this.rebind());
  }

  whenRootsKnown(): Promise<void> {
    return new Promise((resolve) => this.session.roots.whenKnown(resolve));
  }

  /** The instance, running; started if need be. */
  async whenOpen(): Promise<Instance> {
    if (this.server.isAwaitingRoots(this.bind())) await this.whenRootsKnown();
    const instance = this.bind();
    await instance.whenOpen(this.session);
    return instance;
  }

  /** The client calls it: it may remember things for the client from now on. */
  use(): Instance {
    this.isUsed = true;
    return this.instance ?? this.bind();
  }

  /** The client has only looked at the server, and does not use it. */
  unbind(): void {
    this.instance?.detach(this.session);
    this.instance = undefined;
  }

  /** What the client is has changed, or is better known: another instance may be the right one. */
  rebind(): void {
    if (this.instance === undefined || this.#refusal !== undefined) return;
    const better = this.server.instanceFor(this.session, this.instance);
    if (better === this.instance) return;
    this.moveTo(better);
    this.stopAwaitingRoots();
  }

  /** The client's roots are others now. */
  rootsChanged({ b, start, end }: Frame): void {
    const { instance, session } = this;
    if (instance === undefined) return;
    const isShared = this.server.known.asksForRoots && instance.sessions.size > 1;
    if (isShared) return this.rebind();
    // The server asks for the new ones itself; until then nobody else may come to it.
    instance.key.rootsKey = ROOTS_IN_DOUBT;
    instance.notify(session, b, start, end);
  }

  moveTo(instance: Instance): void {
    const before = this.instance;
    this.instance = instance;
    before?.handOver(this.session, instance);
  }

  /** The server is defined otherwise now: what was not sent yet goes to the new one. */
  replaceServer(server: Server): void {
    this.server.bindings.delete(this.session);
    this.#server = server;
    this.#refusal = undefined;
    server.bindings.set(this.session, this);
    this.rebind();
    for (const kind of LIST_KINDS) this.listChanged(kind);
  }

  /** The server is not offered any more. What it was asked already it still answers. */
  release(): void {
    const { name } = this.server;
    this.#refusal = new BridgeError('SERVER_NOT_FOUND', `Server ${name} is not offered any more`, { server: name });
    this.server.bindings.delete(this.session);
    this.instance?.release(this.session, this.#refusal);
    this.instance = undefined;
  }

  setLevel(level: string): void {
    this.#level = level;
    this.#tellLevel();
  }

  #tellLevel(): void {
    if (this.#level !== undefined && this.profile?.declares('logging') !== false)
      this.instance?.sharedSettings.levels.set(this.session, this.#level);
  }

  listChanged(kind: ListKind): void {
    this.#listChanged(kind);
  }

  leave(): void {
    this.#refusal = new BridgeError('REQUEST_REFUSED', 'The client has gone');
    this.server.bindings.delete(this.session);
    this.unbind();
  }
}
