// Reports which of many paths may have changed, including paths that do not exist yet. It watches every directory on
// the way to a path for the next name, so it sees when anything appears, goes, or is replaced. It reads no file. It
// watches a directory first and reads it afterwards: a change in between is seen twice, never missed.

import { type FSWatcher, lstatSync, readlinkSync, realpathSync, statSync, watch } from 'node:fs';
import { platform } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { systemCode } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { type PathNode, PathTree } from './path-tree.ts';

type Heard = (event: string, name: string | null) => void;

export interface PathWatcherOptions extends QuietPathsOptions {
  /** Called when a directory cannot be watched, so changes in it are missed; once for as long as that lasts. */
  readonly failed: (dir: string, error: Error) => void;
  /** Another way to watch a directory, for tests of failures. */
  readonly open?: (dir: string, heard: Heard) => FSWatcher;
}

/** The kernel follows no more links than this. */
const MOST_LINKS = 40;

/**
 * Reports paths as they were given. A path with a separator at its end is a directory whose names are wanted: each name
 * that comes or goes there is reported as a path. The directory itself is reported, without the separator, when another
 * one may have replaced it. With a directory, all wanted paths below it are reported.
 */
export class PathWatcher {
  readonly #failed: PathWatcherOptions['failed'];
  readonly #open: (dir: string, heard: Heard) => FSWatcher;
  readonly #changes: QuietPaths;
  readonly #tree = new PathTree();
  readonly #wanted = new Map<string, PathNode>();
  #linksFollowed = 0;
  #isClosed = false;

  constructor({ failed, open = openWatch, ...quiet }: PathWatcherOptions) {
    this.#failed = failed;
    this.#open = open;
    this.#changes = new QuietPaths(quiet);
  }

  /** Watches these paths and no others. It does not report what is there already: read that after this call. */
  watch(paths: Iterable<string>): void {
    const wanted = new Set(paths);
    // New paths come first, so that a directory that both need is not released in between.
    for (const path of wanted) this.add(path);
    for (const path of this.#wanted.keys()) if (!wanted.has(path)) this.drop(path);
  }

  /** Stops watching this path. */
  drop(path: string): void {
    const node = this.#wanted.get(path);
    if (node === undefined) return;
    this.#wanted.delete(path);
    node.wanted.delete(path);
    this.#letGo(node);
  }

  /** Watches this path too. Returns false if it was watched already. */
  add(path: string): boolean {
    if (this.#isClosed || this.#wanted.has(path)) return false;
    const way = this.#tree.wayTo(path);
    const node = way.at(-1) ?? way[0];
    node.wanted.add(path);
    this.#wanted.set(path, node);
    this.#lookAlong(way);
    return true;
  }

  /** Stops watching; reports nothing after this call. */
  close(): void {
    this.#isClosed = true;
    this.#changes.clear();
    for (const node of this.#tree.nodes()) disarm(node);
  }

  /** Called for each event of a directory; nearly all are about names that nobody wants. */
  #heard(node: PathNode, event: string, name: string | null): void {
    if (name === null) return this.#touch(node);
    const isRename = event === 'rename';
    if (isRename && node.isListed) this.#changes.add(join(node.path, name));
    const child = node.childNamed(name);
    if (child !== undefined) this.#touch(child);
    // A directory reports itself under its own name.
    else if (isRename && name === node.name) this.#touch(node);
  }

  /** Looks again at this node and at the links that lead here: both may be something else now. */
  #touch(node: PathNode): void {
    const touched = reachedFrom(node);
    for (const top of touched) if (top.isNeeded) this.#lookAgain(top);
    for (const { parent } of touched) if (parent !== undefined) this.#tellFailure(parent);
    this.#tell(touched);
  }

  #tell(touched: Iterable<PathNode>): void {
    for (const top of touched) {
      for (const node of top.subtree()) {
        for (const path of node.wanted) this.#changes.add(path);
        if (node.isListed) this.#changes.add(node.path);
      }
    }
  }

