// What is kept from one discovery to the next: the outcome is that of a fresh one, and only what changed is read.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Discovery, type DiscoveryHost, discoverServers, SourceMemory } from '../../../src/discovery/index.ts';
import { deferred } from '../../../src/util/deferred.ts';
import { type MemoryFile, memoryHost } from '../../support/memory-host.ts';
import { runs } from '../../support/runs.ts';

/** A machine whose files change, and that counts who asks for what. */
class ChangingMachine {
  readonly files = new Map<string, MemoryFile>();
  asked: string[] = [];
  /** Every such look fails with this. */
  failure: { readonly word: 'read' | 'list' | 'realpath'; readonly error: Error } | undefined;

  constructor(files: Readonly<Record<string, string | MemoryFile>>) {
    for (const [path, file] of Object.entries(files)) this.write(path, file);
  }

  write(path: string, file: string | MemoryFile): void {
    this.files.set(path, typeof file === 'string' ? { text: file } : file);
  }

  host(cwd = '/home/u/p'): DiscoveryHost {
    const here = (): DiscoveryHost =>
      memoryHost({ platform: 'linux', homedir: '/home/u', cwd, files: Object.fromEntries(this.files) });
    const { files, ...machine } = here();
    const asking =
      <Result>(word: keyof typeof files, ask: (path: string) => Promise<Result>) =>
      (path: string): Promise<Result> => {
        this.asked.push(`${word} ${path}`);
        if (this.failure?.word === word) return Promise.reject(this.failure.error);
        return ask(path);
      };
    return {
      ...machine,
      files: {
        read: asking('read', (path) => here().files.read(path)),
        list: asking('list', (path) => here().files.list(path)),
        realpath: asking('realpath', (path) => here().files.realpath(path)),
      },
    };
  }

  /** What was asked since this was last called. */
  takeAsked(): string[] {
    const asked = this.asked;
    this.asked = [];
    return asked.sort();
  }
}

const ONE = (command: string, more: object = {}): string =>
  JSON.stringify({ mcpServers: { [command]: { command, ...more } } });

const EVERYTHING = {
  '/home/u/.claude.json': ONE('claude'),
  '/home/u/.cursor/mcp.json': ONE('cursor', { envFile: '/home/u/secrets.env' }),
  '/home/u/secrets.env': 'KEY=value',
  '/home/u/.config/opencode/opencode.json': JSON.stringify({
    mcp: { open: { type: 'local', command: ['open', '{file:./arg}'] } },
  }),
  '/home/u/.config/opencode/arg': 'argument',
  '/home/u/.codex/config.toml': '[mcp_servers.codex]\ncommand = "codex"\n',
  '/home/u/MCPs/a.json': ONE('a'),
  '/home/u/MCPs/b.json': ONE('b'),
  '/home/u/.claude/skills/s/.claude-plugin/plugin.json': JSON.stringify({ name: 's', mcpServers: './x.json' }),
  '/home/u/.claude/skills/s/x.json': ONE('skill'),
  '/home/u/p/.git/HEAD': 'ref',
  '/home/u/p/.mcp.json': ONE('project'),
  '/home/u/.kiro/settings/mcp.json': { symlinkTo: '/dotfiles/kiro.json' },
  '/dotfiles/kiro.json': ONE('kiro'),
};

const commandsOf = ({ servers }: Discovery): (string | undefined)[] => servers.map(({ command }) => command).sort();
const faultsOf = ({ diagnostics }: Discovery): string[] =>
  diagnostics.filter(({ code }) => code !== 'wrong-key').map(({ message }) => message);

async function remembered(files: Readonly<Record<string, string | MemoryFile>> = EVERYTHING) {
  const machine = new ChangingMachine(files);
  const memory = new SourceMemory();
  const discover = (cwd?: string): Promise<Discovery> => discoverServers(machine.host(cwd), { memory });
  const first = await discover();
  machine.takeAsked();
  return { machine, memory, discover, first };
}

test('a second discovery asks the host for nothing, and comes to the same', async () => {
  const { machine, discover, first } = await remembered();
  expect(await discover()).toEqual(first);
  expect(machine.takeAsked()).toEqual([]);
  expect(first).toEqual(await discoverServers(machine.host()));
  expect(commandsOf(first)).toEqual(['a', 'b', 'claude', 'codex', 'cursor', 'kiro', 'open', 'project', 'skill']);
});

