// One file of every client, and what its own words come to.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Platform } from '../../../src/discovery/host.ts';
import { locationsOf } from '../../../src/discovery/locations.ts';
import { machineAt } from '../../../src/discovery/machine.ts';
import { checkExample, type Example } from '../../support/discovery-example.ts';

interface Row {
  readonly client: string;
  readonly platform: Platform;
  readonly file: string;
  readonly content: unknown;
  readonly expected: Readonly<Record<string, unknown>>;
}

const FIXTURE = new URL('../../fixtures/discovery/clients.json', import.meta.url);
const { rows: ROWS } = JSON.parse(readFileSync(FIXTURE, 'utf8')) as { rows: Row[] };

test.each(ROWS.map((row) => [`${row.client} in ${row.file}`, row] as const))('%s', async (_, row) => {
  const { client, platform, file, content, expected } = row;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const example: Example = {
    id: client,
    title: client,
    platform,
    env: { PART: 'part' },
    files: { [file]: { text } },
    expected: { servers: [{ client, name: 's', ...expected }] },
  };
  await checkExample(example);
});

test('every client that has a place in places.ts has a row in clients.json', () => {
  const clients = (['linux', 'darwin', 'win32'] as const).flatMap((platform) => {
    const home = platform === 'win32' ? 'C:\\Users\\u' : '/home/u';
    const machine = machineAt({ platform, homedir: home, cwd: home, env: {} }, home);
    // What is in a registry is there only while its process runs: registries.test.ts.
    return locationsOf(machine).flatMap(({ client }) => (client === 'registry' ? [] : client));
  });
  expect([...new Set(clients)].sort()).toEqual([...new Set(ROWS.map(({ client }) => client))].sort());
});

test.each(['linux', 'darwin', 'win32'] as const)('on %s the places are absolute, and all different', (platform) => {
  const root = platform === 'win32' ? 'C:\\p' : '/p';
  const machine = machineAt({ platform, homedir: `${root}u`, cwd: root, env: {} }, root);
  const locations = locationsOf(machine);
  for (const { path } of locations) expect(machine.path.isAbsolute(path), path).toBe(true);
  const keys = locations.map(({ client, path, pattern }) => JSON.stringify([client, path, pattern]));
  expect(new Set(keys).size).toBe(keys.length);
});

test('the page about discovery has the table of clients that the places make', () => {
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, ['scripts/clients.mjs', '--check'], { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
