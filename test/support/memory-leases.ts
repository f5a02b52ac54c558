// Leases in the process: each write says over which one it goes, and what was written is told when the test lets it.

import type { LeaseBoard, LeaseListener } from '../../src/federation/lease-table.ts';

interface Watcher {
  readonly changed: LeaseListener;
  /** Told of nothing while it is held up. */
  isHeldUp: boolean;
  readonly waiting: (() => void)[];
}

export class MemoryLeases {
  readonly #leases = new Map<string, { readonly value: Uint8Array; readonly write: number }>();
  readonly #watchers = new Set<Watcher>();
  #writes = 0;

  /** The leases as one daemon sees them. */
  view(): LeaseView {
    return new LeaseView(this);
  }

  write(key: string, value: Uint8Array, over: number | undefined): number | undefined {
    if (this.#leases.get(key)?.write !== over) return undefined;
    const lease = { value, write: ++this.#writes };
    this.#leases.set(key, lease);
    for (const watcher of [...this.#watchers]) tell(watcher, () => watcher.changed(key, value, lease.write));
    return lease.write;
  }

  /** Writes over whatever is there, as somebody does who may. */
  spoil(key: string, value: Uint8Array): void {
    this.write(key, value, this.#leases.get(key)?.write);
  }

  /** The same, and tells of it with a number that it does not have. */
  misnumber(key: string, value: Uint8Array, told: number): void {
    this.#leases.set(key, { value, write: ++this.#writes });
    for (const watcher of [...this.#watchers]) tell(watcher, () => watcher.changed(key, value, told));
  }

  /** Tells of what stands under a key where another write was taken for the last one. */
  tellOf(key: string, watchers: readonly Watcher[], refuted: number | undefined): void {
    const { value, write = Number.MAX_SAFE_INTEGER } = this.#leases.get(key) ?? {};
    for (const watcher of watchers)
      if (this.#watchers.has(watcher)) tell(watcher, () => watcher.changed(key, value, write, refuted));
  }

  /** Removes a lease, and says so. */
  remove(key: string): void {
    this.#leases.delete(key);
    const write = ++this.#writes;
    for (const watcher of [...this.#watchers]) tell(watcher, () => watcher.changed(key, undefined, write));
  }

  /** Forgets everything, and counts from 1 again. */
  lose(): void {
    this.#leases.clear();
    this.#watchers.clear();
    this.#writes = 0;
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    for (const [key, { value, write }] of this.#leases) tell(watcher, () => watcher.changed(key, value, write));
    return () => void this.#watchers.delete(watcher);
  }

  /** All that is written under a key, as it stands. */
  read(key: string): unknown {
    const lease = this.#leases.get(key);
    return lease && JSON.parse(Buffer.from(lease.value).toString());
  }
}

function tell(watcher: Watcher, task: () => void): void {
  if (watcher.isHeldUp) watcher.waiting.push(task);
  else task();
}

export class LeaseView implements LeaseBoard {
  readonly #leases: MemoryLeases;
  readonly #watchers: Watcher[] = [];
  /** A reason why nothing can be written or watched. */
  fault: Error | undefined;

  constructor(leases: MemoryLeases) {
    this.#leases = leases;
  }

  write(key: string, value: Uint8Array, over: number | undefined): Promise<number | undefined> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const write = this.#leases.write(key, value, over);
    if (write === undefined) this.#leases.tellOf(key, this.#watchers, over);
    return Promise.resolve(write);
  }

  watch(prefix: string, changed: LeaseListener, _ended: () => void): Promise<() => void> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const ofPrefix: LeaseListener = (key, ...rest) => {
      if (key.startsWith(prefix)) changed(key, ...rest);
    };
    const watcher: Watcher = { changed: ofPrefix, isHeldUp: false, waiting: [] };
    this.#watchers.push(watcher);
    return Promise.resolve(this.#leases.watch(watcher));
  }

  /** Lets nothing be told from now on, or what has waited. */
  holdUp(isHeldUp: boolean): void {
    for (const watcher of this.#watchers) {
      watcher.isHeldUp = isHeldUp;
      if (!isHeldUp) for (const task of watcher.waiting.splice(0)) task();
    }
  }
}
