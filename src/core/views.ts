// The views in use. Clients share one view if they work in the same directory, have the same capabilities, and may use
// the same servers, tools and names. Never starts a server, and keeps nothing of a view that nobody has.

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
  /** The same for the view `code`; undefined where there is no such view. */
  readonly codeTools?: ((view: JoinedView) => ToolsInstead) | undefined;
  /** Many lists of other hosts were read in a row. */
  readonly manyListed?: (() => void) | undefined;
  /** Makes the bridge's own tools that each joined view has. */
  readonly ownTools?: ((view: JoinedView) => BridgeTools) | undefined;
}

/** The parts of a client that decide about its view. */
export type ViewTerms = Pick<Session, 'cwd' | 'settings' | 'capabilities'>;

/** A view with what all of its clients have in common. */
interface SharedView {
  readonly view: View;
  settings: ClientSettings;
  /** The rest of it. */
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
  /** Where views are found. */
  readonly #bySettings = new Map<ClientSettings, Map<string, SharedView>>();

  constructor(context: ViewsContext) {
    this.#context = context;
    this.#pending = new PendingRequests(context.limits);
    this.#looks = new ListLooks(context.limits.maxRemoteStarts, context.clock, context.manyListed);
  }

  /** The number of views that clients have. */
  get size(): number {
    return this.#shared.size;
  }

  /** Gives a client its view; `wanted` is the one that it names. Throws with what to ask for instead. */
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

  /** The client goes: it uses nothing any more. */
  leave(session: Session): void {
    const shared = session.view && this.#shared.get(session.view);
    if (shared === undefined) return;
    for (const server of shared.view.servers()) server.bindings.get(session)?.leave();
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

  /** There are other servers now, or other settings of clients. `contain` runs a task for one client. */
  serversChanged(contain: (session: Session, task: () => void) => void): void {
    for (const shared of this.#shared.values()) this.#adopt(shared);
    // First, because clients that stay may use less from now on than those that move.
    for (const shared of [...this.#shared.values()])
      for (const session of [...shared.clients])
        if (session.settings !== shared.settings) contain(session, () => this.#move(session, shared));
    for (const { view, settings, clients } of [...this.#shared.values()]) {
      const [first] = clients;
      // A fault in it costs one client.
      if (first !== undefined) contain(first, () => view.serversChanged(settings, contain));
    }
  }

  /** The bridge may list other tools of its own now. `contain` runs a task for one client. */
  ownToolsChanged(contain: (session: Session, task: () => void) => void): void {
    for (const { view, clients } of [...this.#shared.values()]) {
      const [first] = clients;
      if (first !== undefined) contain(first, () => view.ownToolsChanged());
    }
  }

  /** The view takes over the settings that its first client has now. */
  #adopt(shared: SharedView): void {
    const [first] = shared.clients;
    if (first === undefined || first.settings === shared.settings) return;
    this.#unindex(shared);
    shared.settings = first.settings;
    this.#index(shared);
  }

  /** The client has other settings now than those that it had its view in common with. */
  #move(session: Session, from: SharedView): void {
    const before = from.view.servers();
    const [server] = before;
    // Its server may have another definition by now than when the view was made.
    const choice = from.choice.kind === 'server' && server !== undefined ? { ...from.choice, server } : from.choice;
    const to = this.#sharedFor(session, choice, from.also);
    const marks = this.#forget(session, from);
    this.#join(session, to, marks);
    followServers(session, before, to.view.servers());
    for (const kind of LIST_KINDS) to.view.listChanged(kind, (one) => one === session);
  }
}
