// Picks the best tools of a ranking. It mixes the tools of several wishes, so that each wish gets its share of the
// answers. It does not compute fits.

/** A tool with its fit, and with its relevance, which is the fit as people see it. */
export interface PickedTool {
  readonly number: number;
  readonly relevance: number;
}

/** Keeps the best few of all offered tools. The order breaks ties of relevance. */
export class BestTools {
  readonly #most: number;
  readonly #inOrder: (a: PickedTool, b: PickedTool) => number;
  readonly #picked: PickedTool[] = [];

  constructor(most: number, inOrder: (a: PickedTool, b: PickedTool) => number) {
    this.#most = most;
    this.#inOrder = inOrder;
  }

  /** The least relevance of a tool that would still be among the best. */
  get least(): number {
    return this.#picked.length === this.#most ? (this.#picked.at(-1)?.relevance ?? 0) : 0;
  }

  /** Calls `accepts` only for a tool that would be among the best. */
  offer(offered: PickedTool, accepts: (tool: number) => boolean): void {
    const last = this.#picked.length === this.#most ? this.#picked.at(-1) : undefined;
    if (last !== undefined && this.#inOrder(offered, last) > 0) return;
    if (!accepts(offered.number)) return;
    const place = this.#picked.findIndex((picked) => this.#inOrder(offered, picked) < 0);
    this.#picked.splice(place < 0 ? this.#picked.length : place, 0, offered);
    if (this.#picked.length > this.#most) this.#picked.pop();
  }

  get picked(): readonly PickedTool[] {
    return this.#picked;
  }
}

/** The facts of a wish: the weight of its words, and how well each tool fits it. */
export interface WeighedWish {
  readonly mass: number;
  fitOf(tool: number): number;
}

/** The share of single wishes in the order; the whole question has the rest. */
const WISH_SHARE = 0.8;
/** The part of a wish that stays open after the tool that fits it best. */
const LEFT_OPEN = 0.1;
const STEPS = 10_000;

/**
 * Puts tools in order: each next tool adds the most to the answers before it. `candidates` are the best tools of each
 * wish and of the whole question; their order decides between equals.
 */
export function mixed(
  candidates: readonly number[],
  whole: WeighedWish,
  wishes: readonly WeighedWish[],
  most: number,
): number[] {
  const fits = wishes.map((wish) => Float64Array.from(candidates, (tool) => wish.fitOf(tool)));
  const weights = wishes.map(({ mass }, j) => mass * largest(fits[j]));
  const sum = weights.reduce((a, b) => a + b, 0) || 1;
  for (const fit of fits) scaleToOne(fit);
  const wholeFits = Float64Array.from(candidates, (tool) => whole.fitOf(tool));
  scaleToOne(wholeFits);
  const shares = weights.map((weight) => (WISH_SHARE * weight) / sum);
  const left = new Set(candidates.keys());
  const order: number[] = [];
  while (order.length < most && left.size > 0) {
    const gains = wholeFits.map((fit) => (1 - WISH_SHARE) * fit);
    for (const [j, fit] of fits.entries()) addTimes(gains, fit, shares[j] ?? 0);
    let [best, bestGain] = [-1, -1];
    for (const i of left) {
      const gain = Math.round(STEPS * (gains[i] ?? 0));
      if (gain > bestGain) [best, bestGain] = [i, gain];
    }
    left.delete(best);
    order.push(candidates[best] ?? 0);
    for (const [j, fit] of fits.entries()) shares[j] = (shares[j] ?? 0) * (1 - (1 - LEFT_OPEN) * (fit[best] ?? 0) ** 2);
  }
  return order;
}

function largest(values: Float64Array | undefined): number {
  return values?.reduce((most, value) => Math.max(most, value), 0) ?? 0;
}

function scaleToOne(values: Float64Array): void {
  const most = largest(values) || 1;
  for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) / most;
}

function addTimes(sums: Float64Array, values: Float64Array, factor: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + factor * (values[i] ?? 0);
}
