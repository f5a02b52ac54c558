// Starts, watches and ends one instance of a server: it carries out the decisions of the lifecycle, and reports to the
// instance in core. An error of the bridge in here ends only this instance.

import { randomBytes } from 'node:crypto';
import { Faults } from '../core/faults.ts';
import type { Instance } from '../core/instance.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { serverInfoOf } from '../protocol/initialize.ts';
import { LATEST_PROTOCOL_VERSION } from '../protocol/versions.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { containedClock, type Timer } from '../util/clock.ts';
import { invariant } from '../util/invariant.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ServerConnection } from './connection.ts';
import { HttpConnection, type HttpContext } from './http-connection.ts';
import { notConnected } from './inbound-server.ts';
import { brokenServer, crash, ownFault, refusedStart, shuttingDown, startFailure } from './instance-failure.ts';
import { type LifeEffect, type LifeEvent, type LifeState, NEWBORN, transition } from './lifecycle.ts';
import { programMark } from './program-mark.ts';
import { type HandshakePlan, planFor, ServerHandshake, type SettledHandshake } from './server-handshake.ts';
import type { ServerOutput } from './server-output.ts';
import { ServerProcess } from './server-process.ts';
import type { StartGate } from './start-gate.ts';
import { WebSocketConnection } from './web-socket-connection.ts';

export interface RunnerContext extends Omit<HttpContext, 'failed'> {
  /** A number from 0 up to 1; it varies the pauses of different instances. */
  readonly random: () => number;
  /** The version of the bridge. */
  readonly version: string;
  /** Called when the instance has ended because nobody used it. */
  readonly stopped?: () => void;
  /** The gates where processes and connections wait for their turn to start. */
  readonly gates: { readonly local: StartGate; readonly remote: StartGate };
  readonly source: ConnectionSource;
}

/** Opens connections to servers: it starts or dials them, or waits until they dial in. */
export interface ConnectionSource {
  /** True if the servers connect by themselves: nothing here can start or end them. */
  readonly comeByThemselves: boolean;
  /** True if the servers run on other hosts: an unreachable one has not died here. */
  readonly isElsewhere?: boolean;
  /** Opens the connection of an instance. Throws the reason if that is not possible. */
  open(definition: ServerDefinition, context: RunnerContext & HttpContext): ServerConnection;
}

/** Starts processes, and connects to URLs. */
export const OPENED_HERE: ConnectionSource = {
  comeByThemselves: false,
  open: (definition, context) => {
    switch (definition.transport) {
      case 'stdio':
        return new ServerProcess(definition, context);
      case 'ws':
        return new WebSocketConnection(definition, context);
      case 'dial-in':
      case 'bus':
        throw notConnected(definition.name);
      default:
        return new HttpConnection(definition, context);
    }
  },
};

/**
 * The plan for the first messages to a server, and the mark of its program. A second attempt follows a death at the
 * probe.
 */
interface Words {
  readonly plan: HandshakePlan;
  readonly program: string;
  readonly isSecond: boolean;
}

/** A connection that is not ready yet. */
interface Attempt extends Omit<Words, 'plan'> {
  readonly child: ServerConnection;
  /** The client name for the server, or the bridge's. */
  readonly clientInfo: object;
  readonly handshake: ServerHandshake;
}

export class InstanceRunner {
  readonly definition: ServerDefinition;
  readonly instance: Instance;
  readonly #context: RunnerContext & HttpContext;
  readonly #faults: Faults;
  #life = NEWBORN;
  #child: ServerConnection | undefined;
  /** The stderr of the last process, even after its end. */
  #output: ServerOutput | undefined;
  /** Counts how often the instance was ready. */
  #openings = 0;
  #vacancy: Timer | undefined;
  #leaveGate: () => void = () => undefined;
  /** The reason why the last start failed, or the process ended; undefined once it runs again. */
  lastFailure: BridgeError | undefined;

  constructor(definition: ServerDefinition, instance: Instance, context: RunnerContext) {
    this.definition = definition;
    this.instance = instance;
    this.#faults = new Faults(context);
    const failed = (error: unknown): void => this.#fault(error);
    this.#context = { ...context, clock: containedClock(context.clock, failed), failed };
  }

  get state(): LifeState['kind'] {
    return this.#life.state.kind;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get output(): ServerOutput | undefined {
    return this.#output;
  }

