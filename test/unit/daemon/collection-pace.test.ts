import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  collectionInFlood,
  growthPercent,
  KEEP_YOUNG_PART,
  keepCollectionPace,
} from '../../../src/daemon/collection-pace.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MIB = 1024 * 1024;

describe('when memory is collected', () => {
  it.each([4, 8, 9, 20, 40, 63])('a heap of %i MiB may gather 64 MiB before it is', (usedMib) => {
    expect((usedMib * growthPercent(usedMib * MIB)) / 100).toBeCloseTo(64, -1);
  });

  it('an almost empty heap has no boundless part', () => {
    expect(growthPercent(0)).toBe(1600);
    expect(growthPercent(1)).toBe(1600);
  });

  it.each([64, 200, 2000])('a heap of %i MiB is left to V8', (usedMib) => {
    expect(growthPercent(usedMib * MIB)).toBe(0);
  });

  it('follows the heap, and not each of its small steps', () => {
    const clock = new FakeClock();
    const told: number[] = [];
    let used = 8 * MIB;
    const timer = keepCollectionPace(clock, {
      usedBytes: () => used,
      growBy: (percent) => told.push(percent),
      keepYoungPart: () => undefined,
    });
    expect(told).toEqual([800]);
    used = 9 * MIB;
    clock.advance(60_000);
    expect(told).toEqual([800]);
    used = 32 * MIB;
    clock.advance(10_000);
    expect(told).toEqual([800, 200]);
    used = 100 * MIB;
    clock.advance(10_000);
    expect(told).toEqual([800, 200, 0]);
    used = 8 * MIB;
    clock.advance(10_000);
    expect(told).toEqual([800, 200, 0, 800]);
    timer.cancel();
    used = 100 * MIB;
    clock.advance(60_000);
    expect(told).toHaveLength(4);
  });

  it.each([
    { flag: KEEP_YOUNG_PART, leastMib: 0, mostMib: 4 },
    { flag: '--semi-space-growth-factor=2', leastMib: 8, mostMib: 64 },
  ])('with $flag the part for new objects has $leastMib to $mostMib MiB when many survive', (expected) => {
    const youngMib = youngMibOf(expected.flag);
    expect(youngMib).toBeGreaterThanOrEqual(expected.leastMib);
    expect(youngMib).toBeLessThanOrEqual(expected.mostMib);
  });
});

/** Has a process keep all of many objects under this flag of V8. */
function youngMibOf(flag: string): number {
  const program = `
    const v8 = require('node:v8');
    v8.setFlagsFromString('${flag}');
    const kept = [];
    for (let i = 0; i < 400_000; i++) kept.push({ i, of: [i] });
    const young = v8.getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    console.log(young.physical_space_size / 2 ** 20);`;
  return Number(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }));
}

describe('while a server talks without end', () => {
  function flooded(usedMib = 20) {
    let bytes = usedMib * MIB;
    let collections = 0;
    const look = collectionInFlood({
      bytes: () => bytes,
      collect: () => {
        collections++;
        bytes = (usedMib + 1) * MIB;
      },
    });
    const grow = (mib: number): void => {
      bytes += mib * MIB;
      look();
    };
    return { grow, count: () => collections };
  }

  it('memory is collected each time that 24 MiB have gathered', () => {
    const { grow, count } = flooded();
    for (let i = 0; i < 24; i++) grow(1);
    expect(count()).toBe(0);
    grow(1);
    expect(count()).toBe(1);
    for (let i = 0; i < 240; i++) grow(1);
    expect(count()).toBe(11);
  });

  it('a large memory is collected each time that half of it has gathered: each collection goes through all of it', () => {
    const { grow, count } = flooded(300);
    grow(0);
    for (let i = 0; i < 149; i++) grow(1);
    expect(count()).toBe(0);
    grow(1);
    expect(count()).toBe(1);
    for (let i = 0; i < 302; i++) grow(1);
    expect(count()).toBe(3);
  });

  it('memory that V8 has collected itself does not count', () => {
    const { grow, count } = flooded();
    grow(0);
    for (let i = 0; i < 50; i++) {
      grow(20);
      grow(-20);
    }
    expect(count()).toBe(0);
  });

  it("V8's own collector gives memory back", () => {
    const before = process.memoryUsage().external;
    const look = collectionInFlood();
    look();
    for (let i = 0; i < 400; i++) {
      Buffer.alloc(MIB);
      look();
    }
    expect(process.memoryUsage().external - before).toBeLessThan(48 * MIB);
  });
});
