// The best few of many that are offered, in an order that depends on nothing but what they are.

export interface FoundTool {
  readonly server: string;
  readonly tool: string;
  /** From 0 to 1, which is a tool that was asked for by its name. */
  readonly relevance: number;
}

/** What is less than this part of the best one is no answer; behind the first few, if nobody said how many, neither is this. */
const LEAST_OF_BEST = 0.7;
const LEAST_OF_MORE = 0.9;
const FEW = 5;

export class BestTools {
  readonly #limit: number;
  readonly #few: number;
  readonly #accepts: (server: string, tool: string) => boolean;
  readonly #found: FoundTool[] = [];

  /** `asked`: how many somebody wants, who has said so. */
  constructor(usual: number, asked: number | undefined, accepts: (server: string, tool: string) => boolean) {
    this.#limit = asked ?? usual;
    this.#few = asked ?? FEW;
    this.#accepts = accepts;
  }

  /** Asks whether it is accepted only if it would be among the best. */
  offer(server: string, tool: string, relevance: number): void {
    const last = this.#found.length === this.#limit ? this.#found.at(-1) : undefined;
    if (relevance <= 0 || relevance < (last?.relevance ?? 0)) return;
    const offered = { server, tool, relevance };
    if (last !== undefined && inOrder(offered, last) > 0) return;
    if (!this.#accepts(server, tool)) return;
    const place = this.#found.findIndex((found) => inOrder(offered, found) < 0);
    this.#found.splice(place < 0 ? this.#found.length : place, 0, offered);
    if (this.#found.length > this.#limit) this.#found.pop();
  }

  get found(): FoundTool[] {
    const best = this.#found[0]?.relevance ?? 0;
    return this.#found.filter(
      ({ relevance }, i) => relevance >= best * (i < this.#few ? LEAST_OF_BEST : LEAST_OF_MORE),
    );
  }
}

function inOrder(a: FoundTool, b: FoundTool): number {
  return b.relevance - a.relevance || compare(a.server, b.server) || compare(a.tool, b.tool);
}

/** Not by a language's rules, which are not the same everywhere. */
function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
