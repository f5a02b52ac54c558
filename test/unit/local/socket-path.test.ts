// Another user's files can only be made by root; without it the tests that need them are made of what can be had.

import { chownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ownUid } from '../../../src/local/owned-path.ts';
import { inspectSocket, lockPathOf, MAX_SOCKET_PATH_BYTES, socketPath } from '../../../src/local/socket-path.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

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
  const all = { flag: '/f.sock', environment: '/e.sock', config: '/c.sock', cwd: '/work' };

  test('is by the flag, then the environment, then the config file, then the default', () => {
    const tmp = temporaryDir();
    expect(socketPath({ ...all, tmp })).toEqual({ path: '/f.sock', source: 'flag' });
    expect(socketPath({ ...all, flag: undefined, tmp })).toEqual({ path: '/e.sock', source: 'environment' });
    expect(socketPath({ ...all, flag: '', environment: '', tmp })).toEqual({ path: '/c.sock', source: 'config' });
    expect(socketPath({ cwd: '/work', config: '', tmp })).toEqual({
      path: join(tmp, 'mcp-bridge.sock'),
      source: 'default',
    });
  });

  test('may be relative to the working directory', () => {
    expect(socketPath({ cwd: '/here', flag: 'a/../b.sock' }).path).toBe('/here/b.sock');
  });

  test('may have 103 bytes, and not 104, by any source', () => {
    expect(MAX_SOCKET_PATH_BYTES).toBe(103);
    for (const source of ['flag', 'environment', 'config'] as const) {
      expect(socketPath({ cwd: '/', [source]: `/${'x'.repeat(102)}` }).source).toBe(source);
      expect(codeOf(() => socketPath({ cwd: '/', [source]: `/${'x'.repeat(103)}` }))).toBe('SOCKET_PATH_TOO_LONG');
    }
  });

  test('is counted in bytes, and with the directory that it is relative to', () => {
    expect(socketPath({ cwd: '/', flag: `/${'é'.repeat(51)}` }).source).toBe('flag');
    expect(codeOf(() => socketPath({ cwd: '/', flag: `/x${'é'.repeat(51)}` }))).toBe('SOCKET_PATH_TOO_LONG');
    expect(codeOf(() => socketPath({ cwd: `/${'x'.repeat(90)}`, flag: 'y'.repeat(20) }))).toBe('SOCKET_PATH_TOO_LONG');
  });

  test('leaves room in its directory for the name that is bound first', () => {
    expect(socketPath({ cwd: '/', flag: `/${'d'.repeat(93)}/s` }).source).toBe('flag');
    expect(codeOf(() => socketPath({ cwd: '/', flag: `/${'d'.repeat(94)}/s` }))).toBe('SOCKET_PATH_TOO_LONG');
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
  const inTmp = (tmp: string): ReturnType<typeof socketPath> => socketPath({ cwd: '/', tmp });
  const ownIn = (tmp: string): string => join(tmp, `mcp-bridge-${ownUid()}`, 'mcp-bridge.sock');

  function foreignFile(path: string): void {
    writeFileSync(path, '');
    chownSync(path, ANOTHER_UID, ANOTHER_UID);
  }

  test('stays the default beside files of our own', () => {
    const tmp = temporaryDir();
    writeFileSync(join(tmp, 'mcp-bridge.sock'), '');
    writeFileSync(lockPathOf(join(tmp, 'mcp-bridge.sock')), '');
    mkdirSync(join(tmp, `mcp-bridge-${ownUid()}`));
    writeFileSync(ownIn(tmp), '');
    expect(inTmp(tmp).source).toBe('default');
  });

  test('goes on to be a name of our own while that is in use, though the default is free', () => {
    const tmp = temporaryDir();
    mkdirSync(join(tmp, `mcp-bridge-${ownUid()}`), { mode: 0o700 });
    expect(inTmp(tmp).source).toBe('default');
    writeFileSync(ownIn(tmp), '');
    expect(inTmp(tmp)).toEqual({ path: ownIn(tmp), source: 'fallback' });
  });

  test('is not looked for in a directory of our name that others may look into, or that is a link', () => {
    for (const spoil of [
      (dir: string) => mkdirSync(dir, { mode: 0o755 }),
      (dir: string) => {
        mkdirSync(`${dir}-elsewhere`, { mode: 0o700 });
        symlinkSync(`${dir}-elsewhere`, dir);
      },
    ]) {
      const tmp = temporaryDir();
      spoil(join(tmp, `mcp-bridge-${ownUid()}`));
      writeFileSync(ownIn(tmp), '');
      expect(codeOf(() => inTmp(tmp))).toBe('SOCKET_FOREIGN');
    }
  });

  test.runIf(isRoot)('falls back to a private directory where another user has the default, or its lock', () => {
    for (const held of ['mcp-bridge.sock', 'mcp-bridge.sock.lock']) {
      const tmp = temporaryDir();
      foreignFile(join(tmp, held));
      expect(inTmp(tmp)).toEqual({ path: ownIn(tmp), source: 'fallback' });
      expect(lstatSync(join(tmp, `mcp-bridge-${ownUid()}`)).mode & 0o777).toBe(0o700);
      expect(inTmp(tmp).source).toBe('fallback');
    }
  });

  test.runIf(isRoot)('is not in a directory of our name that another user has made', () => {
    const tmp = temporaryDir();
    const dir = join(tmp, `mcp-bridge-${ownUid()}`);
    mkdirSync(dir, { mode: 0o700 });
    writeFileSync(ownIn(tmp), '');
    chownSync(dir, ANOTHER_UID, ANOTHER_UID);
    expect(inTmp(tmp).source).toBe('default');
    foreignFile(join(tmp, 'mcp-bridge.sock'));
    expect(codeOf(() => inTmp(tmp))).toBe('SOCKET_FOREIGN');
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
