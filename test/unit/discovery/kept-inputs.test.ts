// What a person says of definitions beside approving them: values for inputs, and which servers are off.

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { EMPTY_CONFIG } from '../../../src/config/config.ts';
import { NO_CONFIG } from '../../../src/config/load.ts';
import { validate } from '../../../src/config/schema.ts';
import { NOTHING_SEEN } from '../../../src/discovery/approval.ts';
import { KeptInputs } from '../../../src/discovery/inputs.ts';
import { discoverHere } from '../../../src/discovery/own-discovery.ts';
import { servedServers } from '../../../src/discovery/served-servers.ts';
import { SwitchedServers } from '../../../src/discovery/switched-servers.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

function home() {
  const homedir = temporaryDir();
  const environment = { HOME: homedir };
  const path = join(homedir, '.config/Code/User/mcp.json');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    JSON.stringify({
      servers: { github: { command: 'gh', args: [`--token=\${input:api-key}`] }, notes: { command: 'n' } },
    }),
  );
  const own = { platform: 'linux', environment, homedir, program: join(homedir, 'mcp-bridge'), socketPath: '/x.sock' };
  const look = async () => {
    const found = await discoverHere(own, {
      cwd: homedir,
      config: { ...NO_CONFIG, config: EMPTY_CONFIG },
      approvals: new Map(),
      seenApprovals: NOTHING_SEEN,
    });
    return {
      found,
      github: found.servers.find(({ id }) => id === 'github'),
      served: servedServers(found.servers, EMPTY_CONFIG),
    };
  };
  return {
    look,
    own,
    inputs: new KeptInputs(environment, homedir),
    switched: new SwitchedServers(environment, homedir),
  };
}

test('a stored value reaches the definitions that ask for it, and no other user can read it', async () => {
  const { look, inputs } = home();
  expect((await look()).github).toMatchObject({ state: 'needs-input', inputs: ['api-key'] });
  await inputs.set('api-key', 'sekrit');
  expect((await look()).github).toMatchObject({ state: 'ready', args: ['--token=sekrit'] });
  expect(statSync(inputs.path).mode & 0o777).toBe(0o600);
  expect(await inputs.remove('api-key')).toBe(true);
  expect(await inputs.remove('api-key')).toBe(false);
  expect((await look()).github?.state).toBe('needs-input');
});

test('a reference of the bridge’s own config takes the value that is kept, and is not served without one', async () => {
  const { inputs, own } = home();
  const servers = {
    gh: { command: 'gh', args: [`--token=\${input:api-key}`], env: { K: `\${input:api-key}`, P: `\${PATH}` } },
  };
  const { config } = validate({ mcpServers: servers }, (path) => path);
  const served = async () => {
    const loaded = { ...NO_CONFIG, config, servers, file: '/c.json' };
    const asked = { cwd: own.homedir, config: loaded, approvals: new Map(), seenApprovals: NOTHING_SEEN };
    const found = await discoverHere(own, asked);
    return { found, served: servedServers(found.servers, config, { values: found.values }).get('gh') };
  };
  const before = await served();
  expect(before.found.servers.find(({ name }) => name === 'gh')).toMatchObject({
    state: 'needs-input',
    inputs: ['api-key'],
  });
  expect(before.served).toBeUndefined();
  await inputs.set('api-key', 'sekrit');
  expect((await served()).served).toMatchObject({ args: ['--token=sekrit'], env: { K: 'sekrit', P: `\${PATH}` } });
});

test('a variable in the bridge’s own config has its value, else its default, else the input of its name', async () => {
  const { inputs, own } = home();
  const reference = (content: string): string => `\${env:${content}}`;
  const servers = {
    gh: { command: 'gh', args: [reference('HERE')], env: { K: reference('KEY'), O: reference('NONE:-other') } },
    web: { url: `https://x.example/mcp?key=${reference('KEY')}`, headers: { A: `Bearer ${reference('KEY')}` } },
    odd: { command: 'odd', args: [reference('0')] },
  };
  const { config } = validate({ mcpServers: servers }, (path) => path);
  const served = async (environment: Record<string, string>) => {
    const loaded = { ...NO_CONFIG, config, servers, file: '/c.json' };
    const asked = { cwd: own.homedir, config: loaded, approvals: new Map(), seenApprovals: NOTHING_SEEN };
    const found = await discoverHere({ ...own, environment: { ...own.environment, ...environment } }, asked);
    return { found, served: servedServers(found.servers, config, { values: found.values }) };
  };
  const without = await served({ HERE: 'here' });
  expect(without.found.servers.find(({ name }) => name === 'gh')).toMatchObject({
    state: 'needs-input',
    inputs: ['KEY'],
  });
  expect([...without.served.keys()]).toEqual(['odd', 'notes']);
  const { served: filled } = await served({ HERE: 'here', KEY: 'sekrit' });
  expect(filled.get('gh')).toMatchObject({ args: ['here'], env: { K: 'sekrit', O: 'other' } });
  expect(filled.get('web')).toMatchObject({
    url: 'https://x.example/mcp?key=sekrit',
    headers: { A: 'Bearer sekrit' },
  });
  expect(filled.get('odd')).toMatchObject({ args: [reference('0')] });
  await inputs.set('KEY', 'kept');
  expect((await served({ HERE: 'here' })).served.get('gh')).toMatchObject({ env: { K: 'kept' } });
});

test('a server that is switched off is not served, and is served again when it is on', async () => {
  const { look, switched } = home();
  expect([...(await look()).served.keys()]).toEqual(['notes']);
  expect(await switched.switch(['notes'], true)).toEqual(['notes']);
  const { found, served } = await look();
  expect([...served.keys()]).toEqual([]);
  expect(found.servers.find(({ id }) => id === 'notes')).toMatchObject({
    state: 'disabled',
    reason: 'it is switched off: mcp-bridge enable notes',
  });
  expect(await switched.switch(['notes'], false)).toEqual(['notes']);
  expect([...(await look()).served.keys()]).toEqual(['notes']);
});

test('files that are broken are told of, and left as they are', async () => {
  const { look, inputs, switched } = home();
  await inputs.set('api-key', 'sekrit');
  await switched.switch(['notes'], true);
  for (const { path } of [inputs, switched]) writeFileSync(path, '[]', { mode: 0o600 });
  const { found } = await look();
  expect(found.diagnostics.map(({ message }) => message).join()).toMatch(
    /disabled\.json does not.*inputs\.json does not/,
  );
  await expect(inputs.set('x', 'y')).rejects.toThrow('does not hold inputs');
  expect(readFileSync(inputs.path, 'utf8')).toBe('[]');
});
