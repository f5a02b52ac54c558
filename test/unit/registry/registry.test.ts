// The registry of running servers, on real files and with real processes.

import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRegistry, registryText } from '../../../src/local/registry-content.ts';
import { RegistryFile } from '../../../src/local/registry-file.ts';
import { listServers, type RegistryOptions, registerServer, unregisterServer } from '../../../src/registry/index.ts';
import { KeptRegistration } from '../../../src/registry/kept-registration.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { deadPid, idleProcess } from '../../support/other-processes.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const isRoot = process.getuid?.() === 0;

interface Written {
  readonly version: string;
  readonly servers: Record<string, Record<string, unknown>>;
}

function project() {
  const cwd = temporaryDir();
  const file = join(cwd, '.mcp-bridge/mcp_servers.json');
  const options: RegistryOptions = { cwd };
  return {
    ...{ cwd, file, options },
    read: () => JSON.parse(readFileSync(file, 'utf8')) as Written,
    write: (content: unknown): void => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    },
    listed: async () => (await listServers({ cwd, scope: 'project' })).servers.map(({ id }) => id),
  };
}

/** As a program that knows nothing but the format writes it. */
function plainEntry(name: string, pid: number): Record<string, unknown> {
  const http = { enabled: true, host: '0.0.0.0', port: 1338, url: 'http://localhost:1338' };
  return { name, pid, stdio_active: true, http, started_at: '2025-10-27T15:41:59Z', cwd: '/p' };
}

describe('a server', () => {
  test('is written down in the common form, with what tells its process from others', async () => {
    const { cwd, file, options, read } = project();
    const outcome = await registerServer({ name: 'nabu', url: 'http://localhost:1338/mcp', isOnStdio: true }, options);
    const id = `nabu_${process.pid}`;
    expect(outcome).toEqual({ isDone: true, id, file, warnings: [] });
    expect(read()).toEqual({
      version: '1.0',
      servers: {
        [id]: {
          name: 'nabu',
          pid: process.pid,
          stdio_active: true,
          http: { enabled: true, host: 'localhost', port: 1338, url: 'http://localhost:1338/mcp' },
          started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          cwd,
          bootId: expect.any(String),
          processStartTime: expect.any(Number),
          pidNamespace: expect.stringContaining('pid:['),
        },
      },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(cwd, '.mcp-bridge/.gitignore'), 'utf8')).toBe('*\n');
  });

  test('is listed until it unregisters, with where it is reached', async () => {
    const { options, cwd, listed } = project();
    const { id } = await registerServer({ name: 'a b', port: 4000, host: '0.0.0.0', socket: '/run/a.sock' }, options);
    const { servers, warnings } = await listServers({ cwd });
    expect(warnings).toEqual([]);
    expect(servers).toMatchObject([
      { id, name: 'a b', pid: process.pid, url: 'http://localhost:4000', socket: '/run/a.sock', scope: 'project' },
    ]);
    expect(await unregisterServer(id, options)).toMatchObject({ isDone: true, warnings: [] });
    expect(await listed()).toEqual([]);
    expect(await unregisterServer(id, options)).toMatchObject({ isDone: true, warnings: [] });
  });

  test('may be of another process, and goes with it', async () => {
    const { options, listed } = project();
    const child = idleProcess();
    const { id } = await registerServer({ name: 'x', pid: child.pid, port: 4000 }, options);
    expect(await listed()).toEqual([id]);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(await listed()).toEqual([]);
  });

  test.each([
    [{ name: '' }, 'This is no name for a server'],
    [{ name: 'a\nb' }, 'This is no name for a server'],
    [{ name: 'a', url: 'nowhere' }, 'nowhere is no URL'],
    [{ name: 'a', url: 'http://me:hunter2@host:x/?key=s3cret' }, 'http://***@host:x/?*** is no URL'],
    [{ name: 'a', url: 'me:hunter2@host' }, '***@host is no URL'],
    [{ name: 'a', url: 'ftp://me:hunter@2@host/#s3cret' }, 'ftp://***@host/?*** is no URL of a server'],
    [{ name: 'a', url: 'file:///etc/passwd' }, 'file:///etc/passwd is no URL of a server'],
    [{ name: 'a', port: 70_000 }, '70000 is no port'],
    [{ name: 'a', pid: 0 }, '0 is no pid'],
    [{ name: 'a', pid: -1 }, '-1 is no pid'],
  ])('is refused as %j, and nothing is written', async (info, message) => {
    const { cwd, options } = project();
    const outcome = await registerServer(info, options);
    expect(outcome.isDone).toBe(false);
    expect(outcome.warnings.join()).toContain(message);
    expect(readdirSync(cwd)).toEqual([]);
    await expect(registerServer(info, { ...options, strict: true })).rejects.toThrow(message);
  });
});

