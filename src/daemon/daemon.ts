// The composition root: wires the socket, the core and the instances together, and takes them apart again.

import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { Catalog } from '../catalog/catalog.ts';
import { SeenToolsStore } from '../catalog/seen-tools-store.ts';
import { Sweeper } from '../catalog/sweeper.ts';
import type { Config } from '../config/config.ts';
import type { RunCopy } from '../control/instances.ts';
import type { ControlledDaemon, ExplainOptions } from '../control/methods.ts';
import { PastEvents } from '../control/past-events.ts';
import type {
  ClientReport,
  ControlAnswer,
  MemoryReport,
  ReloadReport,
  RunningReport,
  SearchReport,
  StatusReport,
} from '../control/report.ts';
import { ServersHere } from '../control/servers-here.ts';
import { clientReports, statusReport } from '../control/status.ts';
import type { WatchedDaemon } from '../control/watches.ts';
import { keepAuditTrail } from '../core/audit-trail.ts';
import { logCalls } from '../core/call-log.ts';
import { CallMeters } from '../core/call-meter.ts';
import type { CallTracing } from '../core/call-tracing.ts';
import { ConnectionManager } from '../core/connection-manager.ts';
import { Counters } from '../core/counters.ts';
import { Events } from '../core/events.ts';
import { Faults } from '../core/faults.ts';
import { OwnedTasks } from '../core/owned-tasks.ts';
import type { ControlPeer } from '../core/router.ts';
import type { Session } from '../core/session.ts';
import { SuspendedCalls } from '../core/suspended-calls.ts';
import { ToolAccounts } from '../core/tool-accounts.ts';
import { ExchangeGate } from '../downstream/exchange-gate.ts';
import { OrphanGuard } from '../downstream/process-groups.ts';
import { StartGate } from '../downstream/start-gate.ts';
import { AccessTokens } from '../local/access-tokens.ts';
import { ClientDescriptors } from '../local/descriptors.ts';
import { DialInDecisions } from '../local/dial-in-decisions.ts';
import { ownUid } from '../local/owned-path.ts';
import { residentBytesOfGroups } from '../local/process-table.ts';
import { ClientMessaging } from '../messaging/client-messaging.ts';
import { ArgumentCheck } from '../meta-tools/argument-check.ts';
import { CodeDesk } from '../meta-tools/code-desk.ts';
import { DiscoverTools } from '../meta-tools/discover-tools.ts';
import { ToolFinder } from '../meta-tools/tool-finder.ts';
import type { AgentsHere } from '../model/agent-mail.ts';
import type { FederationReport } from '../model/federation-report.ts';
import type { Limits } from '../model/limits.ts';
import { Places } from '../model/places.ts';
import type { Principal } from '../model/principal.ts';
import type { ToolAnswers } from '../model/tool-answers.ts';
import { knownRegistries } from '../registry/registry-places.ts';
import { runningServers } from '../registry/running-servers.ts';
import { ResultDesk } from '../results/result-desk.ts';
import { ResultFiles } from '../results/result-files.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { messageOf } from '../util/bridge-error.ts';
import { type Clock, containedClock, systemClock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { FlushTurn } from '../wire/outbox.ts';
import { ReadPacer } from '../wire/read-pacer.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { StreamLink } from '../wire/stream-link.ts';
import { AuditLog } from './audit-log.ts';
import { CodeDoor } from './code-door.ts';
import { collectionAfterwards, collectionInFlood, collectTightly } from './collection-pace.ts';
import { ConfiguredClients } from './configured-clients.ts';
import { DialIns } from './dial-ins.ts';
import { type FinderPorts, FollowedServers } from './followed-servers.ts';
import { HttpDoor } from './http-door.ts';
import { KeptSocket } from './kept-socket.ts';
import { OtherHosts } from './other-hosts.ts';
import { ServerPool } from './server-pool.ts';
import { ToolGates } from './tool-gates.ts';

/** Everything that a daemon gets from outside: its settings, its directories, and its process. */
export interface DaemonOptions {
  readonly socketPath: string;
  /** The descriptor of the socket, if another program has bound it already. */
  readonly activatedFd?: number | undefined;
  readonly config: Config;
  /** The HTTP address from the command line; the config may have one too. */
  readonly httpFlag?: string | undefined;
  readonly limits: Limits;
  /** The directory to search for a config if none is named. */
  readonly configDir: string;
  readonly finder: FinderPorts;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The directory of the catalog; undefined to keep nothing. */
  readonly catalogDir: string | undefined;
  /** The directory of tools as they were first seen; undefined to keep nothing. */
  readonly seenToolsDir: string | undefined;
  /** The directory of cut results; undefined to keep them only in memory. */
  readonly resultsDir?: string | undefined;
  /** The audit log's file, if the config names none. */
  readonly auditFile: string;
  /**
   * The parts for programs of models: the packed code of their processes, and the file that runs `mcp-bridge`;
   * undefined if switched off.
   */
  readonly programs?: { readonly code: (name: 'sandbox' | 'python') => Buffer; readonly program: string } | undefined;
  readonly logger: Logger;
  /** True if the log has a line for each step of a call. */
  readonly logsCalls: boolean;
  readonly version: string;
  /** The version, and the source that the program was built from. */
  readonly build: string;
  readonly pid: number;
  readonly memory: () => MemoryReport;
  /** True if a client started the daemon because it needed one: then the daemon ends when nobody uses it. */
  readonly isAutostarted: boolean;
  /** Sends traces and metrics; undefined if they have nowhere to go. */
  readonly telemetry?: DaemonTelemetry | undefined;
  /** Called when the daemon must stop. */
  readonly onStopRequested: (reason: LeavingReason) => void;
}

/** The parts of telemetry that a daemon uses. The rest is loaded only if needed. */
export type DaemonTelemetry = Pick<Telemetry, 'watch' | 'report' | 'close'>;

/** The time that traces and metrics may take to be sent when the daemon ends. */
const MOST_TELEMETRY_MS = 2000;

/** Every client that the mode of the daemon's socket lets in. */
const LOCAL: Principal = { kind: 'local', uid: ownUid(), pid: undefined };

export class Daemon implements ControlledDaemon {
  readonly #options: DaemonOptions;
  readonly #startedMs = systemClock.now();
  /** The stream of events that parts of the daemon subscribe to. */
  readonly #events = new Events((error) => this.#faults.note('a listener to what happens has failed', error));
  readonly #counters = new Counters(this.#events);
  readonly #past = new PastEvents(this.#events, Date.now);
  /** Logs errors of ours that nothing else catches. */
  readonly #onFault = (error: unknown): void => this.#faults.note('something went wrong inside', error);
  readonly #clock: Clock = containedClock(systemClock, this.#onFault);
  readonly #accounts = new ToolAccounts();
  readonly #meters = new CallMeters(this.#clock, this.#events);
  readonly #turn = new FlushTurn(setImmediate, this.#onFault);
  readonly #collectAfterwards = collectionAfterwards(this.#clock, () => {
    this.#turn.dropShelf();
    collectTightly();
  });
  readonly #places: Places;
  readonly #pacer = new ReadPacer({
    beforeWork: () => this.#turn.flush(),
    flooded: collectionInFlood(),
  });
  readonly #faults: Faults;
  readonly #guard = new OrphanGuard();
  readonly #descriptors = new ClientDescriptors();
  readonly #followed: FollowedServers;
  readonly #gates = new ToolGates();
  readonly #clients = new ConfiguredClients();
  readonly #code: CodeDoor | undefined;
  readonly #forDiscover = {
    finder: new ToolFinder({
      synonyms: () => this.#options.finder.config.config.discovery.synonyms,
      // The ranker is a program, so no config in the daemon's working directory may name it.
      ranker: () => {
        const { config, origin } = this.#options.finder.config;
        if (origin !== 'directory') return config.ranker;
        if (config.ranker !== undefined) this.#warnOfUnusedRanker(config.ranker);
        return undefined;
      },
      rankerFailed: (file, reason) =>
        this.#options.logger.warn('search.ranker cannot be used; searches go on without it', { file, reason }),
      clock: this.#clock,
    }),
    check: new ArgumentCheck((error) => this.#faults.note('a schema could not be compiled', error)),
    timeoutMs: () => this.#options.finder.config.config.discovery.timeoutMs,
    desk: undefined as CodeDesk | undefined,
  };
  #hasSaidNoRanker = false;
  readonly #audit: AuditLog | undefined;
  readonly #tracing: CallTracing | undefined;
  readonly #dialIns: DialIns;
  readonly #suspended: SuspendedCalls;
  readonly #resultFiles: ResultFiles | undefined;
  readonly #results: ResultDesk;
  readonly #pool: ServerPool;
  readonly #messaging: ClientMessaging;
  readonly #connections: ConnectionManager;
  #socket: KeptSocket | undefined;
  readonly #http: HttpDoor;
  readonly #otherHosts: OtherHosts;
  #answerControl: ((request: Buffer, peer: ControlPeer) => Promise<string | undefined>) | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.#faults = new Faults({ events: this.#events, logger: options.logger });
    const { logger, limits, config, version, build } = options;
    this.#followed = new FollowedServers({
      finder: options.finder,
      home: options.homedir,
      dirsInUse: () => [...this.#connections.clients().flatMap(({ cwd }) => cwd ?? []), ...this.#pool.dirsInUse()],
      gates: this.#gates,
      clients: this.#clients,
      gatesChanged: () => {
        this.#connections.clientSettingsChanged();
        this.#pool.renewGates();
      },
      changed: () => this.#connections.serversChanged(),
      refreshed: () => {
        this.#dialIns.refresh();
        this.#pool.refresh();
        this.#connections.ownToolsChanged();
        this.#otherHosts.offer();
      },
      events: this.#events,
      clock: this.#clock,
      logger,
    });
    this.#places = new Places(limits);
    this.#audit = this.#makeAudit();
    this.#tracing = options.telemetry?.watch(this.#events);
    if (options.logsCalls) logCalls(this.#events, logger);
    if (this.#audit !== undefined) keepAuditTrail(this.#events, this.#audit);
    this.#dialIns = new DialIns({
      configured: () => options.finder.config.config.dialIn,
      decisions: new DialInDecisions(options.environment, options.homedir),
      refusalOf: (name) => options.finder.refusalOfDialIn(name),
      isDefined: (name) => [...this.#followed.definitions.all()].some((definition) => definition.name === name),
      changed: () => this.#onDialIns(),
      maxDialIns: limits.maxDialIns,
      events: this.#events,
      clock: this.#clock,
      pacer: this.#pacer,
      logger,
    });
    this.#suspended = new SuspendedCalls({
      limits,
      events: this.#events,
      clock: this.#clock,
      contain: (session, task) => this.#connections.contain(session, task),
    });
    const { resultsDir, socketPath } = options;
    this.#resultFiles = resultsDir === undefined ? undefined : new ResultFiles(resultsDir, socketPath);
    this.#results = new ResultDesk({
      settings: () => options.finder.config.config.results,
      files: this.#resultFiles,
      events: this.#events,
      clock: this.#clock,
      logger,
    });
    this.#otherHosts = this.#makeOtherHosts();
    this.#pool = this.#makePool();
    this.#messaging = new ClientMessaging({
      settings: config.agents,
      limits,
      events: this.#events,
      logger,
      clock: this.#clock,
      date: () => new Date(),
      elsewhere: config.federation === undefined ? undefined : this.#otherHosts,
      willBeEnabled: () => options.finder.config.config.agents.isEnabled,
    });
    this.#code = this.#makeCode();
    this.#connections = new ConnectionManager({
      limits,
      events: this.#events,
      logger,
      servers: this.#pool,
      clientSettings: this.#clients,
      discoverTools: (view) => new DiscoverTools(view, { ...this.#forDiscover, cutter: this.#results.cutter }),
      codeTools: this.#code && ((view) => new DiscoverTools(view, this.#forDiscover, true)),
      ownTools: (view) => this.#results.toolsOf(view),
      manyListed: this.#collectAfterwards,
      dialIns: this.#dialIns,
      hasRoom: () => this.#descriptors.hasRoom(),
      messaging: this.#messaging,
      control: (request, peer) => void this.#control(request, peer),
      version,
      build,
      daemonId: randomBytes(8).toString('hex'),
      clock: this.#clock,
      liveness: config.liveness,
    });
    this.#http = this.#makeHttp();
  }

  /** Warns once that the ranker in a directory's config is not used. */
  #warnOfUnusedRanker(file: string): void {
    if (!this.#hasSaidNoRanker)
      this.#options.logger.warn('search.ranker is a program: only your own config may name one', { file });
    this.#hasSaidNoRanker = true;
  }

  #makeCode(): CodeDoor | undefined {
    const { config, limits, logger, programs } = this.#options;
    if (!config.codeMode.enabled || programs === undefined) return undefined;
    const code = new CodeDoor({
      settings: config.codeMode,
      code: programs.code,
      host: {
        ...{ execPath: process.execPath, platform: process.platform },
        ...{ path: this.#options.environment.PATH, homedir: this.#options.homedir },
      },
      besides: [programs.program, join(this.#options.configDir, 'config')],
      guard: this.#guard,
      pacer: this.#pacer,
      turn: this.#turn,
      events: this.#events,
      clock: this.#clock,
      logger,
      failed: (error) => this.#faults.note('a program could not be served', error),
    });
    this.#forDiscover.desk = new CodeDesk({
      code,
      clock: this.#clock,
      questionTimeoutMs: limits.questionTimeoutMs,
      forgetRetry: (stateText) => this.#suspended.forget(stateText),
      contain: (session, task) => this.#connections.contain(session, task),
    });
    return code;
  }

  get #agentsHere(): AgentsHere {
    return {
      receive: (host, letter) => this.#messaging.receive(host, letter),
      agentsFor: (asker) => this.#messaging.agentsFor(asker),
    };
  }

  #makeOtherHosts(): OtherHosts {
    const { config, finder, limits, version, logger, catalogDir } = this.#options;
    return new OtherHosts({
      dir: catalogDir === undefined ? undefined : dirname(catalogDir),
      ...{ settings: config.federation, limits, version, logger, clock: this.#clock, turn: this.#turn, uid: LOCAL.uid },
      pacer: this.#pacer,
      places: this.#places,
      faults: config.federationFaults,
      accept: (link, principal, view) => this.#connections.accept(link, principal, view),
      refusalOf: (name) => finder.refusalOfDialIn(name),
      trustsHints: (name) => finder.config.config.serverSettings[name]?.trustHints === true,
      prepare: () => this.#followed.definitions.prepare(undefined),
      own: () => [...this.#followed.definitions.of(undefined).values(), ...this.#dialIns.of().values()],
      agents: config.agents.isEnabled ? this.#agentsHere : undefined,
      changed: () => this.#serversOfOthersChanged(),
      refused: (refusal) => {
        this.#events.incident.tell('busRefused', undefined);
        this.#audit?.busRefused(refusal);
      },
      failed: (error) => this.#faults.note('a message of another host could not be dealt with', error),
    });
  }

  #makeHttp(): HttpDoor {
    const { config, finder, limits, version, logger, environment, homedir } = this.#options;
    const { http } = config;
    const tokens = (): AccessTokens =>
      new AccessTokens({
        ...{ environment, homedir, nowMs: Date.now },
        onFault: (error) => logger.error('the tokens cannot be read', { error: messageOf(error) }),
      });
    return new HttpDoor({
      ...{ settings: http, limits, version, logger, clock: this.#clock, turn: this.#turn, local: LOCAL },
      places: this.#places,
      access: () => ({ tokens: http.needsToken ? tokens() : undefined, uid: LOCAL.uid }),
      accept: (link, principal, fixedView) => this.#connections.accept(link, principal, fixedView),
      rules: () => finder.config.config.http,
      hasRoom: () => this.#descriptors.hasRoom(),
      metrics: () => this.#metricsText(),
      refused: () => this.#events.incident.tell('httpRefused', undefined),
      failed: (error) => this.#faults.note('a request over HTTP could not be handled', error),
    });
  }

  async #metricsText(): Promise<string> {
    const [{ metricsText }, report] = await Promise.all([import('../control/metrics-text.ts'), this.status()]);
    return metricsText(report, residentBytesOfGroups(new Set(report.instances.flatMap(({ pid }) => pid ?? []))));
  }

  /** Becomes the daemon of its socket path, and accepts clients. */
  async listen(): Promise<void> {
    const { socketPath, activatedFd, pid, version, build, logger } = this.#options;
    await this.#audit?.open();
    this.#socket = await KeptSocket.open({
      path: socketPath,
      activatedFd,
      accept: (socket) => this.accept(socket),
      holder: { pid, version, build },
      clock: this.#clock,
      logger,
    });
    await this.#code?.prepare();
    await this.#http.open();
    this.#resultFiles?.clear(Date.now()).catch(this.#onFault);
    void this.#otherHosts.join();
    this.#endWhenIdle(this.#socket);
    new Sweeper({
      directories: this.#pool.sweptDirectories,
      isQuiet: () => this.#socket?.isRetreating !== true && !this.#pool.isBusy,
      clock: this.#clock,
      date: Date.now,
      logger: this.#options.logger,
    }).start();
  }

  #endWhenIdle(socket: KeptSocket): void {
    const { isAutostarted, config, onStopRequested } = this.#options;
    const { idleExitMs } = config.daemon;
    if (!isAutostarted || idleExitMs === 0) return;
    socket.endWhenIdle({
      idleMs: idleExitMs,
      isInUse: () => !this.#connections.isEmpty || !this.#dialIns.isEmpty || this.#pool.isBusy,
      leave: () => onStopRequested('idle'),
    });
  }

  /** Serves a client over a stream. */
  accept(stream: Duplex): void {
    const { maxMessageBytes } = this.#options.limits;
    this.#takeIn(stream, () => {
      this.#socket?.used();
      const link = new StreamLink(stream, stream, {
        maxFrameBytes: maxMessageBytes,
        turn: this.#turn,
        onHttp: () => {
          this.#connections.release(session);
          void this.#http.take(stream);
        },
      });
      const session = this.#connections.accept(link, LOCAL);
    });
  }

  #takeIn(stream: Duplex, take: () => void): void {
    this.#faults.contain(take, (error) => {
      this.#faults.note('a client could not be taken in', error);
      stream.destroy();
    });
  }

  /** The last handler of an error that nothing has caught: logs it, and all clients go on. */
  uncaught(error: unknown): void {
    this.#faults.note('an error that nobody has caught', error);
  }

  /** Answers open requests, ends clients and servers, and frees the socket path. */
  async stop(reason: LeavingReason = 'stop'): Promise<void> {
    await this.#http.stopListening();
    await this.#socket?.giveUp();
    this.#dialIns.tellLeaving(reason);
    await this.#otherHosts.leave();
    await this.#connections.drain();
    this.#messaging.logUnread();
    await this.#connections.close(reason);
    await this.#http.close();
    await this.#code?.close();
    this.#followed.close();
    await this.#pool.stop();
    this.#resultFiles?.close();
    await this.#options.telemetry?.close(MOST_TELEMETRY_MS);
    await this.#otherHosts.close();
    await this.#audit?.close();
    await this.#dialIns.close();
    this.#guard.close();
    this.#socket?.release();
  }

  /** Looks for the servers again, and updates clients and servers accordingly. */
  reload(): Promise<ReloadReport> {
    return this.#followed.reload();
  }

  #onDialIns(): void {
    this.#connections.serversChanged();
    this.#pool.refresh();
    this.#otherHosts.offer();
  }

  #serversOfOthersChanged(): void {
    this.#connections.serversChanged();
    this.#pool.refresh();
  }

  /** The servers for clients that work in `cwd`. */
  async serversFor(cwd: string | undefined): Promise<ServersHere> {
    await this.#pool.prepare(cwd);
    return new ServersHere(this.#pool, cwd);
  }

  /** The servers that registered as running: those of the user, and of a directory. */
  async running(cwd: string | undefined): Promise<RunningReport> {
    const { homedir, environment } = this.#options;
    const places = knownRegistries({ cwd: cwd ?? homedir, homedir, environment });
    const { servers, warnings } = await runningServers(
      cwd === undefined ? places.filter(({ scope }) => scope === 'user') : places,
    );
    return { servers: servers.map(({ entry: _, ...server }) => server), warnings };
  }

  /** Reports on other hosts; null if the config names no bus. */
  hosts(): Promise<FederationReport> | null {
    return this.#otherHosts.report();
  }

  get limits(): Limits {
    return this.#options.limits;
  }

  get pid(): number {
    return this.#options.pid;
  }

  sessions(): readonly Session[] {
    return this.#connections.clients();
  }

  copies(): Iterable<RunCopy> {
    return this.#pool.copies();
  }

  async settings(): Promise<ControlAnswer<'bridge/settings'>> {
    const { settingsOf } = await import('./settings-report.ts');
    const { config, limits, finder } = this.#options;
    return { configFile: finder.config.file ?? null, settings: settingsOf(config, limits) };
  }

  async search(query: string, { cwd, server, limit }: ExplainOptions): Promise<SearchReport> {
    const here = await this.serversFor(cwd);
    const { searchReport } = await import('./search-report.ts');
    return searchReport(here, { finder: this.#forDiscover.finder, query, server, limit });
  }

  /** The events that watchers of the daemon can listen to. */
  get watched(): WatchedDaemon {
    const { limits } = this.#options;
    return { events: this.#events, past: this.#past, limits, clock: this.#clock, date: Date.now };
  }

  requestStop(reason: LeavingReason): void {
    this.#options.onStopRequested(reason);
  }

  /** Reports on all servers, even before the first client has come. */
  async status(cwd?: string): Promise<StatusReport> {
    await this.#followed.definitions.prepare(undefined);
    const reported = {
      options: this.#options,
      startedMs: this.#startedMs,
      isActivated: this.#socket?.isHandedOn === true,
      connections: this.#connections,
      pool: this.#pool,
      suspended: this.#suspended,
      waitingPrograms: this.programsAway.length,
      meters: this.#meters,
      accounts: this.#accounts,
      results: this.#results.kept,
      dialIns: this.#dialIns,
      counters: this.#counters,
      definitions: this.#followed.definitions,
      audit: this.#audit,
      http: this.#http,
      telemetry: this.#options.telemetry,
    };
    return statusReport(reported, cwd);
  }

  get suspended(): SuspendedCalls {
    return this.#suspended;
  }

  get programsAway(): CodeDesk['away'] {
    return this.#forDiscover.desk?.away ?? [];
  }

  answers(): readonly ToolAnswers[] {
    return this.#accounts.report();
  }

  clients(): ClientReport[] {
    return clientReports(this.#connections, this.#messaging);
  }

  #makeAudit(): AuditLog | undefined {
    const { config, auditFile, logger } = this.#options;
    if (!config.audit.isKept) return undefined;
    const path = config.audit.file ?? auditFile;
    return new AuditLog({ settings: config.audit, path, clock: this.#clock, date: Date.now, logger });
  }

  #makePool(): ServerPool {
    const { logger, limits, version, environment, cwd, config, finder, catalogDir } = this.#options;
    const events = this.#events;
    const clock = this.#clock;
    return new ServerPool({
      sources: [this.#followed.definitions, this.#dialIns, this.#otherHosts],
      defaultView: () => finder.config.config.view,
      gates: this.#gates,
      origin: () => originOf(finder),
      catalog: new Catalog({
        dir: catalogDir,
        ttlMs: config.cache.ttlMs,
        date: Date.now,
        clock,
        logger,
        manyRead: this.#collectAfterwards,
      }),
      seenTools: new SeenToolsStore({
        dir: this.#options.seenToolsDir,
        clock,
        date: Date.now,
        logger,
        changed: (seen, names) => {
          this.#pool.toolsChanged(seen, names);
          this.#events.toolsChanged.tell(seen.server, names);
        },
      }),
      instanceContext: {
        limits,
        events,
        logger,
        clock,
        audit: this.#audit,
        tracing: this.#tracing,
        contain: (session: Session, task: () => void) => this.#connections.contain(session, task),
        suspended: this.#suspended,
        ownedTasks: new OwnedTasks({ limits, events, clock }),
        cutter: this.#results.cutter,
        accounts: this.#accounts,
        cutOff: (session: Session, reason: string) => this.#connections.cutOff(session, reason),
      },
      runnerContext: {
        limits,
        events,
        logger,
        version,
        environment,
        cwd,
        guard: this.#guard,
        clock,
        random: Math.random,
        turn: this.#turn,
        pacer: this.#pacer,
        maxFrameBytes: limits.maxMessageBytes,
        gates: {
          local: new StartGate(limits.maxLocalStarts, { clock, events }),
          remote: new StartGate(limits.maxRemoteStarts, { clock, events }),
        },
        exchanges: new ExchangeGate(limits.maxRemoteCalls),
      },
    });
  }

  /** Answers a control request. The methods are loaded with the first one. */
  async #control(request: Buffer, peer: ControlPeer): Promise<void> {
    try {
      if (this.#answerControl === undefined) {
        const { controlMethods } = await import('../control/methods.ts');
        this.#answerControl ??= controlMethods(this);
      }
      const response = await this.#answerControl(request, peer);
      if (response !== undefined && peer.isOpen) peer.output.answerControl(response);
    } catch (error) {
      this.#options.logger.error('a control request failed', { error: messageOf(error) });
    }
  }
}

function originOf({ config: { file }, configFaults }: DaemonOptions['finder']): string {
  const config = file === undefined ? 'There is no config file.' : `The config file is ${file}.`;
  const faults = configFaults.length === 0 ? '' : ` Not used: ${configFaults.join('; ')}.`;
  return `${config}${faults} mcp-bridge discover shows all that were found.`;
}
