// A map for entries that live for a moment, thousands of them a second. It has the order and the meaning of a Map, and
// must never be slower than one for whatever keys a peer may choose.
//
// A Map that entries keep coming to and leaving gets a new table every few entries, and V8 chains each old table to the
// next one. Once one dead table has been moved to the old space, all later ones and their entries look alive to the
// collector of young objects: every call was copied twice and thrown away by a full collection, for nothing.
//
//   slot of a key   [ key | value | order ]   one entry each, chosen by the key's last bits or letters
//   rest            a Map, for keys whose slot is taken

const FEWEST_SLOTS = 16;
const MOST_SLOTS = 1024;

interface Entry<K, V> {
  readonly key: K;
  readonly value: V;
  readonly order: number;
}

export class ShortLivedMap<K extends string | number, V> {
  #keys: (K | undefined)[] = [];
  #values: (V | undefined)[] = [];
  /** The number of the entry, by which the entries are given in the order of a Map. */
  #orders: number[] = [];
  #rest: Map<K, Entry<K, V>> | undefined;
  #inSlots = 0;
  #nextOrder = 0;

  get size(): number {
    return this.#rest === undefined ? this.#inSlots : this.#inSlots + this.#rest.size;
  }

  get(key: K): V | undefined {
    const slot = this.#slotOf(key);
    if (this.#keys[slot] === key) return this.#values[slot];
    return this.#rest === undefined ? undefined : this.#rest.get(key)?.value;
  }

  has(key: K): boolean {
    return this.#keys[this.#slotOf(key)] === key || this.#rest?.has(key) === true;
  }

  /** Adds an entry. The key must be new. */
  add(key: K, value: V): void {
    this.#put(key, value, this.#nextOrder++);
  }

  /** True if there was such an entry. */
  delete(key: K): boolean {
    const slot = this.#slotOf(key);
    if (this.#keys[slot] !== key) return this.#rest?.delete(key) === true;
    this.#keys[slot] = undefined;
    this.#values[slot] = undefined;
    this.#inSlots--;
    return true;
  }

  /** The values, oldest first. Leaves out entries that are deleted meanwhile, and those that are added. */
  *values(): IterableIterator<V> {
    const entries = [...(this.#rest?.values() ?? [])];
    for (const [slot, key] of this.#keys.entries())
      if (key !== undefined) entries.push({ key, value: this.#values[slot] as V, order: this.#orders[slot] as number });
    entries.sort((one, other) => one.order - other.order);
    for (const { key, value } of entries) if (this.get(key) === value) yield value;
  }

  #put(key: K, value: V, order: number): void {
    const slots = this.#keys.length;
    const slot = this.#slotOf(key);
    if (slots > 0 && this.#keys[slot] === undefined) {
      this.#keys[slot] = key;
      this.#values[slot] = value;
      this.#orders[slot] = order;
      this.#inSlots++;
    } else if (slots < FEWEST_SLOTS || (this.#inSlots * 2 >= slots && slots < MOST_SLOTS)) {
      this.#grow(Math.max(FEWEST_SLOTS, slots * 2));
      this.#put(key, value, order);
    } else {
      this.#rest ??= new Map();
      this.#rest.set(key, { key, value, order });
    }
  }

  #grow(slots: number): void {
    const keys = this.#keys;
    const values = this.#values;
    const orders = this.#orders;
    this.#keys = Array<K | undefined>(slots).fill(undefined);
    this.#values = Array<V | undefined>(slots).fill(undefined);
    this.#orders = Array<number>(slots).fill(0);
    this.#inSlots = 0;
    for (const [slot, key] of keys.entries())
      if (key !== undefined) this.#put(key, values[slot] as V, orders[slot] as number);
  }

  /** Ids count up, and random ones differ in their last letters. */
  #slotOf(key: K): number {
    if (typeof key === 'number') return key & (this.#keys.length - 1);
    let sum = 0;
    for (let at = Math.max(0, key.length - 3); at < key.length; at++) sum = 7 * sum + key.charCodeAt(at);
    return sum & (this.#keys.length - 1);
  }
}
