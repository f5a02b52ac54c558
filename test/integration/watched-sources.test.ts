// The memory of discovery and the watcher of paths together, on real files: after each change the next discovery comes
// to what a fresh one does.

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Discovery, discoverServers, nodeDiscoveryHost, SourceMemory } from '../../src/discovery/index.ts';
import { PathWatcher } from '../../src/local/path-watcher.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const ONE = (command: string): string => JSON.stringify({ mcpServers: { [command]: { command } } });

function watchedHome() {
  const home = temporaryDir();
  const at = (name: string): string => join(home, name);
  mkdirSync(at('project'));
  const self = { bins: [], packages: [], endpoints: [] };
  const host = nodeDiscoveryHost({ platform: 'linux', homedir: home, cwd: at('project'), env: {}, self });
  const clock = new FakeClock();
  const reloads: string[][] = [];
  const watcher: PathWatcher = new PathWatcher({
    clock,
    quietMs: 200,
    mostQuietMs: 2000,
    changed: (paths) => {
      for (const path of paths) memory.changed(path);
      reloads.push([...paths]);
    },
    failed: (dir, error) => expect.unreachable(`${dir}: ${error.message}`),
  });
  const memory = new SourceMemory({ asked: (path) => void watcher.add(path) });
  onTestFinished(() => watcher.close());
  return {
    at,
    host,
    reloads,
    write: (name: string, text: string): void => {
      mkdirSync(dirname(at(name)), { recursive: true });
      writeFileSync(at(name), text);
    },
    discover: async (): Promise<Discovery> => {
      const discovery = await discoverServers(host, { memory });
      watcher.watch(memory.watched());
      return discovery;
    },
    /** Until a change has been told. */
    reload: async (): Promise<void> => {
      for (const before = reloads.length; reloads.length === before; clock.advance(200)) await setImmediate();
    },
  };
}

test('whatever is done to the files, the next discovery knows it', async () => {
  const { at, host, write, discover, reload } = watchedHome();
  const steps: (() => void)[] = [
    () => write('.cursor/mcp.json', ONE('first')),
    () => write('.cursor/mcp.json', ONE('second')),
    () => write('MCPs/a.json', ONE('a')),
    () => write('MCPs/b.json', ONE('b')),
    () => rmSync(at('MCPs/a.json')),
    () => mkdirSync(at('project/.git')),
    () => write('.claude/skills/s/.claude-plugin/plugin.json', JSON.stringify({ name: 's', mcpServers: './x.json' })),
    () => write('.claude/skills/s/x.json', ONE('skill')),
    () => {
      write('dotfiles/kiro.json', ONE('kiro'));
      mkdirSync(at('.kiro/settings'), { recursive: true });
      symlinkSync('../../dotfiles/kiro.json', at('.kiro/settings/mcp.json'));
    },
    () => write('dotfiles/kiro.json', ONE('relinked')),
    () => renameSync(at('MCPs'), at('elsewhere')),
    () => renameSync(at('elsewhere'), at('MCPs')),
    () => rmSync(at('.cursor'), { recursive: true }),
    () => write('project/.mcp.json', ONE('project')),
  ];
  expect((await discover()).servers).toEqual([]);
  for (const step of steps) {
    step();
    await reload();
    expect(await discover()).toEqual(await discoverServers(host));
  }
  const names = (await discover()).servers.map(({ name }) => name);
  expect(names.sort()).toEqual(['b', 'plugin:s:skill', 'project', 'relinked']);
});

test('changes of other files cause no reload', async () => {
  const { write, discover, reload, reloads, at } = watchedHome();
  await discover();
  for (const name of ['.bash_history', 'project/main.ts', 'project/.git-credentials', '.cursor-old/mcp.json'])
    write(name, 'x');
  write('.cursor/mcp.json', ONE('first'));
  await reload();
  expect(reloads.flat().every((path) => path.startsWith(at('.cursor/')))).toBe(true);
});
