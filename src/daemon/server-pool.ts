// The servers that the daemon offers, from all sources, and their instances. If definitions differ between directories,
// there is a server for each definition. A server without a definition ends when its calls are answered.

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
  /** Where servers come from; the earlier ones have precedence. */
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

/** The most servers of one name, before unused ones are forgotten. */
const MOST_NAMESAKES = 64;
/** The most names in one line of the log. */
const MOST_TOLD = 20;
/** The period of the look at servers that are about to end. */
const LOOK_MS = 100;

interface PooledServer {
  readonly server: Server;
  readonly seen: SeenTools;
  definition: ServerDefinition;
  /** The identity of the definition, before it was made for a directory. */
  readonly defined: string;
  /** The directory of the client that was the last to look for it. */
  lastDir: string | undefined;
}

/** A definition with the source that it is from. */
interface OfferedServer {
  readonly definition: ServerDefinition;
  readonly source: ServerSource;
}

export class ServerPool implements ServerDirectory {
  readonly #options: ServerPoolOptions;
  /** Servers by name and definition. */
  readonly #servers = new Map<string, Map<string, PooledServer>>();
  readonly #leaving = new Set<Server>();
  readonly #runners = new Map<Instance, InstanceRunner>();
  /** The runners of all instances, also of those that end. */
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

  /** The directories of servers that run, also without clients: the definitions there say if the servers may go on. */
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

  /** True if all that was seen could be written down. */
  keepSeen(): boolean {
    return this.#options.seenTools.flush();
  }

  #find(name: string, cwd: string | undefined): PooledServer | undefined {
    const offered = this.#offered(name, cwd);
    if (offered === undefined) return undefined;
    const { definition, source } = offered;
    const own = inProject(definition, cwd);
    const identity = identityOf(own);
    const namesakes = this.#servers.get(own.name) ?? new Map<string, PooledServer>();
    this.#servers.set(own.name, namesakes);
    const known = namesakes.get(identity);
    if (known !== undefined) {
      known.lastDir = cwd;
      if (gatedBy(known.definition) !== gatedBy(definition)) {
        known.definition = definition;
        this.#renewGate(known);
      }
      return known;
    }
    if (namesakes.size >= MOST_NAMESAKES) this.#letGo(namesakes, ({ server }) => server.isUnused);
    const seen = this.#options.seenTools.of(own);
    const gateOf = (settings: ClientSettings): ToolGate | undefined =>
      this.#options.gates.isForClient(pooled.definition, settings)
        ? this.#options.gates.gateOf(pooled.definition, seen.changed, settings)
        : undefined;
    const server = this.#make(own, source, seen, gateOf);
    const pooled: PooledServer = { server, seen, definition, defined: identityOf(definition), lastDir: cwd };
    namesakes.set(identity, pooled);
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

  /** Tools differ from the ones that the user approved, or match them again; `names` are the newly changed tools. */
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
    for (const namesakes of this.#servers.values()) yield* namesakes.values();
  }

  *#definitions(): Iterable<ServerDefinition> {
    for (const source of this.#options.sources) yield* source.all();
  }

  // --- servers that end ---

  /** Lets servers go whose definitions are gone. All clients use other servers by now. */
  refresh(): void {
    const defined = new Set([...this.#definitions()].map(identityOf));
    for (const [name, namesakes] of this.#servers) {
      this.#letGo(namesakes, (pooled) => !pooled.server.isSeen && !defined.has(pooled.defined));
      if (namesakes.size === 0) this.#servers.delete(name);
    }
  }

  #letGo(namesakes: Map<string, PooledServer>, isOver: (pooled: PooledServer) => boolean): void {
    for (const [identity, pooled] of namesakes) {
      if (!isOver(pooled)) continue;
      namesakes.delete(identity);
      this.#leaving.add(pooled.server);
    }
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

  /** The directories of files with what is known of servers. */
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
    return instanceReports(
      [...this.#definitions()].map(({ name }) => name),
      this.servers(),
      (instance) => this.#runners.get(instance),
    );
  }

  /** Each instance with its server, and with what starts and ends it. */
  *copies(): Iterable<RunCopy> {
    for (const server of this.servers())
      for (const instance of server.instances) {
        const runner = this.#runners.get(instance);
        if (runner !== undefined) yield { server, instance, runner };
      }
  }

  /** The stderr of the last process of each instance, of all servers of this name in any directory. */
  outputsOf(name: string): ServerOutput[] {
    const namesakes = [...this.servers()].filter((server) => server.name === name);
    return namesakes.flatMap((server) =>
      [...server.instances].flatMap((instance) => this.#runners.get(instance)?.output ?? []),
    );
  }

  /** The definition of a server by its name, or by the id of a server that is the same. */
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
