// The process in which discovery runs, on real files: whatever becomes of it, the servers are those that one process
// would have found that lives for ever.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { EMPTY_CONFIG } from '../../src/config/config.ts';
import { FinderProcess } from '../../src/daemon/finder-process.ts';
import { type FindAnswer, Finding, type FindRequest, KeptSources } from '../../src/discovery/finding.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { isAlive, ROOT, untilGone } from '../support/test-daemon.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

function finderAt(home: string, options: { program?: string; version?: string } = {}) {
  const clock = new FakeClock();
  const pids: number[] = [];
  const watched: string[] = [];
  const settled: string[][] = [];
  const errors: string[] = [];
  let deaths = 0;
  const finder = new FinderProcess({
    program: join(ROOT, 'dist/finder.cjs'),
    version,
    environment: process.env,
    watch: (paths) => watched.push(...paths),
    claimed: () => undefined,
    settled: (paths) => settled.push([...paths]),
    died: () => deaths++,
    clock,
    logger: {
      debug: (_, fields) => {
        if (fields?.pid !== undefined) pids.push(Number(fields.pid));
      },
      info: () => undefined,
      warn: () => undefined,
      error: (message, fields) => errors.push(`${message}: ${fields?.how}`),
    },
    ...options,
  });
  onTestFinished(() => finder.close());
  const requestFor = (dir: string): FindRequest => ({
    dir: join(home, dir),
    own: {
      platform: 'linux',
      environment: { XDG_STATE_HOME: join(home, '.state') },
      homedir: home,
      program: '/opt/mcp-bridge',
      socketPath: join(home, 'b.sock'),
    },
    config: { file: undefined, servers: undefined, config: EMPTY_CONFIG },
    isOwnOnly: false,
  });
  return {
    clock,
    finder,
    pids,
    watched,
    settled,
    errors,
    requestFor,
    deaths: () => deaths,
    pid: () => pids.at(-1) ?? 0,
  };
}

function write(home: string, name: string, text: string): void {
  mkdirSync(dirname(join(home, name)), { recursive: true });
  writeFileSync(join(home, name), text);
}

const one = (command: string): string => JSON.stringify({ mcpServers: { [command]: { command } } });
const namesIn = ({ servers }: FindAnswer): string[] => servers.map(({ name }) => name);

test('is let go when nothing was asked for a while, and another one is started when something is', async () => {
  const home = temporaryDir();
  write(home, '.cursor/mcp.json', one('first'));
  const { clock, finder, pids, requestFor, errors } = finderAt(home);
  expect(namesIn(await finder.find(requestFor('.')))).toEqual(['first']);
  clock.advance(9_000);
  expect(namesIn(await finder.find(requestFor('.')))).toEqual(['first']);
  expect(pids).toHaveLength(1);
  clock.advance(10_000);
  await untilGone(pids[0] ?? 0);
  write(home, '.cursor/mcp.json', one('second'));
  expect(namesIn(await finder.find(requestFor('.')))).toEqual(['second']);
  expect(pids).toHaveLength(2);
  expect(errors).toEqual([]);
});

test('what was good before counts in the next process too, where it is broken now', async () => {
  const home = temporaryDir();
  write(home, '.cursor/mcp.json', one('kept'));
  write(home, '.codex/config.toml', '[mcp_servers.codex]\ncommand = "codex"\n');
  const { clock, finder, pids, requestFor } = finderAt(home);
  await finder.find(requestFor('.'));
  for (const kill of [false, true]) {
    if (kill) process.kill(pids.at(-1) ?? 0, 'SIGKILL');
    else clock.advance(10_000);
    await untilGone(pids.at(-1) ?? 0);
    write(home, '.cursor/mcp.json', '{ "mcpServers": ');
    write(home, '.codex/config.toml', '[mcp_servers');
    const answer = await finder.find(requestFor('.'));
    expect(namesIn(answer).sort()).toEqual(['codex', 'kept']);
    expect(answer.faults).toHaveLength(2);
    for (const fault of answer.faults) expect(fault).toMatch(/before still counts\.$/);
  }
  rmSync(join(home, '.cursor/mcp.json'));
  finder.tell({ what: 'changed', paths: [join(home, '.cursor/mcp.json')] });
  expect(namesIn(await finder.find(requestFor('.')))).toEqual(['codex']);
});

test('what it reads is watched before, and what counts is told when all directories are known to it', async () => {
  const home = temporaryDir();
  const { finder, watched, settled, requestFor } = finderAt(home);
  await finder.find(requestFor('.'));
  expect(watched).toContain(join(home, '.cursor/mcp.json'));
  expect(watched).toContain(join(home, '.state/mcp-bridge/approvals.json'));
  finder.tell({ what: 'settle', dirs: [join(home, '.'), join(home, 'unknown')] });
  finder.tell({ what: 'settle', dirs: [join(home, '.')] });
  await finder.find(requestFor('.'));
  expect(settled.map((paths) => paths.sort())).toEqual([[...new Set(watched)].sort()]);
});

