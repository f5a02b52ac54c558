// The knowledge of one server, kept also while nothing runs: its answers to `initialize`, its lists, whether it asks
// back, and which of its tools do. One object for each definition. It never gives one client's lists to another.

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
 * One answer to a list method. `result` has the bytes of the result as clients of 2025 see it, followed by a newline.
 * For servers of 2026 they were converted (results-for-2025.ts).
 */
export interface ListPage {
  /** The cursor that the request had. */
  readonly cursor: string | undefined;
  readonly result: Buffer;
  /** The list as the server wrote it, if its output schemas were changed for clients of 2025. */
  readonly original?: Buffer | undefined;
  /** The terms on which a server of 2026 lets clients keep the list. */
  readonly caching?: CachingTerms | undefined;
}

export interface CachingTerms {
  readonly ttlMs: number;
  readonly cacheScope: string;
}

/** The caching terms that a server gave; undefined if they are not valid in the protocol. */
export function cachingTermsOf(ttlMs: unknown, cacheScope: unknown): CachingTerms | undefined {
  const isTime = typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs >= 0;
  return isTime && (cacheScope === 'public' || cacheScope === 'private') ? { ttlMs, cacheScope } : undefined;
}

/** An instance's answer that describes itself. */
export interface SelfIntroduction {
  /** The result of `initialize`, or of `server/discover` in the same form: an object's bytes, followed by a newline. */
  readonly initializeResult: Buffer;
  /** The original result of `server/discover`, followed by a newline; undefined in the era with a handshake. */
  readonly discoverResult?: Buffer | undefined;
}

/** The era that a server was found to speak. */
export interface FoundEra {
  readonly era: Era;
  /** The agreed version, and all versions that the server named. */
  readonly version: string;
  readonly versions: readonly string[];
  /** The outcome of `server/discover`: an answer, silence, or the end of the process. */
  readonly probe: 'answered' | 'unanswered' | 'fatal';
  /** Identifies the program's files at that time; '' if the server is no local program. */
  readonly program: string;
  /** The server's own name and version, as JSON. */
  readonly serverInfo: string;
  /** Milliseconds since 1970. */
  readonly foundMs: number;
}

/** The server's answers to clients with the same capabilities. */
export class ServerProfile {
  readonly capabilities: ClientCapabilities;
  /** The `clientInfo` that a dedicated server was told, as JSON; undefined for a shared one. */
  readonly clientInfo: string | undefined;
  /** The result of `initialize` in bytes, followed by a newline. */
  initializeResult: Buffer;
  /** The original result of `server/discover`; undefined in the era with a handshake. */
  discoverResult: Buffer | undefined;
  /** Milliseconds since 1970, because it outlives the process. */
  learnedMs: number;
  /** The number of running instances that keep the profile up to date. */
  live = 0;
  /** The lists; the keys come from KnownServer. */
  readonly lists = new Map<string, readonly ListPage[]>();
  #capabilities: readonly string[] | undefined;

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
    this.#capabilities ??= Object.keys(capabilitiesOf(this.initializeResult));
    return this.#capabilities.includes(capability);
  }

  /** True if the server says that calling the tool twice does no harm. The name is JSON in latin1. */
  isSafe(nameText: string): boolean {
    const pages = this.lists.get('tools');
    return pages !== undefined && safeTools(pages).has(nameText);
  }
}

const MOST_PROFILES = 16;
/** The maximum number of lists in one profile. */
const MOST_LISTS = 36;
/** Lists that may reveal the contents of a client's roots. */
const OF_ROOTS: readonly ListKind[] = ['resources', 'templates'];
/** Root keys that belong to no certain client. */
const IN_DOUBT: readonly string[] = [ROOTS_IN_DOUBT, ROOTS_DISAGREED, ROOTS_UNDECIDED];

/** The parts of the key that an answer to `initialize` may depend on. */
type ProfileKey = Pick<InstanceKey, 'capabilities' | 'owner'>;

/** The parts of the key that a list may depend on. */
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

/** For each tool, how often it ended without asking back; CONVERSATIONAL once it did ask. */
export type ToolHabits = ReadonlyMap<string, number>;

const NO_HABITS: ToolHabits = new Map();

/** The times at which this daemon read the lists. */
const readMs = new WeakMap<readonly ListPage[], number>();

