import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Counters } from '../../../src/core/counters.ts';
import { Events } from '../../../src/core/events.ts';
import { DEFAULT_RESULTS, type ResultsSettings } from '../../../src/model/settings.ts';
import { type FilesOfResults, KeptResults, type WholeResult } from '../../../src/results/kept-results.ts';
import { ResultFiles } from '../../../src/results/result-files.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const KIB = 1024;

function whole(bytes: number, letter = 'x'): WholeResult {
  return { bytes: Buffer.from(`${letter.repeat(bytes - 1)}\n`), at: { from: 0, to: 0 }, structured: undefined };
}

function setting(settings: Partial<ResultsSettings>, files?: FilesOfResults) {
  const clock = new FakeClock();
  const warnings: string[] = [];
  const events = new Events((error) => {
    throw error;
  });
  const counters = new Counters(events);
  const kept = new KeptResults({
    settings: () => ({ ...DEFAULT_RESULTS, ...settings }),
    ...{ files, events, clock },
    logger: { warn: (message) => void warnings.push(message) },
  });
  return { kept, clock, events, counters, warnings };
}

/** Until the files are written. */
async function written(kept: KeptResults, disk: number): Promise<void> {
  while (kept.report.diskBytes !== disk) await new Promise(setImmediate);
}

describe('a kept result', () => {
  test('is found by its owner, and by nobody else', () => {
    const { kept } = setting({});
    const [ann, bob] = [{}, {}];
    const id = kept.keep(ann, whole(KIB))?.id ?? '';
    expect(id).toMatch(/^[\w-]{12}$/);
    expect(kept.find(ann, id)?.size).toBe(KIB);
    expect(kept.find(bob, id)).toBeUndefined();
    expect(kept.find('ann', id)).toBeUndefined();
    expect(kept.find(ann, 'x')).toBeUndefined();
  });

  test('goes after keepMs, and with its owner', () => {
    const { kept, clock, events } = setting({ keepMs: 60_000 });
    const client = { clientId: 'a' };
    const [one, other] = [kept.keep('http', whole(KIB)), kept.keep(client, whole(KIB))];
    events.clientLeft.tell(client as never, undefined, undefined);
    expect(kept.find(client, other?.id ?? '')).toBeUndefined();
    clock.advance(59_999);
    expect(kept.find('http', one?.id ?? '')).toBeDefined();
    clock.advance(1);
    expect(kept.find('http', one?.id ?? '')).toBeUndefined();
    clock.advance(5000);
    expect(kept.report).toEqual({ count: 0, memoryBytes: 0, diskBytes: 0 });
  });

  test('gives way to a newer one of its owner, who may have half of the room', () => {
    const { kept, counters } = setting({ maxMemoryBytes: 100 * KIB });
    const ids = Array.from({ length: 6 }, () => kept.keep('one', whole(10 * KIB))?.id ?? '');
    const rest = ids.filter((id) => kept.find('one', id) !== undefined);
    expect(rest).toEqual(ids.slice(-3)); // 14 KiB are charged for each
    expect(counters.resultsForgotten).toBe(3);
  });

  test('of the owner that has most gives way where all room is taken', () => {
    const { kept } = setting({ maxMemoryBytes: 100 * KIB });
    const heavy = Array.from({ length: 3 }, () => kept.keep('heavy', whole(10 * KIB))?.id ?? '');
    const light = Array.from({ length: 3 }, (_, n) => kept.keep(`light ${n}`, whole(6 * KIB))?.id ?? '');
    const more = kept.keep('more', whole(30 * KIB))?.id ?? '';
    expect(heavy.map((id) => kept.find('heavy', id) !== undefined)).toEqual([false, true, true]);
    for (const [n, id] of light.entries()) expect(kept.find(`light ${n}`, id)).toBeDefined();
    expect(kept.find('more', more)).toBeDefined();
  });

  test('of another principal stays, under however many names one principal asks', () => {
    const { kept } = setting({ maxMemoryBytes: 100 * KIB });
    const victim = kept.keep('ann', whole(20 * KIB), 'ann')?.id ?? '';
    const ids = Array.from({ length: 65 }, (_, n) => kept.keep(`fl${n}`, whole(5 * KIB), 'token')?.id ?? '');
    expect(kept.find('ann', victim)).toBeDefined();
    expect(kept.find('fl64', ids.at(-1) ?? '')).toBeDefined();
    const left = ids.filter((id, n) => kept.find(`fl${n}`, id) !== undefined);
    expect(left.length).toBe(5); // half of the room; each is charged 9 KiB
  });

  test('that is too large for the room is not kept, and nothing gives way to it', () => {
    const { kept, counters } = setting({ maxMemoryBytes: 100 * KIB });
    const id = kept.keep('one', whole(10 * KIB))?.id ?? '';
    expect(kept.keep('other', whole(60 * KIB))).toBeUndefined();
    expect(kept.find('one', id)).toBeDefined();
    expect(counters.resultsForgotten).toBe(0);
  });
});

