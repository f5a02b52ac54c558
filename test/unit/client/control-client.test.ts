// What the command line does about something else that answers at the bridge's socket.

import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ControlClient } from '../../../src/client/control-client.ts';
import { tempDir } from '../../support/test-daemon.ts';

test.each([
  ['another MCP server', { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'other' } }],
  ['what has only null to say', null],
])('%s is no bridge', async (_, result) => {
  const path = join(tempDir(), 'b.sock');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n`));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await expect(ControlClient.open(path, '1')).rejects.toMatchObject({
    code: 'SOCKET_UNUSABLE',
    message: `What answers at ${path} is no mcp-bridge`,
    hint: expect.stringContaining('MCP_BRIDGE_SOCKET'),
  });
  await new Promise((resolve) => server.close(resolve));
});
