// Waiting items in fair turns: one item of each owner, then the next one of each. The owners are served in the order in
// which they began to wait.

export class FairQueue<Owner, Item> {
  /** The items by owner, the next owner first. A served owner goes to the end. */
  readonly #waiting = new Map<Owner, Fifo<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of an owner's items. */
  countOf(owner: Owner): number {
    return this.#waiting.get(owner)?.length ?? 0;
  }

  push(owner: Owner, item: Item): void {
    const fifo = this.#waiting.get(owner);
    if (fifo !== undefined) fifo.push(item);
    else {
      const first = new Fifo<Item>();
      first.push(item);
      this.#waiting.set(owner, first);
    }
    this.#size++;
  }

  /** Takes the first item of the next owner that may be served. */
  take(mayServe: (owner: Owner, item: Item) => boolean): Item | undefined {
    for (const [owner, fifo] of this.#waiting) {
      const first = fifo.first;
      if (first === undefined || !mayServe(owner, first)) continue;
      const item = fifo.shift();
      this.#size--;
      this.#waiting.delete(owner);
      if (fifo.length > 0) this.#waiting.set(owner, fifo);
      return item;
    }
    return undefined;
  }

  /** Moves the next items of each owner to another queue, up to the first one that stays. */
  passTo(other: FairQueue<Owner, Item>, goes: (item: Item) => boolean): void {
    for (const [owner, fifo] of this.#waiting) {
      for (let item = fifo.first; item !== undefined && goes(item); item = fifo.first) {
        fifo.shift();
        this.#size--;
        other.push(owner, item);
      }
      if (fifo.length === 0) this.#waiting.delete(owner);
    }
  }

  /** The next item of this owner. */
  headOf(owner: Owner): Item | undefined {
    return this.#waiting.get(owner)?.first;
  }

  *items(): Iterable<Item> {
    for (const fifo of this.#waiting.values()) yield* fifo.items();
  }

  /** The next item of each owner. */
  heads(): (readonly [Owner, Item])[] {
    return [...this.#waiting].flatMap(([owner, { first }]) => (first === undefined ? [] : [[owner, first] as const]));
  }

  /** Takes all items of an owner, in order. */
  takeAll(owner: Owner): Item[] {
    const items: Item[] = [];
    const fifo = this.#waiting.get(owner);
    for (let item = fifo?.shift(); item !== undefined; item = fifo?.shift()) items.push(item);
    this.#waiting.delete(owner);
    this.#size -= items.length;
    return items;
  }

  remove(owner: Owner, item: Item): boolean {
    const fifo = this.#waiting.get(owner);
    if (fifo === undefined || !fifo.remove(item)) return false;
    this.#size--;
    if (fifo.length === 0) this.#waiting.delete(owner);
    return true;
  }
}

class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    // Moving the rest from time to time keeps both the memory and the cost of an item constant.
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  *items(): Iterable<Item> {
    for (let i = this.#head; i < this.#items.length; i++) {
      const item = this.#items[i];
      if (item !== undefined) yield item;
    }
  }

  remove(item: Item): boolean {
    const at = this.#items.indexOf(item, this.#head);
    if (at < 0) return false;
    this.#items.splice(at, 1);
    return true;
  }
}
