// A server that the bridge knows by name, and its instances: which client uses which of them, and when there has to be
// another one. What an instance is, and how one is started, is the business of whoever makes them.

import { Backend, type BackendPorts } from './backend.ts';
import type { BackendContext } from './backend-context.ts';
import type { Elsewhere } from './call-table.ts';
import type { ClientProfile } from './client-profile.ts';
import { NO_ROOTS_KEY } from './client-roots.ts';
import type { ListKind } from './era/era-2025.ts';
import { Faults } from './faults.ts';
import type { InstanceKey } from './instance-key.ts';
import type { KnownServer } from './known-server.ts';
import type { Leg } from './leg.ts';
import type { ServerDefinition, Sharing } from './server-definition.ts';
import type { Session } from './session.ts';
import { type SharingTerms, sharingOf } from './sharing.ts';
import type { ToolGate } from './tool-gate.ts';

export interface ServerOptions {
  readonly definition: Pick<ServerDefinition, 'name' | 'description' | 'timeoutMs' | 'trustHints'> & SharingTerms;
  readonly known: KnownServer;
  readonly gate: ToolGate;
  /** What a client of this profile may use; undefined if the same as everybody. */
  readonly gateOf?: ((profile: ClientProfile) => ToolGate | undefined) | undefined;
  readonly context: BackendContext;
  /** Makes the instance behind a backend. */
  readonly makeRunner: (backend: Backend) => Runner;
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
  #gates = new WeakMap<ClientProfile, ToolGate>();
  readonly #options: ServerOptions;
  readonly #runners = new Map<Backend, Runner>();
  /** Where clients wait whose roots are not known yet. */
  readonly #lobbies = new WeakSet<Backend>();
  /** One for each client that sees it. */
  readonly legs = new Map<Session, Leg>();
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

  gateFor({ profile }: Session): ToolGate {
    const known = this.#gates.get(profile);
    if (known !== undefined) return known;
    const gate = this.#options.gateOf?.(profile) ?? this.#gate;
    this.#gates.set(profile, gate);
    return gate;
  }

  get backends(): IterableIterator<Backend> {
    return this.#runners.keys();
  }

  /**
   * The instance for a client: the one that it has, if that still fits; one that it may share; one that nobody uses; or a
   * new one. Where it depends on roots that are not known yet, it is a lobby to wait in, or one that asks for them itself.
   */
  backendFor(session: Session, current?: Backend, mustStart = false): Backend {
    const key = this.keyFor(session);
    if (!this.known.asksForRoots || this.sharing === 'shared')
      return this.#backendWith({ ...key, rootsKey: undefined }, current);
    if (key.rootsKey !== undefined) return this.#backendWith(key, current);
    if (!mustStart) return this.#lobby();
    return this.#vacant(key) ?? this.#make(key);
  }

  /** For what an instance would be that is the client's, as far as is known. */
  keyFor(session: Session): InstanceKey {
    const owner = this.sharing === 'dedicated' ? session : undefined;
    const rootsKey = session.canBeAsked('roots') ? session.roots.key : NO_ROOTS_KEY;
    return { offers: session.offers, rootsKey, owner };
  }

  /** An instance for the bridge itself: one that runs, else one for whoever comes with no capabilities. */
  ownBackend(): Backend {
    for (const backend of this.backends) if (backend.isOpen) return backend;
    const rootsKey = this.known.asksForRoots ? NO_ROOTS_KEY : undefined;
    return this.#backendWith({ offers: {}, rootsKey, owner: undefined }, undefined);
  }

  /** Whether an instance of it runs. */
  get isOpen(): boolean {
    return [...this.backends].some(({ isOpen }) => isOpen);
  }

  /** Whether none runs yet, and one is on its way. */
  get isStarting(): boolean {
    return !this.isOpen && [...this.backends].some(({ isStarting }) => isStarting);
  }

  /** Whether it could not be started the last time, and does not run. */
  get isDown(): boolean {
    return !this.isOpen && [...this.backends].some(({ hasFailed }) => hasFailed);
  }

  #backendWith(wanted: InstanceKey, current: Backend | undefined): Backend {
    if (current !== undefined && this.#fits(current, wanted)) return current;
    for (const backend of this.backends) if (this.#fits(backend, wanted)) return backend;
    return this.#vacant(wanted) ?? this.#make(wanted);
  }

  #fits(backend: Backend, wanted: InstanceKey): boolean {
    const { key } = backend;
    if (!this.#runners.has(backend) || key.owner !== wanted.owner) return false;
    if (this.sharing === 'shared') return true;
    if (!this.known.suits(key.offers, wanted.offers)) return false;
    return wanted.rootsKey === undefined || this.#sameRoots(backend, wanted.rootsKey);
  }

  /** One that has not asked yet, and is used by nobody else, gets the roots of the one who comes. */
  #sameRoots(backend: Backend, rootsKey: string): boolean {
    const { key } = backend;
    if (key.rootsKey === rootsKey) return true;
    if (key.rootsKey !== undefined || backend.sessions.size > 0) return false;
    key.rootsKey = rootsKey;
    return true;
  }

