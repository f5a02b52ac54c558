// How the work of a function grows with its input. Counts the processor's time of this process, never the clock on the
// wall: what else runs on the machine changes the first a little, and the second without bound.

import { expect } from 'vitest';

const FACTOR = 8;
const MOST = 24;
const ATTEMPTS = 3;

/**
 * Expects work in proportion to the size: an input eight times as large costs about eight times as much. Work that grows
 * with the square costs 64 times as much, if `large` is so large that the square outweighs the rest.
 */
export async function expectProportionalWork(large: number, work: (size: number) => unknown): Promise<void> {
  await work(large / FACTOR); // once unmeasured: whatever is loaded and compiled on first use
  const small = await leastCost(() => work(large / FACTOR));
  const ratio = (await leastCost(() => work(large))) / small;
  expect(ratio, `cost of an input that is ${FACTOR} times as large`).toBeLessThan(MOST);
}

async function leastCost(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ATTEMPTS; i++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return Math.max(1, least);
}
