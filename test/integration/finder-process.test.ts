// The process in which discovery runs, on real files: whatever becomes of it, the servers are those that one process
// would have found that lives for ever.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { EMPTY_CONFIG } from '../../src/config/config.ts';
import { FinderProcess } from '../../src/daemon/finder-process.ts';
import { type FindAnswer, type FindRequest, KeptSources, ServerSearch } from '../../src/discovery/finding.ts';
import { isAsMarked } from '../../src/local/path-mark.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { runs } from '../support/runs.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { ROOT, untilGone } from '../support/test-daemon.ts';

const CODE = readFileSync(join(ROOT, 'dist/later/finder.cjs.gz'));

function finderAt(home: string) {
  const clock = new FakeClock();
  const pids: number[] = [];
  const answered: { dir: string; paths: readonly string[]; marks: ReadonlyMap<string, string | undefined> }[] = [];
  const errors: string[] = [];
  let deaths = 0;
  const request = (): Omit<FindRequest, 'dir'> => ({
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
  const finder = new FinderProcess({
    program: join(ROOT, 'dist/finder.cjs'),
    code: CODE,
    environment: process.env,
    request,
    answered: ({ dir, paths, markOf }) =>
      answered.push({ dir, paths, marks: new Map(paths.map((path) => [path, markOf(path)])) }),
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
  });
  onTestFinished(() => finder.close());
  return {
    clock,
    finder,
    pids,
    answered,
    errors,
    requestFor: (dir: string): FindRequest => ({ ...request(), dir: join(home, dir) }),
    find: (dir: string) => finder.find(join(home, dir)),
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

test('each process answers once and ends; directories that are asked for together share one', async () => {
  const home = temporaryDir();
  mkdirSync(join(home, 'p'));
  write(home, '.cursor/mcp.json', one('first'));
  const { find, pids, answered, errors } = finderAt(home);
  const [here, there] = await Promise.all([find('.'), find('p'), find('.')]);
  expect([here, there].map((answer) => answer && namesIn(answer))).toEqual([['first'], ['first']]);
  expect(answered.map(({ dir }) => dir)).toEqual([join(home, '.'), join(home, 'p')]);
  expect(pids).toHaveLength(1);
  await untilGone(pids[0] ?? 0);
  write(home, '.cursor/mcp.json', one('second'));
  expect(namesIn(await find('.'))).toEqual(['second']);
  expect(pids).toHaveLength(2);
  expect(errors).toEqual([]);
});

test('a process that was started in advance takes the first request, or is let go when none comes', async () => {
  const { clock, finder, find, pids, errors } = finderAt(temporaryDir());
  finder.prepare();
  await find('.');
  expect(pids).toHaveLength(1);
  await untilGone(pids[0] ?? 0);
  finder.prepare();
  finder.prepare();
  clock.advance(10_000);
  await untilGone(pids[1] ?? 0);
  expect([pids.length, errors]).toEqual([2, []]);
  expect(namesIn(await find('.'))).toEqual([]);
});

test('in the next process too, the last valid content replaces broken content', async () => {
  const home = temporaryDir();
  write(home, '.cursor/mcp.json', one('kept'));
  write(home, '.codex/config.toml', '[mcp_servers.codex]\ncommand = "codex"\n');
  const { finder, find, pid } = finderAt(home);
  await find('.');
  for (const kill of [false, true]) {
    if (kill) {
      finder.prepare();
      process.kill(pid(), 'SIGKILL');
      await untilGone(pid());
    }
    write(home, '.cursor/mcp.json', '{ "mcpServers": ');
    write(home, '.codex/config.toml', '[mcp_servers');
    const answer = await find('.');
    expect(namesIn(answer).sort()).toEqual(['codex', 'kept']);
    expect(answer.faults).toHaveLength(2);
    for (const fault of answer.faults) expect(fault).toMatch(/before is still used\.$/);
  }
  rmSync(join(home, '.cursor/mcp.json'));
  expect(namesIn(await find('.'))).toEqual(['codex']);
});

test('an answer comes with the paths that it depends on, each marked as it was before it was read', async () => {
  const home = temporaryDir();
  mkdirSync(join(home, 'p'));
  write(home, '.cursor/mcp.json', one('first'));
  const file = join(home, '.cursor/mcp.json');
  await new Promise((resolve) => setTimeout(resolve, 30)); // the clock of the file system has gone on
  const { find, answered } = finderAt(home);
  await Promise.all([find('.'), find('p')]);
  for (const { paths, marks } of answered) {
    expect(paths).toContain(join(home, '.state/mcp-bridge/approvals.json'));
    expect(isAsMarked(file, marks.get(file) ?? '')).toBe(true);
    expect([...marks.values()]).not.toContain(undefined);
  }
  write(home, '.cursor/mcp.json', one('other'));
  for (const { marks } of answered) expect(isAsMarked(file, marks.get(file) ?? '')).toBe(false);
});

test('a finder killed during a search is reported, the waiting caller gets an error, and the next one answers', async () => {
  const home = temporaryDir();
  write(home, '.cursor/mcp.json', one('first'));
  const { finder, find, pid, errors, deaths } = finderAt(home);
  finder.prepare();
  process.kill(pid(), 'SIGSTOP');
  const waiting = [find('.'), find('elsewhere')].map((each) => expect(each).rejects.toThrow(DEATH));
  await new Promise(setImmediate);
  process.kill(pid(), 'SIGKILL');
  await Promise.all(waiting);
  expect(errors).toEqual(['the process that looks for servers died: was ended by SIGKILL']);
  expect(deaths()).toBe(1);
  expect(namesIn(await find('.'))).toEqual(['first']);
});
const DEATH = 'the process that looks for them was ended by SIGKILL';

test('one that says nothing for a minute while it is asked is ended', async () => {
  const { finder, clock, pid, find } = finderAt(temporaryDir());
  finder.prepare();
  process.kill(pid(), 'SIGSTOP');
  const waiting = expect(find('.')).rejects.toThrow('was ended by SIGKILL');
  await new Promise(setImmediate);
  clock.advance(60_000);
  await waiting;
});

test('one that is killed before it is asked is not missed', async () => {
  const { finder, pid, pids, find, errors, deaths } = finderAt(temporaryDir());
  finder.prepare();
  process.kill(pid(), 'SIGKILL');
  await untilGone(pid());
  expect(namesIn(await find('.'))).toEqual([]);
  expect([pids.length, errors, deaths()]).toEqual([2, [], 0]);
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
      const { clock, finder, find, pid, requestFor } = finderAt(home);
      const kept = new KeptSources();
      const compare = async (): Promise<void> => {
        const reference = new ServerSearch({ asked: () => undefined, kept });
        for (const dir of ['.', 'p']) expect(await find(dir)).toEqual(carried(await reference.find(requestFor(dir))));
      };
      await compare();
      for (const each of steps) {
        if ('look' in each) await compare();
        else if ('end' in each) {
          await untilGone(pid());
          finder.prepare();
          if (each.end === 'idle') clock.advance(10_000);
          else process.kill(pid(), 'SIGKILL');
          await untilGone(pid());
        } else {
          const name = 'write' in each ? each.write : each.remove;
          if ('write' in each) write(home, name, each.text);
          else rmSync(join(home, name), { force: true });
        }
      }
      await compare();
      finder.close();
    }),
    { numRuns: runs(20) },
  );
});

function carried(answer: FindAnswer): unknown {
  return JSON.parse(JSON.stringify(answer));
}
