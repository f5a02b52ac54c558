// An id means one definition for good: others that come and go change nothing about it.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EMPTY_CONFIG } from '../../../src/config/config.ts';
import { NO_CONFIG } from '../../../src/config/load.ts';
import { NOTHING_SEEN } from '../../../src/discovery/approval.ts';
import { HeldNamesFile } from '../../../src/discovery/held-names.ts';
import { type DiscoveredServer, discoverServers, type HeldNames } from '../../../src/discovery/index.ts';
import { discoverHere } from '../../../src/discovery/own-discovery.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { runs } from '../../support/runs.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const CLIENTS: Readonly<Record<string, string>> = {
  'claude-code': '/home/u/.claude.json',
  cursor: '/home/u/.cursor/mcp.json',
  kiro: '/home/u/.kiro/settings/mcp.json',
  windsurf: '/home/u/.codeium/windsurf/mcp_config.json',
};
const NAMES = ['memory', 'memory-cursor', 'context7', 'memory-cursor-user'];

type Machine = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What stands in the files of these clients: their servers, each with what it starts. */
async function look(machine: Machine, heldNames: HeldNames, own: Readonly<Record<string, string>> = {}) {
  const files = Object.entries(machine).map(([client, servers]) => {
    const mcpServers = Object.fromEntries(Object.entries(servers).map(([name, command]) => [name, { command }]));
    return [CLIENTS[client] ?? '', { text: JSON.stringify({ mcpServers }) }] as const;
  });
  const host = memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u', files: Object.fromEntries(files) });
  const servers = Object.fromEntries(Object.entries(own).map(([name, command]) => [name, { command }]));
  const found = await discoverServers(host, { heldNames, ownConfig: { file: '/home/u/own.json', servers } });
  return { ...found, held: new Map([...heldNames, ...found.givenNames]) };
}

const placeOf = ({ client, name }: DiscoveredServer): string => `${client}:${name}`;
const commandOf = (servers: readonly DiscoveredServer[], id: string): string | undefined =>
  servers.find((server) => server.id === id && server.state === 'ready')?.command;

describe('ids of definitions', () => {
  test('mean the same definition, whatever comes and goes', async () => {
    const servers = fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom('one', 'two', 'three'), {
      noNullPrototype: true,
    });
    const machines = fc.record(Object.fromEntries(Object.keys(CLIENTS).map((client) => [client, servers])), {
      requiredKeys: [],
      noNullPrototype: true,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(machines, { minLength: 2, maxLength: 6 }), async (sequence) => {
        const meant = new Map<string, string>();
        let held: HeldNames = new Map();
        for (const machine of sequence) {
          const found = await look(machine as Machine, held);
          held = found.held;
          const offered = found.servers.filter(({ state }) => state === 'ready' || state === 'duplicate');
          for (const server of offered) {
            expect(meant.get(server.id) ?? placeOf(server)).toBe(placeOf(server));
            meant.set(server.id, placeOf(server));
          }
          expect(new Set(found.servers.map(({ id }) => id)).size).toBe(found.servers.length);
        }
      }),
      { numRuns: runs(100) },
    );
  });

  test('stay when the definition that came first goes', async () => {
    const both = await look({ 'claude-code': { memory: 'a' }, cursor: { memory: 'b' } }, new Map());
    expect(commandOf(both.servers, 'memory-cursor')).toBe('b');
    const { servers } = await look({ cursor: { memory: 'b' } }, both.held);
    expect(commandOf(servers, 'memory-cursor')).toBe('b');
    expect(commandOf(servers, 'memory')).toBeUndefined();
  });

  test('stay when one of an earlier client comes', async () => {
    const { held } = await look({ kiro: { memory: 'k' } }, new Map());
    const { servers } = await look({ 'claude-code': { memory: 'a' }, kiro: { memory: 'k' } }, held);
    expect(commandOf(servers, 'memory')).toBe('k');
    expect(commandOf(servers, 'memory-claude-code')).toBe('a');
  });

  test('are not taken over by the config of the bridge when it takes one of them in', async () => {
    const both = await look({ 'claude-code': { memory: 'a' }, cursor: { memory: 'b' } }, new Map());
    const { servers } = await look({ cursor: { memory: 'b' } }, both.held, { memory: 'a' });
    expect(commandOf(servers, 'memory')).toBe('a');
    expect(commandOf(servers, 'memory-cursor')).toBe('b');
  });

  test('are not held by unapproved servers of a project, even if they are switched off', async () => {
    const servers = {
      memory: { command: 'x', disabled: true },
      context7: { command: 'x', disabled: true },
      on: { command: 'x' },
    };
    const host = memoryHost({
      platform: 'linux',
      homedir: '/home/u',
      cwd: '/home/u/repo',
      files: {
        '/home/u/repo/.git/HEAD': { text: '' },
        '/home/u/repo/.kiro/settings/mcp.json': { text: JSON.stringify({ mcpServers: servers }) },
        '/home/u/.cursor/mcp.json': { text: JSON.stringify({ mcpServers: { mine: { command: 'm' } } }) },
      },
    });
    const found = await discoverServers(host, {});
    expect(found.servers.map(({ name, state }) => [name, state]).sort()).toEqual([
      ['context7', 'disabled'],
      ['memory', 'disabled'],
      ['mine', 'ready'],
      ['on', 'pending-approval'],
    ]);
    expect([...found.givenNames.values()]).toEqual(['mine']);
  });

  test('in the config replace the server with that id', async () => {
    const alone = await look({ cursor: { memory: 'b' } }, new Map());
    const { servers } = await look({ cursor: { memory: 'b' } }, alone.held, { memory: 'mine' });
    expect(commandOf(servers, 'memory')).toBe('mine');
    expect(servers.find(({ client }) => client === 'cursor')?.state).toBe('shadowed');
  });
});