test('after one file has changed, only that one is read', async () => {
  const { machine, memory, discover } = await remembered();
  machine.write('/home/u/MCPs/a.json', ONE('changed'));
  memory.changed('/home/u/MCPs/a.json');
  expect(commandsOf(await discover())).toContain('changed');
  expect(machine.takeAsked()).toEqual([
    'list /home/u/MCPs',
    'read /home/u/MCPs/a.json',
    'realpath /home/u/MCPs/a.json',
  ]);
});

test.each<[string, object]>([
  ['too many open files', { code: 'EMFILE' }],
  ['an error of ours', {}],
])('%s fails the discovery instead of making files vanish, and the next one finds them', async (_, code) => {
  for (const word of ['list', 'realpath'] as const) {
    const { machine, memory, discover, first } = await remembered();
    memory.changedAll();
    machine.failure = { word, error: Object.assign(new Error('no luck'), code) };
    await expect(discover()).rejects.toThrow('no luck');
    machine.failure = undefined;
    memory.changedAll();
    expect(await discover()).toEqual(first);
  }
});

test('an error of ours while a file is read is not told as a fault of the file', async () => {
  const { machine, memory, discover } = await remembered();
  memory.changedAll();
  machine.failure = { word: 'read', error: new TypeError('no luck') };
  await expect(discover()).rejects.toThrow('no luck');
});

test('in another directory, only that directory’s files are read', async () => {
  const { machine, discover } = await remembered();
  await discover('/home/u/other');
  const asked = machine.takeAsked();
  expect(asked).toContain('read /home/u/other/.mcp.json');
  expect(asked.filter((word) => word.startsWith('read') && !word.includes('/other/'))).toEqual([]);
});

test('files and directories that appear and go are seen', async () => {
  const { machine, memory, discover } = await remembered();
  machine.files.delete('/home/u/MCPs/a.json');
  machine.write('/home/u/MCPs/c.json', ONE('c'));
  memory.changed('/home/u/MCPs/a.json');
  memory.changed('/home/u/MCPs/c.json');
  expect(await discover()).toEqual(await discoverServers(machine.host()));
  for (const name of ['b', 'c']) machine.files.delete(`/home/u/MCPs/${name}.json`);
  memory.changed('/home/u/MCPs');
  machine.files.delete('/home/u/p/.git/HEAD');
  memory.changed('/home/u/p/.git');
  expect(await discover()).toEqual(await discoverServers(machine.host()));
});

test('files that others refer to are read again when they change', async () => {
  const { machine, memory, discover } = await remembered();
  machine.write('/home/u/secrets.env', 'KEY=other');
  machine.files.delete('/home/u/.config/opencode/arg');
  memory.changed('/home/u/secrets.env');
  memory.changed('/home/u/.config/opencode/arg');
  const discovery = await discover();
  expect(discovery).toEqual(await discoverServers(machine.host()));
  expect(discovery.servers.find(({ command }) => command === 'cursor')).toMatchObject({ env: { KEY: 'other' } });
  expect(discovery.diagnostics).toMatchObject([{ code: 'missing-file', path: '/home/u/.config/opencode/arg' }]);
});

test('a change of a link’s target changes the link’s content', async () => {
  const { machine, memory, discover } = await remembered();
  machine.write('/dotfiles/kiro.json', ONE('mended'));
  memory.changed('/dotfiles/kiro.json');
  expect(commandsOf(await discover())).toContain('mended');
  machine.write('/elsewhere/kiro.json', ONE('elsewhere'));
  machine.write('/home/u/.kiro/settings/mcp.json', { symlinkTo: '/elsewhere/kiro.json' });
  memory.changed('/home/u/.kiro/settings/mcp.json');
  expect(commandsOf(await discover())).toContain('elsewhere');
  expect(memory.watched()).toContain('/elsewhere/kiro.json');
  expect(memory.watched()).not.toContain('/dotfiles/kiro.json');
});

const STILL = 'What was read of it before is still used.';

