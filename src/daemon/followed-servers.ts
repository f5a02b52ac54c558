// The servers for each directory, and the differences after a change. It tells everything that depends on them. It logs
// faults in their files, each fault once while it lasts.

import type { ReloadReport } from '../control/report.ts';
import type { Events } from '../core/events.ts';
import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { ConfiguredClients } from './configured-clients.ts';
import { Definitions, type DefinitionsOptions, type FoundServers } from './definitions.ts';
import type { ServerFinder } from './server-finder.ts';
import type { ToolGates } from './tool-gates.ts';

/** The part of the finder that this file uses. */
export type FinderPorts = Pick<
  ServerFinder,
  'config' | 'configFaults' | 'refresh' | 'find' | 'leave' | 'watch' | 'refusalOfDialIn' | 'close'
>;

export interface FollowedServersOptions extends Pick<DefinitionsOptions, 'home' | 'dirsInUse'> {
  readonly finder: FinderPorts;
  readonly gates: ToolGates;
  readonly clients: ConfiguredClients;
  /** Called when other tools may be used than before. */
  readonly gatesChanged: () => void;
  /** Called when the servers have changed. */
  readonly changed: () => void;
  /** Called when a reload has ended, whatever the result. */
  readonly refreshed: () => void;
  readonly events: Pick<Events, 'approvalsWanted'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long a directory without clients is kept, up to twice that: most clients return soon, or never. */
export const LINGER_MS = 30_000;

export class FollowedServers {
  readonly definitions: Definitions;
  readonly #options: FollowedServersOptions;
  readonly #following: PacedTask;
  readonly #lingering: Timer;
  #faults: ReadonlySet<string> = new Set();
  /** True if the config has changed clients' settings, and views do not show it yet. */
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

  /** Looks for the servers again, and updates clients and servers accordingly. */
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

  /** Finds the servers, and prepares the gates of their tools. */
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
      // Clients may now see more or fewer of the same servers.
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

/**
 * A task to run after each change, even if changes never stop: it runs once at a time, and rests for longer than it
 * took.
 */
export interface PacedTaskOptions {
  readonly clock: Clock;
  /** Never rejects. */
  readonly run: () => Promise<void>;
}

/** The rest, as a multiple of the running time: the task takes a twentieth of the time. */
const REST = 19;
/** The longest rest: a person who changed something expects to see it. */
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

  /** Runs the task again, at once if it has rested. */
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

  /** Stops running the task. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isClosed = true;
  }
}
