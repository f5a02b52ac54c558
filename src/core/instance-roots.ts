// What one instance is told when it asks for roots. They are for the whole connection, so an instance has clients with the
// same roots only. When it asks and has several clients, these are divided first: its question waits until it is certain
// for whom it is.

import type { Limits } from '../model/limits.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { Attribution } from './attribution.ts';
import { NO_ROOTS, NO_ROOTS_KEY, ROOTS_DISAGREED, ROOTS_IN_DOUBT, ROOTS_UNDECIDED } from './client-roots.ts';
import type { InstanceKey } from './instance-key.ts';
import type { KnownServer } from './known-server.ts';
import type { RootsFence } from './roots-fence.ts';
import { answerServer, isLate, refuseServer } from './server-question.ts';
import type { Session } from './session.ts';

export interface InstanceRootsPorts {
  readonly sessions: ReadonlySet<Session>;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  /** Whether all clients have to share the instance, whatever their roots are. */
  readonly isForAll: boolean;
  /** Gives all clients but one another instance, or this one again, as soon as their roots are known. */
  readonly divide: (staying: Session | undefined) => void;
  readonly fence: Pick<RootsFence, 'asked' | 'answered'>;
}

/** A question that waits for the roots to be certain. */
interface WaitingQuestion {
  readonly idText: string;
  deadlineMs: number;
}

export class InstanceRoots {
  readonly #ports: InstanceRootsPorts;
  readonly #attribution: Attribution;
  #waiting: WaitingQuestion[] = [];
  /** Questions that a client has been asked. */
  #passedOn = 0;
  readonly #awaited = new Set<Session>();

  constructor(ports: InstanceRootsPorts, attribution: Attribution) {
    this.#ports = ports;
    this.#attribution = attribution;
  }

  /** Whether the server has asked, and has no answer yet. */
  get isAsked(): boolean {
    return this.#waiting.length > 0 || this.#passedOn > 0;
  }

  /** The one client that can answer for the whole connection. Without one, the bridge answers as soon as it can. */
  ask(idText: string): Session | undefined {
    const { known, limits, outbox, fence } = this.#ports;
    known.noteAsksForRoots();
    fence.asked(this.#attribution.askers().size > 0);
    if (this.#waiting.length >= limits.maxQuestions) {
      refuseServer(outbox(), idText, 'Too many questions are unanswered');
      return undefined;
    }
    const isUnused = this.#clients.size === 0; // it may be somebody's later, whose roots are not known yet
    const only = this.#onlyClient();
    if (only?.state === 'ready') {
      this.#passedOn++;
      return only;
    }
    this.#waiting.push({ idText, deadlineMs: 0 });
    if (isUnused) this.#answer(ROOTS_DISAGREED, NO_ROOTS);
    else this.settle();
    return undefined;
  }

  /** Those that use it, or have calls under way there. */
  get #clients(): ReadonlySet<Session> {
    return new Set([...this.#ports.sessions, ...this.#askers()]);
  }

  /** The one client of the instance. If there are several, they are divided. */
  #onlyClient(): Session | undefined {
    const { sessions, key, isForAll, divide } = this.#ports;
    const askers = this.#askers();
    const clients = this.#clients;
    const [only] = clients;
    if (clients.size <= 1 || isForAll) return clients.size === 1 ? only : undefined;
    const keys = new Set([...clients].map(({ roots }) => roots.key));
    if (keys.size === 1 && !keys.has(undefined)) return undefined; // they have the same, so nobody has to go
    const [asker] = askers;
    const staying = askers.size === 1 && asker !== undefined && sessions.has(asker) ? asker : undefined;
    // While calls are under way the roots are their clients': nobody may come in between.
    key.rootsKey = askers.size > 0 ? ROOTS_UNDECIDED : undefined;
    divide(staying);
    return staying;
  }

  /** Answers what waits, if it is certain by now whose roots are meant: a call has ended, or a client has come. */
  settle(): void {
    if (this.#waiting.length === 0) return;
    const clients = [...this.#candidates()];
    const [first] = clients;
    for (const session of clients) this.#awaitRootsOf(session);
    if (this.#waiting.length === 0) return; // a client that cannot be asked has none, which was known at once
    const keys = new Set(clients.map(({ roots }) => roots.key));
    if (first === undefined || keys.has(undefined)) return;
    if (keys.size === 1) this.#answer(first.roots.key, first.roots.result);
    else if (this.#ports.isForAll) this.#answer(ROOTS_DISAGREED, NO_ROOTS);
  }

  #awaitRootsOf(session: Session): void {
    if (session.roots.key !== undefined || this.#awaited.has(session)) return;
    this.#awaited.add(session);
    session.roots.whenKnown(() => {
      this.#awaited.delete(session);
      this.settle();
    });
  }

  /** Those whose calls are under way; without any, those that use the instance. */
  #candidates(): ReadonlySet<Session> {
    const { sessions, isForAll } = this.#ports;
    const askers = this.#askers();
    return isForAll || askers.size === 0 ? sessions : askers;
  }

  /** Those that are still there: nobody can ask the others for their roots. */
  #askers(): ReadonlySet<Session> {
    return new Set([...this.#attribution.askers()].filter(({ isOpen }) => isOpen));
  }

  #answer(rootsKey: string | undefined, result: string): void {
    const { key, outbox, fence } = this.#ports;
    key.rootsKey = rootsKey;
    for (const { idText } of this.#waiting.splice(0)) answerServer(outbox(), idText, `"result":${result}`);
    fence.answered();
  }

  /** The client's own answer is about to go to the server. */
  answeredBy({ roots }: Session, answer: Frame, read: Envelope): void {
    roots.learnFrom(answer, read);
    this.#ports.key.rootsKey = roots.key;
    this.#passedOnEnded();
  }

  /** The server is told an error instead. If it had roots before, it may keep them. */
  refused(): void {
    const { key } = this.#ports;
    key.rootsKey = key.rootsKey === undefined ? NO_ROOTS_KEY : ROOTS_IN_DOUBT;
    this.#passedOnEnded();
  }

  #passedOnEnded(): void {
    this.#passedOn = Math.max(0, this.#passedOn - 1);
    this.#ports.fence.answered();
  }

  tick(nowMs: number): void {
    const { outbox, key, fence, limits, sessions } = this.#ports;
    if (this.#waiting.filter((question) => isLate(question, nowMs, limits.questionHeldMs)).length === 0) return;
    const isUnused = sessions.size === 0 && this.#askers().size === 0;
    key.rootsKey = isUnused ? NO_ROOTS_KEY : ROOTS_DISAGREED;
    const why = isUnused ? 'No client uses it any more' : 'Clients with different roots have calls under way';
    for (const { idText } of this.#waiting.splice(0)) refuseServer(outbox(), idText, why);
    fence.answered();
  }

  /** The server is gone, and its questions with it. */
  closed(): void {
    this.#waiting = [];
    this.#passedOn = 0;
  }
}