test.each<[string, string | MemoryFile, string]>([
  ['half of it is there', '{"mcpServers": {\n  "x', '/home/u/.cursor/mcp.json:2:3: '],
  ['it is in another encoding', { text: ONE('x'), utf16le: true }, 'is in UTF-16.'],
  ['it is too large', { bytes: Buffer.alloc(5 * 1024 * 1024 + 1, ' ') }, 'is larger than 5 MB.'],
  ['it may not be read', { text: ONE('x'), mode: '000' }, 'cannot be read: EACCES.'],
  ['it is a directory', { dir: true }, 'is not a file.'],
  ['it was emptied', '', 'is empty.'],
])('when a file breaks, because %s, what it said counts on', async (_, file, told) => {
  const path = '/home/u/.cursor/mcp.json';
  const { machine, memory, discover, first } = await remembered({ ...EVERYTHING, [path]: ONE('good') });
  machine.write(path, file);
  const fresh = await discoverServers(machine.host());
  for (let n = 0; n < 2; n++) {
    memory.changed(path);
    const broken = await discover();
    expect(broken.servers).toEqual(first.servers);
    expect(broken.diagnostics).toEqual(
      fresh.diagnostics.map((found) => ({
        ...found,
        message: `${found.message.replace(' Nothing of it is used.', '')} ${STILL}`,
      })),
    );
    expect(faultsOf(broken)).toEqual([expect.stringContaining(told)]);
  }
  machine.write(path, ONE('mended'));
  memory.changed(path);
  const mended = await discover();
  expect(mended.diagnostics).toEqual([]);
  expect(commandsOf(mended)).toContain('mended');
});

test('a deleted file is gone, and broken content after that has no fallback', async () => {
  const path = '/home/u/.cursor/mcp.json';
  const { machine, memory, discover } = await remembered();
  machine.files.delete(path);
  memory.changed(path);
  expect(commandsOf(await discover())).not.toContain('cursor');
  machine.write(path, '{');
  memory.changed(path);
  expect(await discover()).toEqual(await discoverServers(machine.host()));
});

test('a file replaced by a circular link is gone, and reported', async () => {
  const path = '/home/u/.cursor/mcp.json';
  const { machine, memory, discover } = await remembered();
  machine.write(path, { symlinkTo: path });
  machine.write('/home/u/.config/opencode/arg', { symlinkTo: '/home/u/.config/opencode/arg' });
  memory.changed(path);
  memory.changed('/home/u/.config/opencode/arg');
  const discovery = await discover();
  expect(faultsOf(discovery)).toContain(`${path} cannot be read: ELOOP. Nothing of it is used.`);
  expect(discovery).toEqual(await discoverServers(machine.host()));
});

test('an empty file of TOML says nothing, and that counts', async () => {
  const { machine, memory, discover } = await remembered();
  machine.write('/home/u/.codex/config.toml', '');
  memory.changed('/home/u/.codex/config.toml');
  expect(await discover()).toEqual(await discoverServers(machine.host()));
});

test('everything can be read again, and valid contents still count', async () => {
  const { machine, memory, discover, first } = await remembered();
  machine.write('/home/u/.cursor/mcp.json', '{');
  machine.write('/home/u/.claude.json', ONE('new'));
  memory.changedAll();
  const discovery = await discover();
  expect(machine.takeAsked().length).toBeGreaterThan(100);
  expect(commandsOf(discovery)).toEqual([...commandsOf(first).filter((name) => name !== 'claude'), 'new'].sort());
  expect(faultsOf(discovery)).toEqual([expect.stringContaining(STILL)]);
});

test('a directory that becomes unreadable keeps its names', async () => {
  const { machine, memory, first } = await remembered();
  const host = machine.host();
  const denied = Object.assign(new Error('permission denied'), { code: 'EACCES' });
  const list = (dir: string) => (dir === '/home/u/MCPs' ? Promise.reject(denied) : host.files.list(dir));
  memory.changed('/home/u/MCPs');
  const { servers, diagnostics } = await discoverServers({ ...host, files: { ...host.files, list } }, { memory });
  expect(servers).toEqual(first.servers);
  expect(diagnostics).toMatchObject([{ code: 'unreadable', path: '/home/u/MCPs' }]);
});

test('a file that is half written is still read once more', async () => {
  const { machine, memory } = await remembered();
  machine.write('/home/u/.cursor/mcp.json', '{"mcpServers":');
  memory.changed('/home/u/.cursor/mcp.json');
  const pause = async (): Promise<void> => machine.write('/home/u/.cursor/mcp.json', ONE('whole'));
  const discovery = await discoverServers(machine.host(), { memory, pause });
  expect(commandsOf(discovery)).toContain('whole');
  expect(discovery.diagnostics).toEqual([]);
});

