// The real filesystem server behind the bridge: each client is let into its own directory, as it is without the bridge,
// however many clients there are, and whether or not the daemon has met the server before.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { RawClient } from '../support/raw-client.ts';
import { cleanUp, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const PROGRAM = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
const CALLS = 5;

afterAll(() => expect(cleanUp()).toEqual([]));

interface Place {
  readonly dir: string;
  readonly roots: readonly string[];
}

function makePlace(): Place {
  const dir = tempDir();
  const roots = ['one', 'two', 'three'].map((name) => join(dir, name));
  for (const path of [...roots, join(dir, 'default')]) mkdirSync(path);
  return { dir, roots };
}

const start = ({ dir }: Place): Promise<TestDaemon> =>
  TestDaemon.start(
    { mcpServers: { files: { command: process.execPath, args: [PROGRAM, join(dir, 'default')], cwd: dir } } },
    { env: { XDG_CACHE_HOME: join(dir, 'cache') } },
  );

async function connectWith(daemon: TestDaemon, root: string, view: string): Promise<RawClient> {
  const client = await daemon.connect();
  client.answerQuestions(({ method }) =>
    method === 'roots/list' ? { result: { roots: [{ uri: pathToFileURL(root).href }] } } : undefined,
  );
  await client.initialize({ 'mcp-bridge/view': view }, 'init', { roots: { listChanged: true } });
  return client;
}

/** The directories that each client is let into, in each of its calls. */
async function allowedTo(daemon: TestDaemon, { roots }: Place, view = 'server:files'): Promise<string[][]> {
  const clients = await Promise.all(roots.map((root) => connectWith(daemon, root, view)));
  const tool = view === 'all' ? 'files__list_allowed_directories' : 'list_allowed_directories';
  const said = await Promise.all(
    clients.map(async (client) => {
      const texts: string[] = [];
      for (let i = 0; i < CALLS; i++) {
        const { result } = await client.callTool(i, tool);
        const [content] = (result?.content ?? []) as { text: string }[];
        texts.push((content?.text ?? '').replace('Allowed directories:\n', ''));
      }
      return texts;
    }),
  );
  for (const client of clients) client.destroy();
  return said;
}

const own = ({ roots }: Place): string[][] => roots.map((root) => Array.from({ length: CALLS }, () => root));

test('three clients with different roots get their own directories in each call, from the first on', async () => {
  const place = makePlace();
  const daemon = await start(place);
  expect(await allowedTo(daemon, place)).toEqual(own(place));
  await daemon.stop();
});

test('they do in the view of all servers too', async () => {
  const place = makePlace();
  const daemon = await start(place);
  expect(await allowedTo(daemon, place, 'all')).toEqual(own(place));
  await daemon.stop();
});

test('they do after a restart of the daemon, which remembers that the server asks for roots', async () => {
  const place = makePlace();
  const before = await start(place);
  await allowedTo(before, place);
  await before.stop();
  const after = await start(place);
  expect(await allowedTo(after, place)).toEqual(own(place));
  await after.stop();
});

test('three clients with the same roots share one instance', async () => {
  const place = makePlace();
  const [root = ''] = place.roots;
  const same = { ...place, roots: [root, root, root] };
  const daemon = await start(place);
  await allowedTo(daemon, same);
  const clients = await Promise.all(same.roots.map((path) => connectWith(daemon, path, 'server:files')));
  for (const client of clients) await client.callTool('c', 'list_allowed_directories');
  const { instances } = await daemon.status();
  expect(instances.map(({ sessions }) => sessions)).toEqual([3]);
  for (const client of clients) client.destroy();
  await daemon.stop();
});
