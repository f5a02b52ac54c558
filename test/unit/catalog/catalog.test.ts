import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Catalog } from '../../../src/catalog/catalog.ts';
import type { RemoteServer, ServerDefinition, StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import type { Logger } from '../../../src/util/logger.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const COMMON = {
  name: 'x',
  description: '',
  timeoutMs: undefined,
  startTimeoutMs: undefined,
  idleMs: undefined,
  sharing: 'auto',
  trustHints: false,
  tools: NO_FILTER,
} as const;
const LOCAL: StdioServer = {
  ...COMMON,
  transport: 'stdio',
  command: 'node',
  args: ['a'],
  env: { B: '1', A: '2' },
  cwd: undefined,
  dir: '/d',
};
const REMOTE: RemoteServer = {
  ...COMMON,
  transport: 'http',
  url: 'https://a.example/',
  headers: { B: '1', A: '2' },
  isFilledIn: false,
  headersHelper: undefined,
  oauth: { clientId: undefined, clientSecret: undefined, scope: undefined, callbackPort: undefined },
};

interface TestCatalog {
  readonly catalog: Catalog;
  readonly clock: FakeClock;
  readonly warnings: string[];
}

function catalogIn(dir: string | undefined): TestCatalog {
  const clock = new FakeClock();
  const warnings: string[] = [];
  const silent = (): void => undefined;
  const logger: Logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (_, fields) => warnings.push(String(fields?.reason)),
  };
  return { catalog: new Catalog({ dir, ttlMs: 1000, date: () => clock.now(), clock, logger }), clock, warnings };
}

/** The file that is kept for a definition. */
function fileFor(definition: ServerDefinition): string {
  const dir = temporaryDir();
  const { catalog } = catalogIn(dir);
  catalog.knownOf(definition).noteAsksBack();
  catalog.flush();
  const [file, ...others] = readdirSync(dir);
  expect(others).toEqual([]);
  return file ?? '';
}

