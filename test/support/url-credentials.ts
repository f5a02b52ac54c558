// A URL with a user and a password in it, however its server is reached.

import { expect } from 'vitest';
import { textOf } from './raw-client.ts';
import { TestDaemon } from './test-daemon.ts';

/** They go as a header, unless the definition has one, and are shown nowhere. The server tells which headers it got. */
export async function expectCredentialsSent(serverUrl: string): Promise<void> {
  const url = serverUrl.replace('//', '//me%40home:canary%3A1@');
  const daemon = await TestDaemon.start({
    mcpServers: { user: { url }, other: { url, headers: { authorization: 'Bearer of-its-own' } } },
  });
  const sentBy = async (server: string): Promise<unknown> => {
    const client = await daemon.client({ 'mcp-bridge/view': `server:${server}` });
    return JSON.parse(textOf(await client.callTool(1, 'headers')));
  };
  const basic = Buffer.from('me@home:canary:1').toString('base64');
  expect(await sentBy('user')).toMatchObject({ authorization: `Basic ${basic}` });
  expect(await sentBy('other')).toMatchObject({ authorization: 'Bearer of-its-own' });
  for (const secret of ['canary', basic])
    expect(JSON.stringify(await daemon.status()) + daemon.log).not.toContain(secret);
  await daemon.stop();
}
