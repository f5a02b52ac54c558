// The servers that the daemon offers, from all sources, and their instances. If definitions differ between directories,
// each definition is a separate server. A server whose definition is gone ends when its calls are answered.

import type { Catalog } from '../catalog/catalog.ts';
import type { SeenTools } from '../catalog/seen-tools.ts';
import type { SeenToolsStore } from '../catalog/seen-tools-store.ts';
import type { SweptDirectory } from '../catalog/sweeper.ts';
import type { RunCopy } from '../control/instances.ts';
import type { InstanceReport } from '../control/report.ts';
import type { SeenToolsOf } from '../control/servers-here.ts';
import { instanceReports } from '../control/status.ts';
import type { Instance, InstanceContext } from '../core/instance.ts';
import { Server, type ServerOptions } from '../core/server.ts';
import type { ServerDirectory } from '../core/view-choice.ts';
import { InstanceRunner, type RunnerContext } from '../downstream/instance-runner.ts';
import { inProject } from '../downstream/project.ts';
import type { ServerOutput } from '../downstream/server-output.ts';
import type { ClientSettings } from '../model/client-settings.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import type { ToolGate } from '../model/tool-gate.ts';
import type { Timer } from '../util/clock.ts';
import { gatedBy, identityOf } from './definitions.ts';
import type { ServerSource } from './server-source.ts';
import type { ToolGates } from './tool-gates.ts';

export interface ServerPoolOptions {
  /** The sources of servers; earlier ones have precedence. */
  readonly sources: readonly ServerSource[];
  readonly defaultView: () => string | undefined;
  readonly origin: () => string;
  readonly catalog: Catalog;
  readonly seenTools: SeenToolsStore;
  /** Decides which tools may be used. */
  readonly gates: Pick<ToolGates, 'gateOf' | 'isForClient' | 'policyFor'>;
  readonly instanceContext: InstanceContext;
  readonly runnerContext: Omit<RunnerContext, 'source' | 'stopped'>;
}

/** The maximum number of servers with one name before unused ones are forgotten. */
const MOST_NAMESAKES = 64;
/** The maximum number of names in one log line. */
const MOST_TOLD = 20;
/** The interval for checking servers that are about to end. */
const LOOK_MS = 100;

interface PooledServer {
  readonly server: Server;
  readonly seen: SeenTools;
  definition: ServerDefinition;
  /** The identity of its own definition. */
  readonly identity: string;
  /** The identity of the definition before it was adapted to a directory. */
  readonly defined: string;
  /** The directory of the client that looked for it last. */
  lastDir: string | undefined;
}

/** A definition and its source. */
interface OfferedServer {
  readonly definition: ServerDefinition;
  readonly source: ServerSource;
}

export class ServerPool implements ServerDirectory {
  readonly #options: ServerPoolOptions;
  /** Servers by name, one for each definition. */
  readonly #servers = new Map<string, readonly PooledServer[]>();
  readonly #leaving = new Set<Server>();
  readonly #runners = new Map<Instance, InstanceRunner>();
  /** The runners of all instances, including instances that are ending. */
  readonly #living = new Set<InstanceRunner>();
  #timer: Timer | undefined;

  constructor(options: ServerPoolOptions) {
    this.#options = options;
  }

  get defaultView(): string | undefined {
    return this.#options.defaultView();
  }

  get origin(): string {
    return this.#options.origin();
  }

  prepare(cwd: string | undefined): Promise<void> | undefined {
    const preparing = this.#options.sources.flatMap((source) => source.prepare(cwd) ?? []);
    return preparing.length === 0 ? undefined : Promise.all(preparing).then(() => undefined);
  }