describe('the file of ids', () => {
  function home() {
    const homedir = temporaryDir();
    const environment = { HOME: homedir };
    const own = {
      platform: 'linux',
      environment,
      homedir,
      program: join(homedir, 'mcp-bridge'),
      socketPath: '/x.sock',
    };
    const put = (file: string, servers: Readonly<Record<string, string>>) => {
      const path = join(homedir, file);
      mkdirSync(dirname(path), { recursive: true });
      const mcpServers = Object.fromEntries(Object.entries(servers).map(([name, command]) => [name, { command }]));
      writeFileSync(path, JSON.stringify({ mcpServers }));
      return path;
    };
    const discover = (keepsNames = true) =>
      discoverHere(own, {
        cwd: homedir,
        config: { ...NO_CONFIG, config: EMPTY_CONFIG },
        approvals: new Map(),
        seenApprovals: NOTHING_SEEN,
        keepsNames,
      });
    return { environment, homedir, put, discover, file: new HeldNamesFile(environment, homedir) };
  }

  test('keeps them from one process to the next', async () => {
    const { put, discover } = home();
    const claude = put('.claude.json', { memory: 'a' });
    put('.cursor/mcp.json', { memory: 'b' });
    await discover();
    rmSync(claude);
    const { servers } = await discover();
    expect(servers.map(({ id }) => id)).toEqual(['memory-cursor']);
  });

  test('is not written by read-only commands', async () => {
    const { put, discover, file } = home();
    put('.cursor/mcp.json', { memory: 'b' });
    await discover(false);
    expect(file.read().size).toBe(0);
  });

  test('gives no id to two, whoever is first to write it down', async () => {
    const { file } = home();
    expect(await file.add(new Map([['x', 'memory']]))).toBe(true);
    expect(await file.add(new Map([['y', 'memory']]))).toBe(false);
    expect(await file.add(new Map([['x', 'other']]))).toBe(false);
    expect(
      await file.add(
        new Map([
          ['x', 'memory'],
          ['z', 'zed'],
        ]),
      ),
    ).toBe(true);
    expect([...file.read()]).toEqual([
      ['x', 'memory'],
      ['z', 'zed'],
    ]);
  });

  test('that is broken is reported, and left unchanged', async () => {
    const { put, discover, file } = home();
    put('.cursor/mcp.json', { memory: 'b' });
    await discover();
    writeFileSync(file.path, '{}', { mode: 0o600 });
    const { servers, diagnostics } = await discover();
    expect(servers.map(({ id }) => id)).toEqual(['memory']);
    expect(diagnostics.map(({ message }) => message).join()).toContain('names.json does not hold names');
    expect(readFileSync(file.path, 'utf8')).toBe('{}');
  });
});
