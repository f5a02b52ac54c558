// Runs an example of discovery: files, and what must come of them. Placeholders stand for the machine's directories.

import { posix, win32 } from 'node:path';
import { expect } from 'vitest';
import type { OwnIdentity, Platform } from '../../src/discovery/host.ts';
import { type Discovery, type DiscoveryOptions, discoverServers } from '../../src/discovery/index.ts';
import { type MemoryFile, memoryHost } from './memory-host.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Its text as a value is easier to read in an example. */
type ExampleFile = MemoryFile & { readonly json?: unknown };

export interface Example {
  readonly id: number | string;
  readonly title: string;
  readonly platform: Platform;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly options?: DiscoveryOptions;
  readonly files: Readonly<Record<string, ExampleFile>>;
  readonly selfIdentity?: OwnIdentity;
  readonly expected: {
    readonly servers?: readonly Fields[];
    readonly notServers?: readonly string[];
    readonly diagnostics?: readonly Fields[];
    readonly noDiagnostics?: readonly Fields[];
    readonly groups?: readonly { readonly canonical: string; readonly members: readonly string[] }[];
    readonly conflicts?: readonly { readonly name: string; readonly members: readonly string[] }[];
  };
}

const HOMES: Readonly<Record<Platform, string>> = { linux: '/home/u', darwin: '/Users/u', win32: 'C:\\Users\\u' };

function dirsOf(platform: Platform): Readonly<Record<string, string>> {
  const path = platform === 'win32' ? win32 : posix;
  const home = HOMES[platform];
  return {
    '@HOME@': home,
    '@PROJ@': path.join(home, 'proj'),
    '@APPDATA@': path.join(home, 'AppData', 'Roaming'),
    '@LOCALAPPDATA@': path.join(home, 'AppData', 'Local'),
    '@ROOT@': '',
  };
}

/** `escaped`: for the inside of a string in JSON or TOML. */
function fill(text: string, platform: Platform, escaped = false): string {
  return Object.entries(dirsOf(platform)).reduce(
    (filled, [name, dir]) => filled.replaceAll(name, () => (escaped ? dir.replaceAll('\\', '\\\\') : dir)),
    text,
  );
}

function fillAll(value: unknown, platform: Platform): unknown {
  return JSON.parse(fill(JSON.stringify(value), platform, true));
}

export async function discoverExample(example: Example): Promise<Discovery> {
  const { platform, env, files, selfIdentity, cwd = '@PROJ@', options } = example;
  const path = platform === 'win32' ? win32 : posix;
  const filled = Object.entries(files).map(([name, file]) => [
    path.normalize(fill(name, platform)),
    {
      ...file,
      ...(file.text === undefined ? {} : { text: fill(file.text, platform, true) }),
      ...(file.json === undefined ? {} : { text: JSON.stringify(fillAll(file.json, platform)) }),
      ...(file.symlinkTo === undefined ? {} : { symlinkTo: fill(file.symlinkTo, platform) }),
    },
  ]);
  const host = memoryHost({
    platform,
    homedir: HOMES[platform],
    cwd: fill(cwd, platform),
    env: fillAll(env, platform) as Record<string, string>,
    files: Object.fromEntries(filled) as Record<string, MemoryFile>,
    ...(selfIdentity === undefined ? {} : { self: selfIdentity }),
  });
  return discoverServers(host, options);
}

export async function checkExample(example: Example): Promise<void> {
  const discovery = await discoverExample(example);
  const {
    servers,
    notServers = [],
    diagnostics,
    noDiagnostics = [],
    groups,
    conflicts,
  } = fillAll(example.expected, example.platform) as Example['expected'];
  for (const server of servers ?? []) expectServer(discovery, server);
  for (const name of notServers) expect(discovery.servers.map((server) => server.name)).not.toContain(name);
  if (servers !== undefined) expectNoOtherReady(discovery, servers);
  for (const diagnostic of diagnostics ?? [])
    expect(discovery.diagnostics).toContainEqual(expect.objectContaining(diagnostic));
  for (const diagnostic of noDiagnostics)
    expect(discovery.diagnostics).not.toContainEqual(expect.objectContaining(diagnostic));
  for (const group of groups ?? []) expect(discovery.groups.map(sorted)).toContainEqual(sorted(group));
  for (const conflict of conflicts ?? []) expect(discovery.conflicts.map(sorted)).toContainEqual(sorted(conflict));
  if (conflicts !== undefined) expect(discovery.conflicts.length).toBe(conflicts.length);
}

function sorted<Item extends { readonly members: readonly string[] }>(item: Item): Item {
  return { ...item, members: [...item.members].sort() };
}

function expectServer(discovery: Discovery, expected: Fields): void {
  const candidates = discovery.servers.filter(({ name, client, scope }) =>
    [
      [name, expected.name],
      [client, expected.client],
      [scope, expected.scope],
    ].every(([actual, wanted]) => wanted === undefined || actual === wanted),
  );
  const fitting = candidates.filter((candidate) => fits(candidate as unknown as Fields, expected));
  expect(fitting.length > 0 ? [expected] : candidates, `of ${JSON.stringify(expected.name)}`).toContainEqual(expected);
}

function fits(actual: Fields, expected: Fields): boolean {
  return Object.entries(expected).every(([key, value]) => {
    if (key === 'headersAbsent')
      return (value as string[]).every((name) => !Object.hasOwn(actual.headers as object, name));
    return typeof value === 'string' && value.includes('|') && ['state', 'transport', 'client', 'scope'].includes(key)
      ? value.split('|').includes(String(actual[key]))
      : includes(actual[key], value);
  });
}

/** Objects may say more than what is expected of them; lists may not. */
function includes(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected))
    return JSON.stringify(actual) === JSON.stringify(expected);
  const isEmpty = Object.keys(expected).length === 0;
  if (typeof actual !== 'object' || actual === null || (isEmpty && Object.keys(actual).length > 0)) return false;
  return Object.entries(expected).every(([key, value]) => includes((actual as Fields)[key], value));
}

function expectNoOtherReady(discovery: Discovery, expected: readonly Fields[]): void {
  const isListed = ({ name, client }: { name: string; client: string }): boolean =>
    expected.some(
      (server) =>
        server.name === name && (server.client === undefined || `${server.client}`.split('|').includes(client)),
    );
  expect(discovery.servers.filter((server) => server.state === 'ready' && !isListed(server))).toEqual([]);
}
