// `url`: where the bridge takes clients over HTTP, by the config.

import { expect, test } from 'vitest';
import { type UrlValues, url } from '../../../../src/cli/commands/url.ts';
import { fakeHost } from '../../../support/cli-host.ts';
import { writeFiles } from '../../../support/file-tree.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

async function urlOf(values: UrlValues, http?: object) {
  const home = temporaryDir();
  if (http !== undefined) writeFiles(home, { '.config/mcp-bridge/config.json': { http } });
  const host = fakeHost(home, home);
  expect(await url(values, host)).toBe(0);
  return { home, said: host.said(), complaints: host.complaints() };
}

test('without an address it is that of the socket, with how to open a port', async () => {
  const { home, said, complaints } = await urlOf({});
  expect(said).toBe(`unix://${home}/b.sock#/mcp\n`);
  expect(complaints).toContain(
    'To open a port: mcp-bridge restart --http 127.0.0.1:4810, or http.listen in the config\n',
  );
  expect(complaints).toContain(`{"mcp-bridge":{"type":"http","url":"unix://${home}/b.sock#/mcp"}}\n`);
  expect(complaints).toContain(`curl --unix-socket ${home}/b.sock http://localhost/mcp\n`);
});

test.each([
  [{ listen: '127.0.0.1:4810' }, 'http://127.0.0.1:4810/mcp'],
  [{ listen: '[::1]:4810' }, 'http://[::1]:4810/mcp'],
  [{ listen: 'unix:/run/h.sock' }, 'unix:///run/h.sock#/mcp'],
  [{ listen: '0.0.0.0:443', allowRemote: true, behindProxy: true }, 'http://127.0.0.1:443/mcp'],
  [{ listen: '[::]:443', allowRemote: true, tls: { cert: 'c', key: 'k' } }, 'https://[::1]:443/mcp'],
  [
    { listen: '0.0.0.0:443', allowRemote: true, tls: { cert: 'c', key: 'k' }, allowedHosts: ['bridge.example'] },
    'https://bridge.example:443/mcp',
  ],
])('with %j it is %s', async (http, wanted) => {
  expect((await urlOf({}, http)).said).toBe(`${wanted}\n`);
});

test('it names one server, or one view', async () => {
  const http = { listen: '127.0.0.1:1' };
  const shown = async (values: UrlValues) => (await urlOf(values, http)).said.trim();
  expect(await shown({ server: 'my files' })).toBe('http://127.0.0.1:1/mcp/server/my%20files');
  expect(await shown({ view: 'server:a' })).toBe('http://127.0.0.1:1/mcp/server/a');
  for (const view of ['all', 'discover', 'code']) expect(await shown({ view })).toBe(`http://127.0.0.1:1/mcp/${view}`);
  for (const values of [{ server: 'a', view: 'all' }, { view: 'everything' }])
    await expect(urlOf(values, http)).rejects.toMatchObject({ code: 'USAGE' });
});

test('the entry has a place for a token where one is needed, and a script gets all of it', async () => {
  const listen = '127.0.0.1:1';
  const { complaints } = await urlOf({}, { listen });
  expect(complaints).toContain('"headers":{"Authorization":"Bearer TOKEN"}');
  expect(complaints).toContain('mcp-bridge token create NAME');
  const { said } = await urlOf({ json: true }, { listen, tokens: false });
  expect(JSON.parse(said)).toMatchObject({
    ...{ url: 'http://127.0.0.1:1/mcp', needsToken: false },
    socketUrl: expect.stringMatching(/^unix:\/\/.*\/b\.sock#\/mcp$/) as string,
    entry: { 'mcp-bridge': { type: 'http', url: 'http://127.0.0.1:1/mcp' } },
  });
});

test('a port that is chosen at the start is not guessed', async () => {
  const { said, complaints } = await urlOf({}, { listen: '127.0.0.1:0' });
  expect(said).toMatch(/^unix:/);
  expect(complaints).toContain('The port is chosen when the daemon starts');
});
