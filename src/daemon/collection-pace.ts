// Decides when V8 collects garbage. By default V8 collects when its heap has grown by a fraction of its size, and it
// counts the buffers of messages as part of the heap. The heap of a daemon is small and those buffers are large: with
// messages of 1 MiB, V8 would collect after every few of them, which costs as much CPU as passing them on
// (docs/performance.md).
//
// So this file sets the fraction such that about the same number of bytes may gather each time. V8 applies the fraction
// to the bytes in use after a collection, so it is set again after each one. If more is in use than the time before, V8
// has just used a fraction that is too large; then it is told to begin earlier.
//
// A flood of short messages leaves more garbage than V8 counts in time: the buffers survive the space for new objects,
// and 60 MiB of them and as much of objects may gather. During a flood memory matters more than CPU, so the daemon asks
// for a collection. One takes 35 ms with 20 MiB in use and 650 ms with 300 MiB (measured), and everything waits for it:
// a large daemon asks less often.
//
// Reading many lists in a row, of other hosts or from the catalog, leaves up to 40 MiB behind, and an idle daemon
// collects nothing. So it asks for one collection, after the files of these lists are written.
//
// New objects go to a separate space. V8 doubles it from 2 up to 32 MiB while many objects survive, as they do when
// clients connect, and rarely shrinks it. A daemon passes messages on without keeping parts of them: with 2 MiB its
// calls take no more CPU, measured with up to 256 clients.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from '../util/clock.ts';

/** A flood may add 64 MiB to the daemon; a third of that is for V8's other needs (ADR 57). */
const GATHERED_BYTES = 40 * 1024 * 1024;
/** The garbage allowed in a flood: this, or half of the bytes in use if more. A large heap takes longer to collect. */
const GATHERED_IN_FLOOD_BYTES = 24 * 1024 * 1024;
const GATHERED_IN_FLOOD_PART = 0.5;
/** An idle daemon uses more than this. */
const LEAST_USED_BYTES = 8 * 1024 * 1024;
/** A larger heap is left to V8, which lets it grow by about this much or more. */
const MOST_USED_BYTES = 64 * 1024 * 1024;
/** Room above this is too much. */
const TOO_MUCH_ROOM = 1.25 * GATHERED_BYTES;

/** The percentage by which a heap of this size may grow. 0 leaves it to V8. */
export function growthPercent(usedBytes: number): number {
  if (usedBytes >= MOST_USED_BYTES) return 0;
  return Math.ceil((100 * GATHERED_BYTES) / Math.max(usedBytes, LEAST_USED_BYTES));
}

/** The percentage of that growth at which V8 should begin; 0 leaves it to V8, which begins shortly before the end. */
function startPercent(usedBytes: number, growsByPercent: number): number {
  const roomBytes = (usedBytes * growsByPercent) / 100;
  return roomBytes <= TOO_MUCH_ROOM ? 0 : Math.ceil((100 * GATHERED_BYTES) / roomBytes);
}

/** V8 multiplies the size of the space for new objects by this factor when it grows. */
export const KEEP_YOUNG_PART = '--semi-space-growth-factor=1';

interface Collector {
  usedBytes(): number;
  /** Lets the heap grow by this percentage, from the next collection on. */
  growBy(percent: number): void;
  /** Begins a collection at this percentage of that growth. */
  startAt(percent: number): void;
  /** Keeps the size of the space for new objects. */
  keepYoungPart(): void;
  /** Calls the listener after each collection of the whole heap. */
  onCollected(listener: () => void): void;
}

/** Keeps the registries alive: one that is itself collected reports nothing. */
const registries = new Set<FinalizationRegistry<undefined>>();

/**
 * Calls back after each collection of the whole heap. Only such a collection reports unreachable objects, so an
 * unreachable object serves as the signal.
 */
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

/** Keeps the amount of garbage about the same while the heap grows and shrinks. */
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
  /** The size of all objects and buffers, garbage included. */
  bytes(): number;
  collect(): void;
}

/** Gets V8's collector: V8 gives it to contexts that are created while this flag is set. */
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

/** Collects and compacts. Otherwise pages would stay half empty: 24 MiB after 20,000 tools. */
export function collectTightly(): void {
  setFlagsFromString('--compact-on-every-full-gc');
  ALL_MEMORY.collect();
  setFlagsFromString('--no-compact-on-every-full-gc');
}

const AFTERWARDS_MS = 20_000;

/** Returns a function to call when a lot of work is done: some time later, it collects once. */
export function collectionAfterwards(clock: Pick<Clock, 'after'>, collect = collectTightly): () => void {
  let timer: Timer | undefined;
  return () => {
    timer?.cancel();
    timer = clock.after(AFTERWARDS_MS, () => collect());
  };
}

/** Returns a function to call repeatedly during a flood: it collects when enough garbage has gathered. */
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
