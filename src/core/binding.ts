// One client's side of one server: which of the server's instances it uses. It is bound to one when it first needs it,
// and to another one when that turns out to be the right one.

import { BridgeError } from '../util/bridge-error.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { ROOTS_IN_DOUBT } from './client-roots.ts';
import { LIST_KINDS, LISTS, type ListKind } from './era/era-2025.ts';
import type { Instance } from './instance.ts';
import type { ListPage, ServerProfile } from './known-server.ts';
import type { Server } from './server.ts';
import type { Session } from './session.ts';
import type { ToolGate } from './tool-gate.ts';

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
    instance.users.attach(this.session);
    this.#tellLevel();
    this.leaveLobby();
    return instance;
  }

  /** Goes on to the right instance as soon as the client's roots are known. */
  leaveLobby(): void {
    if (this.instance !== undefined && this.server.isLobby(this.instance))
      this.session.roots.whenKnown(() => this.rebind());
  }

  whenRootsKnown(): Promise<void> {
    return new Promise((resolve) => this.session.roots.whenKnown(resolve));
  }

  /** The instance, running; started if need be. */
  async whenOpen(): Promise<Instance> {
    if (this.server.isLobby(this.bind())) await this.whenRootsKnown();
    const instance = this.bind();
    await instance.whenOpen();
    return instance;
  }

  /** The client calls it: it may remember things for the client from now on. */
  use(): Instance {
    this.isUsed = true;
    return this.instance ?? this.bind();
  }

  /** The client has only looked at the server, and does not use it. */
  unbind(): void {
    this.instance?.users.detach(this.session);
    this.instance = undefined;
  }

  /** What the client is has changed, or is better known: another instance may be the right one. */
  rebind(): void {
    if (this.instance === undefined || this.#refusal !== undefined) return;
    const better = this.server.instanceFor(this.session, this.instance);
    if (better === this.instance) return;
    this.moveTo(better);
    this.leaveLobby();
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
    before?.users.handOver(this.session, instance.users);
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
    this.instance?.users.release(this.session, this.#refusal);
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
