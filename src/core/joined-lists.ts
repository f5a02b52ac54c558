// The lists of a joined view: waits for missing parts, joins them in pages, and finds the server of a name. A part is
// cut from the server's own bytes once for all clients; only the name in an item changes.

import type { ToolGate } from '../model/tool-gate.ts';
import { namesServer } from '../model/toolset.ts';
import { LISTS, type ListKind } from '../protocol/era.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { textOf } from '../util/json-value.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import { inwardUri, isPage, outwardUri } from './app-pages.ts';
import type { Instance } from './instance.ts';
import { aliasIn } from './joined-names.ts';
import { type JoinedPart, joinedPart } from './joined-part.ts';
import type { ListLook, ListLooks } from './list-looks.ts';
import { waitForLists } from './list-wait.ts';
import { type ListedItem, lengthOf } from './listed-item.ts';
import { itemsIn, keyOf } from './lists.ts';
import { type Binding, type Server, whenRootsKnown } from './server.ts';
import type { ListPage, ServerProfile } from './server-knowledge.ts';
import type { Session } from './session.ts';

/** The place of a server in a joined view. */
export interface JoinedPlace {
  readonly alias: string;
  /** Replaced when the server has a new definition. */
  server: Server;
}

/** One server of a joined view, as one client sees it. */
export class JoinedServer {
  readonly session: Session;
  readonly place: JoinedPlace;

  constructor(session: Session, place: JoinedPlace) {
    this.session = session;
    this.place = place;
  }

  get alias(): string {
    return this.place.alias;
  }

  get server(): Server {
    return this.place.server;
  }

  /** The client's name for the server. */
  get name(): string {
    return this.session.settings.nameOf(this.server.name);
  }

  /** Decides which tools the client may use. */
  get gate(): ToolGate {
    return this.server.gateFor(this.session);
  }

  get profile(): ServerProfile | undefined {
    return this.server.profileFor(this.session);
  }

  pagesOf(kind: ListKind): readonly ListPage[] | undefined {
    return this.server.pagesFor(this.session, kind);
  }

  lastPagesOf(kind: ListKind): readonly ListPage[] | undefined {
    return this.server.lastPagesFor(this.session, kind);
  }

  /** The instance that the client uses, if any. */
  get instance(): Instance | undefined {
    return this.server.instanceOf(this.session);
  }

  /** The client's binding, made on first use. */
  get binding(): Binding {
    return this.server.bindingFor(this.session);
  }
}

/** The servers of a joined view, also by their aliases. */
export interface JoinedPlaces {
  readonly all: readonly JoinedPlace[];
  readonly byAlias: ReadonlyMap<string, JoinedPlace>;
}

export interface Target {
  readonly joined: JoinedServer;
  /** The server's own name, as JSON in latin1. */
  readonly ownKey: string;
}

/** The maximum size of a page: a page should not fill a client's memory or exceed its message limit. */
const PAGE_BYTES = 1024 * 1024;

interface JoinedListsOptions {
  readonly session: Session;
  readonly places: () => JoinedPlaces;
  /** Finds a server by a name that the lists do not use for it. */
  readonly placeNamed: (name: string) => JoinedPlace | undefined;
  /** The bridge's own tools. No joined name may collide with them. */
  readonly ownTools: readonly ListedItem[];
  /** The longest joined name. */
  readonly longestName: number;
  readonly looks: ListLooks;
  readonly clock: Clock;
}

/** The lists of a joined view as one client sees them. Made for each request. */
export class JoinedLists {
  readonly #options: JoinedListsOptions;
  #madeFor: readonly JoinedPlace[] | undefined;
  #servers: readonly JoinedServer[] = [];

  constructor(options: JoinedListsOptions) {
    this.#options = options;
  }

  get session(): Session {
    return this.#options.session;
  }

