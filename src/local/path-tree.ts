// Wanted paths as a tree of names. It knows nothing about the disk: the watcher notes its findings on the nodes.

import type { FSWatcher } from 'node:fs';
import { platform } from 'node:os';
import { parse, resolve, sep } from 'node:path';

/** One name in one directory; or a root, which is in no directory. */
export class PathNode {
  readonly path: string;
  readonly parent: PathNode | undefined;
  readonly children = new Map<string, PathNode>();
  /** The wanted paths for this node, as they were given. */
  readonly wanted = new Set<string>();
  /** The links that lead here. */
  readonly followers = new Set<PathNode>();
  /** The target, if this node is a link. */
  target: PathNode | undefined;
  isDir = false;
  watcher: FSWatcher | undefined;
  /** The reason why it cannot be watched. */
  failure: { readonly error: Error; isTold: boolean } | undefined;

  constructor(path: string, parent: PathNode | undefined) {
    this.path = path;
    this.parent = parent;
  }

  get name(): string {
    return parse(this.path).base;
  }

  /** True if the names in the directory are wanted: its path was given with a separator at the end. */
  get isListed(): boolean {
    for (const given of this.wanted) if (given.endsWith(sep) || given.endsWith('/')) return true;
    return false;
  }

  get isNeeded(): boolean {
    return this.children.size > 0 || this.wanted.size > 0 || this.followers.size > 0;
  }

  /** This node, and all nodes below it. */
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

  /** The nodes on the way to this path, from the root on; makes those that are missing. */
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

  /** Removes nodes that nobody needs any more, with their parents that nobody needs either. */
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

/**
 * Matches paths that `resolve` would leave unchanged, except for a separator at the end. `resolve` is slow for hundreds
 * of paths.
 */
const PLAIN = sep === '/' ? /^(?=\/)(?!.*\/(?:\.{0,2}\/|\.{1,2}$))/s : /^(?!)/;

/** Outside Linux, a name may be spelled in several ways. */
const keyOf: (name: string) => string =
  platform() === 'linux' ? (name) => name : (name) => name.normalize().toLowerCase();
