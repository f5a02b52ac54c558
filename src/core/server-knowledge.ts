// The knowledge of one server, also while nothing runs: its answers to `initialize`, its lists, whether it asks back,
// and which of its tools do. One for each definition. Never gives one client's lists to another.

import { type DeclaredSharing, declaredSharingIn } from '../model/sharing.ts';
import type { Era, ListKind } from '../protocol/era.ts';
import {
  type ClientCapabilities,
  capabilitiesCover,
  capabilitiesOf,
  sameCapabilities,
  sameNegotiated,
} from '../protocol/initialize.ts';
import { lastingCopy } from '../util/lasting-bytes.ts';
import { type InstanceKey, ROOTS_DISAGREED, ROOTS_IN_DOUBT, ROOTS_UNDECIDED } from './instance-key.ts';

/**
 * One answer to a list method. `result` has the bytes of the result as clients of 2025 are shown it, with a newline behind
 * them. It is the server's own, but for servers of 2026 (results-for-2025.ts).
 */
export interface ListPage {
  /** The cursor of the request. */
  readonly cursor: string | undefined;
  readonly result: Buffer;
  /** The same with the output schemas of tools as the server wrote them, where clients of 2025 are shown others. */
  readonly original?: Buffer | undefined;
  /** The terms on which a server of 2026 lets the list be kept. */
  readonly caching?: CachingTerms | undefined;
}

export interface CachingTerms {
  readonly ttlMs: number;
  readonly cacheScope: string;
}

/** The terms that a server has named; undefined if they are none that the protocol has. */
export function cachingTermsOf(ttlMs: unknown, cacheScope: unknown): CachingTerms | undefined {
  const isTime = typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs >= 0;
  return isTime && (cacheScope === 'public' || cacheScope === 'private') ? { ttlMs, cacheScope } : undefined;
}

/** The answer by which an instance has introduced itself. */
export interface SelfIntroduction {
  /** The result of `initialize`, or that of `server/discover` in its form: an object's bytes, with a newline behind them. */
  readonly initializeResult: Buffer;
  /** The result of `server/discover` in its own bytes, with a newline; undefined in the era with a handshake. */
  readonly discoverResult?: Buffer | undefined;
}

/** The era in which a server was found to speak. */
export interface FoundEra {
  readonly era: Era;
  /** The version that was agreed on, and all that the server has named. */
  readonly version: string;
  readonly versions: readonly string[];
  /** The outcome of `server/discover`: an answer, silence, or the end of the process. */
  readonly probe: 'answered' | 'unanswered' | 'fatal';
  /** Marks the files of its program at that time; '' if it is none of this machine. */
  readonly program: string;
  /** The server's own name and version, as JSON. */
  readonly serverInfo: string;
  /** Milliseconds of the calendar. */
  readonly foundMs: number;
}

/** The appearance of a server towards clients with the same capabilities. */
export class ServerProfile {
  readonly capabilities: ClientCapabilities;
  /** The `clientInfo` that a dedicated server was told, as JSON; undefined where clients share it. */
  readonly clientInfo: string | undefined;
  /** The bytes of the result of `initialize`, with a newline behind them. */
  initializeResult: Buffer;
  /** The result of `server/discover` in its own bytes; undefined in the era with a handshake. */
  discoverResult: Buffer | undefined;
  /** Milliseconds of the calendar, because it outlives the process. */
  learnedMs: number;
  /** The number of running instances that keep the profile current. */
  live = 0;
  /** The lists, by the keys of KnownServer. */
  readonly lists = new Map<string, readonly ListPage[]>();
  #capabilities: ReadonlySet<string> | undefined;

  constructor(
    capabilities: ClientCapabilities,
    clientInfo: string | undefined,
    { initializeResult, discoverResult, learnedMs }: SelfIntroduction & Pick<ServerProfile, 'learnedMs'>,
  ) {
    this.capabilities = capabilities;
    this.clientInfo = clientInfo;
    this.initializeResult = lastingCopy(initializeResult);
    this.discoverResult = discoverResult && lastingCopy(discoverResult);
    this.learnedMs = learnedMs;
  }