test('two discoveries at once read each file once', async () => {
  const machine = new ChangingMachine(EVERYTHING);
  const memory = new SourceMemory();
  const both = await Promise.all([1, 2].map(() => discoverServers(machine.host(), { memory })));
  expect(both[0]).toEqual(both[1]);
  const asked = machine.takeAsked();
  expect(new Set(asked).size).toBe(asked.length);
});

/** A discovery that has read this file, and is held there. */
async function heldAt(path: string, machine: ChangingMachine, memory: SourceMemory) {
  const host = machine.host();
  const [begun, held] = [deferred<void>(), deferred<void>()];
  const read = async (name: string): Promise<Uint8Array | undefined> => {
    const bytes = await host.files.read(name);
    if (name !== path) return bytes;
    begun.resolve();
    await held.promise;
    return bytes;
  };
  const discovery = discoverServers({ ...host, files: { ...host.files, read } }, { memory });
  await begun.promise;
  return { discovery, letGo: held.resolve };
}

test('a file that changes while it is read is read again, and the old text is used nowhere', async () => {
  const path = '/home/u/.cursor/mcp.json';
  const machine = new ChangingMachine({ [path]: ONE('old') });
  const memory = new SourceMemory();
  const discover = (): Promise<Discovery> => discoverServers(machine.host(), { memory });
  const { discovery, letGo } = await heldAt(path, machine, memory);
  machine.write(path, ONE('new'));
  memory.changed(path);
  expect(commandsOf(await discover())).toEqual(['new']);
  letGo();
  expect(commandsOf(await discovery)).toEqual(['old']);
  expect(commandsOf(await discover())).toEqual(['new']);
  machine.write(path, '{');
  memory.changed(path);
  expect(commandsOf(await discover())).toEqual(['new']);
});

test('the same applies to a link’s target before it is known', async () => {
  const machine = new ChangingMachine({
    '/home/u/.cursor/mcp.json': { symlinkTo: '/d/x.json' },
    '/d/x.json': ONE('old'),
  });
  const memory = new SourceMemory();
  const { discovery, letGo } = await heldAt('/home/u/.cursor/mcp.json', machine, memory);
  machine.write('/d/x.json', ONE('new'));
  memory.changed('/d/x.json');
  letGo();
  expect(commandsOf(await discovery)).toEqual(['old']);
  expect(commandsOf(await discoverServers(machine.host(), { memory }))).toEqual(['new']);
});

test('a reading that failed without a word is not kept', async () => {
  const machine = new ChangingMachine({ '/home/u/.cursor/mcp.json': '{' });
  const memory = new SourceMemory();
  const stopped = discoverServers(machine.host(), { memory, pause: () => Promise.reject(new Error('stopped')) });
  await expect(stopped).rejects.toThrow('stopped');
  expect(memory.watched().size).toBe(0);
  expect(faultsOf(await discoverServers(machine.host(), { memory }))).toEqual([expect.stringContaining('mcp.json:1')]);
});

test('each path is told before it is read, and only once', async () => {
  const machine = new ChangingMachine(EVERYTHING);
  const told: string[] = [];
  const memory = new SourceMemory({
    asked: (path) => {
      expect(machine.asked).not.toContain(`read ${path}`);
      expect(machine.asked).not.toContain(`list ${path.slice(0, -1)}`);
      told.push(path);
    },
  });
  await discoverServers(machine.host(), { memory });
  await discoverServers(machine.host(), { memory });
  expect(new Set(told)).toEqual(memory.watched());
  expect(new Set(told).size).toBe(told.length);
  const links = ['/home/u/.kiro/settings/mcp.json', '/dotfiles/kiro.json'];
  const others = ['/home/u/MCPs/', '/home/u/MCPs/a.json', '/home/u/p/.git', '/home/u/secrets.env'];
  for (const path of [...links, ...others, '/home/u/.factory/mcp.json']) expect(told).toContain(path);
});

