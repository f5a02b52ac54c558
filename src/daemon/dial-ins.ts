// The servers that have connected by themselves: which are there under which name, and which of them clients may see.
// Clients see a name that is in the config or approved by a person; the other servers wait, connected.

import type { DialledInReport } from '../control/report.ts';
import type { Events } from '../core/events.ts';
import type { ServerConnection } from '../downstream/connection.ts';
import { InboundServer, notConnected } from '../downstream/inbound-server.ts';
import type { DialInDecision, DialInDecisions } from '../local/dial-in-decisions.ts';
import type { DialInServer, ServerDefinition } from '../model/server-definition.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { type DialInState, serverLeavingNotice, serverStateNotice } from '../protocol/inbound-server.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Link } from '../wire/link.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import type { ServerSource } from './server-source.ts';

export interface DialInsOptions {
  /** The decisions in the config. */
  readonly configured: () => readonly DialInServer[];
  readonly decisions: Pick<DialInDecisions, 'read'>;
  /** The reason why policy forbids a server of this name; undefined if it is allowed. */
  readonly refusalOf: (name: string) => string | undefined;
  /** True if a server of that name is defined anywhere. */
  readonly isDefined: (name: string) => boolean;
  /** Called when the set of offered servers has changed. */
  readonly changed: () => void;
  readonly maxDialIns: number;
  readonly events: Events;
  readonly clock: Clock;
  readonly pacer: ReadPacer;
  readonly logger: Logger;
}

const RENAME = 'Choose another name: _meta["mcp-bridge/serverName"] of initialize.';

/** The server's description of itself. */
interface Program {
  readonly program: string;
  readonly version: string;
}

interface Caller extends Program {
  readonly server: InboundServer;
  readonly since: Date;
  /** The state that the server was last told. */
  told: DialInState;
}

export class DialIns implements ServerSource {
  readonly comeByThemselves = true;
  readonly #options: DialInsOptions;
  readonly #callers = new Map<string, Caller>();
  #offered: ReadonlyMap<string, ServerDefinition> = new Map();
  #decisions: ReadonlyMap<string, DialInDecision> = new Map();
  #leaving: LeavingReason | undefined;

  constructor(options: DialInsOptions) {
    this.#options = options;
  }

  /** Nothing to search: a server is connected or not. */
  prepare(): undefined {
    return undefined;
  }

  /** The connected servers that clients may see, by name; the same in each directory. */
  of(): ReadonlyMap<string, ServerDefinition> {
    return this.#offered;
  }

  all(): Iterable<ServerDefinition> {
    return this.#offered.values();
  }

  /** True if no server is connected, offered or not. */
  get isEmpty(): boolean {
    return this.#callers.size === 0;
  }

  /** Returns the state of a server with this name. Throws if no server may register under it. */
  admit(name: string): DialInState {
    if (this.#options.isDefined(name))
      throw new BridgeError('SERVER_EXISTS', `A server ${name} is defined already`, { server: name, hint: RENAME });
    const caller = this.#callers.get(name);
    if (caller !== undefined) {
      const message = `A server ${name} is connected already (${`${caller.program} ${caller.version}`.trim()})`;
      throw new BridgeError('SERVER_EXISTS', message, { server: name, hint: RENAME });
    }
    this.#checkRoom();
    this.#readDecisions();
    return this.#stateOf(name);
  }

  #checkRoom(): void {
    const { maxDialIns, events } = this.#options;
    if (this.#callers.size < maxDialIns) return;
    events.incident.tell('dialInsRefused', undefined);
    throw new BridgeError('REQUEST_REFUSED', `The bridge has ${maxDialIns} servers already that dialled in`, {
      hint: 'limits.maxDialIns allows more.',
    });
  }

  /** Reads the approvals. A file that cannot be parsed approves nothing. */
  #readDecisions(): void {
    try {
      this.#decisions = this.#options.decisions.read();
    } catch (error) {
      this.#decisions = new Map();
      this.#options.logger.warn('decisions about servers that dial in', { fault: messageOf(error) });
    }
  }

  take(name: string, link: Link, program: Program): void {
    const server = new InboundServer(link, this.#options);
    const state = this.#stateOf(name);
    this.#callers.set(name, { ...program, server, since: new Date(), told: state });
    this.#options.logger.info('server dialled in', { server: name, ...program, state });
    void server.ended.then(() => this.#onGone(name, server));
    if (this.#leaving !== undefined) server.tell(serverLeavingNotice(this.#leaving));
    this.refresh();
  }

  #onGone(name: string, server: InboundServer): void {
    this.#options.logger.info('server hung up', { server: name });
    if (this.#callers.get(name)?.server === server) this.#callers.delete(name);
    this.refresh();
  }

  #stateOf(name: string): DialInState {
    if (this.#options.refusalOf(name) !== undefined) return 'blocked';
    if (this.#configuredAs(name) !== undefined) return 'offered';
    const decision = this.#decisions.get(name);
    if (decision === 'approved') return 'offered';
    return decision === 'rejected' ? 'rejected' : 'waiting';
  }

  #configuredAs(name: string): DialInServer | undefined {
    return this.#options.configured().find((definition) => definition.name === name);
  }

  /** Updates the offered servers after one has come or gone, or a person has decided about one. */
  refresh(): void {
    if (this.#callers.size > 0) this.#readDecisions();
    for (const [name, caller] of this.#callers) this.#tellState(name, caller);
    const offered = new Map<string, ServerDefinition>();
    for (const name of this.#callers.keys())
      if (this.#stateOf(name) === 'offered') offered.set(name, this.#configuredAs(name) ?? unconfigured(name));
    const isSame = JSON.stringify([...offered.values()]) === JSON.stringify([...this.#offered.values()]);
    this.#offered = offered;
    if (!isSame) this.#options.changed();
  }

  /** Tells a server its new state, and hangs up if it is no longer offered. */
  #tellState(name: string, caller: Caller): void {
    const state = this.#stateOf(name);
    if (state === caller.told) return;
    caller.told = state;
    caller.server.tell(serverStateNotice(state));
  }

  /** Tells the servers that the daemon is leaving, so that they do not take it for a fault. */
  tellLeaving(reason: LeavingReason): void {
    this.#leaving = reason;
    for (const { server } of this.#callers.values()) server.tell(serverLeavingNotice(reason));
  }

  /** Opens the connection for an instance. Throws if the server is not connected. */
  open({ name }: Pick<ServerDefinition, 'name'>): ServerConnection {
    const caller = this.#callers.get(name);
    if (caller === undefined) throw notConnected(name);
    return caller.server.open(name);
  }

  report(): DialledInReport[] {
    return [...this.#callers].map(([name, { program, version, since }]) => ({
      ...{ name, program, version, state: this.#stateOf(name) },
      configured: this.#configuredAs(name) !== undefined,
      blockedBy: this.#options.refusalOf(name) ?? null,
      since: since.toISOString(),
    }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#callers.values()].map(({ server }) => server.stop()));
  }
}

function unconfigured(name: string): DialInServer {
  return {
    ...{ name, transport: 'dial-in', description: '', sharing: 'shared', trustHints: false, tools: NO_FILTER },
    ...{ timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined },
  };
}