  renew({ initializeResult, discoverResult }: SelfIntroduction, learnedMs: number): void {
    this.initializeResult = lastingCopy(initializeResult);
    this.discoverResult = discoverResult && lastingCopy(discoverResult);
    this.learnedMs = learnedMs;
    this.#capabilities = undefined;
  }

  /** True if the server declares the capability, such as `tools` or `logging`. */
  declares(capability: string): boolean {
    this.#capabilities ??= new Set(Object.keys(capabilitiesOf(this.initializeResult)));
    return this.#capabilities.has(capability);
  }

  /**
   * True if the server says that calling the tool twice does no harm. The name is JSON with one byte for each
   * character.
   */
  isSafe(nameText: string): boolean {
    const pages = this.lists.get('tools');
    return pages !== undefined && safeTools(pages).has(nameText);
  }
}

const MOST_PROFILES = 16;
/** The most lists of one profile. */
const MOST_LISTS = 36;
/** Lists that may show the contents of a client's roots. */
const OF_ROOTS: readonly ListKind[] = ['resources', 'templates'];
/** Keys of roots that belong to no certain client. */
const IN_DOUBT: readonly string[] = [ROOTS_IN_DOUBT, ROOTS_DISAGREED, ROOTS_UNDECIDED];

/** The facts that an answer to `initialize` may depend on. */
type ProfileKey = Pick<InstanceKey, 'capabilities' | 'owner'>;

/** The facts that a list may depend on. */
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

/** The number of times that each tool has ended without asking back; CONVERSATIONAL once it did ask. */
export type ToolHabits = Map<string, number>;

export interface KnowledgeContext {
  /** Milliseconds of the calendar. */
  readonly date: () => number;
  /** The time for which a server's answers hold while it does not run. */
  readonly ttlMs: number;
  /** Called when something worth keeping was learnt. */
  readonly changed: () => void;
  /** Called when a client was told, or is about to be told, the server's tools. */
  readonly toolsListed?: (pages: readonly ListPage[], how: ToolListing) => void;
}

/** The meaning of tools that are missing in a list. */
export interface ToolListing {
  /** True if these are all pages of the list. */
  readonly isWhole: boolean;
  /** True if no other instance runs, which could list others. */
  readonly isOnly: boolean;
}

/** The knowledge of one server, shared by all of its instances. */
export class KnownServer {
  readonly #context: KnowledgeContext;
  readonly profiles: ServerProfile[] = [];
  #asksForRoots = false;
  #asksBack = false;
  #declaredSharing: DeclaredSharing | undefined;
  #era: FoundEra | undefined;
  readonly habits: ToolHabits = new Map();
  /** The number of items of each list with too long a name or URI. */
  readonly #longKeys = new Map<ListKind, number>();
  /** The moments in which lists were read, by this daemon. */
  readonly #readMs = new WeakMap<readonly ListPage[], number>();

  constructor(context: KnowledgeContext) {
    this.#context = context;
  }

  /** True if what is known holds for a while after the server has gone. */
  get outlivesServer(): boolean {
    return this.#context.ttlMs > 0;
  }

  get asksForRoots(): boolean {
    return this.#asksForRoots;
  }

  /** The sharing that the server declared last. */
  get declaredSharing(): DeclaredSharing | undefined {
    return this.#declaredSharing;
  }

  /** True once the server has asked for sampling or elicitation. */
  get asksBack(): boolean {
    return this.#asksBack;
  }

  /** The era in which the server was found to speak; undefined while nobody knows. */
  get era(): FoundEra | undefined {
    return this.#era;
  }

  /** The time since its era was found out. It is absolute, so that a clock that was set back does not keep it for ever. */
  get eraAgeMs(): number {
    return this.#era === undefined ? Number.POSITIVE_INFINITY : Math.abs(this.#context.date() - this.#era.foundMs);
  }

