// The daemon's door to other hosts: loads federation when the config names a bus, says what this daemon offers there,
// and is the source of the servers that others offer. Without a bus it is empty, and loads nothing.

import { join } from 'node:path';
import { hashOfDefinition, hashOfIdentity } from '../catalog/definition-hash.ts';
import { SettledWrites } from '../catalog/settled-writes.ts';
import type { ServerConnection } from '../downstream/connection.ts';
import type { HttpContext } from '../downstream/http-connection.ts';
import type { RunnerContext } from '../downstream/instance-runner.ts';
import { inProject } from '../downstream/project.ts';
import type { Federation, FederationOptions } from '../federation/federation.ts';
import { readPrivate } from '../local/private-file.ts';
import type { AgentsElsewhere, ListedAgents, MailedLetter } from '../model/agent-mail.ts';
import type { FederationReport } from '../model/federation-report.ts';
import type { FederationSettings } from '../model/federation-settings.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Timer } from '../util/clock.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import { anyOf } from '../util/glob.ts';
import type { ServerSource } from './server-source.ts';

interface OtherHostsOptions extends Omit<FederationOptions, 'settings' | 'kept' | 'keep'> {
  /** The directory that remembers the known hosts for the next run; undefined to keep nothing. */
  readonly dir: string | undefined;
  readonly settings: FederationSettings | undefined;
  /** The faults of a section that is therefore not used. */
  readonly faults: readonly string[];
  /** Finds the servers on this host. */
  readonly prepare: () => Promise<void> | undefined;
  /** The definitions that clients without a directory see, from this host's own sources. */
  readonly own: () => Iterable<ServerDefinition>;
}

/**
 * The length of the hash over the whole definition that others see: enough to notice a change, too short to test
 * guesses of secrets.
 */
const LETTERS_OF_ALL = 4;
const MOST_KEPT_BYTES = 8 * 1024 * 1024;
/** The maximum time for which clients wait for the first look at the other hosts. */
const MOST_WAIT_MS = 3000;
const TWO_PROJECTS = ['/a', '/b'] as const;

export class OtherHosts implements ServerSource, AgentsElsewhere {
  readonly comeByThemselves = false;
  readonly isElsewhere = true;
  readonly #options: OtherHostsOptions;
  readonly #writes: SettledWrites;
  #federation: Federation | undefined;
  #isClosed = false;
  /** The first look at the other hosts; undefined once it is over. */
  #firstLook: Deferred<void> | undefined;
  #waiting: Timer | undefined;

  constructor(options: OtherHostsOptions) {
    this.#options = options;
    if (options.settings !== undefined) this.#firstLook = deferred();
    const failed = (path: string, reason: string): void => this.#notKept(path, reason);
    this.#writes = new SettledWrites({ clock: options.clock, isCache: true, failed });
  }

  /** Joins the other hosts. If that fails, the daemon goes on without them. */
  async join(): Promise<void> {
    const { settings, logger, prepare } = this.#options;
    if (settings === undefined) return;
    try {
      await prepare();
      const { Federation } = await import('../federation/federation.ts');
      if (this.#isClosed) return;
      const path = this.#fileFor(settings);
      const federation = new Federation({
        ...this.#options,
        settings,
        kept: this.#kept(path),
        keep: (text) => path !== undefined && this.#writes.add(path, text),
      });
      this.#federation = federation;
      this.offer();
      await federation.firstLook;
    } catch (error) {
      logger.error('other hosts cannot be reached', { error: messageOf(error) });
    }
    this.#endFirstLook();
  }

  #endFirstLook(): void {
    this.#waiting?.cancel();
    this.#firstLook?.resolve();
    this.#firstLook = undefined;
  }