describe('the catalog', () => {
  test('keeps its knowledge from one run to the next, for its owner only', () => {
    const dir = join(temporaryDir(), 'made', 'for-it');
    const { catalog, clock } = catalogIn(dir);
    const known = catalog.knownOf(LOCAL);
    const introduction = { initializeResult: Buffer.from('{"capabilities":{}}\n') };
    known.opened({ capabilities: { sampling: {} }, owner: undefined }, introduction, '');
    known.noteAsksForRoots();
    clock.advance(1000);
    const [file] = readdirSync(dir);
    expect(statSync(join(dir, file as string)).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const again = catalogIn(dir).catalog.knownOf({ ...LOCAL, name: 'another' });
    expect([again.asksForRoots, again.profiles.map(({ capabilities }) => capabilities)]).toEqual([
      true,
      [{ sampling: {} }],
    ]);
  });

  test('writes once for everything learnt within a moment, and at the end everything due', () => {
    const dir = temporaryDir();
    const { catalog, clock } = catalogIn(dir);
    const known = catalog.knownOf(LOCAL);
    known.noteAsksBack();
    known.noteAsksForRoots();
    expect([readdirSync(dir), clock.pending]).toEqual([[], 1]);
    catalog.flush();
    expect([readdirSync(dir).length, clock.pending]).toEqual([1, 0]);
    const [file] = readdirSync(dir);
    expect(JSON.parse(readFileSync(join(dir, file as string), 'utf8'))).toMatchObject({
      asksBack: true,
      asksForRoots: true,
    });
  });

  test('keeps a list of a server of 2026 in both forms, with the terms of its caching', () => {
    const dir = temporaryDir();
    const { catalog } = catalogIn(dir);
    const known = catalog.knownOf(LOCAL);
    const key = { capabilities: {}, owner: undefined, rootsKey: undefined };
    const initializeResult = Buffer.from('{"capabilities":{"tools":{}}}\n');
    const profile = known.opened(key, { initializeResult }, '');
    const [result, original] = [Buffer.from('{"tools":[]}\n'), Buffer.from('{"tools":[ ]}\n')];
    const pages = [
      { cursor: undefined, result, original, caching: { ttlMs: 5, cacheScope: 'public' } },
      { cursor: 'x', result },
    ];
    known.learnList(profile, 'tools', pages, key);
    catalog.flush();
    const [again] = catalogIn(dir).catalog.knownOf(LOCAL).profiles;
    expect(again?.lists.get('tools')).toEqual(pages);
  });

  test('says so after each 256 files that were read, not of files that are missing', () => {
    const dir = temporaryDir();
    const { catalog, clock } = catalogIn(dir);
    catalog.knownOf(LOCAL).noteAsksBack();
    catalog.flush();
    let told = 0;
    const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
    const next = new Catalog({ dir, ttlMs: 1000, date: () => 0, clock, logger, manyRead: () => void told++ });
    const read = (times: number): number => {
      for (let i = 0; i < times; i++) next.knownOf(LOCAL);
      next.knownOf({ ...LOCAL, command: 'unknown' });
      return told;
    };
    expect([read(255), read(1), read(255), read(1)]).toEqual([0, 1, 1, 2]);
  });

  test('without a directory keeps nothing, and sets no timer', () => {
    const { catalog, clock, warnings } = catalogIn(undefined);
    catalog.knownOf(LOCAL).noteAsksBack();
    catalog.flush();
    expect([clock.pending, warnings]).toEqual([0, []]);
  });

  test('begins with nothing where there is no file, and says nothing of it', () => {
    const { catalog, warnings } = catalogIn(join(temporaryDir(), 'none'));
    expect([catalog.knownOf(LOCAL).profiles, warnings]).toEqual([[], []]);
  });

  test.each([
    ['is torn', '{"format":1,"na'],
    ['has another format', '{"format":2,"profiles":[]}'],
    ['lacks what belongs in it', '{"format":1}'],
  ])('begins empty if the file %s, says so, and writes it again', (_, content) => {
    const dir = temporaryDir();
    const path = join(dir, fileFor(LOCAL));
    writeFileSync(path, content, { mode: 0o600 });
    const { catalog, warnings } = catalogIn(dir);
    const known = catalog.knownOf(LOCAL);
    expect([known.profiles, known.asksBack, warnings.length]).toEqual([[], false, 1]);
    known.noteAsksBack();
    catalog.flush();
    expect(catalogIn(dir).catalog.knownOf(LOCAL).asksBack).toBe(true);
  });

  test('goes on where it may not write, and where its place is taken by something else', () => {
    const dir = temporaryDir();
    const place = join(dir, 'file');
    writeFileSync(place, '');
    const { catalog, warnings } = catalogIn(join(place, 'below'));
    catalog.knownOf(LOCAL).noteAsksBack();
    catalog.flush();
    expect(warnings.length).toBeGreaterThan(0);
    const taken = join(dir, fileFor(LOCAL));
    mkdirSync(taken);
    const other = catalogIn(dir);
    other.catalog.knownOf(LOCAL).noteAsksBack();
    other.catalog.flush();
    expect(other.warnings).toHaveLength(2);
    expect(existsSync(taken)).toBe(true);
  });
});

describe('a server’s file', () => {
  test.each<[string, Partial<StdioServer>]>([
    ['command', { command: 'deno' }],
    ['arguments', { args: ['b'] }],
    ['arguments', { args: ['a', ''] }],
    ['environment', { env: { A: '2' } }],
    ['environment', { env: { B: '2', A: '1' } }],
    ['directory', { cwd: '/e' }],
  ])('is another one for another %s: %j', (_, change) => {
    expect(fileFor({ ...LOCAL, ...change })).not.toBe(fileFor(LOCAL));
  });

  test.each<[string, Partial<RemoteServer>]>([
    ['URL', { url: 'https://b.example/' }],
    ['transport', { transport: 'sse' }],
    ['header', { headers: { B: '1', A: '3' } }],
  ])('is another one for another %s: %j', (_, change) => {
    expect(fileFor({ ...REMOTE, ...change })).not.toBe(fileFor(REMOTE));
  });

  test('is the same for another name, another order, and unimportant changes', () => {
    expect(fileFor({ ...LOCAL, name: 'y', description: 'z', timeoutMs: 7, idleMs: 7, trustHints: true })).toBe(
      fileFor(LOCAL),
    );
    expect(fileFor({ ...LOCAL, env: { A: '2', B: '1' } })).toBe(fileFor(LOCAL));
    expect(fileFor({ ...REMOTE, name: 'y', headers: { A: '2', B: '1' } })).toBe(fileFor(REMOTE));
    expect(fileFor(REMOTE)).not.toBe(fileFor(LOCAL));
  });

  test('has a name and content that show no value of the definition', () => {
    const dir = temporaryDir();
    const { catalog } = catalogIn(dir);
    catalog.knownOf({ ...LOCAL, env: { KEY: 'hunter2' }, args: ['hunter3'] }).noteAsksBack();
    catalog.flush();
    const [file] = readdirSync(dir) as [string];
    expect(file).toMatch(/^[0-9a-f]{32}\.json$/);
    expect(readFileSync(join(dir, file), 'utf8')).not.toMatch(/hunter/);
  });
});
