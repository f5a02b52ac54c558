// Clients that others have made: the official SDK's of both lines, over the socket and through `connect`, and socat.

import { spawn, spawnSync } from 'node:child_process';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SocketTransport } from '../support/socket-transport.ts';
import { fixtureServer, PROGRAM, TestDaemon } from '../support/test-daemon.ts';

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
});
afterAll(() => daemon.stop());

const INFO = { name: 'independent', version: '1' };
const shim = () => ({ command: process.execPath, args: [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path] });

type Parameters<F> = F extends (...args: infer A) => unknown ? A : never;
type V1Transport = Parameters<ClientV1['connect']>[0];
type V2Transport = Parameters<ClientV2['connect']>[0];

const V1: [string, () => V1Transport][] = [
  ['over the socket', () => new SocketTransport(daemon.path) as unknown as V1Transport],
  ['through connect', () => new StdioV1(shim()) as V1Transport],
];
const V2: [string, () => V2Transport][] = [
  ['over the socket', () => new SocketTransport(daemon.path) as unknown as V2Transport],
  ['through connect', () => new StdioV2(shim())],
];

describe.each(V1)('the client of @modelcontextprotocol/sdk, %s', (_, transport) => {
  test('lists, calls, gets progress, cancels, hears notices', async () => {
    const client = new ClientV1(INFO);
    await client.connect(transport());
    expect(client.getServerVersion()).toMatchObject({ name: 'fixture' });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    expect(await client.callTool({ name: 'echo', arguments: { text: 'v1' } })).toMatchObject({
      content: [{ text: 'v1' }],
    });
    const progress: number[] = [];
    let released: Promise<unknown> | undefined;
    // This client loses a note that comes in one chunk with the answer, so the answer waits for the last note.
    await client.callTool({ name: 'hold', arguments: { steps: 3 } }, undefined, {
      onprogress: (p) => {
        if (progress.push(p.progress) === 3) released = client.callTool({ name: 'release' });
      },
    });
    expect(progress).toEqual([1, 2, 3]);
    await released;
    const giveUp = new AbortController();
    const held = client.callTool({ name: 'hold' }, undefined, { signal: giveUp.signal });
    giveUp.abort('enough');
    await expect(held).rejects.toThrow(/enough/);
    const told = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await client.callTool({ name: 'notify', arguments: { method: 'notifications/tools/list_changed' } });
    await told;
    await client.ping();
    await client.close();
  });
});

describe.each(['legacy', 'auto'] as const)(
  'the client of @modelcontextprotocol/client with versionNegotiation %s',
  (mode) => {
    test.each(V2)('lists, calls and gets progress %s', async (_, transport) => {
      const client = new ClientV2(INFO, { versionNegotiation: { mode } });
      await client.connect(transport());
      expect(client.getServerVersion()).toMatchObject({ name: 'fixture' });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
      expect(await client.callTool({ name: 'echo', arguments: { text: 'v2' } })).toMatchObject({
        content: [{ text: 'v2' }],
      });
      // It forgets whom to tell once it has the answer, so that comes when both notes have.
      const progress: number[] = [];
      let released: Promise<unknown> | undefined;
      const onprogress = (note: { progress: number }): void => {
        if (progress.push(note.progress) === 2) released = client.callTool({ name: 'release', arguments: {} });
      };
      await client.callTool({ name: 'hold', arguments: { steps: 2 } }, { onprogress });
      expect(progress).toEqual([1, 2]);
      await released;
      await client.close();
    });
  },
);

/** A program that pumps bytes and knows nothing of MCP: socat where it is installed, else the same in node. */
function bytePump(path: string): [string, string[]] {
  const hasSocat = spawnSync('socat', ['-V']).status === 0;
  if (hasSocat) return ['socat', ['-t', '20', '-', `UNIX-CONNECT:${path}`]];
  const pump = `const s = require('net').connect({ path: process.argv[1] }); process.stdin.pipe(s).pipe(process.stdout);`;
  return [process.execPath, ['-e', pump, path]];
}

test('socat is a full client: it sends a conversation, ends its side, and reads every answer', async () => {
  const socat = spawn(...bytePump(daemon.path), { stdio: 'pipe' });
  const talk = [
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'slow', arguments: { ms: 50 } } },
  ];
  let output = '';
  socat.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  socat.stdin.end(talk.map((message) => `${JSON.stringify(message)}\n`).join(''));
  expect(await new Promise((resolve) => socat.once('close', resolve))).toBe(0);
  const answers = output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; result?: object });
  expect(answers.map(({ id, result }) => [id, result !== undefined])).toEqual([
    [1, true],
    [2, true],
  ]);
});