  #vacant(wanted: InstanceKey): Backend | undefined {
    for (const backend of this.backends) {
      if (!backend.isVacant) continue;
      Object.assign(backend.key, wanted);
      return backend;
    }
    return undefined;
  }

  #make(key: InstanceKey): Backend {
    const { definition, known, context, makeRunner } = this.#options;
    if (this.#runners.size >= context.limits.maxInstancesPerServer) this.#retireUnused();
    let runner: Runner | undefined;
    const backend: Backend = new Backend({
      definition,
      known,
      gate: (session) => this.gateFor(session),
      key,
      context,
      ports: {
        start: () => runner?.start(),
        usersChanged: (users) => this.#usersChanged(backend, users),
        declared: () => this.#declared(backend),
        divide: (staying) => this.#divide(backend, staying),
        broken: (error) => this.#onBroken(backend, error),
        contended: (session) => this.#contended(backend, session),
        listLearnt: (kind) => this.#listLearnt(backend, kind),
      },
    });
    runner = makeRunner(backend);
    this.#runners.set(backend, runner);
    return backend;
  }

  #lobby(): Backend {
    const nothing = (): void => undefined;
    const { definition, known, context } = this.#options;
    const ports: BackendPorts = {
      start: nothing,
      usersChanged: nothing,
      declared: nothing,
      divide: nothing,
      broken: (error) => this.#onBroken(lobby, error),
      contended: () => 'shared',
      listLearnt: nothing,
    };
    const key = { offers: {}, rootsKey: undefined, owner: undefined };
    const gate = (session: Session): ToolGate => this.gateFor(session);
    const lobby: Backend = new Backend({ definition, known, gate, key, ports, context });
    this.#lobbies.add(lobby);
    return lobby;
  }

  #onBroken(backend: Backend, error: unknown): void {
    new Faults(this.#options.context).note('an instance could not be served', error, { server: this.name });
    this.#runners.get(backend)?.broken(error);
  }

  isLobby(backend: Backend): boolean {
    return this.#lobbies.has(backend);
  }

  /** It has said that clients cannot share it, and one keeps this instance, the others get their own; or that they can. */
  #declared(backend: Backend): void {
    const { key, sessions } = backend;
    const [first] = sessions;
    if (this.sharing !== 'dedicated') key.owner = undefined;
    if (this.sharing !== 'dedicated' || key.owner !== undefined || first === undefined) return;
    key.owner = first;
    for (const leg of [...this.legs.values()]) if (leg.backend === backend && leg.session !== first) leg.rebind();
  }

  /** All wait in lobbies first, so that the first one whose roots are known gets the instance. */
  #divide(backend: Backend, staying: Session | undefined): void {
    const leaving = [...this.legs.values()].filter((leg) => leg.backend === backend && leg.session !== staying);
    for (const leg of leaving) leg.moveTo(this.#lobby());
    for (const leg of leaving) leg.leaveLobby();
  }

  #usersChanged(backend: Backend, users: number): void {
    // With something under way, whoever looks for what is done, or is idle, finds it later.
    if (users === 0 && backend.key.owner !== undefined && !backend.isBusy) return this.#retire(backend);
    this.#runners.get(backend)?.usersChanged(users);
  }

  #retire(backend: Backend): void {
    const runner = this.#runners.get(backend);
    this.#runners.delete(backend);
    runner?.retire();
  }

  /** Whether nobody would notice if it were forgotten. */
  get isUnused(): boolean {
    return this.legs.size === 0 && [...this.backends].every((backend) => backend.isVacant);
  }

  /** An instance has stopped for want of clients: one is enough to remember. */
  stopped(backend: Backend): void {
    if (this.#runners.size > 1 && backend.isVacant) this.#retire(backend);
  }

  /** Makes room: what runs for nobody any more goes first. */
  #retireUnused(): void {
    for (const backend of this.backends)
      if (backend.sessions.size === 0 && !backend.isBusy) return this.#retire(backend);
  }

  /** Nobody will ask for it any more: what has nothing left to do ends. Whether that is all of it. */
  retireDone(): boolean {
    for (const backend of [...this.backends]) if (backend.isDone) this.#retire(backend);
    return this.#runners.size === 0;
  }

  // --- conversations ---

  /** Rather than let one client wait for another's conversation, it gets an instance of its own, within the limit. */
  #contended(backend: Backend, session: Session): Elsewhere {
    if (this.sharing !== 'auto') return 'shared';
    const leg = this.legs.get(session);
    if (leg?.backend !== backend) return 'full';
    const other = this.#free(backend, session) ?? this.#another(backend.key, session);
    if (other === undefined) return 'full';
    leg.moveTo(other);
    return 'moved';
  }

  #free(busy: Backend, session: Session): Backend | undefined {
    for (const backend of this.backends) {
      if (backend === busy || backend.isEngaged || backend.hasFailed || backend.key.owner !== undefined) continue;
      if (this.#isForSameRoots(backend, busy, session) && this.known.suits(backend.key.offers, session.offers))
        return backend;
    }
    return undefined;
  }

  #isForSameRoots(backend: Backend, busy: Backend, session: Session): boolean {
    if (!this.known.asksForRoots) return backend.key.rootsKey === busy.key.rootsKey;
    const { rootsKey } = this.keyFor(session);
    return rootsKey !== undefined && this.#sameRoots(backend, rootsKey);
  }

  #another(busy: InstanceKey, session: Session): Backend | undefined {
    const rootsKey = this.known.asksForRoots ? this.keyFor(session).rootsKey : busy.rootsKey;
    const key = { offers: session.offers, rootsKey, owner: undefined };
    const vacant = this.#vacant(key);
    if (vacant !== undefined) return vacant;
    const { limits, counters } = this.#options.context;
    if (this.#runners.size < limits.maxInstancesPerServer) return this.#make(key);
    counters.instancesRefused++;
    return undefined;
  }

  // --- what clients are told ---

  /** Those who use this instance are told, and those who see what is known while theirs does not run. */
  #listLearnt(backend: Backend, kind: ListKind): void {
    this.isLeftOut = false;
    for (const leg of [...this.legs.values()])
      if (leg.backend === backend || leg.backend?.isOpen !== true) leg.listChanged(kind);
  }
}
