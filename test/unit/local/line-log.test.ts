// Lines that are gathered, written together, kept while that fails, and counted when they are lost.

import { expect, test } from 'vitest';
import { LineLog } from '../../../src/local/line-log.ts';
import type { LineBatch } from '../../../src/local/rotated-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A disk that takes what it has room for. */
class Disk {
  text = '';
  room = Number.POSITIVE_INFINITY;
  appends = 0;
  isClosed = false;
  readonly #waiting: (() => void)[] = [];
  isSlow = false;

  async append(batch: LineBatch): Promise<void> {
    this.appends++;
    if (this.isSlow) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const taken = Math.min(this.room, batch.bytes.length - batch.done);
    this.text += batch.bytes.toString('utf8', batch.done, batch.done + taken);
    this.room -= taken;
    batch.done += taken;
    if (batch.done < batch.bytes.length) throw new Error('the disk is full');
  }
  catchUp(): void {
    this.isSlow = false;
    for (const go of this.#waiting.splice(0)) go();
  }
  close(): void {
    this.isClosed = true;
  }
}

function logOn(disk: Disk) {
  const clock = new FakeClock();
  const changes: (string | undefined)[] = [];
  const log = new LineLog({
    file: disk,
    clock,
    lossLine: (lost) => `lost ${lost}\n`,
    changed: (failure) => void changes.push(failure),
  });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  };
  return { log, clock, changes, pass };
}

test('lines of some time are written at once, and a single one no later', async () => {
  const disk = new Disk();
  const { log, pass } = logOn(disk);
  for (let n = 0; n < 100; n++) log.append(`${n}\n`);
  expect(disk.appends).toBe(0);
  await pass(50);
  expect([disk.appends, disk.text.split('\n').length, log.written]).toEqual([1, 101, 100]);
  log.append('ü\n');
  await pass(50);
  expect([disk.appends, disk.text.endsWith('\n99\nü\n')]).toEqual([2, true]);
});

test('many lines wait for no time, and keep their order', async () => {
  const disk = new Disk();
  const { log, pass } = logOn(disk);
  const lines = Array.from({ length: 20_000 }, (_, n) => `${n} ${'x'.repeat(n % 60)}${n % 7 === 0 ? '→' : ''}\n`);
  const large = `${'y'.repeat(400_000)}\n`;
  for (const [n, line] of lines.entries()) {
    if (n === 777) log.append(large);
    log.append(line);
    if (n % 1000 === 0) await pass(0);
  }
  await log.close();
  expect(disk.text === [...lines.slice(0, 777), large, ...lines.slice(777)].join('')).toBe(true);
  expect([log.lost, log.written, disk.isClosed]).toEqual([0, 20_001, true]);
});

test('what a full disk does not take is kept, whole, until it does', async () => {
  const disk = new Disk();
  disk.room = 6;
  const { log, pass, changes } = logOn(disk);
  log.append('one\ntwo\n');
  await pass(50);
  expect([disk.text, log.failure, log.lost]).toEqual(['one\ntw', 'the disk is full', 0]);
  log.append('three\n');
  await pass(1000);
  expect(log.failure).toBe('the disk is full');
  disk.room = 1000;
  await pass(1000);
  await pass(50);
  expect([disk.text, log.failure, log.lost]).toEqual(['one\ntwo\nthree\n', undefined, 0]);
  expect(changes).toEqual(['the disk is full', undefined]);
});

test('beyond what is kept lines are lost, counted, and noted where they are missing', async () => {
  const disk = new Disk();
  disk.room = 0;
  const { log, pass } = logOn(disk);
  log.append('first\n');
  await pass(50);
  const line = `${'z'.repeat(1023)}\n`;
  for (let n = 0; n < 1500; n++) log.append(line);
  expect(log.lost).toBe(1500 - 1024);
  disk.room = Number.POSITIVE_INFINITY;
  await pass(1000);
  log.append('last\n');
  await log.close();
  expect(disk.text === `first\n${line.repeat(1024)}lost 476\nlast\n`).toBe(true);
  expect(log.written).toBe(1 + 1024 + 1 + 1);
});

test('a disk that does not keep up costs lines and not memory', async () => {
  const disk = new Disk();
  disk.isSlow = true;
  const { log, pass, changes } = logOn(disk);
  const line = `${'z'.repeat(1024 * 1024 - 1)}\n`;
  for (let n = 0; n < 40; n++) log.append(line);
  expect(log.lost).toBeGreaterThan(0);
  expect(log.failure).toContain('more slowly');
  disk.catchUp();
  await pass(50);
  await log.close();
  expect(disk.text.split('\n').length - 1).toBe(40 - log.lost + 1);
  expect([log.failure, changes.length]).toEqual([undefined, 2]);
});

test('an attempt without any line tells whether it could be written', async () => {
  const disk = new Disk();
  const { log } = logOn(disk);
  disk.append = () => Promise.reject(new Error('permission denied'));
  await log.write();
  expect(log.failure).toBe('permission denied');
});

test('at the end what cannot be written is given up', async () => {
  const disk = new Disk();
  const { log, pass } = logOn(disk);
  disk.room = 0;
  log.append('one\n');
  await pass(50);
  log.append('two\n');
  await log.close();
  expect([disk.text, disk.isClosed, log.failure]).toEqual(['', true, 'the disk is full']);
});
