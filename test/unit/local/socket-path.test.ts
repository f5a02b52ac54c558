// Another user's files can only be made by root; without it the tests that need them are made of what can be had.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ownUid } from '../../../src/local/owned-path.ts';
import { inspectSocket, MAX_SOCKET_PATH_BYTES, socketPath } from '../../../src/local/socket-path.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { ROOT } from '../../support/test-daemon.ts';

const isRoot = ownUid() === 0;
const ANOTHER_UID = 12_345;

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof BridgeError) return error.code;
    throw error;
  }
  return 'no error';
}

async function listenAt(path: string): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  return server;
}

describe('the socket path', () => {
  const user = { environment: {}, homedir: '/nowhere' };
  const all = { flag: '/f.sock', environment: '/e.sock', config: '/c.sock', cwd: '/work', user };

  test('is by the flag, then the environment, then the config file, then the default', () => {
    const tmp = temporaryDir();
    expect(socketPath({ ...all, tmp })).toEqual({ path: '/f.sock', source: 'flag' });
    expect(socketPath({ ...all, flag: undefined, tmp })).toEqual({ path: '/e.sock', source: 'environment' });
    expect(socketPath({ ...all, flag: '', environment: '', tmp })).toEqual({ path: '/c.sock', source: 'config' });
    expect(socketPath({ user, cwd: '/work', config: '', tmp })).toEqual({
      path: join(tmp, 'mcp-bridge.sock'),
      source: 'default',
    });
  });

  test('may be relative to the working directory', () => {
    expect(socketPath({ user, cwd: '/here', flag: 'a/../b.sock' }).path).toBe('/here/b.sock');
  });

  test('may have 103 bytes, and not 104, by any source', () => {
    expect(MAX_SOCKET_PATH_BYTES).toBe(103);
    for (const source of ['flag', 'environment', 'config'] as const) {
      expect(socketPath({ user, cwd: '/', [source]: `/${'x'.repeat(102)}` }).source).toBe(source);
      expect(codeOf(() => socketPath({ user, cwd: '/', [source]: `/${'x'.repeat(103)}` }))).toBe(
        'SOCKET_PATH_TOO_LONG',
      );
    }
  });

  test('is counted in bytes, and with the directory that it is relative to', () => {
    expect(socketPath({ user, cwd: '/', flag: `/${'é'.repeat(51)}` }).source).toBe('flag');
    expect(codeOf(() => socketPath({ user, cwd: '/', flag: `/x${'é'.repeat(51)}` }))).toBe('SOCKET_PATH_TOO_LONG');
    expect(codeOf(() => socketPath({ user, cwd: `/${'x'.repeat(90)}`, flag: 'y'.repeat(20) }))).toBe(
      'SOCKET_PATH_TOO_LONG',
    );
  });

  test('leaves room in its directory for the name that is bound first', () => {
    expect(socketPath({ user, cwd: '/', flag: `/${'d'.repeat(93)}/s` }).source).toBe('flag');
    expect(codeOf(() => socketPath({ user, cwd: '/', flag: `/${'d'.repeat(94)}/s` }))).toBe('SOCKET_PATH_TOO_LONG');
  });

  test('of 103 bytes can be listened on and is not cut off', async () => {
    const dir = temporaryDir();
    const path = join(dir, 'x'.repeat(102 - Buffer.byteLength(dir)));
    expect(Buffer.byteLength(path)).toBe(103);
    await listenAt(path);
    expect(inspectSocket(path)).toBe('present');
  });
});

