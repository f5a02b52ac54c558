// What is known of a server, also while it does not run: how it answers `initialize` and what it lists, by what it was
// offered; whether it asks back, and which of its tools do. One for each definition, shared by all of its instances.

import type { ListKind } from '../protocol/era-2025.ts';
import {
  type ClientCapabilities,
  capabilitiesCover,
  capabilitiesOf,
  sameCapabilities,
  sameNegotiated,
} from '../protocol/initialize.ts';
import type { InstanceKey } from './instance.ts';
import { ROOTS_DISAGREED, ROOTS_IN_DOUBT, ROOTS_UNDECIDED } from './roots.ts';
import type { Session } from './session.ts';
import { type DeclaredSharing, declaredSharingIn } from './sharing.ts';

/** One answer to a list method, as the server gave it: an object's bytes, with a newline behind them. */
export interface ListPage {
  /** What was asked with. */
  readonly cursor: string | undefined;
  readonly result: Buffer;
}

/** How a server shows itself to those who offer it the same. */
export class ServerProfile {
  readonly capabilities: ClientCapabilities;
  /** The client that a server of one client alone was told, as text; undefined where clients share it. */
  readonly clientInfo: string | undefined;
  /** The result of its `initialize`: an object's bytes, with a newline behind them. */
  initializeResult: Buffer;
  /** On the calendar's clock, because it outlives the process. */
  learnedMs: number;
  /** Instances that run and keep it up to date. */
  live = 0;
  /** By where they are kept, see KnownServer. */
  readonly lists = new Map<string, readonly ListPage[]>();
  #capabilities: ReadonlySet<string> | undefined;

  constructor(
    capabilities: ClientCapabilities,
    clientInfo: string | undefined,
    { initializeResult, learnedMs }: Pick<ServerProfile, 'initializeResult' | 'learnedMs'>,
  ) {
    this.capabilities = capabilities;
    this.clientInfo = clientInfo;
    this.initializeResult = initializeResult;
    this.learnedMs = learnedMs;
  }

  renew(initializeResult: Buffer, learnedMs: number): void {
    this.initializeResult = initializeResult;
    this.learnedMs = learnedMs;
    this.#capabilities = undefined;
  }

  /** Whether the server says that it has this: `tools`, `logging` and others */
  declares(capability: string): boolean {
    this.#capabilities ??= new Set(Object.keys(capabilitiesOf(this.initializeResult)));
    return this.#capabilities.has(capability);
  }

  /** Whether a tool does no harm twice, as the server says. The name is JSON, of which each character is one byte. */
  isSafe(nameText: string): boolean {
    const pages = this.lists.get('tools');
    return pages !== undefined && safeTools(pages).has(nameText);
  }
}

const MOST_FACES = 16;
/** Of one profile. */
const MOST_LISTS = 36;
/** Lists that may show what is in a client's roots. */
const OF_ROOTS: readonly ListKind[] = ['resources', 'templates'];
/** Roots of which nobody can say whose they are. */
const IN_DOUBT: readonly string[] = [ROOTS_IN_DOUBT, ROOTS_DISAGREED, ROOTS_UNDECIDED];

/** What an answer to `initialize` may depend on. */
type ProfileKey = Pick<InstanceKey, 'capabilities' | 'owner'>;

/** What a list may depend on. */
type ListKey = Pick<InstanceKey, 'rootsKey' | 'owner'>;

const safe = new WeakMap<readonly ListPage[], ReadonlySet<string>>();

function safeTools(pages: readonly ListPage[]): ReadonlySet<string> {
  const found = safe.get(pages) ?? new Set(pages.flatMap(({ result }) => safeToolsIn(result)));
  safe.set(pages, found);
  return found;
}

interface ToolHints {
  readonly name?: unknown;
  readonly annotations?: { readonly readOnlyHint?: unknown; readonly idempotentHint?: unknown };
}

function safeToolsIn(result: Buffer): string[] {
  const { tools } = JSON.parse(result.toString()) as { tools?: readonly (ToolHints | null)[] };
  return (Array.isArray(tools) ? tools : []).flatMap((tool: ToolHints | null) => {
    const hints = tool?.annotations;
    const isSafe = hints?.readOnlyHint === true || hints?.idempotentHint === true;
    return isSafe && typeof tool?.name === 'string' ? [Buffer.from(JSON.stringify(tool.name)).toString('latin1')] : [];
  });
}

/** How many times a tool has ended without asking back; CONVERSATIONAL once it did ask. */
export type ToolHabits = Map<string, number>;

