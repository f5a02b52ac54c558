// What one instance is told when it asks for roots. They are for the whole connection: with several clients, one's folders
// must not be shown to another. Whoever comes later shares the instance only if what it was told is right for them too.

import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { NO_ROOTS, NO_ROOTS_KEY, ROOTS_DISAGREED } from './client-roots.ts';
import type { InstanceKey } from './instance-key.ts';
import type { KnownServer } from './known-server.ts';
import { answerServer } from './server-question.ts';
import type { Session } from './session.ts';

export interface InstanceRootsPorts {
  readonly sessions: ReadonlySet<Session>;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly outbox: () => Outbox | undefined;
}

export class InstanceRoots {
  readonly #ports: InstanceRootsPorts;

  constructor(ports: InstanceRootsPorts) {
    this.#ports = ports;
  }

  /** The one client that can answer for the whole connection. Without one, the bridge answers as soon as it can. */
  ask(idText: string): Session | undefined {
    const { sessions, known, outbox } = this.#ports;
    known.noteAsksForRoots();
    const [only] = sessions;
    if (only !== undefined && sessions.size === 1 && only.state === 'ready') return only;
    const asker = outbox();
    let unknown = sessions.size;
    const oneMoreIsKnown = (): void => {
      // The server may have been started again meanwhile; then another one would get the answer.
      if (--unknown <= 0 && outbox() === asker) this.#answerWithCommon(idText);
    };
    if (unknown === 0) oneMoreIsKnown();
    for (const session of [...sessions]) session.roots.whenKnown(oneMoreIsKnown);
    return undefined;
  }

  /** Those that all of its clients agree on, else none. */
  #answerWithCommon(idText: string): void {
    const { sessions, key, outbox } = this.#ports;
    const keys = new Set([...sessions].map(({ roots }) => roots.key));
    const [first] = sessions;
    const isAgreed = keys.size === 1 && first?.roots.key !== undefined;
    key.rootsKey = isAgreed ? first.roots.key : ROOTS_DISAGREED;
    answerServer(outbox(), idText, `"result":${isAgreed ? first.roots.result : NO_ROOTS}`);
  }

  /** The client's own answer is about to go to the server. */
  answeredBy({ roots }: Session, answer: Frame, read: Envelope): void {
    roots.learnFrom(answer, read);
    this.#ports.key.rootsKey = roots.key;
  }

  /** The server is told an error instead. */
  refused(): void {
    this.#ports.key.rootsKey = NO_ROOTS_KEY;
  }
}
