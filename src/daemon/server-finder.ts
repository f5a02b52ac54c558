// Finds the servers for a directory: reads the config, lets a separate process read the files of all clients
// (finder-process), and watches all these files. If a file can no longer be read, its last content counts.

import { withSectionsOf } from '../config/closing-sections.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { FindAnswer, FindRequest, KeptSources } from '../discovery/finding.ts';
import type { DiscoveringProcess } from '../discovery/own-discovery.ts';
import type { Policy } from '../discovery/policy.ts';
import { isAsMarked, markOf } from '../local/path-mark.ts';
import { PathWatcher } from '../local/path-watcher.ts';
import { livenessOf, type ProcessIdentity } from '../local/process-identity.ts';
import type { StdioServer } from '../model/server-definition.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { nextTurn } from '../util/next-turn.ts';
import { plainOf } from '../util/plain-json.ts';
import type { FoundServers } from './definitions.ts';
import { type Answered, FinderProcess } from './finder-process.ts';

export interface ServerFinderOptions {
  readonly process: DiscoveringProcess;
  /** The name and packed code of the program that looks for servers. */
  readonly program: string;
  readonly code: Buffer;
  readonly config: LoadedConfig;
  /** Reads the config again. */
  readonly loadConfig: () => Promise<LoadedConfig>;
  /** All paths where a config may be. */
  readonly configFiles: readonly string[];
  /** The server to offer if there is no config and no other server. */
  readonly example: StdioServer;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** How long files must be unchanged before they are read, and how long that may be put off at most. */
const QUIET_MS = 200;
const MOST_QUIET_MS = 2_000;

/** Settings that a daemon reads only at its start, and their names in the config. */
const LASTING = {
  socketPath: 'mcpBridge.socketPath',
  limits: 'limits',
  liveness: 'liveness',
  daemon: 'daemon',
  cache: 'discovery.cache',
  audit: 'audit',
  http: 'http',
  agents: 'agents',
} as const;
type Lasting = keyof typeof LASTING;

function differ(a: LoadedConfig, b: LoadedConfig, section: Lasting): boolean {
  return JSON.stringify(a.config[section]) !== JSON.stringify(b.config[section]);
}

const NOTHING = { servers: new Map(), pending: 0 } as const;

export class ServerFinder {
  readonly #options: ServerFinderOptions;
  readonly #watcher: PathWatcher;
  readonly #finder: FinderProcess;
  readonly #processes: ProcessWatch;
  readonly #claims = new PathClaims();
  /** Decides which servers that connect by themselves may be used; undefined until the policy was read. */
  #refusal: ((name: string) => string | undefined) | undefined;
  /** Content that this process itself read while it was valid. */
  #ownKept: KeptSources | undefined;
  #config: LoadedConfig;
  /** The reason why the config in use is not the one in the file. */
  #configFault: string | undefined;
  /** The servers found last, by directory. */
  readonly #last = new Map<string, Omit<FoundServers, 'faults'>>();
  #changed: () => void = () => undefined;
  #unwatched: string | undefined;
  /** After a death, one more search is made; another only after something has changed. */
  #retry: 'possible' | 'asked' | 'done' = 'possible';

