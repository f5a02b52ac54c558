// Wires the parts that shorten long results: the cutter, the store, and the reading tool.

import type { Events } from '../core/events.ts';
import type { BridgeTools, JoinedView } from '../core/joined-view.ts';
import type { ResultCutter } from '../core/result-cutter.ts';
import type { ResultsSettings } from '../model/settings.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { nextTurn } from '../util/next-turn.ts';
import { type FilesOfResults, KeptResults } from './kept-results.ts';
import { ResultReading } from './read-tool.ts';
import { ContentCutter } from './result-cutter.ts';

interface ResultDeskContext {
  readonly settings: () => ResultsSettings;
  readonly files: FilesOfResults | undefined;
  readonly events: Events;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

export class ResultDesk {
  readonly kept: KeptResults;
  readonly cutter: ResultCutter;
  readonly #reading: ResultReading;

  constructor(context: ResultDeskContext) {
    this.kept = new KeptResults(context);
    this.cutter = new ContentCutter({ ...context, kept: this.kept });
    this.#reading = new ResultReading({ ...context, kept: this.kept, pause: nextTurn });
  }

  /** The tools of a joined view for reading what was cut. */
  toolsOf(view: JoinedView): BridgeTools {
    return this.#reading.toolsOf(view);
  }
}
