// The dashboard's one connection to the daemon while pages are open: the daemon's state, and the pages' requests. When
// the daemon goes, it connects to the next one and tells the pages to begin again. It starts no daemon.

import type { ControlClient, EventBatch, StatusReport } from '../client/control-client.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import type { DaemonPresence, LiveMessage } from './page-protocol.ts';

const STATUS_MS = 1000;
/** Rarely, because it looks at all processes of the machine. */
const MEMORY_MS = 5000;
/** Rarely, because it asks each other host for a sign of life. */
const HOSTS_MS = 5000;
/** Rarely, because it adds up the definitions of all tools. */
const TOOLS_MS = 60_000;
const RETRY_MS = 500;
const BATCH_MS = 250;
/** A page shows no more than this anyway; it says how many calls were left out. */
const CALLS_PER_SECOND = 100;
/** Long, because some methods wait for servers. */
const ASK_TIMEOUT_MS = 120_000;

export interface DaemonWatchOptions {
  readonly connect: () => Promise<ControlClient>;
  readonly clock: Clock;
  readonly cwd: string;
  readonly tell: (message: LiveMessage) => void;
  /** The resident bytes of servers' processes, by pid; leaves out those that are not known. */
  readonly memoryOf: (pids: ReadonlySet<number>) => ReadonlyMap<number, number>;
}

type AnyCall = (method: string, params: object, timeoutMs?: number) => Promise<unknown>;

export class DaemonWatch {
  readonly #options: DaemonWatchOptions;
  #client: ControlClient | undefined;
  #presence: DaemonPresence = { isUp: false, generation: 0, reason: 'Connecting to the daemon' };
  #pid: number | undefined;
  /** The reason why the daemon sends no events; '' if it sends them. */
  #refused = '';
  #parts: Record<string, unknown> = {};
  /** The parts as last told, so that only changes are told. */
  readonly #told = new Map<string, string>();
  #known = deferred<void>();
  #timer: Timer | undefined;
  #isRunning = false;
  /** Counts the starts, so that a late result of an earlier one is ignored. */
  #run = 0;
  #memory: Readonly<Record<string, number>> = {};
  #memoryMs = Number.NEGATIVE_INFINITY;
  #toolBytes = 0;
  #toolsMs = Number.NEGATIVE_INFINITY;
  #hosts: unknown = null;
  #hostsMs = Number.NEGATIVE_INFINITY;

  constructor(options: DaemonWatchOptions) {
    this.#options = options;
  }

  /** Resolves once the daemon's state is known, or that there is none. */
  get known(): Promise<void> {
    return this.#known.promise;
  }

  get presence(): DaemonPresence {
    return this.#presence;
  }

  /** Everything known now, for a new page. */
  get parts(): Readonly<Record<string, unknown>> {
    return this.#parts;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run += 1;
    this.#known = deferred<void>();
    void this.#connect();
  }

  stop(): void {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#client?.close();
    this.#client = undefined;
    this.#presence = { ...this.#presence, isUp: false };
  }