test('one that is killed while it looks is told, and so is who waits; the next one answers', async () => {
  const home = temporaryDir();
  write(home, '.cursor/mcp.json', one('first'));
  const { finder, pid, requestFor, errors, deaths } = finderAt(home);
  await finder.find(requestFor('.'));
  process.kill(pid(), 'SIGSTOP');
  const waiting = [finder.find(requestFor('.')), finder.find(requestFor('elsewhere'))];
  process.kill(pid(), 'SIGKILL');
  for (const each of waiting)
    await expect(each).rejects.toThrow('the process that looks for them was ended by SIGKILL');
  expect(errors).toEqual(['the process that looks for servers has died at it: was ended by SIGKILL']);
  expect(deaths()).toBe(1);
  expect(namesIn(await finder.find(requestFor('.')))).toEqual(['first']);
});

test('one that says nothing for a minute while it is asked is ended', async () => {
  const { finder, clock, pid, requestFor } = finderAt(temporaryDir());
  await finder.find(requestFor('.'));
  process.kill(pid(), 'SIGSTOP');
  const waiting = finder.find(requestFor('.'));
  clock.advance(60_000);
  await expect(waiting).rejects.toThrow('was ended by SIGKILL');
});

test('one that is killed in between is not missed', async () => {
  const { finder, pid, requestFor, errors, deaths } = finderAt(temporaryDir());
  await finder.find(requestFor('.'));
  process.kill(pid(), 'SIGKILL');
  await untilGone(pid());
  expect(namesIn(await finder.find(requestFor('.')))).toEqual([]);
  expect([errors, deaths()]).toEqual([[], 0]);
});

test('one of another version does nothing, and says what to do', async () => {
  const { finder, requestFor, pid } = finderAt(temporaryDir(), { version: '0.0.0' });
  await expect(finder.find(requestFor('.'))).rejects.toThrow(`mcp-bridge has become ${version} meanwhile`);
  await untilGone(pid());
});

test('where the file was gone when the daemon started, it says so, and tries nothing', async () => {
  const { finder, requestFor, deaths } = finderAt(temporaryDir(), { program: '/nowhere/finder.cjs' });
  await expect(finder.find(requestFor('.'))).rejects.toThrow('cannot be started: ENOENT');
  expect(deaths()).toBe(0);
});

const FILES = [
  '.cursor/mcp.json',
  '.codeium/windsurf/mcp_config.json',
  'MCPs/a.json',
  'MCPs/b.json',
  'p/.git/x',
  '.codex/config.toml',
];
const TEXTS = [one('one'), one('two'), one('three'), '{ "mcpServers": ', '', '[mcp_servers.t]\ncommand = "t"\n'];

test('a random schedule of changes, deaths and pauses finds what one process finds', { timeout: 120_000 }, async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ write: fc.constantFrom(...FILES), text: fc.constantFrom(...TEXTS) }) },
    { weight: 2, arbitrary: fc.record({ remove: fc.constantFrom(...FILES) }) },
    { weight: 1, arbitrary: fc.constantFrom({ end: 'idle' as const }, { end: 'killed' as const }) },
    { weight: 3, arbitrary: fc.constant({ look: true }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const home = temporaryDir();
      mkdirSync(join(home, 'p'));
      const { clock, finder, pids, requestFor } = finderAt(home);
      const reference = new Finding({ asked: () => undefined, kept: new KeptSources() });
      const compare = async (): Promise<void> => {
        for (const dir of ['.', 'p'])
          expect(await finder.find(requestFor(dir))).toEqual(carried(await reference.find(requestFor(dir))));
      };
      await compare();
      for (const each of steps) {
        if ('look' in each) await compare();
        else if ('end' in each) {
          if (each.end === 'idle') clock.advance(10_000);
          else if (isAlive(pids.at(-1) ?? 0)) process.kill(pids.at(-1) ?? 0, 'SIGKILL');
          await untilGone(pids.at(-1) ?? 0);
        } else {
          const name = 'write' in each ? each.write : each.remove;
          if ('write' in each) write(home, name, each.text);
          else rmSync(join(home, name), { force: true });
          finder.tell({ what: 'changed', paths: [join(home, name), join(home, dirname(name))] });
          reference.changed([join(home, name), join(home, dirname(name))]);
        }
      }
      await compare();
      finder.close();
    }),
    { numRuns: 12 },
  );
});

function carried(answer: FindAnswer): unknown {
  return JSON.parse(JSON.stringify(answer));
}
