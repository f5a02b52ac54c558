// What the command line does about something else that answers at the bridge's socket.

import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ControlClient } from '../../../src/client/control-client.ts';
import { tempDir } from '../../support/test-daemon.ts';

const answer = (result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });

test.each([
  ['another MCP server', answer({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'other' } })],
  ['what has only null to say', answer(null)],
  ['what speaks another protocol', 'SSH-2.0-OpenSSH'],
  ['what says no more than a number', '220'],
])('%s is no bridge', async (_, line) => {
  const path = join(tempDir(), 'b.sock');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(`${line}\n`));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await expect(ControlClient.open(path, '1')).rejects.toMatchObject({
    code: 'SOCKET_UNUSABLE',
    message: `What answers at ${path} is no mcp-bridge`,
    hint: expect.stringContaining('MCP_BRIDGE_SOCKET'),
  });
  await new Promise((resolve) => server.close(resolve));
});
