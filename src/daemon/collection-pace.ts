// When V8 collects what is not used any more. It does so as soon as its heap has grown by a part of its size, and counts
// the buffers of messages to it. The heap of a daemon is small and those buffers are not: with messages of 1 MiB it would
// collect after every few of them, which costs as much CPU as passing them on (docs/performance.md).
//
// So the part is chosen such that always about the same may be gathered. V8 takes a part of what is in use after a
// collection, so that is looked at after each one. If more is in use than after the one before, the part that V8 has just
// taken is too large; it then begins at an earlier point of it.
//
// A flood of short messages leaves more behind than V8 counts in time: its buffers outlive the part for new objects, and 60 MiB
// of them and as much of objects may gather. While it lasts, memory is shorter than CPU, so the daemon asks for a collection.
// One takes 35 ms with 20 MiB in use and 650 ms with 300 MiB, measured, and all wait for it: a large daemon asks less often.
//
// Many lists of other hosts that were read in a row leave up to 40 MiB behind, and nothing is collected while the daemon rests. So it asks for one
// collection, once the files of these lists are written too.
//
// New objects go to a part of the heap of their own, which V8 doubles from 2 to 32 MiB while many of them survive, as
// they do when clients connect, and rarely makes smaller. A daemon passes messages on without keeping anything of them:
// with 2 MiB its calls take no more CPU, measured with up to 256 clients.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from '../util/clock.ts';

/** A neighbour's trouble may add 64 MiB to the daemon; a third of that is for what V8 needs besides (ADR 57). */
const GATHERED_BYTES = 40 * 1024 * 1024;
/** So much may gather in a flood; and half of what is in use, because a collection takes the longer the more that is. */
const GATHERED_IN_FLOOD_BYTES = 24 * 1024 * 1024;
const GATHERED_IN_FLOOD_PART = 0.5;
/** An idle daemon uses more. */
const LEAST_USED_BYTES = 8 * 1024 * 1024;
/** A larger heap is left to V8, which lets it grow by about so much or more. */
const MOST_USED_BYTES = 64 * 1024 * 1024;
/** Room beyond this is too much. */
const TOO_MUCH_ROOM = 1.25 * GATHERED_BYTES;

/** Gives the percentage by which a heap of so many bytes may grow. 0 leaves it to V8. */
export function growthPercent(usedBytes: number): number {
  if (usedBytes >= MOST_USED_BYTES) return 0;
  return Math.ceil((100 * GATHERED_BYTES) / Math.max(usedBytes, LEAST_USED_BYTES));
}

/** Gives the percentage of that growth at which V8 is to begin; 0 leaves it to V8, which begins shortly before the end of it. */
function startPercent(usedBytes: number, growsByPercent: number): number {
  const roomBytes = (usedBytes * growsByPercent) / 100;
  return roomBytes <= TOO_MUCH_ROOM ? 0 : Math.ceil((100 * GATHERED_BYTES) / roomBytes);
}

/** V8 multiplies the size of the young part by this when it grows. */
export const KEEP_YOUNG_PART = '--semi-space-growth-factor=1';

interface Collector {
  usedBytes(): number;
  /** From the next collection on, the heap may grow by so many percent. */
  growBy(percent: number): void;
  /** A collection begins at so many percent of that growth. */
  startAt(percent: number): void;
  /** The part for new objects stays as large as it is. */
  keepYoungPart(): void;
  /** Calls the listener after each collection of the whole heap. */
  onCollected(listener: () => void): void;
}

/** A registry that nobody has tells of nothing. */
const registries = new Set<FinalizationRegistry<undefined>>();

/** Only a collection of the whole heap tells of objects that are gone, so one that nobody has tells of each. */
function listenToV8(listener: () => void): void {
  const registry = new FinalizationRegistry<undefined>(() => {
    watch();
    listener();
  });
  const watch = (): void => registry.register({}, undefined);
  registries.add(registry);
  watch();
}

const V8: Collector = {
  usedBytes: () => getHeapStatistics().used_heap_size,
  growBy: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
  startAt: (percent) => setFlagsFromString(`--incremental-marking-hard-trigger=${percent}`),
  keepYoungPart: () => setFlagsFromString(KEEP_YOUNG_PART),
  onCollected: listenToV8,
};

/** Keeps what may gather the same while the heap grows and shrinks. */
export function keepCollectionPace(collector = V8): void {
  collector.keepYoungPart();
  let growsBy = growthPercent(0);
  collector.growBy(growsBy);
  collector.onCollected(() => {
    const usedBytes = collector.usedBytes();
    collector.startAt(startPercent(usedBytes, growsBy));
    growsBy = growthPercent(usedBytes);
    collector.growBy(growsBy);
  });
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

/** Collects, and moves what is left together: its pages would stay half empty, which was 24 MiB after 20,000 tools. */
function collectTightly(): void {
  setFlagsFromString('--compact-on-every-full-gc');
  ALL_MEMORY.collect();
  setFlagsFromString('--no-compact-on-every-full-gc');
}

const AFTERWARDS_MS = 20_000;

/** Returns what is to be called when much was done that is over now: some time later it collects once. */
export function collectionAfterwards(clock: Pick<Clock, 'after'>, collect = collectTightly): () => void {
  let timer: Timer | undefined;
  return () => {
    timer?.cancel();
    timer = clock.after(AFTERWARDS_MS, () => collect());
  };
}

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
