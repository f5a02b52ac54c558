// The interface between the core and the part that shortens long results: the core asks here before it passes on an
// answer. The core does not know how answers are cut, or where the full ones are kept.

import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Call } from './call.ts';
import type { Session } from './session.ts';

export interface ResultCutter {
  /** Answers up to this length are passed on without a call to `cut`; infinite while nothing is cut. */
  readonly leastBytes: number;
  /**
   * Returns the frame to pass on: a shortened one, or the same. The envelope was read with the keys of results;
   * afterwards it describes the returned frame.
   */
  cut(call: Call, answer: Frame, envelope: Envelope): Frame;
  /** Returns a result of the bridge itself in the view `discover`, shortened if needed. */
  cutOwn(session: Session, result: string): string;
}

export const NO_CUTTER: ResultCutter = {
  leastBytes: Number.POSITIVE_INFINITY,
  cut: (_call, answer) => answer,
  cutOwn: (_session, result) => result,
};
