// The lists of a joined view: waits for what is not known yet, puts the parts together in pages, and finds out whose a
// name is.

import { LISTS, type ListKind } from '../protocol/era-2025.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { textOf } from '../util/json-value.ts';
import { nearest } from '../util/nearest.ts';
import { aliasIn, joinedName } from './joined-names.ts';
import { waitForLists } from './list-wait.ts';
import { itemsIn, keyOf } from './lists.ts';
import type { Binding } from './server.ts';
import type { ListPage } from './server-knowledge.ts';
import type { ToolGate } from './tool-gate.ts';

/** One server of a joined view. */
export interface JoinedBinding {
  readonly alias: string;
  readonly binding: Binding;
}

export interface Target {
  readonly binding: Binding;
  /** What the server calls it, as JSON of which each character is one byte. */
  readonly ownKey: string;
}

/** One answer should not fill a client's memory, nor exceed what it takes in a message. */
const PAGE_BYTES = 1024 * 1024;
const OUTWARD = 'mcp-bridge://';

export class JoinedLists {
  /** Tools of the bridge's own, which no server's joined name can be taken for. */
  ownTools: readonly JoinedItem[] = [];
  #bindings: readonly JoinedBinding[] = [];
  #byAlias: ReadonlyMap<string, JoinedBinding> = new Map();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get bindings(): readonly JoinedBinding[] {
    return this.#bindings;
  }

  set bindings(bindings: readonly JoinedBinding[]) {
    this.#bindings = bindings;
    this.#byAlias = new Map(bindings.map((binding) => [binding.alias, binding]));
  }

  partOf({ alias, binding }: JoinedBinding, kind: ListKind): JoinedPart | undefined {
    const pages = binding.pagesOf(kind);
    if (pages === undefined) return undefined;
    const part = joinedPart(kind, pages, alias);
    return kind === 'tools' ? permittedPart(part, binding.gate) : part;
  }

  isKnown(kind: ListKind): boolean {
    return this.bindings.every((joined) => isListed(joined, kind));
  }

  /**
   * Asks all servers that are not known, and waits for them as long as is fair to the others. `isEnough` says that what is known of
   * a server will do.
   */
  async whenListed(kind: ListKind, isEnough: (joined: JoinedBinding) => boolean = () => false): Promise<void> {
    const missing = this.bindings.filter((joined) => !isListed(joined, kind) && !isEnough(joined));
    const awaited = missing.filter(({ binding }) => !binding.server.isLeftOut); // one that is late is waited for once
    const learning = new Map(missing.map((binding) => [binding, this.learn(binding, kind)]));
    for (const promise of learning.values()) promise.catch(() => undefined); // its error stands in `status`
    await waitForLists({
      servers: this.bindings.length,
      missing: awaited.map((joined) => ({
        begun: joined.binding.bind().whenBegun(),
        done: learning.get(joined) ?? Promise.resolve(),
      })),
      clock: this.#clock,
    });
    for (const joined of missing) if (joined.binding.session.isOpen) this.#noteLeftOut(joined, kind);
  }

  /** Of a client that has gone meanwhile nothing follows for the others. */
  #noteLeftOut(joined: JoinedBinding, kind: ListKind): void {
    joined.binding.server.isLeftOut = !isListed(joined, kind);
  }

  /** Has one server asked; rejects with why it cannot say. */
  async learn(joined: JoinedBinding, kind: ListKind): Promise<void> {
    const { binding } = joined;
    if (binding.server.known.asksForRoots) await binding.whenRootsKnown();
    if (isListed(joined, kind)) return;
    const instance = await binding.whenOpen();
    await instance.lists.readMissing(kind);
    if (isListed(joined, kind)) return;
    const { name } = binding.server;
    throw new BridgeError('SERVER_CRASHED', `Server ${name} has not said what it has`, { server: name });
  }

  /** Whether its list is from before, and it can be asked for a new one: nothing should be refused on its word. */
  mayBeStale({ binding }: JoinedBinding, kind: ListKind): boolean {
    return binding.instance?.lists.pagesOf(kind) === undefined && !binding.server.isDown;
  }

  /** Has the server itself asked, also if its list is known from before; resolves too if it cannot say. */
  async learnAnew(joined: JoinedBinding, kind: ListKind): Promise<void> {
    const { binding } = joined;
    try {
      if (binding.server.known.asksForRoots) await binding.whenRootsKnown();
      const instance = await binding.whenOpen();
      await instance.lists.readMissing(kind);
    } catch (error) {
      if (!isListed(joined, kind)) throw error;
    }
  }

  // --- names ---

  /** The server whose list is from before, and does not have this name. */
  staleOwnerOf(kind: ListKind, name: string): JoinedBinding | undefined {
    const joined = this.#byAlias.get(aliasIn(name) ?? '');
    return joined !== undefined && this.mayBeStale(joined, kind) ? joined : undefined;
  }

  /** Whose tool or prompt this is; a server whose list decides it and is not known; or undefined. */
  find(kind: ListKind, name: string): Target | JoinedBinding | undefined {
    const joined = this.#byAlias.get(aliasIn(name) ?? '');
    if (joined === undefined) return undefined;
    const part = this.partOf(joined, kind);
    if (part === undefined) return joined;
    const ownKey = part.ownKeys.get(name);
    return ownKey === undefined ? undefined : { binding: joined.binding, ownKey };
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
    for (const binding of new Set([...likely, ...this.bindings]))
      for (const { key } of this.partOf(binding, kind)?.items ?? []) yield key;
  }

  noSuchResource(): BridgeError {
    return new BridgeError('RESOURCE_NOT_FOUND', 'No server has such a resource', {
      hint: `${OUTWARD}ALIAS/URI asks one server for it. Aliases: ${this.bindings.map(({ alias }) => alias).join(', ')}.`,
    });
  }

  // --- URIs ---

  /** A URI that an earlier server has too says whose it is. */
  outward({ alias }: JoinedBinding, uri: string): string {
    return `${OUTWARD}${alias}/${uri}`;
  }

  /** The server that such a URI names, and its own URI there. */
  inward(uri: string): { readonly joined: JoinedBinding; readonly uri: string } | undefined {
    if (!uri.startsWith(OUTWARD)) return undefined;
    const slash = uri.indexOf('/', OUTWARD.length);
    const joined = this.#byAlias.get(uri.slice(OUTWARD.length, slash));
    return slash < 0 || joined === undefined ? undefined : { joined, uri: uri.slice(slash + 1) };
  }

  /** The first server that lists it. */
  ownerOf(kind: ListKind, key: string): JoinedBinding | undefined {
    return this.bindings.find((binding) => this.partOf(binding, kind)?.ownKeys.has(key));
  }

  // --- pages ---

  /** A page of the list and where the next one begins; undefined for a cursor that is none of ours. */
  page(kind: ListKind, cursor: unknown): { items: JoinedItem[]; nextCursor: string | undefined } | undefined {
    const from = cursor === undefined ? { binding: 0, item: 0 } : this.#placeOf(cursor);
    if (from === undefined) return undefined;
    const items: JoinedItem[] = kind === 'tools' && cursor === undefined ? [...this.ownTools] : [];
    let bytes = 0;
    const owners = LISTS[kind].key === 'name' ? undefined : this.#ownersOf(kind);
    for (const [n, joined] of this.bindings.entries()) {
      if (n < from.binding) continue;
      const part = this.partOf(joined, kind)?.items ?? [];
      for (let i = n === from.binding ? from.item : 0; i < part.length; i++) {
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
  #ownersOf(kind: ListKind): ReadonlyMap<string, JoinedBinding> {
    const owners = new Map<string, JoinedBinding>();
    for (const joined of this.bindings)
      for (const uri of this.partOf(joined, kind)?.ownKeys.keys() ?? []) if (!owners.has(uri)) owners.set(uri, joined);
    return owners;
  }

  #shown(
    owners: ReadonlyMap<string, JoinedBinding> | undefined,
    joined: JoinedBinding,
    item: JoinedItem,
  ): JoinedItem | undefined {
    if (owners === undefined || owners.get(item.key) === joined) return item;
    if (isOfApp(item.key)) return undefined;
    return renamed(item, this.outward(joined, item.key));
  }

  #placeOf(cursor: unknown): { binding: number; item: number } | undefined {
    const [, alias, item] = /^([^:]+):(\d{1,9})$/.exec(Buffer.from(textOf(cursor), 'base64url').toString()) ?? [];
    const binding = this.bindings.findIndex((joined) => joined.alias === alias);
    return binding < 0 ? undefined : { binding, item: Number(item) };
  }
}