describe('entries of others', () => {
  test('are kept as they are, with all that nobody here knows', async () => {
    const { options, read, write, listed } = project();
    const other = { ...plainEntry('plain', process.pid), health: { at: 1 } };
    const odd = { name: 'without a pid' };
    write({ version: '1.3', servers: { plain_1: other, odd, __proto__x: 7 }, generator: 'another' });
    const { id } = await registerServer({ name: 'mine' }, options);
    expect(read()).toEqual({
      version: '1.3',
      servers: { plain_1: other, odd, __proto__x: 7, [id]: expect.anything() },
      generator: 'another',
    });
    expect(await listed()).toEqual(['plain_1', id]);
  });

  test('are not listed when their process has ended, and taken out by the next who writes', async () => {
    const { options, file, read, write, listed } = project();
    const own = process.pid;
    const stale = {
      dead: plainEntry('dead', deadPid()),
      reused: { ...plainEntry('reused', own), processStartTime: 1 },
      before: { ...plainEntry('before', own), bootId: 'another boot' },
    };
    write({ version: '1.0', servers: { ...stale, plain: plainEntry('plain', own) } });
    const text = readFileSync(file, 'utf8');
    expect(await listed()).toEqual(['plain']);
    expect(readFileSync(file, 'utf8')).toBe(text);
    const { id } = await registerServer({ name: 'mine' }, options);
    expect(Object.keys(read().servers)).toEqual(['plain', id]);
  });

  test('of another namespace of pids are neither listed nor taken out', async () => {
    const { options, read, write, listed } = project();
    write({ servers: { contained: { ...plainEntry('c', deadPid()), pidNamespace: 'pid:[1]' } } });
    const { id } = await registerServer({ name: 'mine' }, options);
    expect(Object.keys(read().servers)).toEqual(['contained', id]);
    expect(await listed()).toEqual([id]);
  });

  test('that somebody writes without the lock are not lost', async () => {
    const { file, write, read } = project();
    write({ version: '1.0', servers: {} });
    let turns = 0;
    await new RegistryFile(file).change((servers) => {
      if (turns++ < 3) write({ version: '1.0', servers: { [`plain_${turns}`]: plainEntry('plain', process.pid) } });
      servers.set('mine', plainEntry('mine', process.pid));
    });
    expect(turns).toBe(4);
    expect(Object.keys(read().servers)).toEqual(['plain_3', 'mine']);
  });

  test('wait for a program in another language that has the lock', async () => {
    const { options, file, listed } = project();
    mkdirSync(dirname(file), { recursive: true });
    const program = `import fcntl, sys
lock = open(sys.argv[1] + '.lock', 'a+')
fcntl.lockf(lock, fcntl.LOCK_EX)
print('locked', flush=True)
sys.stdin.read()
open(sys.argv[1] + '.done', 'w').close()`;
    const python = spawn('python3', ['-c', program, file], { stdio: ['pipe', 'pipe', 'inherit'] });
    await new Promise((resolve) => python.stdout.once('data', resolve));
    let isRegistered = false;
    const registering = registerServer({ name: 'mine' }, options).then((outcome) => {
      isRegistered = true;
      return outcome;
    });
    await delay(100); // some turns in which it could go wrong
    expect(isRegistered).toBe(false);
    python.stdin.end();
    const { id, warnings } = await registering;
    expect(warnings).toEqual([]);
    expect(existsSync(`${file}.done`)).toBe(true);
    expect(await listed()).toEqual([id]);
  });
});