export interface KnowledgeContext {
  /** Milliseconds of the calendar. */
  readonly date: () => number;
  /** How long what a server said holds while it does not run. */
  readonly ttlMs: number;
  /** Something was learnt that is worth keeping. */
  readonly changed: () => void;
  /** Somebody was told, or is to be told, that the server's tools are these. */
  readonly toolsListed?: (pages: readonly ListPage[], how: ToolListing) => void;
}

/** What a list of tools says of those that are not in it. */
export interface ToolListing {
  /** Whether it is all of the list. */
  readonly isWhole: boolean;
  /** Whether no other instance runs, which may list others. */
  readonly isOnly: boolean;
}

export class KnownServer {
  readonly #context: KnowledgeContext;
  readonly profiles: ServerProfile[] = [];
  #asksForRoots = false;
  #asksBack = false;
  #declaredSharing: DeclaredSharing | undefined;
  readonly habits: ToolHabits = new Map();
  /** How many items of each list have too long a name or URI. */
  readonly #longKeys = new Map<ListKind, number>();

  constructor(context: KnowledgeContext) {
    this.#context = context;
  }

  get asksForRoots(): boolean {
    return this.#asksForRoots;
  }

  /** How it wants to be shared, as it said the last time. */
  get declaredSharing(): DeclaredSharing | undefined {
    return this.#declaredSharing;
  }

  /** Whether it has ever asked for sampling or elicitation. */
  get asksBack(): boolean {
    return this.#asksBack;
  }

  /** Takes what was known before. */
  restore(before: {
    readonly asksForRoots: boolean;
    readonly asksBack: boolean;
    readonly habits: Iterable<readonly [string, number]>;
    readonly profiles: readonly ServerProfile[];
  }): void {
    this.#asksForRoots = before.asksForRoots;
    this.#asksBack = before.asksBack;
    for (const [tool, habit] of before.habits) this.habits.set(tool, habit);
    this.profiles.push(...before.profiles);
    const newest = [...before.profiles].sort((a, b) => b.learnedMs - a.learnedMs)[0];
    this.#declaredSharing = newest && declaredSharingIn(capabilitiesOf(newest.initializeResult));
  }

  noteAsksForRoots(): void {
    if (this.#asksForRoots) return;
    this.#asksForRoots = true;
    // Whose roots these depend on is not known any more.
    for (const { lists } of this.profiles) for (const kind of OF_ROOTS) lists.delete(kind);
    this.changed();
  }

  noteAsksBack(): void {
    if (this.#asksBack) return;
    this.#asksBack = true;
    this.changed();
  }

  /** Returns whether these are more than were known. */
  noteLongKeys(kind: ListKind, count: number): boolean {
    const before = this.#longKeys.get(kind) ?? 0;
    this.#longKeys.set(kind, count);
    return count > before;
  }

  changed(): void {
    this.#context.changed();
  }

  /** What a client that offers this would see, if that is known. */
  profileFor(key: ProfileKey): ServerProfile | undefined {
    const holding = this.profiles.filter((profile) => this.#holds(profile));
    return this.#profileAmong(ofClient(holding, key), key.capabilities);
  }

  /** The same, however long ago that was, and whichever client it was for. */
  lastProfileFor(key: ProfileKey): ServerProfile | undefined {
    const { profiles } = this;
    return (
      this.profileFor(key) ??
      this.#profileAmong(ofClient(profiles, key), key.capabilities) ??
      this.#profileAmong(profiles, key.capabilities)
    );
  }

  #profileAmong(profiles: readonly ServerProfile[], capabilities: ClientCapabilities): ServerProfile | undefined {
    return (
      profiles.find((profile) => sameCapabilities(profile.capabilities, capabilities)) ??
      profiles.find((profile) => this.suits(profile.capabilities, capabilities))
    );
  }

  /** Whether a client with `capabilities` may use what was started with `started`. */
  suits(started: ClientCapabilities, capabilities: ClientCapabilities): boolean {
    if (!capabilitiesCover(started, capabilities) || !sameNegotiated(started, capabilities)) return false;
    return !this.#asksBack || capabilitiesCover(capabilities, started);
  }

  /** An instance has come up, and was told this client; '' if it was told the bridge. */
  opened({ capabilities, owner }: ProfileKey, initializeResult: Buffer, introduced: string): ServerProfile {
    const now = this.#context.date();
    this.#declaredSharing = declaredSharingIn(capabilitiesOf(initializeResult));
    const isOfOne = owner !== undefined || this.#declaredSharing === 'isolated';
    const clientInfo = isOfOne ? introduced : undefined;
    let profile = this.profiles.find(
      (known) => sameCapabilities(known.capabilities, capabilities) && known.clientInfo === clientInfo,
    );
    if (profile === undefined) {
      profile = new ServerProfile(capabilities, clientInfo, { initializeResult, learnedMs: now });
      this.#add(profile);
    } else {
      // Clients that did not count on it any more are told when it is read, also if it is what it was.
      if (!this.#holds(profile)) profile.lists.clear();
      profile.renew(initializeResult, now);
    }
    profile.live++;
    this.changed();
    return profile;
  }

  /** An instance has gone: what it has kept up to date until now holds from now on as long as it may. */
  closed(profile: ServerProfile): void {
    profile.live--;
    profile.learnedMs = this.#context.date();
    this.changed();
  }

  /** A list was read; whether it is another one than before. */
  learnList(profile: ServerProfile, kind: ListKind, pages: readonly ListPage[], key: ListKey): boolean {
    const place = this.#placeOf(kind, key);
    if (place === undefined) return true;
    const before = profile.lists.get(place);
    profile.lists.set(place, pages);
    if (profile.lists.size > MOST_LISTS) this.#dropOldest(profile, place);
    profile.learnedMs = this.#context.date();
    const isNew = before === undefined || !samePages(before, pages);
    if (isNew) this.changed();
    if (kind === 'tools') this.#context.toolsListed?.(pages, { isWhole: true, isOnly: this.#live <= 1 });
    return isNew;
  }

  /** A client is about to be told this by the server itself. */
  toolsPassed(page: ListPage): void {
    this.#context.toolsListed?.([page], { isWhole: false, isOnly: false });
  }

  get #live(): number {
    return this.profiles.reduce((sum, { live }) => sum + live, 0);
  }

  /** Clients may offer what they like; what nobody uses any more makes room. */
  #add(profile: ServerProfile): void {
    if (this.profiles.length >= MOST_FACES) {
      const unused = this.profiles.findIndex(({ live }) => live === 0);
      if (unused >= 0) this.profiles.splice(unused, 1);
    }
    this.profiles.push(profile);
  }

  #dropOldest(profile: ServerProfile, but: string): void {
    for (const place of profile.lists.keys())
      if (place !== but && place.includes(' ')) return void profile.lists.delete(place);
  }

