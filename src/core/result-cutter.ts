// The seam between the core and what makes long results short: the core asks here before it passes an answer on. It knows
// neither how an answer is cut nor where the whole of it is kept.

import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Call } from './call.ts';
import type { Session } from './session.ts';

export interface ResultCutter {
  /** Answers up to this length are passed on without a look; infinite while nothing is cut. */
  readonly leastBytes: number;
  /**
   * Returns what is passed on of an answer: another frame, or the same one if it stays as it is. The envelope was read with the keys of
   * results, and is that of the returned frame afterwards.
   */
  cut(call: Call, answer: Frame, envelope: Envelope): Frame;
  /** Returns what its client gets of a result that the bridge itself has made in the view `discover`. */
  cutOwn(session: Session, result: string): string;
}

export const NO_CUTTER: ResultCutter = {
  leastBytes: Number.POSITIVE_INFINITY,
  cut: (_call, answer) => answer,
  cutOwn: (_session, result) => result,
};
