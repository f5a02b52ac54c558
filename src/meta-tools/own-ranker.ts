// The user's own ranker from the config: runs it while it is configured, and merges its results into those of the
// search. If it fails, that is reported once, and searches continue without it.

import { fusedRanks } from '../search/fused-ranks.ts';
import { type RankableList, type RankedPlace, RankerThread } from '../search/ranker-thread.ts';
import type { ToolMatch } from '../search/tool-search.ts';
import type { Clock } from '../util/clock.ts';

export interface OwnRankerOptions {
  readonly clock: Clock;
  readonly failed: (file: string, reason: string) => void;
}

export class OwnRanker {
  readonly #options: OwnRankerOptions;
  #file: string | undefined;
  #thread: RankerThread | undefined;

  constructor(options: OwnRankerOptions) {
    this.#options = options;
  }

  /** Merges the ranker's results into `found`; returns `found` unchanged if the ranker gives none in time. */
  async fused(
    file: string,
    { query, lists, found }: { query: string; lists: readonly RankableList[]; found: readonly ToolMatch[] },
  ): Promise<readonly ToolMatch[]> {
    const places = await this.#threadFor(file)?.rank(query, lists);
    return places === undefined ? found : fusedWith(found, places);
  }

  forget(list: string): void {
    this.#thread?.forget(list);
  }

  close(): void {
    this.#thread?.close();
    this.#thread = undefined;
    this.#file = undefined;
  }

  /**
   * The ranker's thread. A failed ranker is not used until another one is configured, or nobody has searched for some
   * minutes.
   */
  #threadFor(file: string): RankerThread | undefined {
    if (this.#file === file) return this.#thread;
    this.close();
    this.#file = file;
    const { clock, failed } = this.#options;
    this.#thread = new RankerThread({
      file,
      failed: (reason) => {
        this.#thread = undefined;
        failed(file, reason);
      },
      after: (ms, callback) => {
        const timer = clock.after(ms, callback);
        return () => timer.cancel();
      },
    });
    return this.#thread;
  }
}

/** Merges the results. No result gets a higher relevance than the one before it. */
function fusedWith(found: readonly ToolMatch[], places: readonly RankedPlace[]): ToolMatch[] {
  const key = (list: string, tool: string): string => JSON.stringify([list, tool]);
  const known = new Map<string, ToolMatch>(found.map((match) => [key(match.server, match.tool), match]));
  const order = fusedRanks([[...known.keys()], places.map(({ list, tool }) => key(list, tool))]);
  for (const { list, tool } of places)
    if (!known.has(key(list, tool))) known.set(key(list, tool), { server: list, tool, relevance: 1 });
  let least = found[0]?.relevance ?? 0.5;
  return order.flatMap((one) => {
    const match = known.get(one);
    least = Math.min(least, match?.relevance ?? 0);
    return match === undefined ? [] : [{ ...match, relevance: least }];
  });
}
