// Which directories' servers depend on which paths: a path that none depends on any more need not be watched.

export class PathClaims {
  readonly #byDir = new Map<string, readonly string[]>();
  /** How many directories each path counts for. */
  readonly #counts = new Map<string, number>();
  readonly #unclaimed = new Set<string>();

  /** What was found for a directory depends on these and no others. */
  claim(dir: string, paths: Iterable<string>): void {
    const claimed = [...new Set(paths)];
    for (const path of claimed) {
      this.#counts.set(path, (this.#counts.get(path) ?? 0) + 1);
      this.#unclaimed.delete(path);
    }
    this.leave(dir);
    this.#byDir.set(dir, claimed);
  }

  /** Nobody works in this directory any more. */
  leave(dir: string): void {
    for (const path of this.#byDir.get(dir) ?? []) {
      const count = (this.#counts.get(path) ?? 1) - 1;
      if (count > 0) this.#counts.set(path, count);
      else {
        this.#counts.delete(path);
        this.#unclaimed.add(path);
      }
    }
    this.#byDir.delete(dir);
  }

  /** Those that have lost their last claim since this was last called. */
  takeUnclaimed(): string[] {
    const paths = [...this.#unclaimed];
    this.#unclaimed.clear();
    return paths;
  }
}