  #fileFor({ tenant, host }: FederationSettings): string | undefined {
    const { dir } = this.#options;
    return dir === undefined ? undefined : join(dir, `hosts-${tenant}.${host}.json`);
  }

  #kept(path: string | undefined): string | undefined {
    try {
      return path === undefined ? undefined : readPrivate(path, MOST_KEPT_BYTES);
    } catch (error) {
      this.#notKept(path ?? '', messageOf(error));
      return undefined;
    }
  }

  #notKept(file: string, reason: string): void {
    this.#options.logger.warn('the file of the hosts that were known is of no use', { file, reason });
  }

  /** Publishes what is offered now. */
  offer(): void {
    const { settings, own } = this.#options;
    const federation = this.#federation;
    if (settings === undefined || federation === undefined) return;
    const isOffered = anyOf(settings.offer);
    const offered = [...own()].filter((definition) => isOffered(definition.name) && mayBeOffered(definition));
    federation.offer(
      offered.map((definition) => ({
        name: definition.name,
        description: definition.description,
        mark: `${hashOfIdentity(definition)}${hashOfDefinition(definition).slice(0, LETTERS_OF_ALL)}`,
        sharing: definition.sharing,
        nature: definition.nature,
      })),
    );
  }

  // --- the source ---

  /** Waits for the first look at the other hosts, for a short time. Later a host is there or not. */
  prepare(): Promise<void> | undefined {
    if (this.#firstLook === undefined) return undefined;
    this.#waiting ??= this.#options.clock.after(MOST_WAIT_MS, () => this.#endFirstLook());
    return this.#firstLook.promise;
  }

  of(): ReadonlyMap<string, ServerDefinition> {
    return this.#federation?.servers ?? NOTHING;
  }

  *all(): Iterable<ServerDefinition> {
    if (this.#federation === undefined) return;
    yield* this.#federation.servers.values();
    yield* this.#federation.askedAnywhere;
  }

  unlisted(name: string): ServerDefinition | undefined {
    return this.#federation?.anywhere(name);
  }

  alsoAs(name: string): string | undefined {
    return this.#federation?.alsoAs(name);
  }

  /** Opens the connection for an instance. Throws if no host can be asked. */
  open(definition: ServerDefinition, context: RunnerContext & HttpContext): ServerConnection {
    const { name } = definition;
    const federation = this.#federation;
    const why = federation === undefined ? 'it is not connected yet' : federation.down;
    if (federation === undefined || why !== undefined || definition.transport !== 'bus')
      throw new BridgeError('SERVER_UNREACHABLE', `Server ${name} cannot be reached: NATS is away (${why})`, {
        server: name,
        hint: 'Servers of this host go on. See: mcp-bridge hosts',
      });
    return federation.open(definition, context);
  }

  // --- agents ---

  post(host: string, letter: MailedLetter): Promise<{ readonly id: string }> {
    const elsewhere = this.#federation?.agents;
    if (elsewhere !== undefined) return elsewhere.post(host, letter);
    const hint = 'Set federation.agents and agents.enabled in the config file of both hosts, and restart the daemons.';
    return Promise.reject(
      new BridgeError('MESSAGE_REFUSED', 'Agents of this host exchange no messages with other hosts', { hint }),
    );
  }

  list(asker: string): Promise<ListedAgents> {
    return this.#federation?.agents?.list(asker) ?? Promise.resolve({ agents: [], more: 0 });
  }

  /** Null if the config has no section for it. */
  report(): Promise<FederationReport> | null {
    const { settings, faults } = this.#options;
    if (settings === undefined && faults.length === 0) return null;
    const { host, tenant, user } = settings ?? { host: '', tenant: '', user: '' };
    const nothing = { nats: null, offered: [], callsOfOthers: 0, listensOfOthers: 0, hosts: [], leases: [] };
    const why = settings === undefined ? faults : ['NATS is away: it is not connected yet'];
    return this.#federation?.report() ?? Promise.resolve({ host, tenant, user, ...nothing, faults: why });
  }

  /** Says goodbye to the other hosts, and accepts no more calls from them. */
  async leave(): Promise<void> {
    this.#isClosed = true;
    this.#endFirstLook();
    await this.#federation?.leave();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endFirstLook();
    await this.#federation?.close();
    this.#writes.flush(); // the daemon gives its lock back next, and then writes nothing more
  }
}

const NOTHING: ReadonlyMap<string, ServerDefinition> = new Map();

/** True for a server that others may get: it must not depend on its client's directory, and must be this host's own. */
function mayBeOffered(definition: ServerDefinition): boolean {
  if (definition.transport === 'bus' || definition.isOfProject === true) return false;
  const [one, other] = TWO_PROJECTS.map((project) => JSON.stringify(inProject(definition, project)));
  return one === other;
}
