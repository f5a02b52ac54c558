// The servers that there are for each directory, and what is different about them after a change. What goes by them is
// told; what is wrong with the files that they stand in is logged, each fault once for as long as it lasts.

import type { ReloadReport } from '../control/report.ts';
import type { Events } from '../core/events.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { ConfiguredClients } from './configured-clients.ts';
import { Definitions, type DefinitionsOptions, type FoundServers } from './definitions.ts';
import type { ServerFinder } from './server-finder.ts';
import type { ToolGates } from './tool-gates.ts';

/** The part of the finder that is used here. */
export type FinderPorts = Pick<
  ServerFinder,
  'config' | 'configFaults' | 'refresh' | 'find' | 'leave' | 'watch' | 'refusalOfDialIn' | 'close'
>;

export interface FollowedServersOptions extends Pick<DefinitionsOptions, 'home' | 'dirsInUse'> {
  readonly finder: FinderPorts;
  readonly gates: ToolGates;
  readonly clients: ConfiguredClients;
  /** Other tools than before may be used. */
  readonly gatesChanged: () => void;
  /** There are other servers than before. */
  readonly changed: () => void;
  /** A reload has ended, whatever has come of it. */
  readonly refreshed: () => void;
  readonly events: Pick<Events, 'approvalsWanted'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Directories that clients have left count for once or twice as long: most come back soon, or never. */
export const LINGER_MS = 30_000;

export class FollowedServers {
  readonly definitions: Definitions;
  readonly #options: FollowedServersOptions;
  readonly #following: PacedTask;
  readonly #lingering: Timer;
  #faults: ReadonlySet<string> = new Set();
  /** True if the config says something new of clients, and their views do not follow it yet. */
  #haveClientsChanged = false;

  constructor(options: FollowedServersOptions) {
    this.#options = options;
    const { finder, home, dirsInUse, clock } = options;
    this.definitions = new Definitions({
      find: (dir) => this.#find(dir),
      home,
      leave: (dir) => finder.leave(dir),
      dirsInUse,
    });
    this.#following = new PacedTask({ clock, run: () => this.#reloadChanged() });
    finder.watch(() => this.#following.ask());
    this.#lingering = clock.every(LINGER_MS, () => {
      if (this.definitions.forgetLeft()) options.refreshed();
    });
  }

  /** Looks for the servers again, and lets clients and servers follow what has changed. */
  async reload(): Promise<ReloadReport> {
    const { finder, refreshed } = this.#options;
    await finder.refresh();
    const report = await this.definitions.reload();
    this.#follow(report);
    refreshed();
    return { ...report, faults: [...new Set([...finder.configFaults, ...report.faults])] };
  }

  close(): void {
    this.#lingering.cancel();
    this.#options.finder.close();
    this.#following.close();
  }

  /** Prepares the gates of the servers' tools together with the servers. */
  async #find(dir: string): Promise<FoundServers> {
    const { finder, gates, clients, gatesChanged, events } = this.#options;
    const found = await finder.find(dir);
    if (found.pending > 0) events.approvalsWanted.tell(dir, found.pending);
    const { discovery, onToolChange, clients: entries, toolsets } = finder.config.config;
    const areOfClients = toolsets.length > 0 || entries.some(({ toolRules }) => toolRules.length > 0);
    const settings = { toolRules: discovery.toolRules, onToolChange, areOfClients };
    const areOthers = clients.prepare(entries, toolsets);
    if (areOthers) this.#haveClientsChanged = true;
    if ((await gates.prepare(settings, found.servers.values())) || areOthers) gatesChanged();
    this.#tellFaults([...this.definitions.faults, ...found.faults]);
    return found;
  }

  #follow({ added, changed, removed, faults }: ReloadReport): void {
    this.#tellFaults(faults);
    const haveClientsChanged = this.#haveClientsChanged;
    this.#haveClientsChanged = false;
    if (added.length + changed.length + removed.length === 0) {
      // Clients may see fewer of the same servers now, or more.
      if (haveClientsChanged) this.#options.changed();
      return;
    }
    const names = (list: readonly string[]): string => list.join(', ');
    this.#options.logger.info('servers have changed', {
      added: names(added),
      changed: names(changed),
      removed: names(removed),
    });
    this.#options.changed();
  }

  #tellFaults(faults: readonly string[]): void {
    for (const fault of faults)
      if (!this.#faults.has(fault)) this.#options.logger.warn('a file with definitions has a fault', { fault });
    this.#faults = new Set(faults);
  }

  async #reloadChanged(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      this.#options.logger.error('the search for servers failed', { error: messageOf(error) });
    }
  }
}

/** A task that is asked for at each change, also if changes never end: it runs once at a time, and rests for longer than it took. */
export interface PacedTaskOptions {
  readonly clock: Clock;
  /** Never rejects. */
  readonly run: () => Promise<void>;
}

/** How long it rests, by how long it took: it takes a twentieth of the time. */
const REST = 19;
/** However long it took: whoever has changed something looks for it. */
const LONGEST_REST_MS = 2_000;

export class PacedTask {
  readonly #options: PacedTaskOptions;
  #timer: Timer | undefined;
  #isRunning = false;
  #isWanted = false;
  #isClosed = false;
  #earliestMs = 0;

  constructor(options: PacedTaskOptions) {
    this.#options = options;
  }

  /** Runs it once more, at once if it has rested. */
  ask(): void {
    this.#isWanted = true;
    if (this.#isClosed || this.#isRunning || this.#timer !== undefined) return;
    const leftMs = this.#earliestMs - this.#options.clock.now();
    if (leftMs <= 0) return void this.#run();
    this.#timer = this.#options.clock.after(leftMs, () => {
      this.#timer = undefined;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    const { clock, run } = this.#options;
    this.#isWanted = false;
    this.#isRunning = true;
    const begunMs = clock.now();
    await run();
    const endedMs = clock.now();
    this.#isRunning = false;
    this.#earliestMs = endedMs + Math.min(LONGEST_REST_MS, REST * (endedMs - begunMs));
    if (this.#isWanted) this.ask();
  }

  /** It runs no more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isClosed = true;
  }
}
