import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { definitionHash } from '../../../src/discovery/approval.ts';
import { ApprovalFile } from '../../../src/discovery/approval-file.ts';
import { type DiscoveredServer, discoverServers } from '../../../src/discovery/index.ts';
import { differencesIn } from '../../../src/discovery/remembered-launch.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const NOW = new Date('2026-11-18T12:00:00Z');
const PLACE = '/home/u/p/.cursor/mcp.json';

async function waiting(fields: object, name = 's', path = PLACE): Promise<DiscoveredServer> {
  const files = { [path]: { text: JSON.stringify({ mcpServers: { [name]: fields } }) } };
  const host = memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', files });
  const [server] = (await discoverServers(host)).servers;
  if (server?.state !== 'pending-approval') throw new Error('nothing waits');
  return server;
}

const fileIn = (dir: string): ApprovalFile => new ApprovalFile({ XDG_STATE_HOME: dir }, '/nowhere');

test('without a file nothing is decided, and reading makes none', () => {
  const dir = temporaryDir();
  expect(fileIn(dir).read().get('x')).toBeUndefined();
  expect(fileIn(dir).path).toBe(join(dir, 'mcp-bridge', 'approvals.json'));
  expect(statSync(join(dir, 'mcp-bridge'), { throwIfNoEntry: false })).toBeUndefined();
});

test('a decision is found by its hash, and only for this user', async () => {
  const file = fileIn(temporaryDir());
  const [a, b] = [await waiting({ command: 'a' }), await waiting({ command: 'b' }, 't')];
  await file.decide([a], 'approved', NOW);
  await file.decide([b], 'rejected', NOW);
  expect([a, b].map((server) => file.read().get(definitionHash(server)))).toEqual(['approved', 'rejected']);
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(file.path)).mode & 0o777).toBe(0o700);
});

test('the last decision about one definition counts, and only that is kept', async () => {
  const file = fileIn(temporaryDir());
  const server = await waiting({ command: 'a' });
  await file.decide([server], 'approved', NOW);
  await file.decide([server], 'rejected', NOW);
  expect(file.read().decisions.map(({ decision }) => decision)).toEqual(['rejected']);
  expect(file.read().get(definitionHash(server))).toBe('rejected');
});

test('a definition that comes back is still approved, whatever was decided about the one between', async () => {
  const file = fileIn(temporaryDir());
  const [first, second] = [await waiting({ command: 'a' }), await waiting({ command: 'b' })];
  await file.decide([first], 'approved', NOW);
  await file.decide([second], 'rejected', NOW);
  expect(file.read().get(definitionHash(first))).toBe('approved');
  expect(file.read().get(definitionHash(second))).toBe('rejected');
});

test('several decisions at once are all kept', async () => {
  const dir = temporaryDir();
  const names = Array.from({ length: 12 }, (_, i) => `s${i}`);
  const servers = await Promise.all(names.map((name) => waiting({ command: name }, name)));
  await Promise.all(servers.map((server) => fileIn(dir).decide([server], 'approved', NOW)));
  const stored = fileIn(dir).read();
  expect(servers.map((server) => stored.get(definitionHash(server)))).toEqual(names.map(() => 'approved'));
});

test('it does not grow without end: the oldest decisions go', async () => {
  const file = fileIn(temporaryDir());
  const server = await waiting({ command: 'a' });
  const many = Array.from({ length: 1001 }, (_, i) => ({ ...server, args: [`${i}`] }));
  await file.decide(many, 'approved', NOW);
  const stored = file.read();
  expect(stored.decisions).toHaveLength(1000);
  expect(stored.get(definitionHash(many[0] as DiscoveredServer))).toBeUndefined();
  expect(stored.get(definitionHash(many[1000] as DiscoveredServer))).toBe('approved');
});

describe('a file that cannot be understood', () => {
  test.each([
    ['no JSON', 's3cret', 'is not JSON'],
    ['nothing', '', 'is not JSON'],
    ['another version', '{"version":2,"decisions":[]}', 'is not of a kind that this version knows'],
    ['no list', '{"version":1}', 'does not hold decisions'],
    ['a decision without a hash', '{"version":1,"decisions":[{"decision":"approved"}]}', 'does not hold decisions'],
  ])('is reported with what to do, and stays unchanged: %s', async (_, text, problem) => {
    const file = fileIn(temporaryDir());
    mkdirSync(dirname(file.path), { mode: 0o700 });
    writeFileSync(file.path, text, { mode: 0o600 });
    const failure = expect.objectContaining({
      code: 'FILE_UNUSABLE',
      message: `${file.path} ${problem}`,
      hint: expect.stringContaining('remove it'),
    });
    expect(() => file.read()).toThrow(failure);
    await expect(file.decide([await waiting({ command: 'a' })], 'approved', NOW)).rejects.toThrow(failure);
    expect(readFileSync(file.path, 'utf8')).toBe(text);
  });

  test('so is one that others may write, and a link', async () => {
    const file = fileIn(temporaryDir());
    await file.decide([await waiting({ command: 'a' })], 'approved', NOW);
    chmodSync(file.path, 0o666);
    expect(() => file.read()).toThrow("is not this user's alone");
    const other = fileIn(temporaryDir());
    mkdirSync(dirname(other.path), { mode: 0o700 });
    symlinkSync(file.path, other.path);
    expect(() => other.read()).toThrow('is a link');
  });
});

describe('the differences since a decision', () => {
  const differences = async (before: object, now: object) => {
    const file = fileIn(temporaryDir());
    await file.decide([await waiting(before)], 'approved', NOW);
    const server = await waiting(now);
    const last = file.read().lastBefore(definitionHash(server), server);
    return last && differencesIn(server, last.launch);
  };

  test('is said of each part, with masks where there are secrets', async () => {
    const before = { command: 'npx', args: ['-y', 'a@1', '--api-key', 'one-secret'], env: { A: '1', TOKEN: 'x' } };
    const now = { command: 'npx', args: ['a@2', '--api-key', 'two-secret'], env: { TOKEN: 'y', B: '1' }, cwd: 'sub' };
    expect(await differences(before, now)).toEqual([
      { what: 'cwd', before: '/home/u/p', now: '/home/u/p/sub' },
      { what: 'argument', before: '-y' },
      { what: 'argument', before: 'a@1' },
      { what: 'argument', now: 'a@2' },
      { what: 'argument', before: '***' },
      { what: 'argument', now: '***' },
      { what: 'variable', before: 'A' },
      { what: 'variable', before: 'TOKEN', now: 'TOKEN' },
      { what: 'variable', now: 'B' },
    ]);
  });

  test('is said of addresses and headers as well', async () => {
    const before = { type: 'http', url: 'https://a.example/mcp', headers: { A: '1' } };
    const now = { type: 'sse', url: 'https://b.example/mcp', headers: { A: '2' } };
    expect(await differences(before, now)).toEqual([
      { what: 'transport', before: 'http', now: 'sse' },
      { what: 'url', before: 'https://a.example/mcp', now: 'https://b.example/mcp' },
      { what: 'header', before: 'A', now: 'A' },
    ]);
  });

  test('are none for an undecided place, or for the same definition', async () => {
    const file = fileIn(temporaryDir());
    const server = await waiting({ command: 'a' });
    await file.decide([server], 'approved', NOW);
    expect(file.read().lastBefore(definitionHash(server), server)).toBeUndefined();
    const elsewhere = await waiting({ command: 'b' }, 's', '/home/u/p/.vscode/mcp.json').catch(() => undefined);
    expect(elsewhere && file.read().lastBefore(definitionHash(elsewhere), elsewhere)).toBeUndefined();
  });
});
