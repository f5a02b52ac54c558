// Numbers by key, such as what each owner has under way. A key whose number is 0 is forgotten.

export class Counts<Key> {
  readonly #numbers = new Map<Key, number>();

  of(key: Key): number {
    return this.#numbers.get(key) ?? 0;
  }

  /** Changes the number of a key by `change`, which may be negative. */
  add(key: Key, change: number): void {
    const number = this.of(key) + change;
    if (number > 0) this.#numbers.set(key, number);
    else this.#numbers.delete(key);
  }
}