test('only the paths of each directory’s last discovery are kept', async () => {
  const machine = new ChangingMachine(EVERYTHING);
  const memory = new SourceMemory({ mostDirectories: 2 });
  const discover = (name: string): Promise<Discovery> => discoverServers(machine.host(`/home/u/${name}`), { memory });
  const kept = (): string[] => ['a', 'b', 'c'].filter((name) => memory.watched().has(`/home/u/${name}/.mcp.json`));
  for (const name of ['a', 'b', 'a', 'c']) await discover(name);
  expect(kept()).toEqual(['a', 'c']);
  memory.leave('/home/u/a');
  expect(kept()).toEqual(['c']);
  const size = memory.watched().size;
  for (let n = 0; n < 3; n++) await discover('c');
  expect(memory.watched().size).toBe(size);
  memory.leave('/home/u/c');
  expect(memory.watched().size).toBe(0);
});

const PATHS = [
  ...['/home/u/.claude.json', '/home/u/.cursor/mcp.json', '/home/u/MCPs/a.json', '/home/u/MCPs/b.json'],
  ...['/home/u/p/.mcp.json', '/home/u/p/.cursor/mcp.json', '/home/u/p/.git', '/home/u/q/.mcp.json', '/d/x.json'],
];

const paths = fc.constantFrom(...PATHS);
const steps = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), path: paths, command: fc.constantFrom('x', 'y', 'z') }),
  fc.record({ kind: fc.constant('delete' as const), path: paths }),
  fc.record({ kind: fc.constant('rename' as const), path: paths, to: paths }),
  fc.record({ kind: fc.constant('link' as const), path: paths }),
  fc.record({ kind: fc.constant('discover' as const), cwd: fc.constantFrom('/home/u/p', '/home/u/q') }),
);

type Step = typeof steps extends fc.Arbitrary<infer Each> ? Each : never;

/** The paths that are not any more what they were. */
function take({ files }: ChangingMachine, step: Exclude<Step, { kind: 'discover' }>): string[] {
  const { path } = step;
  switch (step.kind) {
    case 'write':
      files.set(path, { text: ONE(step.command) });
      return [path];
    case 'delete':
      files.delete(path);
      return [path];
    case 'link':
      files.set(path, { symlinkTo: path === '/d/x.json' ? '/d/y.json' : '/d/x.json' });
      return [path];
    case 'rename': {
      const file = files.get(path);
      if (file === undefined) return [];
      files.delete(path);
      files.set(step.to, file);
      return [path, step.to];
    }
  }
}

/** A file is put where its own link leads, while another link leads there too. */
const LOOP: Step[] = [
  { kind: 'link', path: '/home/u/.claude.json' },
  { kind: 'write', path: '/d/x.json', command: 'x' },
  { kind: 'link', path: '/home/u/MCPs/b.json' },
  { kind: 'discover', cwd: '/home/u/p' },
  { kind: 'rename', path: '/home/u/.claude.json', to: '/d/x.json' },
];

test('after any changes, the result equals a discovery without memory, and only changed files are read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 30 }), async (taken) => {
      const machine = new ChangingMachine({});
      const memory = new SourceMemory();
      const seen = new Set<string>();
      let changed = new Set<string>();
      const discover = async (cwd: string): Promise<void> => {
        machine.takeAsked();
        const discovery = await discoverServers(machine.host(cwd), { memory });
        const read = machine.takeAsked().filter((word) => word.startsWith('read '));
        const linked = [...machine.files].filter(([, { symlinkTo }]) => symlinkTo !== undefined).map(([path]) => path);
        const excused = new Set([...changed, ...linked].map((path) => `read ${path}`));
        expect(read.filter((word) => seen.has(word) && !excused.has(word))).toEqual([]);
        for (const word of read) seen.add(word);
        expect(discovery).toEqual(await discoverServers(machine.host(cwd)));
      };
      for (const step of taken) {
        if (step.kind === 'discover') {
          await discover(step.cwd);
          continue;
        }
        const paths = take(machine, step);
        changed = new Set([...changed, ...paths]);
        for (const path of paths) memory.changed(path);
        // Who watches follows links that lead nowhere yet.
        for (const [path, { symlinkTo = '' }] of machine.files) if (paths.includes(symlinkTo)) memory.changed(path);
      }
      for (const cwd of ['/home/u/p', '/home/u/q', '/home/u/p']) await discover(cwd);
    }),
    { numRuns: runs(150), examples: [[LOOP]] },
  );
});