  /** All servers of the view, in order. A client with a tool set gets only servers that may have a tool of the set. */
  get servers(): readonly JoinedServer[] {
    const { all } = this.#options.places();
    if (all !== this.#madeFor) this.#servers = all.map((place) => new JoinedServer(this.#options.session, place));
    this.#madeFor = all;
    return this.session.settings.toolset === undefined ? this.#servers : this.#servers.filter(mayHaveToolOfSet);
  }

  /** The server that a client means by a name, even if no list has that name. */
  serverNamed(name: string): JoinedServer | undefined {
    const listed = this.servers.find((joined) => joined.name === name);
    if (listed !== undefined) return listed;
    const place = this.#options.placeNamed(name);
    return place && new JoinedServer(this.#options.session, place);
  }

  #withAlias(alias: string): JoinedServer | undefined {
    const place = this.#options.places().byAlias.get(alias);
    return place === undefined ? undefined : new JoinedServer(this.#options.session, place);
  }

  partOf(joined: JoinedServer, kind: ListKind): JoinedPart | undefined {
    const pages = joined.pagesOf(kind);
    if (pages === undefined) return undefined;
    const part = joinedPart(kind, pages, { alias: joined.alias, longestName: this.#options.longestName });
    return kind === 'tools' ? part.permittedBy(joined.gate) : part;
  }

  isKnown(kind: ListKind): boolean {
    return this.servers.every((joined) => isListed(joined, kind));
  }

  /**
   * Asks all servers whose list is unknown, and waits for them only so long that the others are not held up. `isEnough`
   * returns true for a server whose known list will do.
   */
  async whenListed(kind: ListKind, isEnough: (joined: JoinedServer) => boolean = () => false): Promise<void> {
    const missing = this.servers.filter((joined) => !isListed(joined, kind) && !isEnough(joined));
    const awaited = missing.filter(({ server }) => !server.isLeftOut); // each late server is waited for only once
    const learning = new Map(missing.map((joined) => [joined, this.#look(joined, kind)]));
    await waitForLists({
      servers: this.servers.length,
      missing: awaited.flatMap((joined) => learning.get(joined) ?? []),
      clock: this.#options.clock,
    });
    for (const joined of missing) if (joined.session.isOpen) this.#noteLeftOut(joined, kind);
  }

  /**
   * Asks a server for its list. A server of this host is asked now, because its start waits for a turn anyway; one on
   * another host is asked when its turn comes. `status` shows the error of a server that cannot answer, so nobody needs
   * to wait.
   */
  #look(joined: JoinedServer, kind: ListKind): ListLook {
    if (joined.server.isElsewhere) return this.#lookElsewhere(joined, kind);
    const done = this.learn(joined, kind);
    done.catch(() => undefined); // first, because a client that has gone has no binding
    return { begun: joined.binding.bind().whenBegun(), done };
  }

  #lookElsewhere(joined: JoinedServer, kind: ListKind): ListLook {
    const look = this.#options.looks.add(joined.session, `${kind} ${joined.server.name}`, async () => {
      if (!joined.session.isOpen || isListed(joined, kind)) return { over: Promise.resolve() };
      await this.learn(joined, kind);
      // The other lists are read on the same connection.
      return { over: joined.server.endLook(joined.session) };
    });
    look.done.catch(() => undefined);
    return look;
  }

  /** Notes a server that was left out of the list, unless its client has gone. */
  #noteLeftOut(joined: JoinedServer, kind: ListKind): void {
    joined.server.isLeftOut = !isListed(joined, kind);
  }

  /** Asks one server for its list; rejects with the reason if it cannot answer. */
  async learn(joined: JoinedServer, kind: ListKind): Promise<void> {
    if (joined.server.known.asksForRoots) await whenRootsKnown(joined.session);
    if (isListed(joined, kind)) return;
    const instance = await joined.binding.whenOpen();
    await instance.lists.readMissing(kind);
    if (isListed(joined, kind)) return;
    const { name } = joined.server;
    throw new BridgeError('SERVER_CRASHED', `Server ${name} ended before it had listed its ${kind}`, { server: name });
  }

  /** Asks the server itself, even if an old list is known. Resolves even if the server cannot answer. */
  async askAgain(joined: JoinedServer, kind: ListKind): Promise<void> {
    try {
      if (joined.server.known.asksForRoots) await whenRootsKnown(joined.session);
      const instance = await joined.binding.whenOpen();
      await instance.lists.readMissing(kind);
    } catch (error) {
      if (!isListed(joined, kind)) throw error;
    }
  }

  /** The server with the alias in this name, if its old list lacks the name. */
  staleOwnerOf(kind: ListKind, name: string): JoinedServer | undefined {
    const joined = this.#withAlias(aliasIn(name) ?? '');
    return joined !== undefined && mayBeStale(joined, kind) ? joined : undefined;
  }

  /** The target of a tool or prompt name; or a server that must be asked first; or undefined. */
  find(kind: ListKind, name: string): Target | JoinedServer | undefined {
    const joined = this.#withAlias(aliasIn(name) ?? '');
    // A tool is refused by the gate, which knows the reason. A server's other items follow its tools.
    if (joined === undefined || (kind !== 'tools' && !mayHaveToolOfSet(joined))) return undefined;
    const part = this.partOf(joined, kind);
    if (part === undefined) return joined;
    const ownKey = part.ownKeyOf(name);
    return ownKey === undefined ? undefined : { joined, ownKey };
  }

  notFound(kind: ListKind, name: string): BridgeError {
    const similar = nearest(name, this.#namesLike(kind, name));
    const thing = kind === 'tools' ? 'tool' : 'prompt';
    const owner = this.#withAlias(aliasIn(name) ?? '');
    const more = owner === undefined ? '' : refreshHint(owner);
    const hint = `${suggestion(similar) ?? `See ${LISTS[kind].method}.`}${more}`;
    const code = kind === 'tools' ? 'TOOL_NOT_FOUND' : 'PROMPT_NOT_FOUND';
    return new BridgeError(code, `There is no ${thing} ${JSON.stringify(name.slice(0, 128))}`, {
      hint,
      facts: { near: similar },
    });
  }

  /** Names similar to a wrong one, those of the likeliest servers first. Only the first of thousands are compared. */
  #namesLike(kind: ListKind, name: string): Iterable<string> {
    // First all aliases are compared, then the names, because only one comparison can run at a time.
    const aliases = nearest(aliasIn(name) ?? name, this.#options.places().byAlias.keys());
    const likely = aliases.flatMap((alias) => this.servers.find((joined) => joined.alias === alias) ?? []);
    return this.#namesOf(kind, new Set([...likely, ...this.servers]));
  }

  *#namesOf(kind: ListKind, servers: Iterable<JoinedServer>): Iterable<string> {
    for (const joined of servers) yield* this.partOf(joined, kind)?.shownKeys() ?? [];
  }

  noSuchResource(uri: string): BridgeError {
    const what = isPage(uri) ? 'It is not clear which server has this page' : 'No server has this resource';
    return new BridgeError('RESOURCE_NOT_FOUND', what, {
      hint: `${outwardUri('ALIAS', isPage(uri) ? 'ui:…' : 'URI')} asks one server for it. Aliases: ${this.servers.map(({ alias }) => alias).join(', ')}.`,
    });
  }

  /**
   * The client's URI for an app page, or for a resource that an earlier server lists under the same URI: it names the
   * server.
   */
  outward({ alias }: JoinedServer, uri: string): string {
    return outwardUri(alias, uri);
  }

  /** The server that such a URI names, and the server's own URI. */
  inward(uri: string): { readonly joined: JoinedServer; readonly uri: string } | undefined {
    const named = inwardUri(uri);
    const joined = named && this.#withAlias(named.alias);
    return named && joined && mayHaveToolOfSet(joined) ? { joined, uri: named.uri } : undefined;
  }

  /** The first server that lists the key. */
  ownerOf(kind: ListKind, key: string): JoinedServer | undefined {
    return this.servers.find((joined) => this.partOf(joined, kind)?.has(key));
  }

  /** A page of the list and the cursor of the next one; undefined for a cursor that the bridge did not give. */
  page(kind: ListKind, cursor: unknown): { items: ListedItem[]; nextCursor: string | undefined } | undefined {
    const from = cursor === undefined ? { server: 0, item: 0 } : this.#positionOf(cursor);
    if (from === undefined) return undefined;
    const items: ListedItem[] = kind === 'tools' && cursor === undefined ? [...this.#options.ownTools] : [];
    let bytes = 0;
    const owners = LISTS[kind].key === 'name' ? undefined : this.#ownersOf(kind);
    for (const [n, joined] of this.servers.entries()) {
      if (n < from.server) continue;
      const part = this.partOf(joined, kind);
      for (let i = n === from.server ? from.item : 0; part !== undefined && i < part.size; i++) {
        const item = this.#shown(owners, joined, part.itemAt(i));
        if (bytes > 0 && bytes + lengthOf(item) > PAGE_BYTES) return { items, nextCursor: cursorAt(joined.alias, i) };
        items.push(item);
        bytes += lengthOf(item);
      }
    }
    return { items, nextCursor: undefined };
  }

  /** The first server that lists each URI. */
  #ownersOf(kind: ListKind): ReadonlyMap<string, JoinedServer> {
    const owners = new Map<string, JoinedServer>();
    for (const joined of this.servers)
      for (const uri of this.partOf(joined, kind)?.keys() ?? []) if (!owners.has(uri)) owners.set(uri, joined);
    return owners;
  }

  #shown(owners: ReadonlyMap<string, JoinedServer> | undefined, joined: JoinedServer, item: ListedItem): ListedItem {
    if (owners === undefined || (owners.get(item.key) === joined && !isPage(item.key))) return item;
    return renamed(item, this.outward(joined, item.key));
  }

  #positionOf(cursor: unknown): { server: number; item: number } | undefined {
    const [, alias, item] = /^([^:]+):(\d{1,9})$/.exec(Buffer.from(textOf(cursor), 'base64url').toString()) ?? [];
    const server = this.servers.findIndex((joined) => joined.alias === alias);
    return server < 0 ? undefined : { server, item: Number(item) };
  }
}