export interface KnowledgeContext {
  /** Milliseconds since 1970. */
  readonly date: () => number;
  /** The time for which a server's answers stay valid while it does not run. */
  readonly ttlMs: number;
  /** Called when something worth saving was learnt. */
  readonly changed: () => void;
  /** Called when clients get the server's tools, or are about to. */
  readonly toolsListed?: (pages: readonly ListPage[], how: ToolListing) => void;
}

/** Tells if a tool that is missing from a list is gone. */
export interface ToolListing {
  /** True if these are all pages of the list. */
  readonly isWhole: boolean;
  /** True if no other instance runs that could list other tools. */
  readonly isOnly: boolean;
}

/** The knowledge of one server, shared by all of its instances. There may be thousands: what a server may never need is made when it does. */
export class KnownServer {
  readonly #context: KnowledgeContext;
  #profiles: readonly ServerProfile[] = [];
  #asksForRoots = false;
  #asksBack = false;
  #declaredSharing: DeclaredSharing | undefined;
  #era: FoundEra | undefined;
  #habits: Map<string, number> | undefined;
  /** The number of items per list whose name or URI is too long. */
  #longKeys: Map<ListKind, number> | undefined;

  constructor(context: KnowledgeContext) {
    this.#context = context;
  }

  get profiles(): readonly ServerProfile[] {
    return this.#profiles;
  }

  get habits(): ToolHabits {
    return this.#habits ?? NO_HABITS;
  }

  setHabit(tool: string, habit: number): void {
    this.#habits ??= new Map();
    this.#habits.set(tool, habit);
  }

  /** True if the knowledge stays valid for a while after the server has gone. */
  get outlivesServer(): boolean {
    return this.#context.ttlMs > 0;
  }

  get asksForRoots(): boolean {
    return this.#asksForRoots;
  }

  /** The sharing that the server last declared. */
  get declaredSharing(): DeclaredSharing | undefined {
    return this.#declaredSharing;
  }

  /** True once the server has asked for sampling or elicitation. */
  get asksBack(): boolean {
    return this.#asksBack;
  }

  /** The era that the server was found to speak; undefined until known. */
  get era(): FoundEra | undefined {
    return this.#era;
  }

  /** The time since the era was found. It is absolute, so that a clock set back does not keep it for ever. */
  get eraAgeMs(): number {
    return this.#era === undefined ? Number.POSITIVE_INFINITY : Math.abs(this.#context.date() - this.#era.foundMs);
  }

  noteEra({ era, version, versions, probe, program, serverInfo }: Omit<FoundEra, 'foundMs'>): void {
    this.#era = { era, version, versions, probe, program, serverInfo, foundMs: this.#context.date() };
    this.changed();
  }

