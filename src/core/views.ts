// The views in use. Clients share one view if they work in the same directory, have the same capabilities, and may use
// the same servers, tools and names. It starts no server, and drops a view that no client uses.

import type { ClientSettings } from '../model/client-settings.ts';
import type { Limits } from '../model/limits.ts';
import { LIST_KINDS } from '../protocol/era.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { type BridgeTools, JoinedView, type OwnTools, type ToolsInstead } from './joined-view.ts';
import { ListLooks } from './list-looks.ts';
import { PendingRequests } from './pending-requests.ts';
import { followServers } from './server.ts';
import { ServerView } from './server-view.ts';
import type { Session } from './session.ts';
import type { ClientMarks, View } from './view.ts';
import { chooseView, type ServerDirectory, type ViewChoice } from './view-choice.ts';

export interface ViewsContext {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly servers: ServerDirectory;
  /** Makes the tools of the view `discover`. */
  readonly discoverTools: (view: JoinedView) => ToolsInstead;
  /** Makes the tools of the view `code`; undefined if that view is switched off. */
  readonly codeTools?: ((view: JoinedView) => ToolsInstead) | undefined;
  /** Called when many lists of other hosts were read in a row. */
  readonly manyListed?: (() => void) | undefined;
  /** Makes the bridge's own tools that each joined view has. */
  readonly ownTools?: ((view: JoinedView) => BridgeTools) | undefined;
}

/** The parts of a client that decide about its view. */
export type ViewTerms = Pick<Session, 'cwd' | 'settings' | 'capabilities'>;

/** A view with the terms that all its clients share. */
interface SharedView {
  readonly view: View;
  settings: ClientSettings;
  /** The rest of the terms. */
  readonly key: string;
  readonly choice: ViewChoice;
  readonly also: OwnTools | undefined;
  readonly clients: Set<Session>;
}

export class Views {
  readonly #context: ViewsContext;
  readonly #pending: PendingRequests;
  readonly #looks: ListLooks;
  readonly #shared = new Map<View, SharedView>();
  /** The index for finding views. */
  readonly #bySettings = new Map<ClientSettings, Map<string, SharedView>>();

  constructor(context: ViewsContext) {
    this.#context = context;
    this.#pending = new PendingRequests(context.limits);
    this.#looks = new ListLooks(context.limits.maxRemoteStarts, context.clock, context.manyListed);
  }

  /** The number of views in use. */
  get size(): number {
    return this.#shared.size;
  }

  /** Gives a client its view; `wanted` is the name it asks for. Throws an error that says what to ask for. */
  open(session: Session, wanted: string | undefined, also?: OwnTools): View {
    const choice = chooseView(wanted, session, this.#context.servers);
    const shared = this.#sharedFor(session, choice, choice.kind === 'server' ? undefined : also);
    this.#join(session, shared, undefined);
    return shared.view;
  }

  #sharedFor(terms: ViewTerms, choice: ViewChoice, also: OwnTools | undefined): SharedView {
    const { settings, cwd, capabilities } = terms;
    const server = choice.kind === 'server' ? choice.server.name : '';
    const key = JSON.stringify([choice.kind, server, also !== undefined, cwd, capabilities]);
    const known = this.#bySettings.get(settings)?.get(key);
    return known ?? { view: this.#make(terms, choice, also), settings, key, choice, also, clients: new Set() };
  }

  #make({ cwd, settings }: ViewTerms, choice: ViewChoice, also: OwnTools | undefined): View {
    const { limits, clock, servers, discoverTools, codeTools, ownTools } = this.#context;
    const context = { limits, clock, servers, pending: this.#pending, looks: this.#looks };
    if (choice.kind === 'server') return new ServerView({ cwd, settings }, choice.server, context);
    if (choice.kind === 'code' && codeTools === undefined)
      throw new BridgeError('VIEW_UNKNOWN', 'There is no view "code": programs of models are switched off', {
        hint: 'Set codeMode.enabled to true in the config, and restart the daemon.',
      });
    const instead = { all: undefined, discover: discoverTools, code: codeTools }[choice.kind];
    const tools = { also, own: ownTools, instead };
    return new JoinedView({ cwd, settings }, tools, context);
  }

  #join(session: Session, shared: SharedView, marks: ClientMarks | undefined): void {
    shared.clients.add(session);
    shared.view.join(session, marks);
    session.see(shared.view);
    if (this.#shared.has(shared.view)) return;
    this.#shared.set(shared.view, shared);
    this.#index(shared);
  }

  #index(shared: SharedView): void {
    const byKey = this.#bySettings.get(shared.settings) ?? new Map<string, SharedView>();
    this.#bySettings.set(shared.settings, byKey);
    if (!byKey.has(shared.key)) byKey.set(shared.key, shared);
  }

  #unindex(shared: SharedView): void {
    const byKey = this.#bySettings.get(shared.settings);
    if (byKey?.get(shared.key) === shared) byKey.delete(shared.key);
    if (byKey?.size === 0) this.#bySettings.delete(shared.settings);
  }

  /** Called when the client leaves. */
  leave(session: Session): void {
    const shared = session.view && this.#shared.get(session.view);
    if (shared === undefined) return;
    for (const server of shared.view.usable()) server.bindings.get(session)?.leave();
    this.#forget(session, shared);
  }

  #forget(session: Session, shared: SharedView): ClientMarks | undefined {
    shared.clients.delete(session);
    const marks = shared.view.leave(session);
    session.see(undefined);
    if (shared.clients.size > 0) return marks;
    shared.view.close();
    this.#shared.delete(shared.view);
    this.#unindex(shared);
    return marks;
  }

  /** Called when servers or clients' settings have changed. `contain` runs a task for one client. */
  serversChanged(contain: (session: Session, task: () => void) => void): void {
    for (const shared of this.#shared.values()) this.#adopt(shared);
    // First, because clients that stay may now use less than those that move.
    for (const shared of [...this.#shared.values()])
      for (const session of [...shared.clients])
        if (session.settings !== shared.settings) contain(session, () => this.#move(session, shared));
    for (const { view, settings, clients } of [...this.#shared.values()]) {
      const [first] = clients;
      // A fault in it ends only one client.
      if (first !== undefined) contain(first, () => view.serversChanged(settings, contain));
    }
  }

  /** Called when the bridge's own tools may have changed. `contain` runs a task for one client. */
  ownToolsChanged(contain: (session: Session, task: () => void) => void): void {
    for (const { view, clients } of [...this.#shared.values()]) {
      const [first] = clients;
      if (first !== undefined) contain(first, () => view.ownToolsChanged());
    }
  }

  /** Gives the view the present settings of its first client. */
  #adopt(shared: SharedView): void {
    const [first] = shared.clients;
    if (first === undefined || first.settings === shared.settings) return;
    this.#unindex(shared);
    shared.settings = first.settings;
    this.#index(shared);
  }

  /** Moves a client whose settings now differ from those of its view. */
  #move(session: Session, from: SharedView): void {
    const before = from.view.servers();
    const [server] = before;
    // The server may have a new definition since the view was made.
    const choice = from.choice.kind === 'server' && server !== undefined ? { ...from.choice, server } : from.choice;
    const to = this.#sharedFor(session, choice, from.also);
    const marks = this.#forget(session, from);
    this.#join(session, to, marks);
    followServers(session, before, to.view.servers());
    for (const kind of LIST_KINDS) to.view.listChanged(kind, (one) => one === session);
  }
}