describe('in files', () => {
  const room = { maxMemoryBytes: 64 * KIB, maxDiskBytes: 1024 * KIB };

  test('go the oldest results for which there is no memory, readable for their user alone, and come back as they were', async () => {
    const dir = temporaryDir();
    const { kept } = setting(room, new ResultFiles(dir, '/socket'));
    const results = ['a', 'b', 'c', 'd'].map((letter) => kept.keep(letter, whole(30 * KIB, letter)));
    await written(kept, 60 * KIB);
    expect(kept.report).toMatchObject({ count: 4, memoryBytes: 60 * KIB });
    const [own = ''] = readdirSync(dir);
    const files = readdirSync(join(dir, own));
    expect(files).toHaveLength(2);
    expect(statSync(join(dir, own)).mode & 0o777).toBe(0o700);
    for (const file of files) expect(statSync(join(dir, own, file)).mode & 0o777).toBe(0o600);
    for (const [n, result] of results.entries()) {
      const letter = 'abcd'.charAt(n);
      if (result === undefined) throw new Error('not kept');
      expect(await kept.bytesOf(result)).toEqual(whole(30 * KIB, letter).bytes);
    }
  });

  test('they go when their time is up', async () => {
    const dir = temporaryDir();
    const { kept, clock } = setting({ ...room, keepMs: 60_000 }, new ResultFiles(dir, '/socket'));
    for (const letter of 'abcd') kept.keep(letter, whole(30 * KIB, letter));
    await written(kept, 60 * KIB);
    clock.advance(65_000);
    const own = join(dir, readdirSync(dir)[0] ?? '');
    while (readdirSync(own).length > 0) await new Promise(setImmediate);
    expect(kept.report).toEqual({ count: 0, memoryBytes: 0, diskBytes: 0 });
  });

  test('that cannot be written leave the results in memory, and it is said once', async () => {
    const files = {
      write: () => Promise.reject(new Error('the disk is full')),
      read: () => Promise.reject(new Error('no')),
      remove: () => Promise.resolve(),
    };
    const { kept, warnings } = setting(room, files);
    const ids = Array.from({ length: 20 }, (_, n) => kept.keep(`${n}`, whole(30 * KIB))?.id ?? '');
    await new Promise(setImmediate);
    expect(warnings).toEqual(['results cannot be kept in files']);
    expect(kept.report.memoryBytes).toBeLessThanOrEqual(2 * room.maxMemoryBytes);
    expect(kept.find('19', ids.at(-1) ?? '')).toBeDefined();
  });

  test('are written again a minute after one could not be written', async () => {
    let isFull = true;
    const files = {
      write: () => (isFull ? Promise.reject(new Error('the disk is full')) : Promise.resolve('file')),
      read: () => Promise.reject(new Error('no')),
      remove: () => Promise.resolve(),
    };
    const { kept, clock, warnings } = setting({ ...room, keepMs: 600_000 }, files);
    for (let n = 0; n < 4; n++) kept.keep(`${n}`, whole(30 * KIB));
    await new Promise(setImmediate);
    kept.keep('more', whole(30 * KIB));
    expect(kept.report).toMatchObject({ memoryBytes: 60 * KIB, diskBytes: 0 }); // what memory alone can keep
    isFull = false;
    clock.advance(60_000);
    kept.keep('again', whole(30 * KIB));
    await written(kept, 30 * KIB);
    expect(warnings).toEqual(['results cannot be kept in files']);
  });

  test('that cannot be read or removed do not keep others from being written', async () => {
    const files = {
      write: () => Promise.resolve('file'),
      read: () => Promise.reject(new Error('no such file')),
      remove: () => Promise.reject(new Error('no such file')),
    };
    const { kept, counters } = setting(room, files);
    const [first] = ['a', 'b', 'c'].map((owner) => kept.keep(owner, whole(30 * KIB)));
    await written(kept, 30 * KIB);
    if (first === undefined) throw new Error('not kept');
    expect(await kept.bytesOf(first)).toBeUndefined();
    for (let n = 0; n < 8; n++) {
      kept.keep(`later ${n}`, whole(30 * KIB));
      await new Promise(setImmediate);
    }
    expect(counters.resultsForgotten).toBe(0);
    expect(kept.report).toMatchObject({ count: 11, diskBytes: 270 * KIB });
  });

  test('that are written slowly let memory grow to twice its bound and no more', () => {
    const never = new Promise<string>(() => undefined);
    const files = { write: () => never, read: () => Promise.reject(new Error('no')), remove: () => Promise.resolve() };
    const { kept } = setting({ ...room, maxDiskBytes: 1024 * 1024 * KIB }, files);
    for (let n = 0; n < 100; n++) {
      kept.keep(`${n}`, whole(30 * KIB));
      expect(kept.report.memoryBytes).toBeLessThanOrEqual(2 * room.maxMemoryBytes);
    }
  });

  test('of a daemon that was killed go at the next start of its socket; those of others stay for a day', async () => {
    const dir = temporaryDir();
    const [killed, other] = [new ResultFiles(dir, '/one'), new ResultFiles(dir, '/other')];
    const left = await killed.write(whole(KIB).bytes);
    const theirs = await other.write(whole(KIB).bytes);
    const old = join(theirs, '..', 'old');
    writeFileSync(old, 'old');
    utimesSync(old, 0, 0);
    await new ResultFiles(dir, '/one').clear(Date.now());
    expect([existsSync(left), existsSync(theirs), existsSync(old)]).toEqual([false, true, false]);
    expect(readFileSync(theirs)).toHaveLength(KIB - 1);
    other.close();
    expect(existsSync(theirs)).toBe(false);
  });
});