describe('the default path', () => {
  interface Place {
    readonly tmp: string;
    readonly state: string;
    readonly look: (environment?: Record<string, string>) => ReturnType<typeof socketPath>;
  }

  /** A shared directory, and a user with a home beside it. */
  function place(): Place {
    const [tmp, homedir] = [temporaryDir(), temporaryDir()];
    const state = join(homedir, '.local/state/mcp-bridge');
    const look = (environment = {}) => socketPath({ cwd: '/', tmp, user: { environment, homedir } });
    return { tmp, state, look };
  }

  function foreignFile(path: string): void {
    writeFileSync(path, '');
    chownSync(path, ANOTHER_UID, ANOTHER_UID);
  }

  /** A record of an own place, as a process that had to fall back leaves it. */
  function recordedPlace({ tmp, state }: Place, mode = 0o700): string {
    const dir = join(tmp, 'mcp-bridge-x7dK');
    mkdirSync(dir);
    chmodSync(dir, mode);
    mkdirSync(state, { recursive: true, mode: 0o700 });
    writeFileSync(join(state, 'socket-1'), `${join(dir, 'mcp-bridge.sock')}\n`, { mode: 0o600 });
    return join(dir, 'mcp-bridge.sock');
  }

  test('stays the default beside files of our own, and records nothing', () => {
    const { tmp, state, look } = place();
    for (const name of ['mcp-bridge.sock', 'mcp-bridge.sock.lock']) writeFileSync(join(tmp, name), '');
    expect(look()).toEqual({ path: join(tmp, 'mcp-bridge.sock'), source: 'default' });
    expect(existsSync(state)).toBe(false);
  });

  test('goes on to be a place of our own while that is in use, though the default is free', () => {
    const here = place();
    const own = recordedPlace(here);
    expect(here.look().source).toBe('default');
    writeFileSync(own, '');
    expect(here.look()).toEqual({ path: own, source: 'fallback' });
    writeFileSync(join(here.tmp, 'mcp-bridge.sock'), '');
    expect(here.look().source).toBe('default');
  });

  test('is not a recorded place that others may look into, or that is a link', () => {
    for (const mode of [0o755, 0o710, 0o701, 0o770]) {
      const open = place();
      writeFileSync(recordedPlace(open, mode), '');
      expect(open.look().source).toBe('default');
    }
    const linked = place();
    const own = recordedPlace(linked);
    writeFileSync(own, '');
    renameSync(join(own, '..'), join(linked.tmp, 'elsewhere'));
    symlinkSync(join(linked.tmp, 'elsewhere'), join(own, '..'));
    expect(linked.look().source).toBe('default');
  });

  test.runIf(isRoot)('is in the runtime directory where another user has the default, or its lock', () => {
    for (const held of ['mcp-bridge.sock', 'mcp-bridge.sock.lock']) {
      const { tmp, look } = place();
      const runtime = temporaryDir();
      chmodSync(runtime, 0o700);
      foreignFile(join(tmp, held));
      const found = { path: join(runtime, 'mcp-bridge.sock'), source: 'fallback' };
      expect(look({ XDG_RUNTIME_DIR: runtime })).toEqual(found);
      expect(look(), 'also for a process that does not know that directory').toEqual(found);
    }
  });

  test.runIf(isRoot)('is in a directory that nobody can guess where there is no runtime directory', () => {
    const { tmp, state, look } = place();
    foreignFile(join(tmp, 'mcp-bridge.sock'));
    const { path, source } = look();
    expect(source).toBe('fallback');
    expect(path.slice(tmp.length)).toMatch(/^\/mcp-bridge-[\w-]{16}\/mcp-bridge\.sock$/);
    expect(lstatSync(join(path, '..')).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(state, 'socket-1')).mode & 0o777).toBe(0o600);
    expect([look(), look({ XDG_RUNTIME_DIR: 'relative' })]).toEqual([
      { path, source },
      { path, source },
    ]);
  });

  test.runIf(isRoot)('is another one when its directory has gone, or is another user’s by now', () => {
    const { tmp, state, look } = place();
    foreignFile(join(tmp, 'mcp-bridge.sock'));
    const first = look().path;
    chownSync(join(first, '..'), ANOTHER_UID, ANOTHER_UID);
    const second = look().path;
    expect(second).not.toBe(first);
    rmdirSync(join(second, '..'));
    const third = look().path;
    expect([third, readdirSync(state)]).toEqual([expect.not.stringMatching(second), ['socket-3']]);
    expect(look().path).toBe(third);
  });

  test.runIf(isRoot)('is not in a runtime directory that others may look into', () => {
    const { tmp, look } = place();
    const runtime = temporaryDir();
    chmodSync(runtime, 0o755);
    foreignFile(join(tmp, 'mcp-bridge.sock'));
    expect(look({ XDG_RUNTIME_DIR: runtime }).path.startsWith(tmp)).toBe(true);
  });

  test.runIf(isRoot)('is the same for processes that fall back at the same moment', async () => {
    const { tmp, state } = place();
    foreignFile(join(tmp, 'mcp-bridge.sock'));
    const program = join(temporaryDir(), 'look.mjs');
    const homedir = join(state, '../../../..');
    await build({
      stdin: {
        contents: `import { socketPath } from './src/local/socket-path.ts';
          const user = { environment: {}, homedir: ${JSON.stringify(homedir)} };
          process.stdout.write(socketPath({ cwd: '/', tmp: ${JSON.stringify(tmp)}, user }).path);`,
        resolveDir: ROOT,
      },
      ...{ bundle: true, platform: 'node', format: 'esm', outfile: program, logLevel: 'silent' },
    });
    const run = promisify(execFile);
    const found = await Promise.all(Array.from({ length: 6 }, () => run(process.execPath, [program])));
    expect(new Set(found.map(({ stdout }) => stdout)).size).toBe(1);
    expect(readdirSync(tmp).filter((name) => name.startsWith('mcp-bridge-'))).toHaveLength(1);
  });
});

describe('what stands at a socket’s path', () => {
  test('is nothing, a socket, or an error', async () => {
    const dir = temporaryDir();
    expect(inspectSocket(join(dir, 'none'))).toBe('absent');
    expect(inspectSocket(join(dir, 'none', 'deeper'))).toBe('absent');
    await listenAt(join(dir, 's'));
    expect(inspectSocket(join(dir, 's'))).toBe('present');
    writeFileSync(join(dir, 'file'), '');
    expect(codeOf(() => inspectSocket(join(dir, 'file')))).toBe('SOCKET_NOT_A_SOCKET');
    expect(codeOf(() => inspectSocket(dir))).toBe('SOCKET_NOT_A_SOCKET');
  });

  test('is not a socket when it is a link to one', async () => {
    const dir = temporaryDir();
    await listenAt(join(dir, 's'));
    symlinkSync('s', join(dir, 'link'));
    expect(codeOf(() => inspectSocket(join(dir, 'link')))).toBe('SOCKET_NOT_A_SOCKET');
  });

  test.runIf(isRoot)('is foreign when another user has it', async () => {
    const dir = temporaryDir();
    await listenAt(join(dir, 's'));
    chownSync(join(dir, 's'), ANOTHER_UID, ANOTHER_UID);
    expect(codeOf(() => inspectSocket(join(dir, 's')))).toBe('SOCKET_FOREIGN');
  });
});