  names(cwd: string | undefined): readonly string[] {
    return [...new Set(this.#options.sources.flatMap((source) => [...source.of(cwd).keys()]))];
  }

  find(name: string, cwd: string | undefined): Server | undefined {
    return this.#find(name, cwd)?.server;
  }

  /**
   * The directories of running servers, even without clients: the definitions there decide if the servers may go on.
   */
  *dirsInUse(): Iterable<string> {
    for (const { server, lastDir } of this.#pooled()) if (lastDir !== undefined && this.#runs(server)) yield lastDir;
  }

  #runs({ instances }: Server): boolean {
    return [...instances].some((instance) => {
      const state = this.#runners.get(instance)?.state;
      return state === 'ready' || state === 'starting';
    });
  }

  /** The tools of a server as they were first seen, and the policy for those that have changed. */
  seenOf(name: string, cwd: string | undefined): SeenToolsOf | undefined {
    const pooled = this.#find(name, cwd);
    return pooled && { seen: pooled.seen, policy: this.#options.gates.policyFor(pooled.definition) };
  }

  /** Writes what was seen; true if all of it could be written. */
  keepSeen(): boolean {
    return this.#options.seenTools.flush();
  }

  #find(name: string, cwd: string | undefined): PooledServer | undefined {
    const offered = this.#offered(name, cwd);
    if (offered === undefined) return undefined;
    const { definition, source } = offered;
    const own = inProject(definition, cwd);
    const identity = identityOf(own);
    const known = this.#servers.get(own.name)?.find((pooled) => pooled.identity === identity);
    if (known !== undefined) {
      known.lastDir = cwd;
      if (gatedBy(known.definition) !== gatedBy(definition)) {
        known.definition = definition;
        this.#renewGate(known);
      }
      return known;
    }
    if ((this.#servers.get(own.name)?.length ?? 0) >= MOST_NAMESAKES)
      this.#letGo(own.name, ({ server }) => server.isUnused);
    const seen = this.#options.seenTools.of(own);
    const gateOf = (settings: ClientSettings): ToolGate | undefined =>
      this.#options.gates.isForClient(pooled.definition, settings)
        ? this.#options.gates.gateOf(pooled.definition, seen.changed, settings)
        : undefined;
    const server = this.#make(own, source, seen, gateOf);
    const defined = identityOf(definition);
    const pooled: PooledServer = { server, seen, definition, identity, defined, lastDir: cwd };
    this.#servers.set(own.name, (this.#servers.get(own.name) ?? []).concat(pooled));
    return pooled;
  }

  *servers(): Iterable<Server> {
    for (const { server } of this.#pooled()) yield server;
    yield* this.#leaving;
  }

  /** Applies changed rules for tools. */
  renewGates(): void {
    for (const pooled of this.#pooled()) this.#renewGate(pooled);
  }

  /** Notes that tools now differ from the approved ones, or match again; `names` are the newly changed tools. */
  toolsChanged(seen: SeenTools, names: readonly string[]): void {
    const { gates, instanceContext } = this.#options;
    let isTold = names.length === 0;
    for (const pooled of this.#pooled()) {
      if (pooled.seen !== seen) continue;
      this.#renewGate(pooled);
      const policy = gates.policyFor(pooled.definition);
      if (isTold || policy === 'allow') continue;
      isTold = true;
      const tools = names.slice(0, MOST_TOLD).join(', ');
      instanceContext.logger.warn('tools have changed', { server: seen.server, tools, policy });
    }
  }

  #renewGate({ server, seen, definition }: PooledServer): void {
    server.gate = this.#options.gates.gateOf(definition, seen.changed);
    server.listChanged('tools');
  }

  *#pooled(): Iterable<PooledServer> {
    for (const namesakes of this.#servers.values()) yield* namesakes;
  }

  *#definitions(): Iterable<ServerDefinition> {
    for (const source of this.#options.sources) yield* source.all();
  }

  // --- servers that are ending ---

  /** Ends servers whose definitions are gone. Their clients use other servers already. */
  refresh(): void {
    const defined = new Set([...this.#definitions()].map(identityOf));
    for (const name of [...this.#servers.keys()])
      this.#letGo(name, (pooled) => !pooled.server.isSeen && !defined.has(pooled.defined));
  }

  #letGo(name: string, isOver: (pooled: PooledServer) => boolean): void {
    const namesakes = this.#servers.get(name) ?? [];
    const leaving = namesakes.filter(isOver);
    for (const { server } of leaving) this.#leaving.add(server);
    if (leaving.length === namesakes.length) this.#servers.delete(name);
    else if (leaving.length > 0)
      this.#servers.set(
        name,
        namesakes.filter((pooled) => !leaving.includes(pooled)),
      );
    this.#endLeaving();
  }

  #endLeaving(): void {
    for (const server of this.#leaving) if (server.retireDone()) this.#leaving.delete(server);
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#leaving.size === 0) return;
    this.#timer = this.#options.runnerContext.clock.after(LOOK_MS, () => this.#endLeaving());
  }

  #make(definition: ServerDefinition, source: ServerSource, seen: SeenTools, gateOf: ServerOptions['gateOf']): Server {
    const server: Server = new Server({
      definition,
      known: this.#options.catalog.knownOf(definition, {
        toolsListed: (pages, how) => seen.learn(pages, how),
      }),
      gate: this.#options.gates.gateOf(definition, seen.changed),
      gateOf,
      context: this.#options.instanceContext,
      makeRunner: (instance) => this.#makeRunner(definition, source, instance, () => server.stopped(instance)),
    });
    return server;
  }

  #makeRunner(definition: ServerDefinition, source: ServerSource, instance: Instance, stopped: () => void) {
    const runner = new InstanceRunner(definition, instance, { ...this.#options.runnerContext, source, stopped });
    this.#runners.set(instance, runner);
    this.#living.add(runner);
    const retire = (): void => {
      this.#runners.delete(instance);
      void runner.stop().then(() => this.#living.delete(runner));
    };
    return {
      start: () => runner.start(),
      usersChanged: (users: number) => runner.usersChanged(users),
      vacate: () => runner.vacate(),
      broken: () => runner.endBroken(),
      retire,
    };
  }

  /** The directories with files of knowledge about servers. */
  get sweptDirectories(): SweptDirectory[] {
    return [...this.#options.catalog.swept, ...this.#options.seenTools.swept];
  }

  /** True while an instance has work to do. */
  get isBusy(): boolean {
    for (const server of this.servers()) for (const instance of server.instances) if (instance.isBusy) return true;
    return false;
  }

  /** Reports the instances, and one line for each server without any. */
  report(): InstanceReport[] {
    const reports = instanceReports(
      [...this.#definitions()].map(({ name }) => name),
      this.servers(),
      (instance) => this.#runners.get(instance),
    );
    const namers = this.#options.sources.filter(({ alsoAs }) => alsoAs !== undefined);
    const own = this.#options.sources.filter((source) => !namers.includes(source));
    const taken = new Set(own.flatMap((source) => [...source.all()].map(({ name }) => name)));
    return reports.map((report) => {
      const alsoAs = namers.map((source) => source.alsoAs?.(report.server)).find((name) => name !== undefined);
      return alsoAs === undefined || taken.has(alsoAs) ? report : { ...report, alsoAs };
    });
  }

  /** Each instance with its server and its runner. */
  *copies(): Iterable<RunCopy> {
    for (const server of this.servers())
      for (const instance of server.instances) {
        const runner = this.#runners.get(instance);
        if (runner !== undefined) yield { server, instance, runner };
      }
  }

  /** The stderr of each instance's last process, for all servers of this name in any directory. */
  outputsOf(name: string): ServerOutput[] {
    const namesakes = [...this.servers()].filter((server) => server.name === name);
    return namesakes.flatMap((server) =>
      [...server.instances].flatMap((instance) => this.#runners.get(instance)?.output ?? []),
    );
  }

  /** The definition of a server, by its name or by the id of an equal server. */
  definitionOf(name: string, cwd: string | undefined): ServerDefinition | undefined {
    return this.#offered(name, cwd)?.definition;
  }

  #offered(name: string, cwd: string | undefined): OfferedServer | undefined {
    const { sources } = this.#options;
    for (const source of sources) {
      const definition = source.of(cwd).get(name);
      if (definition !== undefined) return { definition, source };
    }
    for (const source of sources)
      for (const definition of source.of(cwd).values())
        if (definition.alsoNamed?.includes(name) === true) return { definition, source };
    for (const source of sources) {
      const definition = source.unlisted?.(name);
      if (definition !== undefined) return { definition, source };
    }
    return undefined;
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await Promise.all([...this.#living].map((runner) => runner.stop()));
    this.#options.catalog.flush();
    this.#options.seenTools.flush();
  }
}
