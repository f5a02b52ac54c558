// Looks after all clients and servers once a second: calls and questions whose time is up, and what has to be done about a
// client that has not shaken hands, takes nothing, or is silent. What that is, liveness.ts decides.

import type { Limits } from '../model/limits.ts';
import type { LivenessSettings } from '../model/liveness-settings.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults.ts';
import { type LivenessFinding, lookAt, mayClose, TICK_MS } from './liveness.ts';
import type { Resumption } from './resumption.ts';
import { INVALID_REQUEST, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';
import type { ServerDirectory } from './view.ts';

export interface ClientWatchPorts {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly liveness: LivenessSettings;
  readonly servers: Pick<ServerDirectory, 'servers'>;
  readonly sessions: ReadonlySet<Session>;
  readonly resumption: Resumption;
  readonly faults: Faults;
  /** Runs what is done for a session, whose own end an error in it is. */
  readonly contain: (session: Session, task: () => void) => void;
  readonly cutOff: (session: Session, reason: string) => void;
}

export class ClientWatch {
  readonly #ports: ClientWatchPorts;
  readonly #tick: Timer;
  #pings = 0;

  constructor(ports: ClientWatchPorts) {
    this.#ports = ports;
    this.#tick = ports.clock.every(TICK_MS, () => this.#lookAfterAll());
  }

  end(): void {
    this.#tick.cancel();
  }

  #lookAfterAll(): void {
    const { clock, servers, sessions, resumption, faults, contain } = this.#ports;
    const nowMs = clock.now();
    for (const session of sessions) contain(session, () => this.#lookAfter(session, nowMs));
    faults.contain(
      () => resumption.tick(nowMs),
      (error) => faults.note('sessions whose clients are away could not be looked after', error),
    );
    for (const server of servers.servers()) for (const instance of server.instances) instance.tick(nowMs);
  }

  #lookAfter(session: Session, nowMs: number): void {
    const { limits, liveness, resumption } = this.#ports;
    for (const call of session.calls.values()) call.owner.tickCall(call, nowMs);
    session.roots.tick(nowMs);
    session.view?.tick(nowMs);
    if (resumption.isParked(session)) return;
    if (session.isOpen) this.#act(session, lookAt(session, nowMs, limits, liveness));
    else if (mayClose(session, nowMs)) session.link.destroy();
  }

  #act(session: Session, finding: LivenessFinding): void {
    const { counters, cutOff } = this.#ports;
    switch (finding) {
      case undefined:
        return;
      case 'handshake-timeout':
        counters.handshakeTimeouts++;
        session.answerError('null', rpcError(INVALID_REQUEST, 'No initialize came in time'));
        return cutOff(session, 'no initialize came in time');
      case 'stalled':
        counters.clientsStalled++;
        cutOff(session, 'it takes nothing of what is meant for it');
        return session.link.destroy();
      case 'unresponsive':
        counters.clientsUnresponsive++;
        return cutOff(session, 'it does not answer pings');
      case 'probe':
        return probe(session);
      case 'ping':
        return this.#ping(session);
    }
  }

  #ping(session: Session): void {
    const id = `mcp-bridge/ping-${++this.#pings}`;
    session.unansweredPings.add(id);
    session.link.outbox.latin1(`{"jsonrpc":"2.0","id":"${id}","method":"ping"}`);
    session.link.outbox.endFrame();
    this.#ports.resumption.pinged(session);
  }
}

/**
 * A client that has ended its side either waits for answers or is gone, and nothing but a write tells which.
 * A space is one that no reader of JSON notices, and the answer that is owed comes behind it.
 */
function probe(session: Session): void {
  if (!session.isOpen || session.calls.size === 0) return;
  session.link.outbox.latin1(' ');
  session.link.outbox.flush();
}
