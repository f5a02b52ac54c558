// The composition root: wires the socket, the core and the instances together, and takes them apart again.

import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { AgentView } from '../catalog/agent-view.ts';
import { ArgumentCheck } from '../catalog/argument-check.ts';
import { Catalog } from '../catalog/catalog.ts';
import { DiscoverView } from '../catalog/discover-view.ts';
import { SeenToolsStore } from '../catalog/seen-tools-store.ts';
import { ToolFinder } from '../catalog/tool-finder.ts';
import type { Config } from '../config/config.ts';
import { Agents } from '../core/agents/agents.ts';
import { CallMeters, LATENCY_BOUNDS_MS } from '../core/call-meter.ts';
import { ConnectionManager } from '../core/connection-manager.ts';
import { Counters } from '../core/counters.ts';
import type { Session } from '../core/session.ts';
import { OrphanGuard } from '../downstream/orphan-guard.ts';
import { StartGate } from '../downstream/start-gate.ts';
import { DialInDecisions } from '../local/dial-in-decisions.ts';
import { Listener } from '../local/listener.ts';
import { messageOf } from '../util/bridge-error.ts';
import { systemClock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { ClientReport, MemoryReport, ReloadReport, StatusReport } from '../wire/control-report.ts';
import type { Limits } from '../wire/limits.ts';
import { FlushTurn } from '../wire/outbox.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { StreamLink } from '../wire/stream-link.ts';
import { AuditLog } from './audit-log.ts';
import { Definitions, type FoundServers } from './definitions.ts';
import { DialIns } from './dial-ins.ts';
import { IdleExit } from './idle-exit.ts';
import { PacedTask } from './paced-task.ts';
import type { ServerFinder } from './server-finder.ts';
import { ServerPool } from './server-pool.ts';
import { ServersHere } from './servers-here.ts';
import { ToolGates } from './tool-gates.ts';

export interface DaemonOptions {
  readonly socketPath: string;
  /** The descriptor of that socket, where somebody has bound it already. */
  readonly activatedFd?: number | undefined;
  readonly config: Config;
  readonly limits: Limits;
  readonly finder: FinderPorts;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Where what servers say is kept; undefined to keep nothing. */
  readonly catalogDir: string | undefined;
  /** Where it is kept what their tools looked like; undefined to keep nothing. */
  readonly seenToolsDir: string | undefined;
  /** Where calls are recorded, if the config does not say. */
  readonly auditFile: string;
  readonly logger: Logger;
  readonly version: string;
  /** The version and what the program was made of. */
  readonly build: string;
  readonly pid: number;
  readonly memory: () => MemoryReport;
  /** Whether nobody has asked for it but a client that needed one: then it ends when nobody uses it. */
  readonly isAutostarted: boolean;
  /** Called when the daemon is to stop. */
  readonly onStopRequested: (reason: LeavingReason) => void;
}

/** What the daemon asks of its finder. */
type FinderPorts = Pick<
  ServerFinder,
  'config' | 'configFaults' | 'refresh' | 'find' | 'leave' | 'watch' | 'settle' | 'close'
>;

/** Sweepers of /tmp take files that are days old. */
const TOUCH_PERIOD_MS = 3_600_000;
const HEAL_PERIOD_MS = 2_000;

export class Daemon {
  readonly #options: DaemonOptions;
  readonly #startedMs = systemClock.now();
  readonly #counters = new Counters();
  readonly #meters = new CallMeters(systemClock);
  readonly #turn = new FlushTurn();
  readonly #guard = new OrphanGuard();
  readonly #definitions: Definitions;
  readonly #following: PacedTask;
  readonly #gates = new ToolGates();
  readonly #forDiscover = {
    finder: new ToolFinder(() => this.#options.finder.config.config.discovery.synonyms),
    check: new ArgumentCheck(),
  };
  readonly #audit: AuditLog | undefined;
  readonly #dialIns: DialIns;
  readonly #pool: ServerPool;
  readonly #agents: Agents;
  readonly #connections: ConnectionManager;
  #listener: Listener | undefined;
  #idleExit: IdleExit | undefined;
  /** It goes, or looks whether it can. */
  #isRetreating = false;
  #faults: ReadonlySet<string> = new Set();
  #answerControl: ((request: Buffer) => Promise<string | undefined>) | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
    const { logger, limits, config, version, build } = options;
    this.#definitions = new Definitions({
      find: (dir) => this.#find(dir),
      home: options.homedir,
      leave: (dir) => options.finder.leave(dir),
      dirsInUse: () => this.#connections.clients().flatMap(({ cwd }) => cwd ?? []),
    });
    this.#following = new PacedTask({ clock: systemClock, run: () => this.#reloadChanged() });
    options.finder.watch(() => this.#following.ask());
    this.#audit = this.#makeAudit();
    this.#dialIns = new DialIns({
      configured: () => options.finder.config.config.dialIn,
      decisions: new DialInDecisions(options.environment, options.homedir),
      policy: () => options.finder.config.config.discovery.policy,
      isDefined: (name) => [...this.#definitions.all()].some((definition) => definition.name === name),
      changed: () => this.#onDialIns(),
      maxDialIns: limits.maxDialIns,
      counters: this.#counters,
      clock: systemClock,
      logger,
    });
    this.#pool = this.#makePool();
    const agents = new Agents({
      settings: config.agents,
      limits,
      counters: this.#counters,
      clock: systemClock,
      date: () => new Date(),
    });
    this.#agents = agents;
    this.#connections = new ConnectionManager({
      limits,
      counters: this.#counters,
      logger,
      audit: this.#audit,
      servers: this.#pool,
      discoverView: (session, all) => new DiscoverView(session, all, this.#forDiscover),
      dialIns: this.#dialIns,
      agents,
      agentView: (session, view) => new AgentView(session, view, { agents, clock: systemClock }),
      control: (request, answer) => void this.#control(request, answer),
      version,
      build,
      daemonId: randomBytes(8).toString('hex'),
      clock: systemClock,
      liveness: config.liveness,
    });
  }

  /** Becomes the daemon of its path, and accepts. */
  async listen(): Promise<void> {
    const { socketPath, activatedFd, pid, version, build } = this.#options;
    await this.#audit?.open();
    const listener = await Listener.open(socketPath, (socket) => this.accept(socket), activatedFd);
    listener.describe({ pid, version, build });
    systemClock.every(TOUCH_PERIOD_MS, () => this.#lookAfter(() => listener.touch()));
    systemClock.every(HEAL_PERIOD_MS, () => this.#lookAfter(() => this.#heal(listener)));
    this.#listener = listener;
    this.#endWhenIdle(listener);
  }

  #endWhenIdle(listener: Listener): void {
    const { isAutostarted, config, onStopRequested } = this.#options;
    const { idleExitMs } = config.daemon;
    if (!isAutostarted || idleExitMs === 0) return;
    this.#idleExit = new IdleExit({
      clock: systemClock,
      idleMs: idleExitMs,
      isInUse: () => !this.#connections.isEmpty || !this.#dialIns.isEmpty || this.#pool.isBusy,
      retreat: () => {
        this.#isRetreating = true;
        return listener.retreat();
      },
      comeBack: () => {
        this.#isRetreating = false;
        this.#lookAfter(() => this.#heal(listener));
      },
      leave: () => onStopRequested('idle'),
    });
  }

  async #heal(listener: Listener): Promise<void> {
    if (this.#isRetreating || !(await listener.heal())) return;
    this.#options.logger.warn('the socket had been removed; it is back', { path: listener.path });
  }

  /** What fails here fails for files that others may touch too; the daemon goes on. */
  #lookAfter(task: () => void | Promise<void>): void {
    Promise.resolve()
      .then(task)
      .catch((error: unknown) =>
        this.#options.logger.warn('looking after the socket failed', { error: messageOf(error) }),
      );
  }

  /** Serves a client at the other end of a stream. */
  accept(stream: Duplex): void {
    this.#idleExit?.used();
    const { maxMessageBytes } = this.#options.limits;
    this.#connections.accept(new StreamLink(stream, stream, { maxFrameBytes: maxMessageBytes, turn: this.#turn }));
  }

  /** Answers what was asked, lets the clients and the servers go, and gives the path free. */
  async stop(reason: LeavingReason = 'stop'): Promise<void> {
    this.#isRetreating = true;
    this.#idleExit?.close();
    await this.#listener?.retreat();
    this.#listener?.stopAccepting();
    await this.#connections.drain();
    await this.#connections.close(reason);
    this.#options.finder.close();
    this.#following.close();
    await this.#pool.stop();
    await this.#audit?.close();
    await this.#dialIns.close();
    this.#guard.close();
    this.#listener?.release();
  }

  /** Looks for the servers anew, and lets clients and servers follow what is different. */
  async reload(everything = true): Promise<ReloadReport> {
    const { finder } = this.#options;
    await finder.refresh(everything);
    const report = await this.#definitions.reload();
    finder.settle(this.#definitions.dirs);
    this.#follow(report);
    this.#dialIns.refresh();
    this.#pool.refresh();
    return { ...report, faults: [...new Set([...finder.configFaults, ...report.faults])] };
  }

  #onDialIns(): void {
    this.#connections.serversChanged();
    this.#pool.refresh();
  }

  /** What of its servers' tools may be used is known with them. */
  async #find(dir: string): Promise<FoundServers> {
    const found = await this.#options.finder.find(dir);
    const { discovery, onToolChange } = this.#options.finder.config.config;
    const settings = { toolRules: discovery.toolRules, onToolChange };
    if (await this.#gates.prepare(settings, found.servers.values())) this.#pool.renewGates();
    this.#tellFaults([...this.#definitions.faults, ...found.faults]);
    return found;
  }

  #follow({ added, changed, removed, faults }: ReloadReport): void {
    this.#tellFaults(faults);
    if (added.length + changed.length + removed.length === 0) return;
    const names = (list: readonly string[]): string => list.join(', ');
    this.#options.logger.info('servers looked for anew', {
      added: names(added),
      changed: names(changed),
      removed: names(removed),
    });
    this.#connections.serversChanged();
  }

  /** Each once for as long as it lasts. */
  #tellFaults(faults: readonly string[]): void {
    for (const fault of faults)
      if (!this.#faults.has(fault)) this.#options.logger.warn('a file that servers are defined in', { fault });
    this.#faults = new Set(faults);
  }

  async #reloadChanged(): Promise<void> {
    try {
      await this.reload(false);
    } catch (error) {
      this.#options.logger.error('servers could not be looked for anew', { error: messageOf(error) });
    }
  }

  /** The servers that there are for clients that work in `cwd`. */
  async serversFor(cwd: string | undefined): Promise<ServersHere> {
    await this.#definitions.prepare(cwd);
    return new ServersHere(this.#pool, cwd);
  }

  get limits(): Limits {
    return this.#options.limits;
  }

  get pid(): number {
    return this.#options.pid;
  }

  requestStop(reason: LeavingReason): void {
    this.#options.onStopRequested(reason);
  }

  /** Of all servers, also before the first client has come. */
  async status(): Promise<StatusReport> {
    await this.#definitions.prepare(undefined);
    const { pid, version, build, socketPath, finder, isAutostarted } = this.#options;
    return {
      pid,
      version,
      build,
      autostarted: isAutostarted,
      socketPath,
      uptimeMs: Math.round(systemClock.now() - this.#startedMs),
      clients: this.#connections.clients().length,
      parked: this.#connections.parkedCount,
      memory: this.#options.memory(),
      instances: this.#pool.report(),
      latencies: this.#meters.report(),
      latencyBoundsMs: LATENCY_BOUNDS_MS,
      dialledIn: this.#dialIns.report(),
      counters: { ...this.#counters },
      errors: this.#counters.errorsByCode(),
      configFile: finder.config.file ?? null,
      configFaults: finder.configFaults,
      definitionFaults: this.#definitions.faults,
      audit: this.#audit?.report() ?? null,
    };
  }

  clients(): ClientReport[] {
    return this.#connections.clients().map((session) => {
      const { accepts = false, mailbox = false } = this.#agents.participants.describe(session) ?? {};
      return {
        clientId: session.clientId,
        name: session.name,
        version: session.version,
        view: session.role === 'control' ? 'control' : (session.view?.name ?? ''),
        state: this.#connections.isParked(session) ? 'parked' : session.state,
        connectedAt: session.connectedAt.toISOString(),
        inFlight: session.slots.size,
        accepts,
        mailbox,
      };
    });
  }

  #makeAudit(): AuditLog | undefined {
    const { config, auditFile, logger } = this.#options;
    if (!config.audit.isKept) return undefined;
    const path = config.audit.file ?? auditFile;
    return new AuditLog({ settings: config.audit, path, clock: systemClock, date: Date.now, logger });
  }

  #makePool(): ServerPool {
    const { logger, limits, version, environment, cwd, config, finder, catalogDir } = this.#options;
    const counters = this.#counters;
    const clock = systemClock;
    return new ServerPool({
      definitions: this.#definitions,
      dialledIn: () => this.#dialIns.offered,
      defaultView: () => finder.config.config.view,
      gates: this.#gates,
      origin: () => originOf(finder),
      catalog: new Catalog({ dir: catalogDir, ttlMs: config.cache.ttlMs, date: Date.now, clock, logger }),
      seenTools: new SeenToolsStore({
        dir: this.#options.seenToolsDir,
        clock,
        logger,
        changed: (seen, names) => this.#pool.toolsChanged(seen, names),
      }),
      backendContext: {
        limits,
        counters,
        logger,
        meters: this.#meters,
        audit: this.#audit,
        cutOff: (session: Session, reason: string) => this.#connections.cutOff(session, reason),
      },
      instanceContext: {
        limits,
        counters,
        logger,
        version,
        environment,
        cwd,
        guard: this.#guard,
        clock,
        random: Math.random,
        turn: this.#turn,
        maxFrameBytes: limits.maxMessageBytes,
        gates: {
          local: new StartGate(limits.maxLocalStarts, { clock, counters }),
          remote: new StartGate(limits.maxRemoteStarts, { clock, counters }),
        },
        dialledIn: (name) => this.#dialIns.open(name),
      },
    });
  }

  /** The control methods come in with the first who asks for them. */
  async #control(request: Buffer, answer: (json: string) => void): Promise<void> {
    try {
      if (this.#answerControl === undefined) {
        const { controlMethods } = await import('./control.ts');
        this.#answerControl ??= controlMethods(this);
      }
      const response = await this.#answerControl(request);
      if (response !== undefined) answer(response);
    } catch (error) {
      this.#options.logger.error('a control request failed', { error: messageOf(error) });
    }
  }
}

function originOf({ config: { file }, configFaults }: FinderPorts): string {
  const config = file === undefined ? 'There is no config file.' : `The config file is ${file}.`;
  const faults = configFaults.length === 0 ? '' : ` Not used: ${configFaults.join('; ')}.`;
  return `${config}${faults} mcp-bridge discover shows all that were found.`;
}
