// Which servers there are for a directory, found out while others look, and while everything changes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Definitions, type FoundServers } from '../../../src/daemon/definitions.ts';
import type { ServerDefinition } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';

function definition(name: string, url: string): ServerDefinition {
  return {
    ...{ name, description: '', timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined },
    ...{ sharing: 'auto', trustHints: false, tools: NO_FILTER, transport: 'http', url, headers: {}, isFilledIn: true },
    ...{ headersHelper: undefined, oauth: {} as never },
  };
}

function found(servers: Readonly<Record<string, string>>, faults: readonly string[] = []): FoundServers {
  return {
    servers: new Map(Object.entries(servers).map(([name, url]) => [name, definition(name, url)])),
    pending: 0,
    faults,
  };
}

/** What there is in each directory, found out when the test lets it be. */
class Disk {
  readonly now: Record<string, FoundServers> = {};
  readonly dirsInUse = new Set<string>();
  readonly left: string[] = [];
  #looks: (() => void)[] = [];
  readonly definitions = new Definitions({
    home: '/home',
    dirsInUse: () => this.dirsInUse,
    leave: (dir) => this.left.push(dir),
    find: (dir) => {
      const seen = this.now[dir] ?? found({});
      return new Promise((resolve) => this.#looks.push(() => resolve(seen)));
    },
  });

  get looks(): number {
    return this.#looks.length;
  }

  /** Ends all that are under way, and those that follow from it. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      await new Promise(setImmediate);
      const looks = this.#looks.splice(0);
      if (looks.length > 0) quiet = 0;
      for (const look of looks) look();
    }
  }

  urlsIn(dir: string | undefined): Record<string, string> {
    return Object.fromEntries([...this.definitions.of(dir)].map(([name, one]) => [name, (one as { url: string }).url]));
  }
}

describe('the servers of a directory', () => {
  test('is found out once, however many ask', async () => {
    const disk = new Disk();
    disk.now['/p'] = found({ a: 'x' });
    const first = disk.definitions.prepare('/p');
    expect(disk.definitions.prepare('/p')).toBe(first);
    expect(disk.looks).toBe(1);
    await disk.settle();
    await first;
    expect(disk.definitions.prepare('/p')).toBeUndefined();
    expect(disk.urlsIn('/p')).toEqual({ a: 'x' });
    expect(disk.urlsIn(undefined)).toEqual({});
  });

  test('are those of the home for clients without a directory', async () => {
    const disk = new Disk();
    disk.now['/home'] = found({ a: 'x' });
    void disk.definitions.prepare(undefined);
    await disk.settle();
    expect(disk.urlsIn(undefined)).toEqual({ a: 'x' });
  });

  test('that were searched before a change are searched again', async () => {
    const disk = new Disk();
    disk.now['/p'] = found({ a: 'old' });
    const ready = disk.definitions.prepare('/p');
    disk.now['/p'] = found({ a: 'new' });
    void disk.definitions.reload();
    await disk.settle();
    await ready;
    expect(disk.urlsIn('/p')).toEqual({ a: 'new' });
  });

  test('are compared with those before by their definitions', async () => {
    const disk = new Disk();
    disk.now['/home'] = found({ same: 'x', changed: 'x', gone: 'x' });
    void disk.definitions.prepare(undefined);
    await disk.settle();
    disk.now['/home'] = found({ same: 'x', changed: 'y', young: 'x' }, ['a fault']);
    const report = disk.definitions.reload();
    await disk.settle();
    expect(await report).toEqual({ added: ['young'], changed: ['changed'], removed: ['gone'], faults: ['a fault'] });
    const again = disk.definitions.reload();
    await disk.settle();
    expect(await again).toEqual({ added: [], changed: [], removed: [], faults: ['a fault'] });
  });

  test('to which somebody comes while it is being forgotten is kept, and followed', async () => {
    const disk = new Disk();
    disk.now['/p'] = found({ a: 'old' });
    void disk.definitions.prepare(undefined);
    void disk.definitions.prepare('/p');
    await disk.settle();
    void disk.definitions.reload();
    await Promise.resolve();
    disk.dirsInUse.add('/p');
    void disk.definitions.prepare('/p');
    await disk.settle();
    expect(disk.urlsIn('/p')).toEqual({ a: 'old' });
    disk.now['/p'] = found({ a: 'new' });
    void disk.definitions.reload();
    await disk.settle();
    expect(disk.urlsIn('/p')).toEqual({ a: 'new' });
  });

  test('are forgotten when nobody works there any more', async () => {
    const disk = new Disk();
    for (const dir of ['/p', '/q']) void disk.definitions.prepare(dir);
    disk.dirsInUse.add('/q');
    await disk.settle();
    void disk.definitions.reload();
    await disk.settle();
    expect([disk.left, disk.definitions.prepare('/q')]).toEqual([['/p'], undefined]);
    for (let n = 0; n < 70; n++) void disk.definitions.prepare(`/${n}`);
    await disk.settle();
    expect(disk.definitions.prepare('/q')).toBeUndefined();
    expect(disk.left.length).toBeGreaterThan(5);
  });
});

test('a directory is forgotten when nobody has worked in it for a while, unless a client came back', async () => {
  const disk = new Disk();
  for (const dir of ['/home', '/p', '/q', '/r']) void disk.definitions.prepare(dir);
  disk.dirsInUse.add('/r');
  await disk.settle();
  expect(disk.definitions.forgetLeft()).toBe(false);
  void disk.definitions.prepare('/q');
  expect([disk.definitions.forgetLeft(), disk.left]).toEqual([true, ['/p']]);
  expect([disk.definitions.forgetLeft(), disk.left]).toEqual([true, ['/p', '/q']]);
  expect([disk.definitions.forgetLeft(), disk.definitions.dirs]).toEqual([false, ['/home', '/r']]);
});

const DIRS = ['/home', '/p', '/q'];

test('after any order of changes and requests, the prepared servers are the present ones', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('prepare' as const), dir: fc.constantFrom(...DIRS) }),
    fc.record({ kind: fc.constant('change' as const), dir: fc.constantFrom(...DIRS), url: fc.string() }),
    fc.record({ kind: fc.constant('settle' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const disk = new Disk();
      const prepared = new Set<string>();
      for (const one of steps) {
        if (one.kind === 'settle') await disk.settle();
        else if (one.kind === 'change') {
          disk.now[one.dir] = found({ a: one.url });
          void disk.definitions.reload();
        } else {
          disk.dirsInUse.add(one.dir);
          prepared.add(one.dir);
          void disk.definitions.prepare(one.dir);
        }
      }
      await disk.settle();
      for (const dir of prepared) {
        expect(disk.definitions.prepare(dir)).toBeUndefined();
        const url = (disk.now[dir]?.servers.get('a') as { url: string } | undefined)?.url;
        expect(disk.urlsIn(dir)).toEqual(url === undefined ? {} : { a: url });
      }
    }),
  );
});
