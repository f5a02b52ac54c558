// The clients that use one instance: they come, they go, and they go over to another one. What they set on the server and
// what they have waiting goes with them; what was sent ends where it was sent.

import type { BridgeError } from '../util/bridge-error.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { CallDesk } from './call-desk.ts';
import type { CallTable } from './call-table.ts';
import type { CrowdedClients } from './crowded-clients.ts';
import { ROOTS_CHANGED_NOTICE } from './era/era-2025.ts';
import type { InstanceKey } from './instance-key.ts';
import type { Questions } from './questions.ts';
import type { Senders } from './senders.ts';
import type { Session } from './session.ts';
import type { Tasks } from './tasks.ts';

export interface InstanceUsersPorts {
  readonly sessions: Set<Session>;
  readonly key: InstanceKey;
  readonly calls: CallTable;
  readonly desk: CallDesk;
  readonly tasks: Tasks;
  readonly questions: Questions;
  readonly senders: Senders;
  readonly crowded: CrowdedClients;
  readonly outbox: () => Outbox | undefined;
  readonly changed: (users: number) => void;
}

export class InstanceUsers {
  readonly #ports: InstanceUsersPorts;

  constructor(ports: InstanceUsersPorts) {
    this.#ports = ports;
  }

  attach(session: Session): void {
    const { sessions, calls } = this.#ports;
    sessions.add(session);
    if (this.#showsOthersRoots(session)) calls.tell(ROOTS_CHANGED_NOTICE);
    this.#ports.questions.clientCame();
    this.#changed();
  }

  /** Where everybody has to share it, it is to ask again, and gets what all agree on. */
  #showsOthersRoots(session: Session): boolean {
    const { outbox, sessions, key } = this.#ports;
    if (outbox() === undefined || sessions.size <= 1) return false;
    return key.rootsKey !== undefined && key.rootsKey !== session.roots.key;
  }

  /** The session goes, here at least: its subscriptions and log level are taken back. */
  detach(session: Session): void {
    this.#forget(session);
    this.#ports.tasks.abandon(session);
    this.#ports.questions.clientGone(session);
    this.#ports.questions.callEnded();
    this.#changed();
  }

  /** The session uses another instance from now on; what it has under way here still ends here. */
  handOver(session: Session, to: InstanceUsers): void {
    const { calls, desk } = this.#ports;
    to.attach(session);
    desk.sharedSettings.handOver(session, to.#ports.desk.sharedSettings);
    this.#forget(session);
    for (const { call, frame } of calls.takeWaitingOf(session)) to.#ports.desk.takeOver(call, frame);
    calls.pump();
    this.#changed();
  }

  /** Nothing more comes from the session. What was sent still ends here; what waits is refused. */
  release(session: Session, refusal: BridgeError): void {
    const { calls } = this.#ports;
    for (const { call } of calls.takeWaitingOf(session)) calls.fail(call, refusal);
    this.#forget(session);
    calls.pump();
    this.#changed();
  }

  #forget(session: Session): void {
    this.#ports.sessions.delete(session);
    this.#ports.senders.forget(session);
    this.#ports.crowded.forget(session);
    this.#ports.desk.sharedSettings.forget(session);
  }

  #changed(): void {
    this.#ports.changed(this.#ports.sessions.size);
  }
}
