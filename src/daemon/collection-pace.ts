// When V8 collects what is not used any more. It does so as soon as its heap has grown by a part of its size, and counts
// the buffers of messages to it. The heap of a daemon is small and those buffers are not: with messages of 1 MiB it would
// collect after every few of them, which costs as much CPU as passing them on (docs/performance.md).
//
// So the part is chosen such that always about the same may be gathered: what V8 itself lets gather in buffers outside
// of the heap, and what it starts with.
//
// A flood of short messages leaves more behind than V8 counts in time: its buffers outlive the part for new objects, and 60 MiB
// of them and as much of objects may gather. While it lasts, memory is shorter than CPU, so the daemon asks for a collection.
// One takes 35 ms with 20 MiB in use and 650 ms with 300 MiB, measured, and all wait for it: a large daemon asks less often.
//
// New objects go to a part of the heap of their own, which V8 doubles from 2 to 32 MiB while many of them survive, as
// they do when clients connect, and rarely makes smaller. A daemon passes messages on without keeping anything of them:
// with 2 MiB its calls take no more CPU, measured with up to 256 clients.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from '../util/clock.ts';

const GATHERED_BYTES = 64 * 1024 * 1024;
/** So much may gather in a flood; and half of what is in use, because a collection takes the longer the more that is. */
const GATHERED_IN_FLOOD_BYTES = 24 * 1024 * 1024;
const GATHERED_IN_FLOOD_PART = 0.5;
const LOOK_MS = 10_000;

/** Gives the percentage by which a heap of so many bytes may grow. 0 leaves it to V8, which lets larger heaps grow by about so much. */
export function growthPercent(usedBytes: number): number {
  return usedBytes >= GATHERED_BYTES ? 0 : Math.ceil((100 * GATHERED_BYTES) / Math.max(usedBytes, GATHERED_BYTES / 16));
}

/** V8 multiplies the size of the young part by this when it grows. */
export const KEEP_YOUNG_PART = '--semi-space-growth-factor=1';

interface Collector {
  usedBytes(): number;
  /** The next collection comes when the heap has grown by so many percent. */
  growBy(percent: number): void;
  /** The part for new objects stays as large as it is. */
  keepYoungPart(): void;
}

const V8: Collector = {
  usedBytes: () => getHeapStatistics().used_heap_size,
  growBy: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
  keepYoungPart: () => setFlagsFromString(KEEP_YOUNG_PART),
};

/** Keeps it so while the heap grows and shrinks. */
export function keepCollectionPace(clock: Clock, collector = V8): Timer {
  collector.keepYoungPart();
  let percent = -1;
  const look = (): void => {
    const wanted = growthPercent(collector.usedBytes());
    if (Math.abs(wanted - percent) <= percent / 4) return;
    percent = wanted;
    collector.growBy(percent);
  };
  look();
  return clock.every(LOOK_MS, look);
}

interface FloodMemory {
  /** All objects and buffers, including those that are not used any more. */
  bytes(): number;
  collect(): void;
}

/** V8 hands its collector out to contexts that are made while this flag stands. */
function collectorOfV8(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

let collectNow: (() => void) | undefined;

const ALL_MEMORY: FloodMemory = {
  bytes: () => {
    const { used_heap_size, external_memory } = getHeapStatistics();
    return used_heap_size + external_memory;
  },
  collect: () => {
    collectNow ??= collectorOfV8();
    collectNow();
  },
};

/** Returns what is to be called again and again while a flood lasts: it collects when enough has gathered. */
export function collectionInFlood(memory = ALL_MEMORY): () => void {
  let leastBytes = Number.POSITIVE_INFINITY;
  return () => {
    const bytes = memory.bytes();
    leastBytes = Math.min(leastBytes, bytes);
    if (bytes - leastBytes < Math.max(GATHERED_IN_FLOOD_BYTES, leastBytes * GATHERED_IN_FLOOD_PART)) return;
    memory.collect();
    leastBytes = memory.bytes();
  };
}