  constructor(options: ServerFinderOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#watcher = new PathWatcher({
      changed: () => this.#changed(),
      failed: (dir, error) => this.#onUnwatched(dir, error),
      quietMs: QUIET_MS,
      mostQuietMs: MOST_QUIET_MS,
      clock: options.clock,
    });
    this.#processes = new ProcessWatch({
      clock: options.clock,
      isAlive: (process) => livenessOf(process) === 'alive',
      ended: () => this.#changed(),
    });
    this.#finder = new FinderProcess({
      ...{ program: options.program, code: options.code, environment: options.process.environment },
      request: () => this.#request(false),
      answered: (answered) => this.#follow(answered),
      died: () => this.#onDied(),
      ...{ clock: options.clock, logger: options.logger },
    });
  }

  /** Prepares for the first client, so that it waits for as little as possible. */
  prepare(): void {
    if (this.#config.config.discovery.isEnabled) this.#finder.prepare();
  }

  /** Calls back when the result of a search may have changed. */
  watch(changed: () => void): void {
    this.#changed = changed;
  }

  get config(): LoadedConfig {
    return this.#config;
  }

  get configFaults(): readonly string[] {
    const late = (Object.keys(LASTING) as Lasting[]).filter((section) =>
      differ(this.#config, this.#options.config, section),
    );
    return [
      ...(this.#configFault === undefined ? [] : [this.#configFault]),
      ...this.#config.faults,
      ...late.map((section) => `${LASTING[section]}: changes apply from the next start; mcp-bridge restart`),
    ];
  }

  /** Reads the settings again. */
  async refresh(): Promise<void> {
    this.#retry = this.#retry === 'asked' ? 'done' : 'possible';
    try {
      this.#config = this.#withoutDoubt(await this.#options.loadConfig());
      this.#configFault = undefined;
    } catch (error) {
      this.#configFault = this.#stillCounts(error);
    }
  }

  /** Never rejects. */
  async find(dir: string): Promise<FoundServers> {
    await nextTurn(); // waits for earlier changes to be read
    this.#watchAll(this.#options.configFiles);
    const { discovery } = this.#config.config;
    if (!discovery.isEnabled) {
      this.#processes.watch(dir, []);
      return this.#foundOwn(dir, []);
    }
    try {
      const answer = await this.#finder.find(dir);
      this.#processes.watch(dir, answer.processes);
      await this.#heed(answer.policies);
      const found = this.#served(answer);
      this.#remember(dir, found);
      return found;
    } catch (error) {
      const fault = `Servers could not be looked for: ${messageOf(error)}. What was found before is still used.`;
      const last = this.#last.get(dir);
      return last === undefined ? this.#foundOwn(dir, [fault]) : { ...last, faults: [...this.#ownFaults(), fault] };
    } finally {
      this.#dropUnclaimed();
    }
  }

  #remember(key: string, { servers, pending, missing = {} }: FoundServers): void {
    this.#last.set(key, { servers, pending, missing });
  }

  /** The config's own servers. They need no other process, but policy applies to them too. */
  async #foundOwn(dir: string, faults: readonly string[]): Promise<FoundServers> {
    try {
      const { ServerSearch, KeptSources } = await import('../discovery/finding.ts');
      this.#ownKept ??= new KeptSources();
      const marks = new Map<string, string>();
      const finding = new ServerSearch({ asked: (path) => void marks.set(path, markOf(path)), kept: this.#ownKept });
      const answer = await finding.find({ ...this.#request(true), dir });
      this.#follow({ dir: ownOf(dir), paths: finding.pathsOf(dir), markOf: (path) => marks.get(path) });
      await this.#heed(answer.policies);
      const found = this.#served({ ...answer, faults: [...faults, ...answer.faults] });
      this.#remember(ownOf(dir), found);
      return found;
    } catch (error) {
      this.#options.logger.error('the servers of the config could not be looked at', { dir, error: messageOf(error) });
      // Without the policy, nobody knows what it forbids: the servers stay as found last, or there are none.
      const fault = `The servers of the config stay as they were: policy could not be looked at: ${messageOf(error)}`;
      return { ...(this.#last.get(ownOf(dir)) ?? NOTHING), faults: [...this.#ownFaults(), ...faults, fault] };
    }
  }

  /** The reason why a server that connects by itself may not be used; undefined if it may. */
  refusalOfDialIn(name: string): string | undefined {
    if (this.#refusal === undefined) return 'policy could not be looked at yet';
    return this.#refusal(name);
  }

  async #heed(policies: readonly Policy[]): Promise<void> {
    const { refusalOfDialIn } = await import('../discovery/policy.ts');
    this.#refusal = (name) => {
      const decision = refusalOfDialIn(name, policies);
      return decision?.isAllowed === false ? decision.reason : undefined;
    };
  }

  #request(isOwnOnly: boolean): Omit<FindRequest, 'dir'> {
    const { file, servers, config } = this.#config;
    // A config that is a program may hold values that cannot be sent to another process.
    const { servers: own, serverSettings, discovery } = config;
    const plain = { file, servers: plainOf(servers), config: { servers: own, serverSettings, discovery } };
    return { own: this.#options.process, config: plain, isOwnOnly };
  }

  #served({ servers, pending, missing = {}, faults }: Omit<FindAnswer, 'processes' | 'policies'>): FoundServers {
    const byName = new Map(servers.map((definition) => [definition.name, definition]));
    const { example } = this.#options;
    if (byName.size === 0 && this.#config.file === undefined) byName.set(example.name, example);
    return { servers: byName, pending, missing, faults: [...this.#ownFaults(), ...faults] };
  }

  /** Forgets a directory that nobody works in any more. */
  leave(dir: string): void {
    this.#processes.watch(dir, []);
    this.#last.delete(dir);
    this.#last.delete(ownOf(dir));
    this.#claims.leave(dir);
    this.#claims.leave(ownOf(dir));
    this.#dropUnclaimed();
  }

  close(): void {
    this.#finder.close();
    this.#processes.close();
    this.#watcher.close();
  }

  #ownFaults(): string[] {
    return this.#unwatched === undefined ? [] : [this.#unwatched];
  }

  #onDied(): void {
    if (this.#retry !== 'possible') return;
    this.#retry = 'asked';
    this.#changed();
  }

  /** If a section that keeps somebody out has faults, keeps the last valid version of that section. */
  #withoutDoubt(loaded: LoadedConfig): LoadedConfig {
    const { inDoubt } = loaded;
    if (inDoubt.length === 0) return loaded;
    const kept = inDoubt.map((section) => `${section} has faults: what was read of it before is still used`);
    const faults = [...loaded.faults, ...kept];
    const isTold = faults.every((fault) => this.#config.faults.includes(fault));
    if (!isTold) this.#options.logger.warn('config', { file: loaded.file, faults: faults.join('; ') });
    const config = withSectionsOf(this.#config.config, loaded.config, inDoubt);
    return { ...loaded, config, faults };
  }

  #stillCounts(error: unknown): string {
    const hint = error instanceof BridgeError && error.hint !== undefined ? ` ${error.hint}` : '';
    const fault = `${messageOf(error)}.${hint} What was read of it before is still used.`;
    this.#options.logger.warn('config', { fault });
    return fault;
  }

  // --- watching ---

  #watchAll(paths: Iterable<string>): void {
    for (const path of paths) this.#watcher.add(path);
  }

  /**
   * Watches what an answer depends on. A path that changed after it was read, but before it was watched, is searched
   * again.
   */
  #follow({ dir, paths, markOf: markBefore }: Answered): void {
    this.#claims.claim(dir, paths);
    const young = paths.filter((path) => this.#watcher.add(path));
    const isOld = (path: string): boolean => !isAsMarked(path, markBefore(path) ?? '');
    if (young.some(isOld)) this.#changed();
  }

  #dropUnclaimed(): void {
    const paths = this.#claims.takeUnclaimed();
    if (paths.length === 0) return;
    const { configFiles } = this.#options;
    for (const path of paths) if (!configFiles.includes(path)) this.#watcher.drop(path);
    this.#finder.forget(paths);
  }

  #onUnwatched(dir: string, error: Error): void {
    this.#unwatched = `Changes in ${dir} are not noticed (${messageOf(error)}). mcp-bridge reload looks for them.`;
    this.#options.logger.warn('a directory cannot be watched', { dir, error: messageOf(error) });
  }
}

/** Separates the claims of this process's own reading from those of the finder. */
function ownOf(dir: string): string {
  return `own ${dir}`;
}

/** Remembers which directories depend on which paths. A path without a directory need not be watched. */
export class PathClaims {
  readonly #byDir = new Map<string, readonly string[]>();
  /** The number of directories that depend on each path. */
  readonly #counts = new Map<string, number>();
  readonly #unclaimed = new Set<string>();

  /** Replaces the paths that a directory's servers depend on. */
  claim(dir: string, paths: Iterable<string>): void {
    const claimed = [...new Set(paths)];
    for (const path of claimed) {
      this.#counts.set(path, (this.#counts.get(path) ?? 0) + 1);
      this.#unclaimed.delete(path);
    }
    this.leave(dir);
    this.#byDir.set(dir, claimed);
  }

  /** Drops the claims of a directory that nobody works in any more. */
  leave(dir: string): void {
    for (const path of this.#byDir.get(dir) ?? []) {
      const count = (this.#counts.get(path) ?? 1) - 1;
      if (count > 0) this.#counts.set(path, count);
      else {
        this.#counts.delete(path);
        this.#unclaimed.add(path);
      }
    }
    this.#byDir.delete(dir);
  }

  /** Returns the paths that lost their last claim since the last call. */
  takeUnclaimed(): string[] {
    const paths = [...this.#unclaimed];
    this.#unclaimed.clear();
    return paths;
  }
}

/** Notices when processes of registered servers end. It polls, because the kernel tells only the parent process. */
export interface ProcessWatchOptions {
  readonly clock: Clock;
  readonly isAlive: (process: ProcessIdentity) => boolean;
  /** Called when one or more have ended. */
  readonly ended: () => void;
}

const PERIOD_MS = 2_000;

export class ProcessWatch {
  readonly #options: ProcessWatchOptions;
  /** The processes of the servers found, by directory. */
  readonly #byDir = new Map<string, readonly ProcessIdentity[]>();
  #timer: Timer | undefined;

  constructor(options: ProcessWatchOptions) {
    this.#options = options;
  }

  /** Replaces the watched processes of a directory. */
  watch(dir: string, processes: readonly ProcessIdentity[]): void {
    if (processes.length === 0) this.#byDir.delete(dir);
    else this.#byDir.set(dir, processes);
    if (this.#byDir.size === 0) return this.close();
    this.#timer ??= this.#options.clock.every(PERIOD_MS, () => this.#look());
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Reports each end once: the report causes a new search, whose result says what to watch next. */
  #look(): void {
    const { isAlive, ended } = this.#options;
    let hasEnded = false;
    for (const [dir, processes] of this.#byDir) {
      const alive = processes.filter(isAlive);
      hasEnded ||= alive.length < processes.length;
      this.watch(dir, alive);
    }
    if (hasEnded) ended();
  }
}