const inSets = new WeakMap<ToolGate, WeakMap<readonly ListPage[], boolean>>();

/**
 * False if the client has asked for a tool set and the server has no tool of it: then the server's prompts, resources
 * and instructions do not belong to the set either. True for a server with unknown tools.
 */
function mayHaveToolOfSet(joined: JoinedServer): boolean {
  const { toolset } = joined.session.settings;
  const pages = toolset && joined.lastPagesOf('tools');
  if (toolset === undefined || pages === undefined) return true;
  const { gate } = joined;
  const known = inSets.get(gate) ?? new WeakMap<readonly ListPage[], boolean>();
  inSets.set(gate, known);
  const may = known.get(pages) ?? hasToolOfSet(joined, pages);
  known.set(pages, may);
  return may;
}

function hasToolOfSet({ gate, name, server, session }: JoinedServer, pages: readonly ListPage[]): boolean {
  const tools = pages.flatMap(({ result }) =>
    itemsIn('tools', result).flatMap((item) => keyOf('tools', result, item)?.key ?? []),
  );
  if (tools.length > 0) return tools.some((tool) => gate.refusalOf(tool) === undefined);
  return session.settings.toolset !== undefined && [name, server.name].some(namesServer(session.settings.toolset));
}

/** True if the list is old and the server can be asked for a new one. No call is refused because of such a list. */
export function mayBeStale({ instance, server }: JoinedServer, kind: ListKind): boolean {
  return instance?.lists.pagesOf(kind) === undefined && !server.isDown;
}

/**
 * True if the server's list is known. Does not build its part of the joined list, because clients of `discover` never
 * read it.
 */
function isListed(joined: JoinedServer, kind: ListKind): boolean {
  return joined.pagesOf(kind) !== undefined;
}

/** Makes an opaque cursor from a server and the number of its items on earlier pages. */
function cursorAt(alias: string, item: number): string {
  return Buffer.from(`${alias}:${item}`).toString('base64url');
}

/** The hint for a server that was known earlier but cannot be started. */
export function refreshHint({ instance, server }: JoinedServer): string {
  if (instance?.isOpen === true) return '';
  return ` The server does not run, so its list may be old: a person can have it read again with mcp-bridge refresh ${server.name}.`;
}

/** The item with another name or URI. */
function renamed(item: ListedItem, key: string): ListedItem {
  return { ...item, key, isRenamed: true };
}
