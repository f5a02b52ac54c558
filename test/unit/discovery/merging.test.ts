// What must hold of any set of files: the outcome follows the rules and nothing else, and says no secret.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Discovery, type DiscoveryHost, discoverServers } from '../../../src/discovery/index.ts';
import { signatureOf } from '../../../src/discovery/signature.ts';
import { type MemoryFile, memoryHost } from '../../support/memory-host.ts';

const SECRET = 'sUp3rs3cr3t';

const names = fc.constantFrom('a', 'b', 'c', 'my server', '__proto__', 'constructor');
const values = fc.dictionary(fc.constantFrom('K', 'L'), fc.constantFrom(`${SECRET}1`, `${SECRET}2`), { maxKeys: 2 });
const definitions = fc.oneof(
  fc.record({
    command: fc.constantFrom('npx', 'one', './two', ''),
    args: fc.subarray(['-y', '@s/p', '@s/p@1.0.0', './x']),
    env: values,
  }),
  fc.record({
    url: fc.constantFrom('https://x.example/mcp', 'https://X.example:443/mcp/', `https://x.example/?k=${SECRET}`, ''),
    headers: values,
  }),
  fc.constantFrom(7, null, [], { enabled: false }, { type: 'sdk' }, { command: 'c', args: 'none' }),
);
const maps = fc.array(fc.tuple(names, definitions), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs));

const PLACES: readonly (readonly [file: string, key: string])[] = [
  ['/home/u/.claude.json', 'mcpServers'],
  ['/home/u/.cursor/mcp.json', 'mcpServers'],
  ['/home/u/proj/.cursor/mcp.json', 'mcpServers'],
  ['/home/u/proj/.mcp.json', 'mcpServers'],
  ['/home/u/proj/.vscode/mcp.json', 'servers'],
  ['/home/u/.config/opencode/opencode.json', 'mcp'],
  ['/home/u/proj/opencode.json', 'mcp'],
  ['/home/u/MCPs/one.json', 'mcpServers'],
  ['/home/u/MCPs/two.json', 'mcpServers'],
];

const machines = fc.tuple(...PLACES.map(() => fc.option(maps, { freq: 3 }))).map((contents) =>
  contents.flatMap((map, i): [string, MemoryFile][] => {
    const [file = '', key = ''] = PLACES[i] ?? [];
    return map === null ? [] : [[file, { text: JSON.stringify({ [key]: map }) }]];
  }),
);

function hostOf(files: readonly (readonly [string, MemoryFile])[]): DiscoveryHost {
  return memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u/proj', files: Object.fromEntries(files) });
}

/** The same machine with a disk that answers in another order. */
function shuffled(host: DiscoveryHost, turns: readonly number[]): DiscoveryHost {
  let next = 0;
  const late = async <Result>(task: () => Promise<Result>): Promise<Result> => {
    for (let n = turns[next++ % turns.length] ?? 0; n > 0; n--) await Promise.resolve();
    return task();
  };
  const { read, list, realpath } = host.files;
  return {
    ...host,
    files: {
      read: (path) => late(() => read(path)),
      list: async (dir) => (await late(() => list(dir))).toReversed(),
      realpath: (path) => late(() => realpath(path)),
    },
  };
}

const turnLists = fc.array(fc.nat(40), { minLength: 1, maxLength: 30 });

test('the order in which a disk answers changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(machines, turnLists, async (files, turns) => {
      const usual = await discoverServers(hostOf(files));
      expect(await discoverServers(shuffled(hostOf(files.toReversed()), turns))).toEqual(usual);
    }),
  );
});

test('ids and aliases are all different, and no name is lost', async () => {
  await fc.assert(
    fc.asyncProperty(machines, async (files) => {
      const { servers } = await discoverServers(hostOf(files));
      expect(new Set(servers.map(({ id }) => id)).size).toBe(servers.length);
      expect(new Set(servers.map(({ alias }) => alias)).size).toBe(servers.length);
      expect(servers.map(({ name }) => name)).not.toContain('__proto__');
      for (const { alias } of servers) expect(alias).toMatch(/^[a-z_][a-z0-9_]*$/);
    }),
  );
});

test('of equal servers one is ready, and each duplicate refers to a ready one', async () => {
  await fc.assert(
    fc.asyncProperty(machines, async (files) => {
      const { servers } = await discoverServers(hostOf(files));
      const keysOf = (state: string): string[] =>
        servers.filter((server) => server.state === state).map((server) => signatureOf(server).key);
      const ready = keysOf('ready');
      expect(new Set(ready).size).toBe(ready.length);
      expect(ready).toEqual(expect.arrayContaining(keysOf('duplicate')));
    }),
  );
});

test('within a client one name is ready once, but for files that are listed apart', async () => {
  await fc.assert(
    fc.asyncProperty(machines, fc.constantFrom('scope' as const, 'first-wins' as const), async (files, precedence) => {
      const { servers } = await discoverServers(hostOf(files), { precedence });
      const ready = servers.filter(({ state }) => state === 'ready' || state === 'duplicate');
      const keys = ready.map(({ client, name }) => (precedence === 'scope' ? `${client}:${name}` : name));
      expect(new Set(keys).size).toBe(keys.length);
    }),
  );
});

test('a project can only switch off the user’s servers', async () => {
  await fc.assert(
    fc.asyncProperty(machines, async (files) => {
      const own = files.filter(([path]) => !path.startsWith('/home/u/proj/'));
      const launches = ({ servers }: Discovery, states = ['ready']) =>
        servers
          .filter(({ state, scope }) => states.includes(state) && scope === 'user')
          .map(({ id, client, name, command, args, env, url }) => ({ id, client, name, command, args, env, url }));
      const ownFound = await discoverServers(hostOf(own));
      const after = launches(await discoverServers(hostOf(files)));
      const isOpencode = ({ client }: { client: string }): boolean => client === 'opencode';
      // OpenCode merges the fields of both: what is switched off, its twins, and their names elsewhere may change.
      const mergesFields = own.some(([path]) => path.includes('opencode'));
      if (!mergesFields) expect(after).toEqual(launches(ownFound));
      // A twin of what is switched off is ready now.
      else
        expect(launches(ownFound, ['ready', 'duplicate']).filter(isOpencode)).toEqual(
          expect.arrayContaining(after.filter(isOpencode)),
        );
    }),
  );
});

test('nothing that is shown holds a value of env, headers, or a query', async () => {
  await fc.assert(
    fc.asyncProperty(machines, async (files) => {
      const { servers, ...shown } = await discoverServers(hostOf(files));
      const ofServers = servers.map(({ id, alias, name, pointer, reason, inputs, state }) => [
        ...[id, alias, name, pointer, reason, inputs, state],
      ]);
      expect(JSON.stringify([shown, ofServers])).not.toContain(SECRET);
    }),
  );
});
