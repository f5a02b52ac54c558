// The servers that the daemon offers, and all of their instances. A server whose definition depends on the directory that
// a client works in is another one in each directory.

import type { Catalog } from '../catalog/catalog.ts';
import type { Backend } from '../core/backend.ts';
import { Server } from '../core/server.ts';
import type { ServerDefinition } from '../core/server-definition.ts';
import type { BackendContext } from '../core/server-messages.ts';
import type { ServerDirectory } from '../core/view.ts';
import { Instance, type InstanceContext } from '../downstream/instance.ts';
import { dependsOnProject, inProject } from '../downstream/project.ts';
import type { InstanceReport } from '../wire/control-report.ts';

export interface ServerPoolOptions {
  readonly definitions: readonly ServerDefinition[];
  readonly defaultView: string | undefined;
  readonly origin: string;
  readonly catalog: Catalog;
  readonly backendContext: BackendContext;
  readonly instanceContext: InstanceContext;
}

/** Directories of one server, before those that nobody uses any more are forgotten. */
const MOST_DIRECTORIES = 64;
/** Of servers that are the same for all. */
const EVERYWHERE = '';

export class ServerPool implements ServerDirectory {
  readonly #options: ServerPoolOptions;
  readonly #definitions: ReadonlyMap<string, ServerDefinition>;
  /** By name, and by the directory that matters to them. */
  readonly #servers = new Map<string, Map<string, Server>>();
  readonly #instances = new Map<Backend, Instance>();
  /** Those that are on their way out, too. */
  readonly #living = new Set<Instance>();

  constructor(options: ServerPoolOptions) {
    this.#options = options;
    this.#definitions = new Map(options.definitions.map((definition) => [definition.name, definition]));
  }

  get defaultView(): string | undefined {
    return this.#options.defaultView;
  }

  get origin(): string {
    return this.#options.origin;
  }

  names(): readonly string[] {
    return [...this.#definitions.keys()];
  }

  find(name: string, cwd: string | undefined): Server | undefined {
    const definition = this.#definitions.get(name);
    if (definition === undefined) return undefined;
    const project = dependsOnProject(definition) ? (cwd ?? EVERYWHERE) : EVERYWHERE;
    const servers = this.#servers.get(name) ?? new Map<string, Server>();
    this.#servers.set(name, servers);
    const server = servers.get(project) ?? this.#make(inProject(definition, project || undefined));
    servers.set(project, server);
    if (servers.size > MOST_DIRECTORIES) this.#forgetUnused(servers);
    return server;
  }

  *servers(): Iterable<Server> {
    for (const servers of this.#servers.values()) yield* servers.values();
  }

  #forgetUnused(servers: Map<string, Server>): void {
    for (const [project, server] of servers) {
      if (!server.isUnused) continue;
      servers.delete(project);
      server.retireAll();
    }
  }

  #make(definition: ServerDefinition): Server {
    const server: Server = new Server({
      definition,
      known: this.#options.catalog.knownOf(definition),
      context: this.#options.backendContext,
      makeInstance: (backend) => this.#makeInstance(definition, backend, () => server.stopped(backend)),
    });
    return server;
  }

  #makeInstance(definition: ServerDefinition, backend: Backend, stopped: () => void) {
    const instance = new Instance(definition, backend, { ...this.#options.instanceContext, stopped });
    this.#instances.set(backend, instance);
    this.#living.add(instance);
    const retire = (): void => {
      this.#instances.delete(backend);
      void instance.stop().then(() => this.#living.delete(instance));
    };
    return {
      start: () => instance.start(),
      usersChanged: (users: number) => instance.usersChanged(users),
      retire,
    };
  }

  /** What runs, and a line for each server of which nothing does. */
  report(): InstanceReport[] {
    const reports: InstanceReport[] = [];
    for (const name of this.names()) {
      const servers = [...(this.#servers.get(name)?.values() ?? [])];
      const own = servers.flatMap((server) =>
        [...server.backends].flatMap((backend) => this.#reportOf(server, backend)),
      );
      const leftOut = servers.some(({ isLeftOut }) => isLeftOut);
      reports.push(...(own.length > 0 ? own : [{ ...NOTHING_RUNS, leftOut, server: name }]));
    }
    return reports;
  }

  #reportOf(server: Server, backend: Backend): InstanceReport[] {
    const instance = this.#instances.get(backend);
    if (instance === undefined) return [];
    return [
      {
        server: server.name,
        pid: instance.pid ?? null,
        state: instance.state,
        sessions: backend.sessions.size,
        restarts: instance.restarts,
        calls: backend.calls,
        leftOut: server.isLeftOut,
        lastError: instance.lastError ?? null,
      },
    ];
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#living].map((instance) => instance.stop()));
    this.#options.catalog.flush();
  }
}

const NOTHING_RUNS = { pid: null, state: 'idle', sessions: 0, restarts: 0, calls: 0, leftOut: false, lastError: null };
