// A map for short-lived entries, thousands of them a second. It has the order and the meaning of a Map. It must never
// be slower than one, whatever keys a peer chooses.
//
// If entries come and go all the time, a Map makes a new table every few entries, and V8 chains each old table to the
// next one. Once one dead table is in the old space, the young collector takes all later ones and their entries for
// alive. So every call was copied twice, and then freed by a full collection, for nothing.
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
  /** The number of each entry: iteration follows it, in the order of a Map. */
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

  /** True if the entry existed. */
  delete(key: K): boolean {
    const slot = this.#slotOf(key);
    if (this.#keys[slot] !== key) return this.#rest?.delete(key) === true;
    this.#keys[slot] = undefined;
    this.#values[slot] = undefined;
    this.#inSlots--;
    return true;
  }

  /** The values, oldest first. Leaves out entries that are deleted or added meanwhile. */
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

  /** Chooses by the end of the key: ids count up, and random keys differ in their last letters too. */
  #slotOf(key: K): number {
    if (typeof key === 'number') return key & (this.#keys.length - 1);
    let sum = 0;
    for (let at = Math.max(0, key.length - 3); at < key.length; at++) sum = 7 * sum + key.charCodeAt(at);
    return sum & (this.#keys.length - 1);
  }
}
