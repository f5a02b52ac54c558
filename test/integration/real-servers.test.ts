// Servers as people run them, each asked the same things directly and behind the bridge: the answers must be the same
// to the byte, but for the id and for times of day.

import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { childEnvironment } from '../../src/downstream/server-process.ts';
import { type Message, RawClient } from '../support/raw-client.ts';
import { ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

interface Asked {
  readonly method: string;
  readonly params?: object;
}

const call = (name: string, args: object = {}): Asked => ({ method: 'tools/call', params: { name, arguments: args } });
const program = (name: string): string => join(ROOT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');

const EVERYTHING: Asked[] = [
  { method: 'tools/list' },
  { method: 'prompts/list' },
  { method: 'resources/list' },
  { method: 'resources/templates/list' },
  call('echo', { message: 'hällo "漢字" 🙂 \\ \u0001' }),
  call('get-sum', { a: 0.1, b: 1e21 }),
  call('get-annotated-message', { messageType: 'error', includeImage: true }),
  call('get-env'),
  call('get-resource-links', { count: 4 }),
  call('get-resource-reference', { resourceType: 'Text', resourceId: 2 }),
  call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 }),
  call('get-structured-content', { location: 'Chicago' }),
  call('get-tiny-image'),
  call('gzip-file-as-resource', { name: 'x.gz', data: 'data:text/plain,hello', outputType: 'resource' }),
  call('trigger-long-running-operation', { duration: 0.2, steps: 2 }),
  call('simulate-research-query', { topic: 'bridges' }),
  call('no-such-tool'),
  call('echo', { wrong: true }),
  { method: 'prompts/get', params: { name: 'simple-prompt' } },
  { method: 'prompts/get', params: { name: 'args-prompt', arguments: { city: 'Bern', state: 'BE' } } },
  { method: 'prompts/get', params: { name: 'args-prompt' } },
  { method: 'prompts/get', params: { name: 'resource-prompt', arguments: { resourceType: 'Text', resourceId: '1' } } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'S' } },
  },
  { method: 'resources/read', params: { uri: 'demo://resource/static/document/architecture.md' } },
  { method: 'resources/read', params: { uri: 'demo://resource/dynamic/text/7' } },
  { method: 'resources/read', params: { uri: 'demo://nowhere' } },
  { method: 'resources/subscribe', params: { uri: 'demo://resource/dynamic/text/7' } },
  { method: 'resources/unsubscribe', params: { uri: 'demo://resource/dynamic/text/7' } },
  { method: 'logging/setLevel', params: { level: 'error' } },
  { method: 'tasks/list' },
  { method: 'no/such/method' },
];

const filesystem = (dir: string): Asked[] => [
  { method: 'tools/list' },
  { method: 'resources/list' },
  call('list_allowed_directories'),
  call('write_file', { path: join(dir, 'new.txt'), content: 'a\nb\n' }),
  call('read_text_file', { path: join(dir, 'big.txt') }),
  call('read_text_file', { path: join(dir, 'new.txt'), head: 1 }),
  call('read_media_file', { path: join(dir, 'dot.png') }),
  call('read_multiple_files', { paths: [join(dir, 'new.txt'), join(dir, 'none.txt')] }),
  call('edit_file', { path: join(dir, 'new.txt'), edits: [{ oldText: 'a', newText: 'c' }], dryRun: true }),
  call('list_directory', { path: dir }),
  call('directory_tree', { path: dir }),
  call('search_files', { path: dir, pattern: '*.txt' }),
  call('read_text_file', { path: '/etc/passwd' }),
  call('create_directory', { path: join(dir, 'sub') }),
];

/** The answer with its times of day made equal. */
async function answer(client: RawClient, id: string, { method, params }: Asked): Promise<string> {
  client.send({ jsonrpc: '2.0', id, method, ...(params && { params }) });
  let line = await client.nextLine();
  while ((JSON.parse(line) as Message).id !== id) line = await client.nextLine();
  const timeless = line.replace(/\d+:\d\d:\d\d(\s|\u202f)?[AP]M/g, 'NOW');
  return timeless.replace(/"(text|blob)":"[A-Za-z0-9+/=]{60,}"/g, sameLength);
}

/** Encoded texts hold times too; what must be equal is their size. */
const sameLength = (text: string): string => `${text.slice(0, 8)}${text.length} bytes`;

async function compare(command: string[], cwd: string, questions: readonly Asked[]): Promise<void> {
  const daemon = await TestDaemon.start({
    mcpServers: { real: { command: process.execPath, args: command, cwd, env: { EXTRA: 'kept' } } },
  });
  const env = childEnvironment(
    { ...process.env, HOME: daemon.dir, XDG_CONFIG_HOME: daemon.dir, XDG_CACHE_HOME: daemon.dir },
    { EXTRA: 'kept' },
  );
  const direct = spawn(process.execPath, command, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const [alone, bridged] = [new RawClient(direct.stdout, direct.stdin), await daemon.connect()];
  const [hello, bridgedHello] = [await alone.initialize(), await bridged.initialize()];
  const { _meta, ...result } = bridgedHello.result ?? {};
  expect(result).toEqual(hello.result);
  expect(Object.keys(_meta as object)).toEqual(['mcp-bridge/clientId', 'mcp-bridge/instanceId']);
  for (const [i, question] of questions.entries()) {
    const expected = await answer(alone, `q${i}`, question);
    expect(await answer(bridged, `q${i}`, question), JSON.stringify(question)).toBe(expected);
  }
  alone.destroy();
  bridged.destroy();
  direct.kill();
  await daemon.stop();
}

describe('answers behind the bridge are those of the server itself', () => {
  test('server-everything', () => compare([program('server-everything'), 'stdio'], ROOT, EVERYTHING));

  test('server-filesystem', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'files'));
    writeFileSync(join(dir, 'files/big.txt'), 'line with "quotes" and \\ and ü\n'.repeat(5000));
    writeFileSync(join(dir, 'files/dot.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
    await compare([program('server-filesystem'), join(dir, 'files')], dir, filesystem(join(dir, 'files')));
    rmSync(dir, { recursive: true });
  });
});
