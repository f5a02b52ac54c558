// Helpers for headers, with each kind of server at a URL: they run for each connection, and nothing shows what they print.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, webSocketServer } from '../support/remote-fixture.ts';
import { TestDaemon, tempDir } from '../support/test-daemon.ts';

afterEach(endFixtures);

const TOKEN = 's3cret-of-the-helper';
const PRINT = 'echo run >> runs; cat headers.json';

const serverAt = (kind: 'http' | 'sse' | 'ws'): Promise<string> =>
  kind === 'ws' ? webSocketServer(TOKEN) : httpServer(kind, TOKEN);

describe.each(['http', 'sse', 'ws'] as const)('a server over %s', (kind) => {
  test('gets the headers of its helper over those of its definition', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'headers.json'), JSON.stringify({ authorization: `Bearer ${TOKEN}` }));
    const headers = { Authorization: 'Bearer of-the-definition', 'X-Kind': kind };
    const server = { type: kind, url: await serverAt(kind), headers, headersHelper: PRINT };
    const daemon = await TestDaemon.start({ mcpServers: { remote: server } }, { dir });
    const client = await daemon.client();
    expect(JSON.parse(textOf(await client.callTool(1, 'headers')))).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      'x-kind': kind,
    });
    expect(JSON.stringify([await daemon.status(), daemon.log])).not.toContain('s3cret');
    await daemon.stop();
  });
});

test('runs again for each connection, and its new headers count', async () => {
  const dir = tempDir();
  const print = (token: string): void =>
    writeFileSync(join(dir, 'headers.json'), JSON.stringify({ authorization: `Bearer ${token}` }));
  print('s3cret-of-yesterday');
  const daemon = await TestDaemon.start(
    { mcpServers: { remote: { url: await webSocketServer(TOKEN), headersHelper: PRINT } } },
    { dir },
  );
  const refused = await (await daemon.connect()).initialize();
  expect(refused.error?.message).toBe('Server remote says that the bridge is not authorized (HTTP 401)');
  print(TOKEN);
  const client = await daemon.client();
  await client.callTool(1, 'drop');
  expect(textOf(await client.callTool(2, 'echo', { text: 'a' }))).toBe('a');
  expect(readFileSync(join(dir, 'runs'), 'utf8')).toBe('run\n'.repeat(3));
  expect(JSON.stringify([refused, await daemon.status(), daemon.log])).not.toContain('s3cret');
  await daemon.stop();
});

test('one that fails fails the start, and says how', async () => {
  const headersHelper = `echo '{"authorization":"${TOKEN}"}'; echo 'the vault is closed' >&2; exit 4`;
  const daemon = await TestDaemon.start({
    mcpServers: { remote: { type: 'http', url: 'http://127.0.0.1/mcp', headersHelper } },
  });
  const refused = await (await daemon.connect()).initialize();
  expect(refused.error).toEqual({
    code: -32603,
    message: 'The headersHelper of server remote exited with code 4',
    data: { code: 'SERVER_START_FAILED', server: 'remote', hint: 'Its last words were: the vault is closed' },
  });
  expect(JSON.stringify([refused, await daemon.status(), daemon.log])).not.toContain('s3cret');
  await daemon.stop();
});
