import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { SettledWrites } from '../../../src/catalog/settled-writes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

/** A disk may be slow. */
const PATIENCE = { timeout: 20_000, interval: 5 };

function writesIn(dir: string, isCache: boolean) {
  const clock = new FakeClock();
  const failures: string[] = [];
  const writes = new SettledWrites({ clock, isCache, failed: (path) => failures.push(path.slice(dir.length + 1)) });
  const add = (name: string, text: string): void => writes.add(join(dir, name), () => text);
  const read = (name: string): string => readFileSync(join(dir, name), 'utf8');
  return { clock, writes, failures, add, read };
}

describe('files of a cache', () => {
  test('are written one at a time, so that clients are served in between', () => {
    const dir = temporaryDir();
    const { clock, add } = writesIn(dir, true);
    for (let i = 0; i < 50; i++) add(`${i}`, 'x');
    clock.advance(249);
    expect(readdirSync(dir)).toEqual([]);
    clock.advance(1);
    expect(readdirSync(dir)).toEqual(['0']);
    clock.advance(1);
    expect(readdirSync(dir)).toEqual(['0', '1']);
    clock.advance(48);
    expect([readdirSync(dir).length, clock.pending]).toEqual([50, 0]);
  });

  test('that change many times in a moment are written once, as they are last', () => {
    const dir = temporaryDir();
    const { clock, writes, read } = writesIn(dir, true);
    let written = 0;
    for (const text of ['one', 'two', 'three']) {
      writes.add(join(dir, 'a'), () => `${text} ${++written}`);
      clock.advance(50);
    }
    clock.advance(1000);
    expect(read('a')).toBe('three 1');
  });

  test('are written at once before somebody reads one of them', () => {
    const dir = temporaryDir();
    const { writes, add } = writesIn(dir, true);
    add('a', 'x');
    add('b', 'x');
    writes.settle(join(dir, 'b'));
    expect(readdirSync(dir)).toEqual(['b']);
  });
});

describe('files that last', () => {
  test('are written one after the other, while the daemon goes on', async () => {
    const dir = temporaryDir();
    const { clock, add, read } = writesIn(dir, false);
    add('a', 'one');
    add('b', 'two');
    clock.advance(1000);
    const underWay = readdirSync(dir);
    expect([underWay.length, underWay.includes('a')]).toEqual([1, false]); // nobody has waited for the disk
    await vi.waitFor(() => {
      clock.advance(1);
      expect(readdirSync(dir).sort()).toEqual(['a', 'b']);
    }, PATIENCE);
    expect([read('a'), read('b')]).toEqual(['one', 'two']);
  });

  test('are there after a flush, with nothing beside them, also if one was under way and has changed since', async () => {
    const dir = temporaryDir();
    const { clock, writes, add, read } = writesIn(dir, false);
    add('a', 'one');
    clock.advance(1000);
    add('a', 'two');
    add('b', 'three');
    expect([writes.flush(), readdirSync(dir), read('a'), clock.pending]).toEqual([true, ['a', 'b'], 'two', 0]);
    await new Promise((resolve) => setImmediate(resolve));
    add('a', 'four');
    await vi.waitFor(() => {
      clock.advance(250);
      expect(read('a')).toBe('four'); // what was given up has held up nothing
    }, PATIENCE);
  });

  test('that cannot be written are reported, and tried again with the next change', async () => {
    const dir = temporaryDir();
    const { clock, add, failures, read } = writesIn(dir, false);
    mkdirSync(join(dir, 'a'));
    add('a', 'one');
    clock.advance(1000);
    expect([failures, clock.pending]).toEqual([['a'], 0]);
    rmdirSync(join(dir, 'a'));
    add('b', 'two');
    await vi.waitFor(() => {
      clock.advance(250);
      expect([read('b'), read('a')]).toEqual(['two', 'one']);
    }, PATIENCE);
  });
});