/** Its part of the list is made when somebody reads that, which those who use `discover` never do. */
function isListed({ binding }: JoinedBinding, kind: ListKind): boolean {
  return binding.pagesOf(kind) !== undefined;
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
export function refreshHint({ binding }: JoinedBinding): string {
  if (binding.instance?.isOpen === true) return '';
  return ` It does not run, and this is known from before: a person can have it asked with mcp-bridge refresh ${binding.server.name}.`;
}

// One server's lists as they stand in a joined one: its items with their joined names, cut out of the bytes of its own
// answers. Made once for each answer, however many clients ask.

export interface JoinedItem {
  readonly bytes: Buffer;
  /** Where in them the name or URI stands, and what it is. */
  readonly keyFrom: number;
  readonly keyTo: number;
  readonly key: string;
}

export interface JoinedPart {
  readonly items: readonly JoinedItem[];
  /** By what the client says, what the server calls it, as JSON of which each character is one byte. */
  readonly ownKeys: ReadonlyMap<string, string>;
}

/** By alias, since several clients may see one server under different ones. */
const parts = new WeakMap<readonly ListPage[], Map<string, JoinedPart>>();

export function joinedPart(kind: ListKind, pages: readonly ListPage[], alias: string): JoinedPart {
  const made = parts.get(pages) ?? new Map<string, JoinedPart>();
  parts.set(pages, made);
  const part = made.get(alias) ?? makePart(kind, pages, alias);
  made.set(alias, part);
  return part;
}

const permitted = new WeakMap<ToolGate, WeakMap<JoinedPart, JoinedPart>>();

/** What of it a client may see. What it may not call keeps its name, so that nobody else gets that. */
function permittedPart(part: JoinedPart, gate: ToolGate): JoinedPart {
  if (gate.isOpen) return part;
  const known = permitted.get(gate) ?? new WeakMap<JoinedPart, JoinedPart>();
  permitted.set(gate, known);
  const mayCall = ({ key }: JoinedItem): boolean => gate.refusalOf(decoded(part.ownKeys.get(key))) === undefined;
  const seen = known.get(part) ?? { ...part, items: part.items.filter(mayCall) };
  known.set(part, seen);
  return seen;
}

function decoded(ownKey = '""'): string {
  return JSON.parse(Buffer.from(ownKey, 'latin1').toString()) as string;
}

function makePart(kind: ListKind, pages: readonly ListPage[], alias: string): JoinedPart {
  const items: JoinedItem[] = [];
  const ownKeys = new Map<string, string>();
  const freeName = nameGiver(alias, ownKeys);
  for (const { result } of pages)
    for (const item of itemsOf(kind, result)) {
      const own = item.bytes.latin1Slice(item.keyFrom, item.keyTo);
      const joined = hasNames(kind) ? renamed(item, freeName(item.key)) : item;
      if (ownKeys.has(joined.key)) continue; // the same URI twice
      ownKeys.set(joined.key, own);
      items.push(joined);
    }
  return { items, ownKeys };
}

/** Prompts and tools go by names, resources and templates by URIs, which are nobody's to change. */
function hasNames(kind: ListKind): boolean {
  return LISTS[kind].key === 'name';
}

/** Items that have no name, or are no objects, cannot be asked for; those with too long a name are left out. */
function* itemsOf(kind: ListKind, result: Buffer): Generator<JoinedItem> {
  for (const item of itemsIn(kind, result)) {
    const named = keyOf(kind, result, item);
    if (named === undefined) continue;
    const { key, span } = named;
    const { from, to } = item;
    yield { bytes: result.subarray(from, to), keyFrom: span.from - from, keyTo: span.to - from, key };
  }
}

/** Numbers namesakes, each from where the one before it has ended: there may be any number of them. */
function nameGiver(alias: string, taken: ReadonlyMap<string, string>): (own: string) => string {
  const numbers = new Map<string, number>();
  return (own) => {
    let name = joinedName(alias, own);
    if (!taken.has(name)) return name;
    let n = numbers.get(own) ?? 1;
    while (taken.has(name)) name = joinedName(alias, `${own}#${++n}`);
    numbers.set(own, n);
    return name;
  };
}

/** The item under another name or URI. */
function renamed({ bytes, keyFrom, keyTo }: JoinedItem, key: string): JoinedItem {
  const text = Buffer.from(JSON.stringify(key));
  return {
    bytes: Buffer.concat([bytes.subarray(0, keyFrom), text, bytes.subarray(keyTo)]),
    keyFrom,
    keyTo: keyFrom + text.length,
    key,
  };
}
