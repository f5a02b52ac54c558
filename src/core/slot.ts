// One unanswered request: who asked, under which id, whom we asked, under which id. The session and the backend both
// hold it, so that whichever goes first finds it and sees to its answer. It is closed exactly once.

import type { Frame } from '../wire/frame-splitter.ts';
import type { RequestId } from '../wire/request-id.ts';
import type { Backend } from './backend.ts';
import type { Session } from './session.ts';

export class Slot {
  readonly session: Session;
  readonly backend: Backend;
  readonly id: RequestId;
  /** The id and the progress token as the client spelled them; '' without a token. */
  readonly idText: string;
  readonly tokenText: string;
  /** Gone once it was sent. */
  unsent: Frame | undefined;
  /** Our own id towards the server; 0 until it was sent. It is the progress token too. */
  downId = 0;
  /** What is called, where that matters: see lane.ts. */
  call = '';
  hasLane = false;
  wasAskedBack = false;
  /** Told how it ended; rare. */
  onEnd: ((hasResult: boolean) => void) | undefined;
  /** When its time is up, and when at the very last; 0 until the first look at it. See deadline.ts. */
  deadlineMs = 0;
  lastDeadlineMs = 0;

  constructor(session: Session, backend: Backend, id: RequestId, idText: string, tokenText: string) {
    this.session = session;
    this.backend = backend;
    this.id = id;
    this.idText = idText;
    this.tokenText = tokenText;
  }
}
