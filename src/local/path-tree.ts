// Wanted paths as a tree of the names on the way to them. It knows nothing of the disk: whoever watches notes on the
// nodes what it has found there.

import type { FSWatcher } from 'node:fs';
import { platform } from 'node:os';
import { parse, resolve, sep } from 'node:path';

/** One name in one directory; or a root, which is in none. */
export class PathNode {
  readonly path: string;
  readonly parent: PathNode | undefined;
  readonly children = new Map<string, PathNode>();
  /** The paths that are wanted of it, as they were given. */
  readonly wanted = new Set<string>();
  /** The links that lead here. */
  readonly followers = new Set<PathNode>();
  /** The node this is a link to. */
  target: PathNode | undefined;
  isDir = false;
  watcher: FSWatcher | undefined;
  /** Why it cannot be watched. */
  failure: { readonly error: Error; isTold: boolean } | undefined;

  constructor(path: string, parent: PathNode | undefined) {
    this.path = path;
    this.parent = parent;
  }

  get name(): string {
    return parse(this.path).base;
  }

  /** True if the names in the directory are wanted: it was given with a separator at its end. */
  get isListed(): boolean {
    for (const given of this.wanted) if (given.endsWith(sep) || given.endsWith('/')) return true;
    return false;
  }

  get isNeeded(): boolean {
    return this.children.size > 0 || this.wanted.size > 0 || this.followers.size > 0;
  }

  /** It, and all that is below it. */
  *subtree(): Generator<PathNode> {
    yield this;
    for (const child of this.children.values()) yield* child.subtree();
  }

  childNamed(name: string): PathNode | undefined {
    return this.children.get(keyOf(name));
  }

  madeChild(name: string): PathNode {
    const known = this.childNamed(name);
    if (known !== undefined) return known;
    const child = new PathNode(this.path.endsWith(sep) ? this.path + name : this.path + sep + name, this);
    this.children.set(keyOf(name), child);
    return child;
  }
}

export class PathTree {
  readonly #roots = new Map<string, PathNode>();

  *nodes(): Generator<PathNode> {
    for (const root of this.#roots.values()) yield* root.subtree();
  }

  /** The nodes on the way to this path, from the root on; those that are missing are made. */
  wayTo(given: string): readonly [PathNode, ...PathNode[]] {
    const path = PLAIN.test(given) ? given : resolve(given);
    const root = path.startsWith('/') ? '/' : parse(path).root;
    const first = this.#roots.get(root) ?? new PathNode(root, undefined);
    this.#roots.set(root, first);
    const way: [PathNode, ...PathNode[]] = [first];
    let node = first;
    for (const name of path.slice(root.length).split(sep).filter(Boolean)) {
      node = node.madeChild(name);
      way.push(node);
    }
    return way;
  }

  /** Takes out what nobody needs any more, with the parents that nobody needs without it. */
  prune(last: PathNode): PathNode[] {
    const taken: PathNode[] = [];
    for (let node: PathNode | undefined = last; node !== undefined && !node.isNeeded; node = node.parent) {
      if (node.parent === undefined) this.#roots.delete(node.path);
      else node.parent.children.delete(keyOf(node.name));
      taken.push(node);
    }
    return taken;
  }
}

/** Paths that `resolve` would leave as they are, but for a separator at the end. `resolve` is slow for hundreds of paths. */
const PLAIN = sep === '/' ? /^(?=\/)(?!.*\/(?:\.{0,2}\/|\.{1,2}$))/s : /^(?!)/;

/** Elsewhere than on Linux a name may be spelled in several ways. */
const keyOf: (name: string) => string =
  platform() === 'linux' ? (name) => name : (name) => name.normalize().toLowerCase();