  /** Looks at each node on the way: any of them may be a link. */
  #lookAlong(way: readonly PathNode[]): void {
    for (const node of way) {
      if (!node.isDir || lacksWatch(node)) this.#look(node);
      // Nothing exists below a missing node until its parent reports it.
      if (!node.isDir) break;
    }
    for (const node of way) this.#tellFailure(node);
  }

  #lookAgain(node: PathNode): void {
    disarm(node);
    this.#look(node);
    for (const child of node.children.values()) {
      if (node.isDir) this.#lookAgain(child);
      else for (const below of child.subtree()) this.#forget(below);
    }
    this.#tellFailure(node);
  }

  #look(node: PathNode): void {
    const { isDir, link } = seenAt(node.path);
    this.#follow(node, link);
    node.isDir = isDir;
    if (!isDir) node.failure = undefined;
    else if (lacksWatch(node)) this.#arm(node);
  }

  #arm(node: PathNode): void {
    try {
      const watcher = this.#open(node.path, (event, name) => {
        if (node.watcher === watcher) this.#heard(node, event, name);
      });
      watcher.on('error', (error) => {
        if (node.watcher === watcher) this.#broke(node, error);
      });
      node.watcher = watcher;
      node.failure = undefined;
    } catch (error) {
      if (isAbsence(error)) node.isDir = false;
      else node.failure ??= { error: error as Error, isTold: false };
    }
  }

  /** Called when a watch breaks, as on Windows when a watched directory is removed. */
  #broke(node: PathNode, error: Error): void {
    disarm(node);
    if (!seenAt(node.path).isDir) return this.#touch(node);
    // Watching it again at once might fail the same way forever.
    this.#tell(reachedFrom(node));
    node.failure ??= { error, isTold: false };
    this.#tellFailure(node);
  }

  #follow(node: PathNode, link: string | undefined): void {
    if (node.target?.path === link) return;
    const former = node.target;
    node.target = undefined;
    if (link !== undefined && this.#linksFollowed < MOST_LINKS) this.#followTo(node, link);
    if (former === undefined) return;
    former.followers.delete(node);
    this.#letGo(former);
  }

  #followTo(node: PathNode, link: string): void {
    const way = this.#tree.wayTo(link);
    const target = way.at(-1) ?? way[0];
    node.target = target;
    target.followers.add(node);
    this.#linksFollowed++;
    this.#lookAlong(way);
    this.#linksFollowed--;
  }

  #letGo(node: PathNode): void {
    const taken = this.#tree.prune(node);
    for (const each of taken) this.#forget(each);
    const left = taken.length === 0 ? node : taken.at(-1)?.parent;
    if (left !== undefined && !wantsWatch(left)) disarm(left);
  }

  #forget(node: PathNode): void {
    disarm(node);
    node.isDir = false;
    node.failure = undefined;
    this.#follow(node, undefined);
  }

  /**
   * Reports a directory that cannot be watched. If all wanted paths are further down, only its replacement is missed.
   */
  #tellFailure(node: PathNode): void {
    const { failure } = node;
    if (failure === undefined || failure.isTold) return;
    const matters = [...node.children.values()].some((child) => !child.isDir || isEnd(child));
    if (!node.isListed && !matters) return;
    failure.isTold = true;
    this.#failed(node.path, failure.error);
  }
}

/** The node, and the links that lead to it or below it. */
function reachedFrom(node: PathNode): ReadonlySet<PathNode> {
  const reached = new Set([node]);
  for (const top of reached)
    for (const below of top.subtree()) for (const follower of below.followers) reached.add(follower);
  return reached;
}

function isEnd({ wanted, followers }: PathNode): boolean {
  return wanted.size > 0 || followers.size > 0;
}

/**
 * True if the node needs its own watch. macOS reports everything below a watched directory: for the root, the whole
 * machine.
 */
function wantsWatch(node: PathNode): boolean {
  if (platform() === 'darwin' && node.parent === undefined) return false;
  return node.children.size > 0 || node.isListed;
}

function lacksWatch(node: PathNode): boolean {
  return node.watcher === undefined && wantsWatch(node);
}

function disarm(node: PathNode): void {
  node.watcher?.close();
  node.watcher = undefined;
}

function openWatch(dir: string, heard: Heard): FSWatcher {
  return watch(dir, { persistent: false }, heard);
}

interface Seen {
  readonly isDir: boolean;
  /** The target, if it is a link. */
  readonly link?: string;
}

const NOTHING: Seen = { isDir: false };

/** Looks at a path. A path that cannot be seen counts as absent until its directory reports a change. */
function seenAt(path: string): Seen {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat?.isSymbolicLink()) return stat === undefined ? NOTHING : { isDir: stat.isDirectory() };
    const link = resolve(realpathSync(dirname(path)), readlinkSync(path));
    return { isDir: isDirBehind(path), link };
  } catch (error) {
    expectSystemError(error);
    return NOTHING;
  }
}

function isDirBehind(link: string): boolean {
  try {
    return statSync(link, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    expectSystemError(error);
    return false;
  }
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '');
}

// --- quiet ---

export interface QuietPathsOptions {
  readonly clock: Clock;
  /** The paths are reported when none has come for this long, */
  readonly quietMs: number;
  /** or this long after the first: a path that changes all the time must not delay them forever. */
  readonly mostQuietMs: number;
  readonly changed: (paths: ReadonlySet<string>) => void;
}

/** Gathers paths until there is quiet, then reports them all; after `mostQuietMs` even without quiet. */
export class QuietPaths {
  readonly #options: QuietPathsOptions;
  #paths = new Set<string>();
  #firstAtMs = 0;
  #lastAtMs = 0;
  #timer: Timer | undefined;

  constructor(options: QuietPathsOptions) {
    this.#options = options;
  }

  /**
   * Adds a path. One timer serves all paths until it fires: setting it again for each would cost more than all the
   * rest.
   */
  add(path: string): void {
    this.#paths.add(path);
    this.#lastAtMs = this.#options.clock.now();
    if (this.#timer !== undefined) return;
    this.#firstAtMs = this.#lastAtMs;
    this.#wait();
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#paths.clear();
  }

  #wait(): void {
    const { clock, quietMs, mostQuietMs } = this.#options;
    const dueAtMs = Math.min(this.#lastAtMs + quietMs, this.#firstAtMs + mostQuietMs);
    const leftMs = dueAtMs - clock.now();
    if (leftMs > 0) this.#timer = clock.after(leftMs, () => this.#wait());
    else this.#tell();
  }

  #tell(): void {
    const paths = this.#paths;
    this.#paths = new Set();
    this.#timer = undefined;
    this.#options.changed(paths);
  }
}
