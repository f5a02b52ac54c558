// What is kept of servers that nobody uses any more goes when nobody is kept waiting by it; nothing else does.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Catalog } from '../../../src/catalog/catalog.ts';
import { SeenToolsStore } from '../../../src/catalog/seen-tools-store.ts';
import { Sweeper, sweepDirectory } from '../../../src/catalog/sweeper.ts';
import type { StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import type { Logger } from '../../../src/util/logger.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const DAY_MS = 24 * 3_600_000;
const NOW_MS = Date.UTC(2030, 0, 1);
const HASH = 'a'.repeat(32);

const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent };

function put(dir: string, name: string, ageDays: number): string {
  const path = join(dir, name);
  writeFileSync(path, '{}', { mode: 0o600 });
  const seconds = (NOW_MS - ageDays * DAY_MS) / 1000;
  utimesSync(path, seconds, seconds);
  return path;
}

const hashes = (count: number): string[] => Array.from({ length: count }, (_, i) => i.toString(16).padStart(32, '0'));
const ageOf = (path: string): number => (NOW_MS - statSync(path).mtimeMs) / DAY_MS;
const nobody = (): ReadonlySet<string> => new Set();
const sweep = (dir: string, inUse = nobody) => sweepDirectory({ dir, keptMs: 30 * DAY_MS, inUse }, NOW_MS);

function definition(name: string): StdioServer {
  return {
    ...{ name, description: '', timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined, sharing: 'auto' },
    ...{ trustHints: false, tools: NO_FILTER, transport: 'stdio', command: name, args: [], env: {}, cwd: undefined },
    dir: '/d',
  };
}

test('files unused for long are removed, including those of an interrupted write', async () => {
  const dir = temporaryDir();
  put(dir, `${HASH}.json`, 31);
  put(dir, `${HASH}.json.0123456789ab`, 31);
  const young = put(dir, `${'b'.repeat(32)}.json`, 29);
  expect(await sweep(dir)).toEqual({ removed: 2, failures: [] });
  expect(readdirSync(dir).map((name) => join(dir, name))).toEqual([young]);
});

test('files in use stay however old they are, and count as used from then on', async () => {
  const dir = temporaryDir();
  const path = put(dir, `${HASH}.json`, 400);
  const gone = join(dir, `${'c'.repeat(32)}.json`);
  expect(await sweep(dir, () => new Set([path, gone]))).toEqual({ removed: 0, failures: [] });
  expect(ageOf(path)).toBe(0);
  expect(existsSync(gone)).toBe(false);
});

test('files that the bridge has not written stay, and so do files of other users', async () => {
  const dir = temporaryDir();
  const names = [
    'approvals.json',
    `${HASH}.txt`,
    `x${HASH}.json`,
    `${HASH.toUpperCase()}.json`,
    `${'a'.repeat(31)}.json`,
  ];
  for (const name of names) put(dir, name, 900);
  mkdirSync(join(dir, `${'d'.repeat(32)}.json`));
  utimesSync(join(dir, `${'d'.repeat(32)}.json`), 1, 1);
  chmodSync(put(dir, `${'e'.repeat(32)}.json`, 900), 0o644);
  symlinkSync(put(temporaryDir(), 'elsewhere', 900), join(dir, `${'f'.repeat(32)}.json`));
  const before = readdirSync(dir);
  const { removed, failures } = await sweepDirectory({ dir, keptMs: DAY_MS, inUse: nobody }, NOW_MS + 1000 * DAY_MS);
  expect([removed, failures.length]).toEqual([0, 3]);
  expect(readdirSync(dir)).toEqual(before);
});

test('one sweep takes a thousand, the next one goes on', async () => {
  const dir = temporaryDir();
  for (const hash of hashes(1010)) put(dir, `${hash}.json`, 31);
  expect((await sweep(dir)).removed).toBe(1000);
  expect((await sweep(dir)).removed).toBe(10);
});

test('a directory that there is not is swept without a word, and one that is none with one', async () => {
  const dir = temporaryDir();
  expect(await sweep(join(dir, 'none'))).toEqual({ removed: 0, failures: [] });
  expect((await sweep(put(dir, 'file', 1))).failures).toHaveLength(1);
});

test('files of servers that a daemon knows stay; of the others, those used last', async () => {
  const [dir, seenDir] = [temporaryDir(), temporaryDir()];
  const clock = new FakeClock();
  const date = (): number => NOW_MS;
  const newCatalog = () => new Catalog({ dir, ttlMs: 1000, date, clock, logger });
  const newStore = () => new SeenToolsStore({ dir: seenDir, clock, date, logger, changed: silent });
  const page = { cursor: undefined, result: Buffer.from('{"tools":[{"name":"a"}]}\n') };
  const learn = (catalog: Catalog, store: SeenToolsStore, name: string) => {
    const seen = store.of(definition(name));
    const known = catalog.knownOf(definition(name));
    seen.learn([page], { isWhole: true, isOnly: true });
    known.noteAsksBack();
    catalog.flush();
    store.flush();
    return [seen, known];
  };
  const [catalog, store] = [newCatalog(), newStore()];
  const held = learn(catalog, store, 'used');
  learn(newCatalog(), newStore(), 'forgotten');
  const age = (days: number): void => {
    for (const one of [dir, seenDir])
      for (const name of readdirSync(one))
        utimesSync(join(one, name), (NOW_MS - days * DAY_MS) / 1000, NOW_MS / 1000 - days * 86_400);
  };
  const sweepAll = async (): Promise<number[]> => {
    for (const one of [...catalog.swept, ...store.swept]) await sweepDirectory(one, NOW_MS);
    return [readdirSync(dir).length, readdirSync(seenDir).length];
  };
  age(31);
  expect(await sweepAll()).toEqual([1, 2]);
  age(366);
  expect(await sweepAll()).toEqual([1, 1]);
  expect(held).toHaveLength(2);
  // What is read is used.
  age(29);
  newCatalog().knownOf(definition('used'));
  newStore().of(definition('used'));
  expect([...readdirSync(dir), ...readdirSync(seenDir)].length).toBe(2);
  for (const one of [dir, seenDir]) expect(readdirSync(one).map((name) => ageOf(join(one, name)))).toEqual([0]);
});

test('a daemon sweeps once it has been quiet for a minute or more, and then each day', async () => {
  const dir = temporaryDir();
  const clock = new FakeClock();
  let isQuiet = false;
  let sweeps = 0;
  let seen: () => void = silent;
  const inUse = (): ReadonlySet<string> => {
    sweeps++;
    seen();
    return new Set();
  };
  const directories = [{ dir, keptMs: DAY_MS, inUse }];
  new Sweeper({ directories, isQuiet: () => isQuiet, clock, date: () => NOW_MS, logger }).start();
  clock.advance(10 * 60_000);
  expect([sweeps, clock.pending]).toEqual([0, 1]);
  isQuiet = true;
  const swept = new Promise<void>((resolve) => {
    seen = resolve;
  });
  clock.advance(60_000);
  await swept;
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(DAY_MS - 1);
  expect(sweeps).toBe(1);
  const again = new Promise<void>((resolve) => {
    seen = resolve;
  });
  clock.advance(1);
  await again;
  expect(sweeps).toBe(2);
});

test('where nothing is kept, nothing is waited for', () => {
  const clock = new FakeClock();
  new Sweeper({ directories: [], isQuiet: () => true, clock, date: () => NOW_MS, logger }).start();
  expect(clock.pending).toBe(0);
});