  /** The number of starts after the first one, without failed attempts. */
  get restarts(): number {
    return Math.max(0, this.#openings - 1);
  }

  /** Starts the server unless it runs. Reports to the instance when it runs, or why it cannot. */
  start(): void {
    if (this.state === 'stopped') return this.instance.failed(shuttingDown());
    this.#happen('needed');
  }

  /** Starts the idle timer when nobody uses the instance, and stops it when somebody does. */
  usersChanged(users: number): void {
    this.#vacancy?.cancel();
    this.#vacancy = undefined;
    if (users > 0 || this.#context.source.comeByThemselves) return;
    const idleMs = this.definition.idleMs ?? this.#context.limits.idleMs;
    this.#vacancy = this.#context.clock.after(idleMs, () => this.vacate());
  }

  /** Ends the instance, unless it has work to do. */
  vacate(): void {
    if (this.state !== 'ready') return;
    if (this.instance.isBusy) return this.usersChanged(0); // it works for clients that now use another instance
    this.#context.logger.info('server stopping, nobody uses it', { server: this.definition.name });
    this.#context.events.instanceStopped.tell(this.instance);
    this.#happen('vacant');
    this.instance.closed(crash(this.definition, 'was stopped'));
  }

  async stop(): Promise<void> {
    this.#vacancy?.cancel();
    const child = this.#child;
    this.#happen('shutdown');
    await child?.ended;
  }

  // --- errors of the bridge ---

  /** Ends this instance after an error in an event of a timer, a pipe or the process. */
  #fault(error: unknown, what = 'an instance could not be looked after'): void {
    this.#faults.note(what, error, { server: this.definition.name });
    this.endBroken();
  }

  #contain(task: () => void): void {
    this.#faults.contain(task, (error) => this.#fault(error));
  }