describe('a file that is not what it should be', () => {
  test.each([
    ['no JSON', 'is not JSON'],
    ['{"version": "1.0", "servers": {"a_1": {"na', 'is not JSON'],
    ['[]', 'is no object'],
    ['{"servers": []}', 'has servers that are no object'],
  ])('%j is told, put aside, and not lost', async (text, problem) => {
    const { cwd, options, file, write, listed } = project();
    write(text);
    const { servers, warnings } = await listServers({ cwd });
    expect([servers, warnings]).toEqual([[], [`${file} ${problem}.`]]);
    expect(readFileSync(file, 'utf8')).toBe(text);
    const outcome = await registerServer({ name: 'mine' }, options);
    expect(outcome.isDone).toBe(true);
    expect(outcome.warnings.join()).toMatch(/It has been put aside as mcp_servers\.json\.broken-/);
    const aside = readdirSync(dirname(file)).find((name) => name.includes('.broken-')) ?? '';
    expect(readFileSync(join(dirname(file), aside), 'utf8')).toBe(text);
    expect(await listed()).toEqual([outcome.id]);
  });

  test.each(['"2.0"', '2', '"next"', '{}'])('version %s is of the future, and stays as it is', async (version) => {
    const { cwd, options, file, write } = project();
    const text = `{"version": ${version}, "servers": {"a_1": {}}}`;
    write(text);
    const outcome = await registerServer({ name: 'mine' }, options);
    expect(outcome.isDone).toBe(false);
    expect(outcome.warnings.join()).toMatch(/which a newer program has written.*Update mcp-bridge/);
    expect((await listServers({ cwd })).warnings.join()).toContain('a newer program');
    expect(await unregisterServer('a_1', options)).toMatchObject({ isDone: false });
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(dirname(file)).sort()).toEqual(['mcp_servers.json', 'mcp_servers.json.lock']);
  });

  test('one that is half written is read when it is whole', async () => {
    const { cwd, write } = project();
    const text = JSON.stringify({ version: '1.0', servers: { plain: plainEntry('plain', process.pid) } });
    write(text.slice(0, 40));
    const listing = listServers({ cwd });
    await delay(20);
    write(text);
    expect(await listing).toMatchObject({ servers: [{ id: 'plain' }], warnings: [] });
  });

  test('a link is not followed, and neither is one to its directory', async () => {
    const { cwd, options, file } = project();
    const elsewhere = join(cwd, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'mcp_servers.json'), '{}');
    mkdirSync(dirname(file));
    symlinkSync(join(elsewhere, 'mcp_servers.json'), file);
    expect((await registerServer({ name: 'a' }, options)).warnings.join()).toContain('is a link');
    expect((await listServers({ cwd })).warnings.join()).toContain('is a link');
    const linked = join(cwd, 'linked');
    mkdirSync(linked);
    symlinkSync(elsewhere, join(linked, '.mcp-bridge'));
    expect((await registerServer({ name: 'a' }, { cwd: linked })).warnings.join()).toContain('or is a link');
    expect(readFileSync(join(elsewhere, 'mcp_servers.json'), 'utf8')).toBe('{}');
  });

  test('one that everybody may write is not used', async () => {
    const { cwd, options, file, write } = project();
    write({ servers: { plain: plainEntry('plain', process.pid) } });
    chmodSync(file, 0o666);
    expect(await listServers({ cwd })).toMatchObject({ servers: [], warnings: [`Everybody may write ${file}`] });
    expect((await registerServer({ name: 'a' }, options)).isDone).toBe(false);
  });

  test.runIf(isRoot)("another user's file is not used", async () => {
    const { cwd, options, file, write } = project();
    write({ servers: { plain: plainEntry('plain', process.pid) } });
    chownSync(file, 12_345, 12_345);
    expect(await listServers({ cwd })).toMatchObject({ servers: [], warnings: [`${file} belongs to another user`] });
    expect((await registerServer({ name: 'a' }, options)).isDone).toBe(false);
  });

  test('one that would be too large to be read is not written: the others in it stay', async () => {
    const { file, options, listed } = project();
    await registerServer({ name: 'small' }, options);
    const outcome = await registerServer({ name: 'large', extra: { log: 'x'.repeat(1024 * 1024) } }, options);
    expect(outcome).toMatchObject({ isDone: false, warnings: [expect.stringContaining(`${file} would be larger`)] });
    expect(await listed()).toEqual([`small_${process.pid}`]);
  });

  test('a directory that cannot be made is a warning', async () => {
    const { cwd } = project();
    writeFileSync(join(cwd, 'file'), '');
    const outcome = await registerServer({ name: 'a' }, { cwd: join(cwd, 'file') });
    expect(outcome.isDone).toBe(false);
    expect(outcome.warnings.join()).toContain('Cannot make the directory');
  });
});

