// Real files and the kernel's own notices. What is told is read at once, as a daemon would: in the end what was read
// must be what is there. Nothing waits for a time: notices come in the order of what happened, so once the last change
// has been told, all others have.

import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { PathWatcher, type PathWatcherOptions } from '../../src/local/path-watcher.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const QUIET_MS = 200;
const MOST_QUIET_MS = 2000;

class Watched {
  readonly dir = temporaryDir();
  readonly clock = new FakeClock();
  readonly watcher: PathWatcher;
  readonly failures: [dir: string, code: string | undefined][] = [];
  /** What was told, call by call. */
  calls: string[][] = [];
  /** What each wanted path was when it was last told, or wanted. */
  readonly read = new Map<string, string | undefined>();
  #marks = 0;

  constructor(options: Partial<PathWatcherOptions> = {}) {
    this.watcher = new PathWatcher({
      clock: this.clock,
      quietMs: QUIET_MS,
      mostQuietMs: MOST_QUIET_MS,
      changed: (paths) => {
        this.calls.push([...paths].sort());
        for (const path of paths) this.#readAt(path);
      },
      failed: (dir, error) => this.failures.push([this.#short(dir), (error as NodeJS.ErrnoException).code]),
      ...options,
    });
    onTestFinished(() => this.watcher.close());
  }

  at(name: string): string {
    return join(this.dir, name);
  }

  /** Wants these, and `.mark`, which says when all that was done before has been heard. */
  want(...names: string[]): void {
    const paths = [...names, '.mark'].map((name) => this.at(name));
    this.watcher.watch(paths);
    for (const path of paths) this.read.set(path, contentOf(path));
  }

  write(name: string, text: string): void {
    const path = this.at(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Replaces a file as editors do. */
  replace(name: string, text: string): void {
    this.write(`${name}.tmp`, text);
    renameSync(this.at(`${name}.tmp`), this.at(name));
  }

  /** Lets it hear, and tell, what has come until now. */
  async breathe(): Promise<void> {
    await setImmediate();
    this.clock.advance(QUIET_MS);
  }

  /** What has been told by the time that all until now has been heard. */
  async told(): Promise<string[]> {
    const mark = String(++this.#marks);
    writeFileSync(this.at('.mark'), mark);
    while (this.read.get(this.at('.mark')) !== mark) await this.breathe();
    const told = new Set(this.calls.flat().map((path) => this.#short(path)));
    this.calls = [];
    told.delete('.mark');
    return [...told].sort();
  }

  expectUpToDate(): void {
    for (const [path, content] of this.read) expect([path, content]).toEqual([path, contentOf(path)]);
  }

  #readAt(path: string): void {
    // Names that came or went are told as paths of their own.
    for (const wanted of [path, `${path}/`, `${dirname(path)}/`])
      if (this.read.has(wanted)) this.read.set(wanted, contentOf(wanted));
  }

  #short(path: string): string {
    return path.startsWith(`${this.dir}/`) ? path.slice(this.dir.length + 1) : path;
  }
}

/** Of a path with a separator at its end, the names. */
function contentOf(path: string): string | undefined {
  try {
    return path.endsWith('/') ? readdirSync(path).sort().join() : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

test('a file appears, changes and goes', async () => {
  const watched = new Watched();
  watched.want('a.json', 'b.json');
  const steps = [
    () => watched.write('a.json', '1'),
    () => watched.write('a.json', '2'),
    () => watched.replace('a.json', '3'),
    () => unlinkSync(watched.at('a.json')),
    () => watched.replace('a.json', '4'),
  ];
  for (const step of steps) {
    step();
    expect(await watched.told()).toEqual(['a.json']);
    watched.expectUpToDate();
  }
});

test('a file that is written in steps is told once, when there is quiet', async () => {
  const watched = new Watched();
  watched.want('a.json');
  for (const part of ['{', '{"a"', '{"a":1}']) watched.write('a.json', part);
  expect(await watched.told()).toEqual(['a.json']);
  watched.expectUpToDate();
});

test('directories on the way appear one by one', async () => {
  const watched = new Watched();
  watched.want('a/b/c.json', 'a/d.json');
  mkdirSync(watched.at('a'));
  expect(await watched.told()).toEqual(['a/b/c.json', 'a/d.json']);
  mkdirSync(watched.at('a/b'));
  expect(await watched.told()).toEqual(['a/b/c.json']);
  watched.write('a/b/c.json', '1');
  expect(await watched.told()).toEqual(['a/b/c.json']);
  watched.write('a/d.json', '1');
  expect(await watched.told()).toEqual(['a/d.json']);
  watched.expectUpToDate();
});

test('directories on the way appear at once, with the file in them', async () => {
  const watched = new Watched();
  watched.want('a/b/c/d.json');
  watched.write('a/b/c/d.json', '1');
  expect(await watched.told()).toEqual(['a/b/c/d.json']);
  watched.expectUpToDate();
  watched.write('a/b/c/d.json', '2');
  expect(await watched.told()).toEqual(['a/b/c/d.json']);
  watched.expectUpToDate();
});

test('a directory is removed, comes back, and is put in the place of another', async () => {
  const watched = new Watched();
  watched.write('a/b/c.json', '1');
  watched.want('a/b/c.json');
  rmSync(watched.at('a'), { recursive: true });
  await watched.told();
  watched.expectUpToDate();
  watched.write('a/b/c.json', '2');
  await watched.told();
  watched.expectUpToDate();
  watched.write('other/b/c.json', '3');
  renameSync(watched.at('a'), watched.at('old'));
  renameSync(watched.at('other'), watched.at('a'));
  expect(await watched.told()).toEqual(['a/b/c.json']);
  watched.expectUpToDate();
  watched.write('old/b/c.json', 'not ours any more');
  expect(await watched.told()).toEqual([]);
  watched.write('a/b/c.json', '4');
  expect(await watched.told()).toEqual(['a/b/c.json']);
  watched.expectUpToDate();
  renameSync(watched.at('a'), watched.at('away'));
  expect(await watched.told()).toEqual(['a/b/c.json']);
  watched.write('away/b/c.json', 'not ours any more');
  expect(await watched.told()).toEqual([]);
});

test('a file stands where a directory was, and the other way round', async () => {
  const watched = new Watched();
  watched.want('a/b.json', 'a');
  watched.write('a', 'a file');
  await watched.told();
  watched.expectUpToDate();
  unlinkSync(watched.at('a'));
  watched.write('a/b.json', '1');
  expect(await watched.told()).toEqual(['a', 'a/b.json']);
  watched.expectUpToDate();
});

test('a link gets a new target, and the target changes', async () => {
  const watched = new Watched();
  watched.write('first/x.json', '1');
  watched.write('second/x.json', '2');
  symlinkSync('../first/x.json', watched.at('second/link.json'));
  symlinkSync('second', watched.at('here'));
  watched.want('here/link.json', 'here/x.json');
  watched.replace('first/x.json', '3');
  expect(await watched.told()).toEqual(['here/link.json']);
  watched.expectUpToDate();
  watched.write('second/x.json', '4');
  expect(await watched.told()).toEqual(['here/x.json']);
  symlinkSync('first', watched.at('next'));
  renameSync(watched.at('next'), watched.at('here'));
  expect(await watched.told()).toEqual(['here/link.json', 'here/x.json']);
  watched.expectUpToDate();
  symlinkSync('nowhere/yet.json', watched.at('first/link.json'));
  await watched.told();
  watched.write('first/nowhere/yet.json', '5');
  expect(await watched.told()).toEqual(['here/link.json']);
  watched.expectUpToDate();
  watched.write('second/x.json', 'not ours any more');
  expect(await watched.told()).toEqual([]);
});

test('circular and endless links cause no endless work', async () => {
  const watched = new Watched();
  symlinkSync('b', watched.at('a'));
  symlinkSync('a', watched.at('b'));
  symlinkSync('self/x', watched.at('self'));
  for (let n = 0; n < 300; n++) symlinkSync(`link-${n + 1}`, watched.at(`link-${n}`));
  watched.want('a', 'self/x', 'link-0');
  unlinkSync(watched.at('b'));
  watched.write('b', '1');
  expect(await watched.told()).toEqual(['a']);
  watched.expectUpToDate();
});

test('in a directory whose names are wanted, new and deleted names are reported', async () => {
  const watched = new Watched();
  watched.write('d/a.json', '1');
  watched.write('d/sub/inner.json', '1');
  watched.want('d/', 'd/a.json', 'e/');
  watched.write('d/a.json', '2');
  watched.write('d/sub/inner.json', '2');
  expect(await watched.told()).toEqual(['d/a.json']);
  watched.write('d/new.json', '1');
  expect(await watched.told()).toEqual(['d/new.json']);
  watched.expectUpToDate();
  watched.write('d/new.json', '2');
  unlinkSync(watched.at('d/a.json'));
  mkdirSync(watched.at('e'));
  expect(await watched.told()).toEqual(['d/a.json', 'e', 'e/']);
  watched.write('e/x.json', '1');
  expect(await watched.told()).toEqual(['e/x.json']);
  rmSync(watched.at('d'), { recursive: true });
  expect(await watched.told()).toEqual(expect.arrayContaining(['d', 'd/', 'd/a.json']));
  watched.expectUpToDate();
});

test('other changes in the same directory are not reported', async () => {
  const watched = new Watched();
  watched.want('a.json', 'd/b.json');
  for (let n = 0; n < 1000; n++) watched.write(`other-${n % 50}.json`, `${n}`);
  mkdirSync(watched.at('elsewhere'));
  expect(await watched.told()).toEqual([]);
  expect(watched.clock.pending).toBe(0);
});

test('a file that is written all the time is still reported', async () => {
  const watched = new Watched();
  const path = watched.at('a.json');
  watched.want('a.json');
  // Hears what the other hears, in the same turn.
  let heard = (): void => undefined;
  const witness = watch(watched.dir, (_, name) => name === 'a.json' && heard());
  onTestFinished(() => witness.close());
  const stepMs = QUIET_MS / 4;
  for (let n = 0; n < MOST_QUIET_MS / stepMs; n++) {
    expect(watched.calls).toEqual([]);
    const written = new Promise<void>((resolve) => {
      heard = resolve;
    });
    writeFileSync(path, String(n));
    await written;
    await setImmediate();
    watched.clock.advance(stepMs);
  }
  expect(watched.calls).toEqual([[path]]);
});

test('paths come and go while it watches', async () => {
  const watched = new Watched();
  watched.want('a/x.json', 'a/y.json', 'b/x.json');
  watched.want('a/y.json', 'c/x.json');
  for (const name of ['a/x.json', 'b/x.json', 'c/x.json']) watched.write(name, '1');
  expect(await watched.told()).toEqual(['a/y.json', 'c/x.json']);
  watched.write('a/x.json', '2');
  expect(await watched.told()).toEqual([]);
  watched.watcher.add(watched.at('a/x.json'));
  watched.write('a/x.json', '3');
  expect(await watched.told()).toEqual(['a/x.json']);
});

test('each directory is watched once, and released when nobody needs it', async () => {
  const opened = new Map<string, number>();
  const open: PathWatcherOptions['open'] = (dir, heard) => {
    const watcher = watch(dir, { persistent: false }, heard);
    opened.set(dir, (opened.get(dir) ?? 0) + 1);
    watcher.on('close', () => opened.set(dir, (opened.get(dir) ?? 0) - 1));
    return watcher;
  };
  const watched = new Watched({ open });
  watched.write('d/sub/x.json', '1');
  watched.write('target/x.json', '1');
  symlinkSync('../target/x.json', watched.at('d/link.json'));
  const names = Array.from({ length: 100 }, (_, n) => `d/${n}.json`);
  watched.want(...names, 'd/sub/x.json', 'd/link.json');
  const own = async (): Promise<string[]> => {
    // A watcher says in the next tick that it is closed.
    await setImmediate();
    const inside = [...opened].filter(([dir]) => dir.startsWith(watched.dir));
    return inside.flatMap(([dir, count]) => Array.from({ length: count }, () => dir.slice(watched.dir.length))).sort();
  };
  expect(await own()).toEqual(['', '/d', '/d/sub', '/target']);
  watched.want(...names.slice(50));
  expect(await own()).toEqual(['', '/d']);
  watched.watcher.watch([]);
  expect(await own()).toEqual([]);
  expect([...opened.values()].filter((count) => count > 0)).toEqual([]);
});

test('a directory that may not be looked into is told once, and the others are watched', async () => {
  const watched = new Watched();
  chmodSync(watched.dir, 0o755);
  watched.write('closed/a.json', '1');
  watched.write('open/a.json', '1');
  chmodSync(watched.at('closed'), 0o300);
  asNobody(() => watched.want('closed/a.json', 'closed/b.json', 'open/a.json'));
  expect(watched.failures).toEqual([['closed', 'EACCES']]);
  watched.write('open/a.json', '2');
  expect(await watched.told()).toEqual(['open/a.json']);
  chmodSync(watched.at('closed'), 0o700);
  expect(await watched.told()).toEqual(['closed/a.json', 'closed/b.json']);
  watched.write('closed/b.json', '2');
  expect(await watched.told()).toEqual(['closed/b.json']);
  watched.expectUpToDate();
});

/** Root may look into everything. */
function asNobody(task: () => void): void {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65_534);
  try {
    task();
  } finally {
    process.seteuid?.(0);
  }
}

test('at the system’s limit, as many paths as possible are watched, and the rest is reported once', async () => {
  let isFull = true;
  const open: PathWatcherOptions['open'] = (dir, heard) => {
    if (isFull && dir.endsWith('/full')) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    return watch(dir, { persistent: false }, heard);
  };
  const watched = new Watched({ open });
  watched.write('full/a.json', '1');
  watched.want('full/a.json', 'full/b.json', 'a.json');
  watched.watcher.add(watched.at('full/c.json'));
  expect(watched.failures).toEqual([['full', 'ENOSPC']]);
  watched.write('a.json', '1');
  expect(await watched.told()).toEqual(['a.json']);
  isFull = false;
  renameSync(watched.at('full'), watched.at('moved'));
  watched.write('full/a.json', '2');
  expect(await watched.told()).toContain('full/a.json');
  watched.expectUpToDate();
});

test('to watch keeps no process alive', () => {
  const watched = new Watched();
  watched.want('a.json', 'd/b.json');
  expect(process.getActiveResourcesInfo()).not.toContain('FSEventWrap');
});

test('nothing is told after it was closed', async () => {
  const watched = new Watched();
  watched.want('a.json');
  const witness = watch(watched.dir);
  const heard = new Promise((resolve) => witness.once('change', resolve));
  watched.write('a.json', '1');
  await heard;
  await setImmediate();
  expect(watched.clock.pending).toBe(1);
  watched.watcher.close();
  expect(watched.clock.pending).toBe(0);
  watched.watcher.add(watched.at('b.json'));
  watched.write('b.json', '1');
  await new Promise((resolve) => witness.once('change', resolve));
  await setImmediate();
  watched.clock.advance(MOST_QUIET_MS);
  expect(watched.calls).toEqual([]);
  witness.close();
});

const NAMES = ['a', 'b', 'd/a', 'd/b', 'd/e/a', 'd/e', 'd', 'f/a', 'f'];
const name = fc.constantFrom(...NAMES);
const step = fc.oneof(
  fc.tuple(fc.constant('write' as const), name, name),
  fc.tuple(fc.constant('remove' as const), name, name),
  fc.tuple(fc.constant('rename' as const), name, name),
  fc.tuple(fc.constant('link' as const), name, name),
  fc.tuple(fc.constant('mkdir' as const), name, name),
  fc.tuple(fc.constant('breathe' as const), name, name),
);

test('after any sequence of changes, the last read content is the real one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const watched = new Watched();
      watched.want(...NAMES, 'd/', 'f/');
      let count = 0;
      for (const [kind, from, to] of steps) {
        if (kind === 'breathe') await watched.breathe();
        else {
          // What the disk does not allow does not happen.
          try {
            if (kind === 'write') watched.write(from, `${count++}`);
            if (kind === 'remove') rmSync(watched.at(from), { recursive: true });
            if (kind === 'rename') renameSync(watched.at(from), watched.at(to));
            if (kind === 'link') symlinkSync(watched.at(to), watched.at(from));
            if (kind === 'mkdir') mkdirSync(watched.at(from), { recursive: true });
          } catch (error) {
            expect(error).toHaveProperty('code');
          }
        }
      }
      await watched.told();
      watched.expectUpToDate();
      expect(watched.failures).toEqual([]);
      watched.watcher.close();
    }),
    { numRuns: 400 },
  );
});
