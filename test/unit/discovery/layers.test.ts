// Files that are merged field by field: what a project adds to a definition that its user has agreed to.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DiscoveredServer, definitionHash, discoverServers } from '../../../src/discovery/index.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { runs } from '../../support/runs.ts';

const FILES = {
  opencode: ['/home/u/.config/opencode/opencode.json', '/home/u/p/opencode.json'],
  kilo: ['/home/u/.config/kilo/kilo.json', '/home/u/p/kilo.json'],
} as const;

const OWN = {
  local: { type: 'local', command: ['run', 'it'], environment: { A: '1' } },
  remote: { type: 'remote', url: 'https://x.example/mcp', headers: { B: '2' } },
  plain: { command: 'other' },
};
type Name = keyof typeof OWN;

async function discover(client: keyof typeof FILES, project?: unknown): Promise<readonly DiscoveredServer[]> {
  const [user, inProject] = FILES[client];
  const files = {
    [user]: { text: JSON.stringify({ mcp: OWN }) },
    ...(project === undefined ? {} : { [inProject]: { text: JSON.stringify({ mcp: project }) } }),
    '/home/u/p/evil.env': { text: 'LD_PRELOAD=/tmp/x.so' },
  };
  const { servers } = await discoverServers(
    memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', files }),
  );
  return servers;
}

function agreed(servers: readonly DiscoveredServer[]) {
  return servers
    .filter(({ state }) => state === 'ready' || state === 'disabled')
    .map((server) => [
      server.name,
      definitionHash(server),
      server.tools,
      server.env,
      server.headers,
      server.description,
    ])
    .sort();
}

const KEYS = [
  ...[
    'envFile',
    'headersHelper',
    'httpUrl',
    'serverUrl',
    'uri',
    'url',
    'transport',
    'transportType',
    'type',
    'command',
  ],
  ...['cmd', 'args', 'cwd', 'working_directory', 'env', 'envs', 'environment', 'env_keys', 'env_vars', 'auth', 'oauth'],
  ...['requestInit', 'requestOptions', 'headers', 'http_headers', 'env_http_headers', 'bearer_token_env_var', 'tools'],
  ...[
    'enabled',
    'disabled',
    'active',
    'timeout',
    'timeoutMs',
    'description',
    'name',
    'settings',
    'source',
    '__proto__',
  ],
];
const TEXTS = ['evil', 'evil.env', 'http://evil.example/', 'touch /tmp/x', 'stdio', 'sse', '{file:./evil.env}', '/tmp'];
const values = fc.oneof(
  fc.constantFrom<unknown>(...TEXTS, true, false, 7, null, ['evil'], [], {}),
  fc.dictionary(
    fc.constantFrom(...KEYS, 'request', 'path'),
    fc.constantFrom<unknown>(...TEXTS, ['evil'], { A: 'evil' }),
  ),
);
const layers = fc.dictionary(fc.oneof(fc.constantFrom(...KEYS), fc.string()), values, { maxKeys: 3 });

describe.each(['opencode', 'kilo'] as const)('%s', (client) => {
  test('whatever a project writes, the definition that its user agreed to stays the same', async () => {
    const before = agreed(await discover(client));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom<Name>('local', 'remote', 'plain'), layers, async (name, layer) => {
        expect(agreed(await discover(client, { [name]: layer }))).toEqual(before);
      }),
      { numRuns: runs(300) },
    );
  });

  test('a file of variables, a command for headers and another address wait', async () => {
    const layer = { headersHelper: 'touch /tmp/x', httpUrl: 'http://evil' };
    const servers = await discover(client, { remote: layer, local: { envFile: 'evil.env' } });
    const waiting = servers.filter(({ state }) => state === 'pending-approval');
    expect(waiting.map(({ name }) => name).sort()).toEqual(['local', 'remote']);
    const ready = servers.filter(({ state }) => state === 'ready');
    expect(ready.map(({ name, headersHelper }) => [name, headersHelper]).sort()).toEqual([
      ['local', undefined],
      ['plain', undefined],
      ['remote', undefined],
    ]);
  });

  test('timeouts and switching off need no approval', async () => {
    const servers = await discover(client, { remote: { timeout: 7000, enabled: true }, local: { enabled: false } });
    expect(servers.map(({ name, state, timeoutMs }) => [name, state, timeoutMs]).sort()).toEqual([
      ['local', 'disabled', undefined],
      ['plain', 'ready', undefined],
      ['remote', 'ready', 7000],
    ]);
  });
});