  /** The list as it was for those with the same roots; undefined if that is not known. */
  pagesFor(profile: ServerProfile, kind: ListKind, key: ListKey): readonly ListPage[] | undefined {
    const place = this.#placeOf(kind, key);
    return place === undefined ? undefined : profile.lists.get(place);
  }

  /** The newest list of its tools, whatever it was offered. */
  get lastTools(): readonly ListPage[] | undefined {
    const newest = [...this.profiles].sort((a, b) => b.learnedMs - a.learnedMs);
    return newest.find(({ lists }) => lists.has('tools'))?.lists.get('tools');
  }

  /** What a server has for one client's roots, or for one client alone, is not another's to see. */
  #placeOf(kind: ListKind, { rootsKey, owner }: ListKey): string | undefined {
    if (!OF_ROOTS.includes(kind)) return kind;
    if (owner !== undefined) return undefined;
    if (!this.#asksForRoots) return kind;
    return rootsKey === undefined || IN_DOUBT.includes(rootsKey) ? undefined : `${kind} ${rootsKey}`;
  }

  #holds(profile: ServerProfile): boolean {
    // A clock that was set back makes nothing hold for ever.
    return profile.live > 0 || Math.abs(this.#context.date() - profile.learnedMs) < this.#context.ttlMs;
  }
}

/** A server of one client alone may answer by who that is; whoever shares it gets what those got who did, if anybody. */
function ofClient(profiles: readonly ServerProfile[], { owner }: ProfileKey): readonly ServerProfile[] {
  if (owner !== undefined) return profiles.filter(({ clientInfo }) => clientInfo === clientInfoText(owner));
  const shared = profiles.filter(({ clientInfo }) => clientInfo === undefined);
  return shared.length > 0 ? shared : profiles;
}

/** '' for one that says nothing of itself. */
export function clientInfoText({ clientInfo }: Session): string {
  return clientInfo === undefined ? '' : JSON.stringify(clientInfo);
}

export function samePages(a: readonly ListPage[], b: readonly ListPage[]): boolean {
  return (
    a.length === b.length &&
    a.every((page, i) => page.cursor === b[i]?.cursor && b[i] !== undefined && page.result.equals(b[i].result))
  );
}
