// Everything that is wrong with a config file, each with its place in the text.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkConfig, unreadable } from '../../../src/config/check.ts';
import { sentenceFor } from '../../../src/config/reader.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

interface Checked {
  readonly name?: string;
  readonly isShared?: boolean;
}

/** One line each: `3:5 error place problem (hint)`. */
async function linesFor(text: string, { name = 'config.json', isShared = false }: Checked = {}): Promise<string[]> {
  const file = join(temporaryDir(), name);
  writeFileSync(file, text);
  const options = { homedir: '/home/me', isShared, more: () => [] };
  const found = await checkConfig(file, options).catch((error: unknown) => [unreadable(error)]);
  return found.map(
    (finding) =>
      `${'line' in finding ? `${finding.line}:${finding.column} ` : ''}${finding.level} ${sentenceFor(finding)}`,
  );
}

describe('a config file', () => {
  test('with nothing wrong in it has no findings', async () => {
    expect(await linesFor('{}')).toEqual([]);
    expect(await linesFor('// nothing\n{ "mcpServers": { "a": { "command": "node", }, }, }')).toEqual([]);
  });

  test('has a view for clients that is there', async () => {
    const toolsets = { here: { tools: ['a'] } };
    const clients = ['toolset:here', 'toolset:gone', 'code', 'all'].map((view) => ({ match: { name: 'x' }, view }));
    const lines = await linesFor(JSON.stringify({ clients, toolsets, client: { view: 'code' } }));
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'warning clients[1].view names a toolset that is not there (make it: mcp-bridge toolset gone TOOL…)',
      'warning clients[2].view is code, and code mode is switched off (set codeMode.enabled to true)',
      'warning client.view is code, and code mode is switched off (set codeMode.enabled to true)',
    ]);
    const codeMode = { enabled: true };
    expect(await linesFor(JSON.stringify({ client: { view: 'code' }, codeMode }))).toEqual([]);
  });

  test('has each fault at its line and column, in order, with the probable meaning', async () => {
    const text = `{
  "limits": { "maxCleints": 5, "maxDepth": 2 },
  "mcpServers": {
    "a.b": { "comand": "node" },
    "c": { "command": "node", "args": ["x",
      7] }
  },
  "mcpBridge": { "autoConnect": 1 }
}`;
    expect(await linesFor(text)).toEqual([
      '2:15 error limits.maxCleints is not known (did you mean maxClients?)',
      '2:44 error limits.maxDepth must be a whole number from 8 to 4096',
      '4:12 error mcpServers.a.b needs a command, or a url',
      '4:14 error mcpServers.a.b.comand is not known (did you mean command?)',
      '6:7 error mcpServers.c.args[1] must be a string',
      '8:33 error mcpBridge.autoConnect must be true or false',
    ]);
  });

  test.each([
    ['discovery.toolRules[0].pattern', { discovery: { toolRules: [{ pattern: 5 }] } }],
    ['discovery.toolRules[0].pattern', { discovery: { toolRules: [{ pattern: [] }] } }],
    ['discovery.toolRules[0].pattern', { discovery: { toolRules: [{ pattern: '' }] } }],
    ['discovery.toolRules[0].pattern', { discovery: { toolRules: [{ pattern: {} }] } }],
    ['discovery.toolRules[0].tags', { discovery: { toolRules: [{ pattern: 'x', tags: 5 }] } }],
    ['mcpServers.a.command', { mcpServers: { a: { command: 5 } } }],
    ['mcpServers.a.args', { mcpServers: { a: { command: 'x', args: 'y' } } }],
    ['mcpServers.a.env', { mcpServers: { a: { command: 'x', env: [] } } }],
    ['mcpServers.a.url', { mcpServers: { a: { url: 5 } } }],
    ['client.view', { client: { view: 5 } }],
    ['client.id', { client: { id: '' } }],
    ['policy.deniedMcpServers', { policy: { deniedMcpServers: 5 } }],
    ['limits.maxClients', { limits: { maxClients: 'x' } }],
    ['audit', { audit: 5 }],
    ['agents.allow', { agents: { allow: 5 } }],
  ])('counts one mistake once: %s in %j', async (place, config) => {
    const lines = await linesFor(JSON.stringify(config));
    expect(lines.map((line) => line.split(' ')[2])).toEqual([place]);
  });

  test('names missing members at their place', async () => {
    expect(await linesFor('[]')).toEqual(['1:1 error The file must be an object']);
    expect(await linesFor('{ "discovery": {\n"toolRules": [{ "enabled": true }] } }')).toEqual([
      '2:15 error discovery.toolRules[0].pattern needs at least one pattern',
    ]);
  });

  test('has all of its syntax faults named', async () => {
    expect(await linesFor('{\n "a": ,\n "b" 1\n}')).toEqual([
      expect.stringMatching(/^2:7 error The file .*\(nothing of the file is used\)$/),
      expect.stringMatching(/^3:6 error The file a colon is expected here/),
    ]);
    expect(await linesFor('')).toHaveLength(1);
    expect(await linesFor('{ "mcpServers": { "a": {')).toEqual([
      expect.stringMatching(/^1:\d+ error .* closing brace/),
    ]);
  });

  test('with duplicate keys gets a finding that says which one counts', async () => {
    expect(await linesFor('{ "client": { "id": "a" },\n "client": { "id": "b", "id": "c" } }')).toEqual([
      '2:2 warning client stands here twice (the last one is used)',
      '2:25 warning client.id stands here twice (the last one is used)',
    ]);
  });

  test('is warned of paths that depend on where somebody works', async () => {
    const servers = {
      one: { command: './run.sh' },
      two: { command: 'bin/run', cwd: '/x' },
      three: { command: '/bin/run' },
      four: { command: 'npx' },
      five: { command: '~/run' },
    };
    const text = JSON.stringify({ mcpBridge: { socketPath: 'b.sock' }, mcpServers: servers });
    const lines = (await linesFor(text)).join('\n');
    expect(lines).toMatch(/mcpBridge\.socketPath is relative \(it means \/.*\/b\.sock\)/);
    expect(lines).toMatch(/mcpServers\.one\.command is looked for beside this file/);
    expect(lines.split('\n')).toHaveLength(2);
  });

  test('is warned of secrets only where others may read them, and none is ever shown', async () => {
    const secret = 'ghp_0123456789abcdefABCDEF0123456789abcd';
    const servers = {
      a: { command: 'x', args: ['--token', secret], env: { API_KEY: secret, HOME: '/home/me', DEBUG: 'true' } },
      b: { url: `https://u:${secret}@x/`, headers: { Authorization: `Bearer ${secret}`, Accept: 'x' } },
      c: { url: 'https://x/', headers: { Authorization: `Bearer $\{TOKEN}` }, oauth: { clientSecret: secret } },
      d: { command: 'x', args: [secret, 7], env: { API_KEY: [secret] } },
    };
    const nats = { servers: ['nats://hub:4222'], user: 'ann', password: secret.slice(4) };
    const text = JSON.stringify({ mcpServers: servers, federation: { host: 'desk', nats } }, undefined, 2);
    const shared = await linesFor(text, { isShared: true });
    const places = shared.filter((line) => line.includes('looks like a secret')).map((line) => line.split(' ')[2]);
    expect(places).toEqual([
      'mcpServers.a.args',
      'mcpServers.a.env.API_KEY',
      'mcpServers.b.url',
      'mcpServers.b.headers.Authorization',
      'mcpServers.c.oauth.clientSecret',
      'mcpServers.d.args',
      'federation.nats.password',
    ]);
    expect(shared.join('\n')).not.toContain(secret.slice(4));
    expect((await linesFor(text)).filter((line) => line.includes('secret,'))).toEqual([]);
    const byToken = JSON.stringify({ federation: { host: 'desk', nats: { ...nats, token: 'short', user: '' } } });
    expect(await linesFor(byToken, { isShared: true })).toContainEqual(
      expect.stringMatching(/^1:\d+ warning federation\.nats\.token looks like a secret/),
    );
  });

  test('that is a program is run, and its faults have no line', async () => {
    expect(await linesFor('export default { client: { id: 7 } };', { name: 'config.mjs' })).toEqual([
      'error client.id must be a string that is not empty',
    ]);
    expect(await linesFor('throw new Error("on purpose");', { name: 'config.mjs' })).toEqual([
      expect.stringMatching(/^error .*config\.mjs failed: on purpose$/),
    ]);
  });
});
