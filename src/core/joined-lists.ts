// The lists of a joined view: waits for what is not known yet, puts the parts together in pages, and finds out whose a
// name is.

import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { textOf } from '../util/json-value.ts';
import { nearest } from '../util/nearest.ts';
import { LISTS, type ListKind } from './era/era-2025.ts';
import { type JoinedItem, type JoinedPart, joinedPart, permittedPart, renamed } from './joined-list.ts';
import { aliasIn } from './joined-names.ts';
import type { Leg } from './leg.ts';
import { waitForLists } from './list-wait.ts';

/** One server of a joined view. */
export interface JoinedLeg {
  readonly alias: string;
  readonly leg: Leg;
}

export interface Target {
  readonly leg: Leg;
  /** What the server calls it, as JSON of which each character is one byte. */
  readonly ownKey: string;
}

/** One answer should not fill a client's memory, nor exceed what it takes in a message. */
const PAGE_BYTES = 1024 * 1024;
const OUTWARD = 'mcp-bridge://';

export class JoinedLists {
  /** Tools of the bridge's own, which no server's joined name can be taken for. */
  ownTools: readonly JoinedItem[] = [];
  #legs: readonly JoinedLeg[] = [];
  #byAlias: ReadonlyMap<string, JoinedLeg> = new Map();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get legs(): readonly JoinedLeg[] {
    return this.#legs;
  }

  set legs(legs: readonly JoinedLeg[]) {
    this.#legs = legs;
    this.#byAlias = new Map(legs.map((leg) => [leg.alias, leg]));
  }

  partOf({ alias, leg }: JoinedLeg, kind: ListKind): JoinedPart | undefined {
    const pages = leg.pagesOf(kind);
    if (pages === undefined) return undefined;
    const part = joinedPart(kind, pages, alias);
    return kind === 'tools' ? permittedPart(part, leg.gate) : part;
  }

  isKnown(kind: ListKind): boolean {
    return this.legs.every((joined) => isListed(joined, kind));
  }

  /** Has all servers asked that are not known, and waits for them as long as is fair to the others. */
  async whenListed(kind: ListKind): Promise<void> {
    const missing = this.legs.filter((joined) => !isListed(joined, kind));
    const awaited = missing.filter(({ leg }) => !leg.server.isLeftOut); // one that is late is waited for once
    const learning = new Map(missing.map((leg) => [leg, this.learn(leg, kind)]));
    for (const promise of learning.values()) promise.catch(() => undefined); // its error stands in `status`
    await waitForLists({
      servers: this.legs.length,
      missing: awaited.map((joined) => ({
        begun: joined.leg.bind().whenBegun(),
        done: learning.get(joined) ?? Promise.resolve(),
      })),
      clock: this.#clock,
    });
    for (const joined of missing) if (joined.leg.session.isOpen) this.#noteLeftOut(joined, kind);
  }

  /** Of a client that has gone meanwhile nothing follows for the others. */
  #noteLeftOut(joined: JoinedLeg, kind: ListKind): void {
    joined.leg.server.isLeftOut = !isListed(joined, kind);
  }

  /** Has one server asked; rejects with why it cannot say. */
  async learn(joined: JoinedLeg, kind: ListKind): Promise<void> {
    const { leg } = joined;
    if (leg.server.known.asksForRoots) await leg.whenRootsKnown();
    if (isListed(joined, kind)) return;
    const instance = await leg.whenOpen();
    await instance.lists.readMissing(kind);
    if (isListed(joined, kind)) return;
    const { name } = leg.server;
    throw new BridgeError('SERVER_CRASHED', `Server ${name} has not said what it has`, { server: name });
  }

  /** Whether its list is from before, and it can be asked for a new one: nothing should be refused on its word. */
  mayBeStale({ leg }: JoinedLeg, kind: ListKind): boolean {
    return leg.instance?.lists.pagesOf(kind) === undefined && !leg.server.isDown;
  }

  /** Has the server itself asked, also if its list is known from before; resolves too if it cannot say. */
  async learnAnew(joined: JoinedLeg, kind: ListKind): Promise<void> {
    const { leg } = joined;
    try {
      if (leg.server.known.asksForRoots) await leg.whenRootsKnown();
      const instance = await leg.whenOpen();
      await instance.lists.readMissing(kind);
    } catch (error) {
      if (!isListed(joined, kind)) throw error;
    }
  }

  // --- names ---

  /** The server whose list is from before, and does not have this name. */
  staleOwnerOf(kind: ListKind, name: string): JoinedLeg | undefined {
    const joined = this.#byAlias.get(aliasIn(name) ?? '');
    return joined !== undefined && this.mayBeStale(joined, kind) ? joined : undefined;
  }

  /** Whose tool or prompt this is; a server whose list decides it and is not known; or undefined. */
  find(kind: ListKind, name: string): Target | JoinedLeg | undefined {
    const joined = this.#byAlias.get(aliasIn(name) ?? '');
    if (joined === undefined) return undefined;
    const part = this.partOf(joined, kind);
    if (part === undefined) return joined;
    const ownKey = part.ownKeys.get(name);
    return ownKey === undefined ? undefined : { leg: joined.leg, ownKey };
  }

  notFound(kind: ListKind, name: string): BridgeError {
    const similar = nearest(name, this.#namesLike(kind, name));
    const thing = kind === 'tools' ? 'tool' : 'prompt';
    const owner = this.#byAlias.get(aliasIn(name) ?? '');
    const more = owner === undefined ? '' : refreshHint(owner);
    const hint = `${similar.length === 0 ? `See ${LISTS[kind].method}.` : `Did you mean ${similar.join(', ')}?`}${more}`;
    const code = kind === 'tools' ? 'TOOL_NOT_FOUND' : 'PROMPT_NOT_FOUND';
    return new BridgeError(code, `There is no ${thing} ${JSON.stringify(name.slice(0, 128))}`, { hint });
  }

  /** Those of the servers first that it may be meant to be of: of thousands, only the first are looked at. */
  *#namesLike(kind: ListKind, name: string): Iterable<string> {
    const aliases = nearest(aliasIn(name) ?? name, this.#byAlias.keys());
    const likely = aliases.flatMap((alias) => this.#byAlias.get(alias) ?? []);
    for (const leg of new Set([...likely, ...this.legs]))
      for (const { key } of this.partOf(leg, kind)?.items ?? []) yield key;
  }

  noSuchResource(): BridgeError {
    return new BridgeError('RESOURCE_NOT_FOUND', 'No server has such a resource', {
      hint: `${OUTWARD}ALIAS/URI asks one server for it. Aliases: ${this.legs.map(({ alias }) => alias).join(', ')}.`,
    });
  }

  // --- URIs ---

  /** A URI that an earlier server has too says whose it is. */
  outward({ alias }: JoinedLeg, uri: string): string {
    return `${OUTWARD}${alias}/${uri}`;
  }

  /** The server that such a URI names, and its own URI there. */
  inward(uri: string): { readonly joined: JoinedLeg; readonly uri: string } | undefined {
    if (!uri.startsWith(OUTWARD)) return undefined;
    const slash = uri.indexOf('/', OUTWARD.length);
    const joined = this.#byAlias.get(uri.slice(OUTWARD.length, slash));
    return slash < 0 || joined === undefined ? undefined : { joined, uri: uri.slice(slash + 1) };
  }

  /** The first server that lists it. */
  ownerOf(kind: ListKind, key: string): JoinedLeg | undefined {
    return this.legs.find((leg) => this.partOf(leg, kind)?.ownKeys.has(key));
  }

  // --- pages ---

  /** A page of the list and where the next one begins; undefined for a cursor that is none of ours. */
  page(kind: ListKind, cursor: unknown): { items: JoinedItem[]; nextCursor: string | undefined } | undefined {
    const from = cursor === undefined ? { leg: 0, item: 0 } : this.#placeOf(cursor);
    if (from === undefined) return undefined;
    const items: JoinedItem[] = kind === 'tools' && cursor === undefined ? [...this.ownTools] : [];
    let bytes = 0;
    const owners = LISTS[kind].key === 'name' ? undefined : this.#ownersOf(kind);
    for (const [n, joined] of this.legs.entries()) {
      if (n < from.leg) continue;
      const part = this.partOf(joined, kind)?.items ?? [];
      for (let i = n === from.leg ? from.item : 0; i < part.length; i++) {
        const item = this.#shown(owners, joined, part[i] as JoinedItem);
        if (item === undefined) continue;
        if (bytes > 0 && bytes + item.bytes.length > PAGE_BYTES)
          return { items, nextCursor: cursorAt(joined.alias, i) };
        items.push(item);
        bytes += item.bytes.length;
      }
    }
    return { items, nextCursor: undefined };
  }

  /** By URI, the first server that lists it. */
  #ownersOf(kind: ListKind): ReadonlyMap<string, JoinedLeg> {
    const owners = new Map<string, JoinedLeg>();
    for (const joined of this.legs)
      for (const uri of this.partOf(joined, kind)?.ownKeys.keys() ?? []) if (!owners.has(uri)) owners.set(uri, joined);
    return owners;
  }

  #shown(
    owners: ReadonlyMap<string, JoinedLeg> | undefined,
    joined: JoinedLeg,
    item: JoinedItem,
  ): JoinedItem | undefined {
    if (owners === undefined || owners.get(item.key) === joined) return item;
    if (isOfApp(item.key)) return undefined;
    return renamed(item, this.outward(joined, item.key));
  }

  #placeOf(cursor: unknown): { leg: number; item: number } | undefined {
    const [, alias, item] = /^([^:]+):(\d{1,9})$/.exec(Buffer.from(textOf(cursor), 'base64url').toString()) ?? [];
    const leg = this.legs.findIndex((joined) => joined.alias === alias);
    return leg < 0 ? undefined : { leg, item: Number(item) };
  }
}

/** Its part of the list is made when somebody reads that, which those who use `discover` never do. */
function isListed({ leg }: JoinedLeg, kind: ListKind): boolean {
  return leg.pagesOf(kind) !== undefined;
}

/** Tools name such a resource by this very URI, so it is never another one; of two servers the first has it. */
export function isOfApp(uri: string): boolean {
  return uri.startsWith('ui:');
}

/** Opaque to clients: a server, and how many of its items came before. */
function cursorAt(alias: string, item: number): string {
  return Buffer.from(`${alias}:${item}`).toString('base64url');
}

/** What to do where a server is known only from before, and cannot be started. */
export function refreshHint({ leg }: JoinedLeg): string {
  if (leg.instance?.isOpen === true) return '';
  return ` It does not run, and this is known from before: a person can have it asked with mcp-bridge refresh ${leg.server.name}.`;
}