  noteEra(found: Omit<FoundEra, 'foundMs'>): void {
    this.#era = { ...found, foundMs: this.#context.date() };
    this.changed();
  }

  /** The next start asks again. */
  forgetEra(): void {
    this.#era = undefined;
    this.changed();
  }

  /** Restores the knowledge of an earlier daemon. */
  restore(before: {
    readonly era?: FoundEra | undefined;
    readonly asksForRoots: boolean;
    readonly asksBack: boolean;
    readonly habits: Iterable<readonly [string, number]>;
    readonly profiles: readonly ServerProfile[];
  }): void {
    this.#era = before.era;
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
    // These lists depend on roots, and it is not known any more on which.
    for (const { lists } of this.profiles) for (const kind of OF_ROOTS) lists.delete(kind);
    this.changed();
  }

  noteAsksBack(): void {
    if (this.#asksBack) return;
    this.#asksBack = true;
    this.changed();
  }

  /** Returns true if these are more than before. */
  noteLongKeys(kind: ListKind, count: number): boolean {
    const before = this.#longKeys.get(kind) ?? 0;
    this.#longKeys.set(kind, count);
    return count > before;
  }

  changed(): void {
    this.#context.changed();
  }

  /** The profile that a client with this key would see, if it is known and still holds. */
  profileFor(key: ProfileKey): ServerProfile | undefined {
    const holding = this.profiles.filter((profile) => this.#holds(profile));
    return this.#profileAmong(profilesForClient(holding, key), key.capabilities);
  }

  /** The same, however old it is and whichever client it was for. */
  lastProfileFor(key: ProfileKey): ServerProfile | undefined {
    const { profiles } = this;
    return (
      this.profileFor(key) ??
      this.#profileAmong(profilesForClient(profiles, key), key.capabilities) ??
      this.#profileAmong(profiles, key.capabilities)
    );
  }

  #profileAmong(profiles: readonly ServerProfile[], capabilities: ClientCapabilities): ServerProfile | undefined {
    return (
      profiles.find((profile) => sameCapabilities(profile.capabilities, capabilities)) ??
      profiles.find((profile) => this.suits(profile.capabilities, capabilities))
    );
  }

  /** True if a client with `capabilities` may use an instance that was started with `started`. */
  suits(started: ClientCapabilities, capabilities: ClientCapabilities): boolean {
    if (!capabilitiesCover(started, capabilities) || !sameNegotiated(started, capabilities)) return false;
    return !this.#asksBack || capabilitiesCover(capabilities, started);
  }

  /** An instance has opened. `introduced` is the `clientInfo` it was told, '' for the bridge's own. */
  opened({ capabilities, owner }: ProfileKey, introduction: SelfIntroduction, introduced: string): ServerProfile {
    const now = this.#context.date();
    this.#declaredSharing = declaredSharingIn(capabilitiesOf(introduction.initializeResult));
    const isOfOne = owner !== undefined || this.#declaredSharing === 'isolated';
    const clientInfo = isOfOne ? introduced : undefined;
    let profile = this.profiles.find(
      (known) => sameCapabilities(known.capabilities, capabilities) && known.clientInfo === clientInfo,
    );
    if (profile === undefined) {
      profile = new ServerProfile(capabilities, clientInfo, { ...introduction, learnedMs: now });
      this.#add(profile);
    } else {
      // The clients that saw the expired lists are notified when they are read, even if they are the same.
      if (!this.#holds(profile)) profile.lists.clear();
      profile.renew(introduction, now);
    }
    profile.live++;
    this.changed();
    return profile;
  }

  /** An instance has gone. Its profile holds for the usual time from now on. */
  closed(profile: ServerProfile): void {
    profile.live--;
    profile.learnedMs = this.#context.date();
    this.changed();
  }

  /** Keeps a list that was read; returns true if it differs from the one before. */
  learnList(profile: ServerProfile, kind: ListKind, pages: readonly ListPage[], key: ListKey): boolean {
    const listKey = this.#listKeyFor(kind, key);
    if (listKey === undefined) return true;
    const before = profile.lists.get(listKey);
    profile.lists.set(listKey, pages);
    this.#readMs.set(pages, this.#context.date());
    if (profile.lists.size > MOST_LISTS) this.#dropOldest(profile, listKey);
    profile.learnedMs = this.#context.date();
    const isNew = before === undefined || !samePages(before, pages);
    if (isNew) this.changed();
    if (kind === 'tools') this.#context.toolsListed?.(pages, { isWhole: true, isOnly: this.#live <= 1 });
    return isNew;
  }

  /** The time since a list was read; undefined for one that an earlier daemon has read. */
  ageOf(pages: readonly ListPage[]): number | undefined {
    const readMs = this.#readMs.get(pages);
    return readMs === undefined ? undefined : this.#context.date() - readMs;
  }

  /** A client is about to get this page from the server itself. */
  toolsPassed(page: ListPage): void {
    this.#context.toolsListed?.([page], { isWhole: false, isOnly: false });
  }

  get #live(): number {
    return this.profiles.reduce((sum, { live }) => sum + live, 0);
  }

  /** Adds a profile. Clients may offer any capabilities, so an unused profile makes room. */
  #add(profile: ServerProfile): void {
    if (this.profiles.length >= MOST_PROFILES) {
      const unused = this.profiles.findIndex(({ live }) => live === 0);
      if (unused >= 0) this.profiles.splice(unused, 1);
    }
    this.profiles.push(profile);
  }