  /** Asks the daemon on behalf of a page. */
  async ask(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (this.#client === undefined)
      throw new BridgeError('DAEMON_NOT_RUNNING', 'No daemon runs', { hint: 'To start one: mcp-bridge start' });
    return callOf(this.#client)(method, { cwd: this.#options.cwd, ...params }, ASK_TIMEOUT_MS);
  }

  async #connect(): Promise<void> {
    const run = this.#run;
    try {
      const client = await this.#options.connect();
      if (!this.#isRunning || run !== this.#run) return client.close();
      this.#client = client;
      client.onEvents = (batch) => this.#heard(batch);
      void client.untilClosed().then(() => this.#lost(client));
      // A daemon older than events has none to watch; the rest works.
      const watch = await callOf(client)('bridge/watch', {
        batchMs: BATCH_MS,
        callsPerSecond: CALLS_PER_SECOND,
      }).catch(() => undefined);
      this.#refused = textOf(membersOf(watch).refused);
      await this.#look();
    } catch (error) {
      if (run !== this.#run) return;
      this.#client?.close();
      this.#down(messageOf(error));
    }
  }

  #lost(client: ControlClient): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#timer?.cancel();
    this.#down('The daemon has ended');
  }

  #down(reason: string): void {
    if (!this.#isRunning) return;
    this.#client = undefined;
    if (this.#presence.isUp || this.#presence.reason !== reason) this.#be({ ...this.#presence, isUp: false, reason });
    this.#known.resolve();
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(RETRY_MS, () => void this.#connect());
  }

  #be(presence: DaemonPresence): void {
    this.#presence = presence;
    this.#options.tell({ daemon: presence });
  }

  async #look(): Promise<void> {
    const client = this.#client;
    if (client === undefined || !this.#isRunning) return;
    try {
      const status = await client.call('bridge/status', { cwd: this.#options.cwd });
      const clients = await client.call('bridge/connections');
      const toolBytes = await this.#toolBytesIn(client);
      this.#lookAtHosts(client);
      if (this.#client !== client) return;
      this.#came(status.pid);
      this.#take(status, { clients, toolBytes, hosts: this.#hosts });
      this.#timer = this.#options.clock.after(STATUS_MS, () => void this.#look());
    } catch (error) {
      client.close();
      if (this.#client === client) this.#down(messageOf(error));
    }
  }

  #came(pid: number): void {
    const isAnother = this.#pid !== undefined && this.#pid !== pid;
    if (isAnother) this.#told.clear();
    const generation = this.#presence.generation + (this.#pid === pid ? 0 : 1);
    this.#pid = pid;
    if (!this.#presence.isUp || isAnother) this.#be({ isUp: true, generation, reason: this.#refused });
  }

  /** Splits the state into parts, because most of it rarely changes. */
  #take(status: StatusReport, others: Readonly<Record<string, unknown>>): void {
    const { instances, latencies, counters, errors, ...rest } = status;
    const pids = new Set(instances.flatMap(({ pid }) => pid ?? []));
    this.#parts = { status: rest, instances, latencies, counters, errors, memory: this.#memoryOf(pids), ...others };
    const changed = Object.entries(this.#parts).filter(([name, part]) => {
      const text = JSON.stringify(part);
      if (this.#told.get(name) === text) return false;
      this.#told.set(name, text);
      return true;
    });
    this.#known.resolve();
    if (changed.length > 0) this.#options.tell({ parts: Object.fromEntries(changed) });
  }

  async #toolBytesIn(client: ControlClient): Promise<number> {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#toolsMs < TOOLS_MS) return this.#toolBytes;
    this.#toolsMs = nowMs;
    const { servers } = await client.call('bridge/tools', { cwd: this.#options.cwd });
    const tools = servers.flatMap((server) => server.tools).filter(({ refusal }) => refusal === null);
    this.#toolBytes = tools.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#toolBytes;
  }

  /** Asks the other hosts without waiting: a silent host must not delay anything. */
  #lookAtHosts(client: ControlClient): void {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#hostsMs < HOSTS_MS) return;
    this.#hostsMs = nowMs;
    const take = (hosts: unknown): void => {
      if (this.#client === client) this.#hosts = hosts;
    };
    // A daemon older than federation knows no other hosts.
    client.call('bridge/hosts').then(take, () => take(null));
  }

  #memoryOf(pids: ReadonlySet<number>): Readonly<Record<string, number>> {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#memoryMs < MEMORY_MS && [...pids].every((pid) => pid in this.#memory)) return this.#memory;
    this.#memoryMs = nowMs;
    this.#memory = Object.fromEntries(this.#options.memoryOf(pids));
    return this.#memory;
  }

  #heard({ events, lost, callsLeftOut, callsBegun }: EventBatch): void {
    this.#options.tell({
      ...(events.length > 0 && { events }),
      ...counted('lost', lost),
      ...counted('callsLeftOut', callsLeftOut),
      ...counted('callsBegun', callsBegun),
    });
  }
}

/** Makes calls untyped: the page names the method, so its type is unknown here; the daemon checks the params. */
function callOf(client: ControlClient): AnyCall {
  return client.call.bind(client) as AnyCall;
}

function counted(name: 'lost' | 'callsLeftOut' | 'callsBegun', value: number): LiveMessage {
  return value > 0 ? { [name]: value } : {};
}