  /** Forgets the era; the next start probes again. */
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
    for (const [tool, habit] of before.habits) this.setHabit(tool, habit);
    this.#profiles = this.#profiles.concat(before.profiles);
    const newest = [...before.profiles].sort((a, b) => b.learnedMs - a.learnedMs)[0];
    this.#declaredSharing = newest && declaredSharingIn(capabilitiesOf(newest.initializeResult));
  }

  noteAsksForRoots(): void {
    if (this.#asksForRoots) return;
    this.#asksForRoots = true;
    // These lists depend on roots, and the roots are no longer known.
    for (const { lists } of this.profiles) for (const kind of OF_ROOTS) lists.delete(kind);
    this.changed();
  }

  noteAsksBack(): void {
    if (this.#asksBack) return;
    this.#asksBack = true;
    this.changed();
  }

  /** Notes the number of long keys; returns true if it has grown. */
  noteLongKeys(kind: ListKind, count: number): boolean {
    const before = this.#longKeys?.get(kind) ?? 0;
    if (count === before) return false;
    this.#longKeys ??= new Map();
    this.#longKeys.set(kind, count);
    return count > before;
  }

  changed(): void {
    this.#context.changed();
  }

  /** The profile that a client with this key would see, if it is known and still valid. */
  profileFor(key: ProfileKey): ServerProfile | undefined {
    const holding = this.profiles.filter((profile) => this.#holds(profile));
    return this.#profileAmong(profilesForClient(holding, key), key.capabilities);
  }

  /** The newest profile for this key, however old, and whichever client it was for. */
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

  /** Called when an instance has opened. `introduced` is the `clientInfo` that it was told, '' for the bridge's own. */
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
      // Clients that saw the expired lists are notified when the new ones are read, even if nothing changed.
      if (!this.#holds(profile)) profile.lists.clear();
      profile.renew(introduction, now);
    }
    profile.live++;
    this.changed();
    return profile;
  }

  /** Called when an instance has gone. Its profile stays valid for the usual time from now. */
  closed(profile: ServerProfile): void {
    profile.live--;
    profile.learnedMs = this.#context.date();
    this.changed();
  }

  /** Keeps a list that was read; returns true if it has changed. */
  learnList(profile: ServerProfile, kind: ListKind, pages: readonly ListPage[], key: ListKey): boolean {
    const listKey = this.#listKeyFor(kind, key);
    if (listKey === undefined) return true;
    const before = profile.lists.get(listKey);
    profile.lists.set(listKey, pages);
    readMs.set(pages, this.#context.date());
    if (profile.lists.size > MOST_LISTS) this.#dropOldest(profile, listKey);
    profile.learnedMs = this.#context.date();
    const isNew = before === undefined || !samePages(before, pages);
    if (isNew) this.changed();
    if (kind === 'tools') this.#context.toolsListed?.(pages, { isWhole: true, isOnly: this.#live <= 1 });
    return isNew;
  }

  /** The time since a list was read; undefined if an earlier daemon read it. */
  ageOf(pages: readonly ListPage[]): number | undefined {
    const atMs = readMs.get(pages);
    return atMs === undefined ? undefined : this.#context.date() - atMs;
  }

  /** Notes that a client is about to get this page from the server itself. */
  toolsPassed(page: ListPage): void {
    this.#context.toolsListed?.([page], { isWhole: false, isOnly: false });
  }

  get #live(): number {
    return this.profiles.reduce((sum, { live }) => sum + live, 0);
  }

  /**
   * Adds a profile. Clients may offer any capabilities, so an unused profile is dropped for it if there are too many.
   */
  #add(profile: ServerProfile): void {
    const unused = this.#profiles.length < MOST_PROFILES ? -1 : this.#profiles.findIndex(({ live }) => live === 0);
    this.#profiles = this.#profiles.filter((_, i) => i !== unused).concat(profile);
  }

  #dropOldest(profile: ServerProfile, but: string): void {
    for (const listKey of profile.lists.keys())
      if (listKey !== but && listKey.includes(' ')) return void profile.lists.delete(listKey);
  }

  /** The list for clients with the same roots; undefined if unknown. */
  pagesFor(profile: ServerProfile, kind: ListKind, key: ListKey): readonly ListPage[] | undefined {
    const listKey = this.#listKeyFor(kind, key);
    return listKey === undefined ? undefined : profile.lists.get(listKey);
  }

  /** True if a list of its tools is known, however old, or that it has none. */
  get hasTools(): boolean {
    return this.profiles.some((profile) => profile.lists.has('tools') || !profile.declares('tools'));
  }

  /** The newest list of tools in any profile. */
  get lastTools(): readonly ListPage[] | undefined {
    const newest = [...this.profiles].sort((a, b) => b.learnedMs - a.learnedMs);
    return newest.find(({ lists }) => lists.has('tools'))?.lists.get('tools');
  }

  /** The key of a list. A list that depends on one client or its roots has its own key, or none. */
  #listKeyFor(kind: ListKind, { rootsKey, owner }: ListKey): string | undefined {
    if (!OF_ROOTS.includes(kind)) return kind;
    if (owner !== undefined) return undefined;
    if (!this.#asksForRoots) return kind;
    return rootsKey === undefined || IN_DOUBT.includes(rootsKey) ? undefined : `${kind} ${rootsKey}`;
  }

  #holds(profile: ServerProfile): boolean {
    // The difference is absolute, so that a clock set back does not keep a profile for ever.
    return profile.live > 0 || Math.abs(this.#context.date() - profile.learnedMs) < this.#context.ttlMs;
  }
}

/**
 * The profiles that a client may see. A dedicated server may answer according to `clientInfo`. A client of a shared
 * server gets the profile of other sharing clients, if there is one.
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