  #dropOldest(profile: ServerProfile, but: string): void {
    for (const listKey of profile.lists.keys())
      if (listKey !== but && listKey.includes(' ')) return void profile.lists.delete(listKey);
  }

  /** The list for clients with the same roots; undefined if it is not known. */
  pagesFor(profile: ServerProfile, kind: ListKind, key: ListKey): readonly ListPage[] | undefined {
    const listKey = this.#listKeyFor(kind, key);
    return listKey === undefined ? undefined : profile.lists.get(listKey);
  }

  /** The newest list of tools of any profile. */
  get lastTools(): readonly ListPage[] | undefined {
    const newest = [...this.profiles].sort((a, b) => b.learnedMs - a.learnedMs);
    return newest.find(({ lists }) => lists.has('tools'))?.lists.get('tools');
  }

  /** The key of a list. A list that depends on one client's roots or on one client has a key of its own, or none. */
  #listKeyFor(kind: ListKind, { rootsKey, owner }: ListKey): string | undefined {
    if (!OF_ROOTS.includes(kind)) return kind;
    if (owner !== undefined) return undefined;
    if (!this.#asksForRoots) return kind;
    return rootsKey === undefined || IN_DOUBT.includes(rootsKey) ? undefined : `${kind} ${rootsKey}`;
  }

  #holds(profile: ServerProfile): boolean {
    // The difference is absolute, so that a clock that was set back does not keep a profile for ever.
    return profile.live > 0 || Math.abs(this.#context.date() - profile.learnedMs) < this.#context.ttlMs;
  }
}

/**
 * The profiles that a client may see. A dedicated server may answer by `clientInfo`. A client that shares it gets the
 * profile of other sharing clients, if there is one.
 */
function profilesForClient(profiles: readonly ServerProfile[], { owner }: ProfileKey): readonly ServerProfile[] {
  if (owner !== undefined) return profiles.filter(({ clientInfo }) => clientInfo === clientInfoText(owner));
  const shared = profiles.filter(({ clientInfo }) => clientInfo === undefined);
  return shared.length > 0 ? shared : profiles;
}

/** The client's `clientInfo` as JSON; '' if it has none. */
export function clientInfoText({ clientInfo }: { readonly clientInfo: object | undefined }): string {
  return clientInfo === undefined ? '' : JSON.stringify(clientInfo);
}

export function samePages(a: readonly ListPage[], b: readonly ListPage[]): boolean {
  return (
    a.length === b.length &&
    a.every((page, i) => page.cursor === b[i]?.cursor && b[i] !== undefined && page.result.equals(b[i].result))
  );
}
