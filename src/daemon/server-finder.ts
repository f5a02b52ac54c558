// Finds out which servers there are for a directory: reads the config and what was approved, has discovery look through
// the files of all clients, and watches all of them. What cannot be read any more counts as it was read last.

import type { LoadedConfig } from '../config/load.ts';
import type { StdioServer } from '../core/server-definition.ts';
import type { OwnProcess, SourceMemory } from '../discovery/own-discovery.ts';
import { PathWatcher } from '../local/path-watcher.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { FoundServers } from './definitions.ts';

export interface ServerFinderOptions {
  readonly process: OwnProcess;
  readonly config: LoadedConfig;
  /** Reads it again. */
  readonly loadConfig: () => Promise<LoadedConfig>;
  /** Where it may be. */
  readonly configFiles: readonly string[];
  /** What is offered where there is nothing else at all, and no config. */
  readonly example: StdioServer;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** How long nothing must have changed, and how long something may go on changing, before it is read. */
const QUIET_MS = 200;
const MOST_QUIET_MS = 2_000;

/** What a daemon keeps for its life. */
const LASTING = ['socketPath', 'limits', 'liveness', 'cache'] as const;

type Discovering = typeof import('../discovery/own-discovery.ts');
type Approvals = Pick<Map<string, 'approved' | 'rejected'>, 'get'>;

function differ(a: LoadedConfig, b: LoadedConfig, section: (typeof LASTING)[number]): boolean {
  return JSON.stringify(a.config[section]) !== JSON.stringify(b.config[section]);
}

export class ServerFinder {
  readonly #options: ServerFinderOptions;
  readonly #watcher: PathWatcher;
  #config: LoadedConfig;
  #approvals: Approvals = new Map();
  #approvalsAreRead = false;
  /** Why what was read last is not what is there. */
  readonly #faults = { config: '', approvals: '' };
  #memory: SourceMemory | undefined;
  /** What was found in each directory the last time. */
  readonly #last = new Map<string, FoundServers['servers']>();
  #changed: () => void = () => undefined;
  #unwatched: string | undefined;
  /** The bridge's own, there or not. */
  readonly #ownFiles = new Set<string>();

  constructor(options: ServerFinderOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#watcher = new PathWatcher({
      changed: (paths) => this.#onChanged(paths),
      failed: (dir, error) => this.#onUnwatched(dir, error),
      quietMs: QUIET_MS,
      mostQuietMs: MOST_QUIET_MS,
      clock: options.clock,
    });
  }

  /** Calls back when anything that servers were looked for in may be different. */
  watch(changed: () => void): void {
    this.#changed = changed;
  }

  get config(): LoadedConfig {
    return this.#config;
  }

  get configFaults(): readonly string[] {
    const { config } = this.#faults;
    const late = LASTING.filter((section) => differ(this.#config, this.#options.config, section));
    return [
      ...(config === '' ? [] : [config]),
      ...this.#config.faults,
      ...late.map((section) => `${section} has changed, which counts once the daemon has been stopped and started`),
    ];
  }

  /** Reads the settings again; with `everything`, the next look at all other files is one too. */
  async refresh(everything: boolean): Promise<void> {
    if (everything || this.#unwatched !== undefined) this.#memory?.changedAll();
    this.#approvalsAreRead = false;
    try {
      this.#config = await this.#options.loadConfig();
      this.#faults.config = '';
    } catch (error) {
      this.#faults.config = this.#stillCounts(error);
    }
  }

  async find(dir: string): Promise<FoundServers> {
    const { config, file } = this.#config;
    const { process, example } = this.#options;
    await new Promise(setImmediate); // what was read before is not waited for
    try {
      const discovering = await import('../discovery/own-discovery.ts');
      const approvals = this.#readApprovals(discovering);
      const memory = this.#memory ?? this.#newMemory(discovering);
      const found = await discovering.discoverHere(process, { cwd: dir, config: this.#config, approvals, memory });
      const servers = discovering.servedServers(found.servers, config);
      if (servers.size === 0 && file === undefined) servers.set(example.name, example);
      const errors = found.diagnostics.filter(({ level }) => level === 'error').map(({ message }) => message);
      this.#last.set(dir, servers);
      return { servers, faults: [...this.#ownFaults(), ...errors] };
    } catch (error) {
      this.#options.logger.error('servers could not be looked for', { dir, error: messageOf(error) });
      const own = new Map(config.servers.map((definition) => [definition.name, definition]));
      const servers = this.#last.get(dir) ?? own;
      return { servers, faults: [`Servers could not be looked for: ${messageOf(error)}`] };
    }
  }

  /** Nobody works in this directory any more. */
  leave(dir: string): void {
    this.#memory?.leave(dir);
    this.#last.delete(dir);
  }

  close(): void {
    this.#watcher.close();
  }

  #ownFaults(): string[] {
    return [this.#faults.approvals, this.#unwatched ?? ''].filter((fault) => fault !== '');
  }

  #stillCounts(error: unknown): string {
    const hint = error instanceof BridgeError && error.hint !== undefined ? ` ${error.hint}` : '';
    const fault = `${messageOf(error)}.${hint} What was read of it before still counts.`;
    this.#options.logger.warn('config', { fault });
    return fault;
  }

  #readApprovals(discovering: Discovering): Approvals {
    if (this.#approvalsAreRead) return this.#approvals;
    this.#approvalsAreRead = true;
    const { environment, homedir } = this.#options.process;
    const file = new discovering.ApprovalFile(environment, homedir);
    this.#watch(file.path);
    try {
      this.#approvals = file.read();
      this.#faults.approvals = '';
    } catch (error) {
      this.#faults.approvals = this.#stillCounts(error);
    }
    return this.#approvals;
  }

  // --- watching ---

  #newMemory(discovering: Discovering): SourceMemory {
    for (const file of this.#options.configFiles) this.#watch(file);
    this.#memory = new discovering.SourceMemory({
      asked: (path) => this.#watcher.add(path),
      mostDirectories: Number.POSITIVE_INFINITY, // they leave one by one
    });
    return this.#memory;
  }

  #onChanged(paths: ReadonlySet<string>): void {
    for (const path of paths) this.#memory?.changed(path);
    this.#changed();
  }

  #watch(file: string): void {
    this.#ownFiles.add(file);
    this.#watcher.add(file);
  }

  /** What no look at the files has asked for any more needs no watching. */
  settle(): void {
    this.#watcher.watch([...this.#ownFiles, ...(this.#memory?.watched() ?? [])]);
  }

  #onUnwatched(dir: string, error: Error): void {
    this.#unwatched = `Changes in ${dir} are not noticed (${messageOf(error)}). mcp-bridge reload looks for them.`;
    this.#options.logger.warn('a directory cannot be watched', { dir, error: messageOf(error) });
  }
}