  /** Ends an instance whose state is uncertain. Its end answers everybody who waits. */
  endBroken(): void {
    const child = this.#child;
    if (child !== undefined) return void child.stop();
    const error = ownFault(this.definition);
    const failed = (): void =>
      this.state === 'starting' ? this.#failStart(undefined, error) : this.instance.failed(error);
    this.#faults.contain(failed, (again) =>
      this.#faults.note('those who wait for an instance were not told', again, { server: this.definition.name }),
    );
  }

  #happen(event: LifeEvent): void {
    const { clock, random, limits, events } = this.#context;
    const { life, effect } = transition(this.#life, event, { ms: clock.now(), random: random() }, limits);
    if (life.state.kind === 'broken' && this.state !== 'broken')
      events.incident.tell('serversBroken', this.definition.name);
    this.#life = life;
    this.#carryOut(effect);
  }

  #carryOut(effect: LifeEffect): void {
    switch (effect) {
      case undefined:
        return;
      case 'launch':
        return this.#launch();
      case 'end':
        void this.#child?.stop();
        return;
      case 'refuse':
        return this.instance.failed(
          brokenServer(this.definition.name, this.lastFailure?.message, this.#context.limits),
        );
      default:
        this.#context.clock.after(effect.waitMs, () => this.#happen('timer'));
    }
  }

  #launch(): void {
    const { local, remote } = this.#context.gates;
    const gate = this.definition.transport === 'stdio' ? local : remote;
    gate.enter({ server: this.definition.name, askers: () => this.instance.waiting() }, (leave) => {
      this.#leaveGate = leave;
      if (this.state === 'starting') this.#contain(() => this.#launchNow());
      else leave(); // the daemon was told to stop meanwhile
    });
  }

  #launchNow(): void {
    this.instance.begun();
    this.#context.events.instanceStarting.tell(this.instance);
    const { environment, cwd, source } = this.#context;
    const { known } = this.instance;
    const program = programMark(this.definition, environment, cwd);
    const facts = { found: known.era, ageMs: known.eraAgeMs, comesByItself: source.comeByThemselves };
    this.#startWith({ plan: planFor({ ...facts, program }), program, isSecond: false });
  }

  /** Opens a connection, and sends the first messages according to the plan. */
  #startWith({ plan, program, isSecond }: Words): void {
    const child = this.#spawn();
    if (child === undefined) return;
    this.#child = child;
    this.#output = child.output;
    this.#context.logger.info('server starting', { server: this.definition.name, pid: child.pid });
    this.#listenTo(child, { plan: planOf(child) ?? plan, program, isSecond });
  }

  #listenTo(child: ServerConnection, { plan, program, isSecond }: Words): void {
    const { limits, clock, version } = this.#context;
    const clientInfo = this.instance.introduction() ?? { name: 'mcp-bridge', version };
    const startTimeoutMs = this.definition.startTimeoutMs ?? limits.startTimeoutMs;
    const handshake = new ServerHandshake({
      server: this.definition.name,
      connection: child,
      maxDepth: limits.maxDepth,
      clock,
      plan,
      startTimeoutMs,
      capabilities: this.instance.key.capabilities,
      clientInfo,
    });
    const attempt = { child, handshake, clientInfo, program, isSecond };
    const timeout = clock.after(startTimeoutMs, () => this.#onTimeout(attempt, startTimeoutMs));
    child.link.start({
      frame: (b, start, end) => {
        // An old process may still send something while a new one starts.
        if (child === this.#child) this.#frame(attempt, { b, start, end });
      },
      returned: (request) => child === this.#child && this.instance.returned(request),
      mayRepeat: (idText) => child === this.#child && this.instance.mayRepeat(idText),
      clientOf: (idText) => (child === this.#child ? this.instance.clientOf(idText) : ''),
      overflowed: () => this.#contain(() => this.instance.fromServer.overflowed()),
      badFrame: (reason, ends) => {
        if (child === this.#child) this.#contain(() => this.instance.fromServer.badFrame(reason, ends));
      },
      // A server that has closed one of its pipes can no longer answer, even if its process goes on.
      ended: () => void child.stop(),
      closed: () => void child.stop(),
      drained: () => this.instance.drained(),
      failed: (error) => this.#fault(error),
    });
    handshake.begin();
    void child.ended.then((how) => {
      timeout.cancel();
      handshake.end();
      this.#contain(() => this.#onEnded(attempt, how));
    });
  }

  #onTimeout({ child, handshake }: Attempt, startTimeoutMs: number): void {
    if (this.state !== 'starting' || child !== this.#child) return;
    handshake.end();
    this.#context.events.incident.tell('startTimeouts', this.definition.name);
    this.#noteEraInDoubt();
    const bound = `${startTimeoutMs} ms (its startTimeoutMs, or limits.startTimeoutMs)`;
    const how = `did not answer ${handshake.awaited} within ${bound}`;
    this.#failStart(child, handshake.refusal ?? this.#startError(child, how));
  }

  /** Ends a server if the bridge fails while handling its message, because the server's state is then unknown. */
  #frame(attempt: Attempt, { b, start, end }: Frame): void {
    try {
      if (this.state === 'starting') this.#shakeHands(attempt, { b, start, end });
      else this.instance.fromServer.frame(b, start, end);
    } catch (error) {
      this.#fault(error, 'a message could not be dealt with');
    }
  }

  /** Opens the connection. A failed system call is thrown here; most other failures arrive later as events. */
  #spawn(): ServerConnection | undefined {
    const { definition } = this;
    try {
      return this.#context.source.open(definition, this.#context);
    } catch (error) {
      this.#failStart(undefined, refusedStart(definition, error));
      return undefined;
    }
  }

  #shakeHands(attempt: Attempt, { b, start, end }: Frame): void {
    const { child, handshake, clientInfo } = attempt;
    let settled: SettledHandshake | undefined;
    try {
      settled = handshake.take(b, start, end);
    } catch (error) {
      invariant(error instanceof BridgeError, 'a handshake fails with a BridgeError');
      handshake.end();
      this.#noteEraInDoubt();
      return this.#failStart(child, error, 'refused');
    }
    if (settled === undefined) return;
    this.#noteEra(attempt, settled);
    child.settled?.(settled.version);
    this.#leaveGate();
    this.lastFailure = undefined;
    this.#openings++;
    this.#happen('opened');
    this.#context.events.instanceReady.tell(this.instance);
    const { name: server } = this.definition;
    this.#context.logger.info('server ready', { server, pid: child.pid, version: settled.version });
    const { era, version, versions: supportedVersions, initializeResult, discoverResult } = settled;
    const introduction = { era, version, supportedVersions, initializeResult, discoverResult };
    this.instance.opened({ ...introduction, clientInfo, link: child.link, instanceId: randomBytes(8).toString('hex') });
    if (this.instance.sessions.size === 0) this.usersChanged(0); // waiting clients are attached in a moment, if they still exist
  }

  /** Remembers the era for the next start. If the program was replaced since it was asked, it will be asked again. */
  #noteEra(
    { program, isSecond }: Attempt,
    settled: Pick<SettledHandshake, 'initializeResult' | 'version' | 'finding'>,
  ): void {
    const { known } = this.instance;
    const { name, version } = serverInfoOf(settled.initializeResult);
    const serverInfo = JSON.stringify([name, version]);
    const finding = settled.finding ?? (isSecond ? fatalFor(settled.version) : undefined);
    if (finding !== undefined) known.noteEra({ ...finding, program, serverInfo });
    else if (known.era !== undefined && known.era.serverInfo !== serverInfo) known.forgetEra();
  }

  /** Makes the next start probe again, because a server of 2026 did not start as one. */
  #noteEraInDoubt(): void {
    const { known } = this.instance;
    if (known.era?.era === ERA_2026) known.forgetEra();
  }

  /** Reports a failed start to everybody who waits. The next request starts the server again. */
  #failStart(child: ServerConnection | undefined, error: BridgeError, event: 'died' | 'refused' = 'died'): void {
    if (this.state !== 'starting' || child !== this.#child) return;
    this.#leaveGate();
    this.#child = undefined;
    this.lastFailure = error;
    void child?.stop();
    this.#context.events.instanceFailed.tell(this.instance, error);
    this.#context.logger.warn('server failed to start', { server: this.definition.name, reason: error.message });
    const isNoDeath = error.code === 'SERVER_AUTH_REQUIRED' || this.#livesElsewhere;
    this.#happen(isNoDeath ? 'refused' : event);
    this.instance.failed(error);
  }

  /** True if the end of a connection does not mean that a server died. */
  get #livesElsewhere(): boolean {
    const { comeByThemselves, isElsewhere = false } = this.#context.source;
    return comeByThemselves || isElsewhere;
  }

  #onEnded(attempt: Attempt, how: string): void {
    const { child, handshake, program, isSecond } = attempt;
    // It may no longer be offered now, and comes back as another instance.
    if (child.hasHungUp && handshake.hasHeardNothing) this.#noteEra(attempt, OF_OLDER_WAY);
    if (child !== this.#child) return;
    const before = this.state;
    if (before === 'starting') {
      if (!isSecond && child.wasOpen && handshake.hasHeardNothing && child.hasHungUp !== true)
        return this.#tryInOlderWay(program, how);
      return this.#failStart(child, this.#startError(child, how));
    }
    this.#child = undefined;
    if (before === 'stopped') {
      this.instance.closed(shuttingDown());
      return this.instance.failed(shuttingDown());
    }
    if (before === 'stopping') {
      this.#happen('gone'); // the instance was told already
      return this.#context.stopped?.();
    }
    if (before === 'ready') this.#recordCrash(how);
    if (before === 'ready') this.#happen(this.#livesElsewhere ? 'left' : 'died');
    else this.#happen('gone');
    this.instance.closed(crash(this.definition, how));
  }

  /** Tries again with `initialize` alone: some servers end when they get the unexpected probe. */
  #tryInOlderWay(program: string, how: string): void {
    const { name: server } = this.definition;
    this.#context.logger.info('server ended before it answered; it is asked in the older way', { server, how });
    this.#child = undefined;
    this.#startWith({ plan: 'initialize', program, isSecond: true });
  }

  #recordCrash(how: string): void {
    const { name } = this.definition;
    const failure = new BridgeError('SERVER_CRASHED', `Server ${name} ${how}`, { server: name });
    this.#context.events.instanceDied.tell(this.instance, failure);
    this.lastFailure = failure;
    this.#context.logger.warn('server gone', { server: name, how });
  }

  #startError(child: ServerConnection, how: string): BridgeError {
    return startFailure(this.definition, child, { how, cwd: this.#context.cwd });
  }
}

/** The plan, if the way to the server decides it. */
function planOf({ isOfEarlierEra, isOf2026Alone }: ServerConnection): HandshakePlan | undefined {
  if (isOf2026Alone === true) return 'patient';
  return isOfEarlierEra === true ? 'initialize' : undefined;
}

/** The finding for a server that ended at the probe. */
function fatalFor(version: string): NonNullable<SettledHandshake['finding']> {
  return { era: ERA_2025, version, versions: [version], probe: 'fatal' };
}

/** The finding for a server that hung up at the probe. */
const OF_OLDER_WAY = {
  initializeResult: Buffer.from('{}\n'),
  version: LATEST_PROTOCOL_VERSION,
  finding: fatalFor(LATEST_PROTOCOL_VERSION),
};