test('whatever a file says beside its servers is written again', () => {
  const others = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(others, fc.dictionary(fc.string(), fc.jsonValue()), (rest, servers) => {
      const content = JSON.parse(JSON.stringify({ ...rest, version: '1.0', servers })) as object;
      const parsed = parseRegistry(JSON.stringify(content));
      if (parsed.kind !== 'content') throw new Error(parsed.kind);
      expect(JSON.parse(registryText(parsed.content))).toEqual(content);
    }),
  );
});

test('an entry that another program has lost is put back', async () => {
  const { cwd, file, write, listed } = project();
  const clock = new FakeClock();
  const warnings: string[] = [];
  const kept = new KeptRegistration({
    info: { name: 'mine', port: 4000 },
    change: { file, own: { pid: process.pid, cwd }, isStrict: false },
    clock,
    warn: (warning) => warnings.push(warning),
  });
  const id = `mine_${process.pid}`;
  await kept.start();
  expect(await listed()).toEqual([id]);
  write({ version: '1.0', servers: { plain: plainEntry('plain', process.pid) } });
  while (!(await listed()).includes(id)) {
    clock.advance(2000);
    await delay(1); // the file is looked at meanwhile
  }
  expect(await listed()).toEqual(['plain', id]);
  await kept.end();
  expect(await listed()).toEqual(['plain']);
  expect([warnings, clock.pending]).toEqual([[], 0]);
});

describe('more that a server says of itself', () => {
  test('stands in its entry, is listed, and may be written again', async () => {
    const { cwd, options, read } = project();
    const info = { name: 'notes', url: 'ws://localhost:4000/mcp', startedAt: '2026-10-27T15:41:59.5Z' };
    const more = { capabilities: ['tools', 'notes'], requestCount: 7, heartbeatAt: new Date('2026-10-27T16:00:00Z') };
    expect(await registerServer({ ...info, ...more }, options)).toMatchObject({ isDone: true, warnings: [] });
    expect(Object.values(read().servers)[0]).toMatchObject({
      http: { enabled: true, host: 'localhost', port: 4000, url: 'ws://localhost:4000/mcp', transport: 'ws' },
      started_at: '2026-10-27T15:41:59Z',
      capabilities: ['tools', 'notes'],
      request_count: 7,
      last_heartbeat: '2026-10-27T16:00:00Z',
    });
    await registerServer({ ...info, ...more, requestCount: 8 }, options);
    const { servers } = await listServers({ cwd, scope: 'project' });
    expect(servers).toMatchObject([
      { url: 'ws://localhost:4000/mcp', capabilities: ['tools', 'notes'], requestCount: 8 },
    ]);
    expect(servers[0]?.heartbeatAt).toBe('2026-10-27T16:00:00Z');
  });

  test('throws nothing, whatever a program without types passes', async () => {
    const { options } = project();
    const nothing = Object.create(null) as object;
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const strange = [undefined, null, 7, nothing, { name: nothing }, { name: 'x', pid: nothing }].concat([
      ...[
        { name: 'x', startedAt: 'yesterday' },
        { name: 'x', startedAt: nothing },
        { name: 'x', extra: circle },
      ],
      ...[
        { name: 'x', url: 7 },
        { name: 'x', capabilities: 'tools' },
        { name: 'x', requestCount: -1 },
      ],
      ...[
        { name: 'x', heartbeatAt: 5 },
        { name: 'x', startedAt: new Date(Number.NaN) },
      ],
    ] as never[]);
    for (const info of strange) {
      const outcome = await registerServer(info as never, options);
      expect([info, outcome.isDone, outcome.warnings.length]).toEqual([info, false, 1]);
    }
    for (const bad of [null, { cwd: 7 }, { file: nothing }])
      expect(await registerServer({ name: 'x' }, bad as never)).toMatchObject({ isDone: false });
  });
});
