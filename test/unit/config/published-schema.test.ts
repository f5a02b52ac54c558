// What is published in config/ says the same as the code.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, test, vi } from 'vitest';
import { DEFAULT_AUDIT } from '../../../src/config/audit-settings.ts';
import { Reader } from '../../../src/config/reader.ts';
import { validate } from '../../../src/config/schema.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { DEFAULT_LIVENESS } from '../../../src/model/liveness-settings.ts';
import { DEFAULT_MESSAGING } from '../../../src/model/messaging-settings.ts';
import { DEFAULT_DAEMON, SETTINGS } from '../../../src/model/settings.ts';

interface Property {
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Property>>;
  readonly additionalProperties?: Property;
}

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../config/${name}`, import.meta.url)), 'utf8');
const schema = JSON.parse(read('mcp-bridge.schema.json')) as { properties: Record<string, Property> };
const faultsOf = (file: object): readonly string[] => validate(file, (path) => path).faults;

describe('the JSON Schema', () => {
  test.each([
    ['limits', DEFAULT_LIMITS],
    ['liveness', DEFAULT_LIVENESS],
    ['daemon', DEFAULT_DAEMON],
  ])('has all of %s with the defaults', (section, defaults) => {
    const properties = schema.properties[section]?.properties ?? {};
    expect(Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, value.default]))).toEqual(
      defaults,
    );
  });

  test('has all of audit with the defaults', () => {
    const { isKept, keepsArguments, file, ...others } = DEFAULT_AUDIT;
    const defaults = { ...others, enabled: isKept, arguments: keepsArguments, file };
    const properties = schema.properties.audit?.properties ?? {};
    expect(Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, value.default]))).toEqual(
      defaults,
    );
    for (const onFailure of properties.onFailure?.enum ?? []) expect(faultsOf({ audit: { onFailure } })).toEqual([]);
  });

  test('has all of agents with the defaults', () => {
    const properties = schema.properties.agents?.properties ?? {};
    const { isEnabled: enabled, mailbox, policy: _, ...numbers } = DEFAULT_MESSAGING;
    const defaults = Object.entries(properties).map(([key, value]) => [key, value.default]);
    expect(Object.fromEntries(defaults)).toEqual({ enabled, ...numbers, mailbox: undefined, policy: undefined });
    const box = Object.entries(properties.mailbox?.properties ?? {}).map(([key, value]) => [key, value.default]);
    expect(Object.fromEntries(box)).toEqual(mailbox);
  });

  test('draws the same borders', () => {
    for (const section of ['limits', 'liveness', 'daemon', 'audit', 'http', 'agents']) {
      for (const [key, { minimum, maximum }] of Object.entries(schema.properties[section]?.properties ?? {})) {
        if (minimum !== undefined) {
          expect(faultsOf({ [section]: { [key]: minimum } })).toEqual([]);
          expect(faultsOf({ [section]: { [key]: minimum - 1 } })).toHaveLength(1);
        }
        if (maximum !== undefined) expect(faultsOf({ [section]: { [key]: maximum + 1 } })).toHaveLength(1);
      }
    }
  });

  test('knows the policies for changed tools', () => {
    const known = schema.properties.policy?.properties?.onToolChange?.enum ?? [];
    expect(known).toEqual(['allow', 'warn', 'block']);
    for (const onToolChange of known)
      expect(validate({ policy: { onToolChange } }, (path) => path)).toMatchObject({
        config: { onToolChange },
        faults: [],
      });
    const { config, faults } = validate({ policy: { onToolChange: 'ask' } }, (path) => path);
    expect([config.onToolChange, faults]).toEqual([
      'block',
      ['policy.onToolChange is one of allow, warn, block (until it is corrected, block applies)'],
    ]);
  });

  test('knows the sections that the code knows', () => {
    const sections = Object.fromEntries(
      Object.keys(schema.properties).map((key) => [key, key === '$schema' ? '' : key === 'clients' ? [] : {}]),
    );
    expect(faultsOf(sections)).toEqual([]);
    expect(faultsOf({ other: {} })).toEqual(['other is not known']);
  });
});

test('the JSON Schema knows the keys and types of a server that the code knows', () => {
  const server = schema.properties.mcpServers?.additionalProperties?.properties ?? {};
  for (const entry of [{ command: 'c' }, { url: 'https://x' }]) {
    const fields = Object.fromEntries(Object.keys(server).map((key) => [key, 0]));
    expect(faultsOf({ mcpServers: { s: { ...fields, ...entry } } }).filter((fault) => fault.endsWith('known'))).toEqual(
      [],
    );
  }
  const oauth = Object.keys(server.oauth?.properties ?? {});
  const fields = Object.fromEntries(oauth.map((key) => [key, key === 'callbackPort' ? 1 : 'x']));
  expect(faultsOf({ mcpServers: { s: { url: 'https://x', oauth: fields } } })).toEqual([]);
  for (const type of server.type?.enum ?? []) {
    const entry = type === 'stdio' ? { command: 'c' } : { url: type === 'ws' ? 'ws://x' : 'https://x' };
    expect(faultsOf({ mcpServers: { s: { type, ...entry } } })).toEqual([]);
  }
});

test('the JSON Schema knows the keys of a server that dials in that the code knows', () => {
  const keys = Object.keys(schema.properties.dialIn?.additionalProperties?.properties ?? {});
  expect(keys).toHaveLength(4);
  const fields = { description: 'd', timeoutMs: 1, startTimeoutMs: 1, trustHints: true };
  expect(keys).toEqual(Object.keys(fields));
  expect(faultsOf({ dialIn: { ide: fields } })).toEqual([]);
});

describe('the JSON Schema and the reader', () => {
  const isOfSchema = new Ajv2020({ strict: false, unicodeRegExp: true }).compile(schema);
  const mistakesIn = (file: unknown): string[] =>
    validate(file, (path) => path)
      .findings.filter(({ level }) => level === 'error')
      .map(({ place }) => place);

  test('know the same keys, everywhere', () => {
    const keys = vi.spyOn(Reader.prototype, 'keys');
    const rule = { toolRules: [{ pattern: ['x'] }] };
    validate({ mcpServers: { s: { url: 'https://x' } }, discovery: rule }, (path) => path);
    const known = new Map(
      keys.mock.calls.map(([, place, names, unheeded = []]) => [place, [...names, ...unheeded].sort()] as const),
    );
    keys.mockRestore();
    expect(known.size).toBeGreaterThanOrEqual(11);
    for (const [place, names] of known) expect([place, propertiesAt(place)]).toEqual([place, names]);
  });

  test('accept and refuse the same files', () => {
    const refused = [0, 0];
    fc.assert(
      fc.property(files(), (file) => {
        refused[Number(isOfSchema(file))] = 1 + (refused[Number(isOfSchema(file))] ?? 0);
        expect({ file, mistakes: mistakesIn(file), isRefused: mistakesIn(file).length > 0 }).toMatchObject({
          isRefused: !isOfSchema(file),
        });
      }),
      { numRuns: 2000 },
    );
    expect(Math.min(...refused)).toBeGreaterThan(200);
  });
});

/** The names in an object of the schema, at a place as faults name it. */
function propertiesAt(place: string): string[] {
  interface Node {
    readonly properties?: Readonly<Record<string, Node>>;
    readonly additionalProperties?: Node;
    readonly items?: Node;
  }
  let node: Node | undefined = schema;
  for (const step of place === '' ? [] : place.replaceAll('[0]', '.[0]').split('.'))
    node = step === '[0]' ? node?.items : (node?.properties?.[step] ?? node?.additionalProperties);
  return Object.keys(node?.properties ?? {}).sort();
}

/** Files that say any of what may be said, now and then wrongly. */
function files(): fc.Arbitrary<unknown> {
  const mostly = (good: readonly unknown[], wrong: readonly unknown[]): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...good) }, fc.constantFrom(...wrong));
  const object = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>, needed: string[] = []) =>
    fc.oneof(
      { weight: 60, arbitrary: fc.record(fields, { requiredKeys: needed }) },
      fc.record({ ...fields, unknown: fc.constant(1) }),
      fc.constantFrom<unknown>('x', []),
    );
  const texts = mostly([[], ['a'], ['a', '']], [['a', 7], 'a']);
  const text = mostly(['a', 'b'], ['', 7]);
  const map = mostly([{}, { A: 'x' }], [{ A: 1 }, []]);
  const flag = mostly([true, false], ['true', 0]);
  const count = mostly([1, 300], [0, -1, 1.5, '1', 70_000]);
  const anyText = mostly(['a', ''], [7]);
  const common = {
    ...{ description: anyText, timeoutMs: count, startTimeoutMs: count, idleMs: count, trustHints: flag, cwd: text },
    sharing: mostly(['auto', 'shared', 'dedicated'], ['some', 1]),
    maxConcurrentCalls: mostly([0, 1, 5], [-1, '1', 0.5]),
  };
  const stdio = object({ ...common, command: text, args: texts, env: map }, ['command']);
  const oauth = object({ clientId: text, clientSecret: text, scope: text, callbackPort: count }, ['clientId']);
  const url = mostly(['https://x/y', 'http://x'], [7, '', 'ftp://x']);
  const remote = object({ ...common, url, headers: map, headersHelper: text, oauth }, ['url']);
  const either = object({ command: text, url });
  const limitOf = (key: string) => (/^(?:progress|cutOff)/.test(key) ? flag : mostly([1 << 20, 4096], [4, -1, 0, '1']));
  const limits = (defaults: object) =>
    object(
      Object.fromEntries(
        Object.keys(defaults).map((key) => [key, key === 'maxDepth' ? mostly([64], [4, 5000]) : limitOf(key)]),
      ),
    );
  const groups = mostly(
    [[], [['a', 'b']], [['a b', 'c', '7']]],
    [[['a']], [['a', '-']], ['a'], 'a', [['a', 'x'.repeat(101)]], [['a', 7]]],
  );
  const byWord = mostly(
    [{}, { a: ['b'] }, { 'a b': ['c', '7'] }],
    [{ a: [] }, { a: ['-'] }, { '-': ['a'] }, { a: 'b' }, [['a', 'b']]],
  );
  const rule = object({ pattern: mostly([['a'], ['b', 'c*']], [[], 'a', [7]]), enabled: flag, tags: texts }, [
    'pattern',
  ]);
  const server = fc.oneof({ weight: 9, arbitrary: stdio }, { weight: 9, arbitrary: remote }, either);
  const name = fc.oneof({ weight: 30, arbitrary: fc.constantFrom('a', 'b c') }, fc.constantFrom('', 'a\nb'));
  const discovery = {
    ...{ enabled: flag, precedence: mostly(['scope', 'first-wins'], ['x', null]) },
    ...{ cache: object({ enabled: flag, ttl: mostly([0, 60], [-1, '1']) }), search: object({ synonyms: groups }) },
    ...{ sources: texts, agentPlugins: texts },
    ...{ registries: texts, registryHosts: mostly(['loopback', 'any'], ['none', 7]) },
    toolRules: fc.oneof({ weight: 30, arbitrary: fc.array(rule, { maxLength: 2 }) }, fc.constant('x')),
  };
  const delay = mostly([0, 100], [-1, '1', 0.5]);
  const reconnect = {
    ...{ enabled: flag, maxAttempts: mostly([1, 20], [0, 1.5, '1', 10_001]) },
    ...{ initialDelayMs: delay, maxDelayMs: delay },
  };
  const audit = {
    ...{ enabled: flag, file: text, maxBytes: mostly([65_536], [1000, '1']), keep: mostly([1, 1000], [0, 1001]) },
    ...{ arguments: flag, onFailure: mostly(['continue', 'refuse'], ['stop', 1]) },
  };
  const trusted = mostly(['https://a/b', 'http://localhost:1'], ['', 7, 'ftp://a', 'https://a?b', 'https://a#b', 'x']);
  const http = {
    listen: mostly(['127.0.0.1:0', '[::1]:4810', 'localhost:1', 'unix:/x'], ['x', '', 7, '127.0.0.1', 'host:80']),
    ...{ tokens: mostly([true], ['no']), allowRemote: flag, behindProxy: flag },
    allowedHosts: mostly([[], ['a.b', '[::1]', 'A']], ['a', ['a:1'], [''], [7]]),
    allowedOrigins: mostly([[], ['https://a.b:1', 'vscode-webview://x']], ['*', ['*'], ['https://a/b'], ['a']]),
    tls: object({ cert: text, key: text }, ['cert', 'key']),
    authorization: object(
      {
        issuer: trusted,
        resource: trusted,
        jwksUri: trusted,
        scopes: mostly([[], ['a:b', 'c']], [['a b'], [7], 'a', ['"']]),
      },
      ['issuer', 'resource'],
    ),
  };
  const { cwd: _, ...settings } = common;
  const sections = {
    serverSettings: object({ a: object(settings) }),
    mcpBridge: object({ socketPath: text, autoConnect: flag, reconnect: object(reconnect) }),
    daemon: object({ idleExitMs: delay }),
    policy: object({ onToolChange: mostly(['allow', 'warn', 'block'], ['ask', 1]) }),
    audit: object(audit),
    http: object(http),
    client: object({
      id: fc.oneof(text, mostly(['me', '!~'], ['a b', 'é', 'x'.repeat(129)])),
      view: mostly(['discover', 'all', 'server:x'], ['server:', 'y', 7]),
    }),
    mcpServers: fc.dictionary(name, server, { maxKeys: 2 }),
    discovery: object(discovery),
    search: object({ ranker: mostly(['', 'r.mjs'], [7]), synonyms: byWord }),
    limits: limits(DEFAULT_LIMITS),
    liveness: limits(DEFAULT_LIVENESS),
  };
  return fc.oneof(
    ...Object.entries(sections).map(([section, value]) => fc.record({ [section]: value })),
    object(sections),
  );
}

describe('each row of the table of settings', () => {
  const rows = Object.entries(SETTINGS).flatMap(([place, table]) =>
    Object.entries(table).map(([key, row]) => [`${place}.${key}`, row] as const),
  );
  const fileWith = (place: string, value: unknown): object =>
    place.split('.').reduceRight<unknown>((inner, key, at, keys) => {
      const name = key === '*' ? 'name' : key;
      const isServer = keys[0] === 'mcpServers' && at === 1;
      return { [name]: isServer ? { command: 'c', ...(inner as object) } : inner };
    }, value) as object;

  test.each(rows)('%s accepts its default and values within its limits, and no other type', (place, row) => {
    const good =
      row.kind === 'count'
        ? [row.least, row.most ?? Number.MAX_SAFE_INTEGER, row.default ?? row.least]
        : row.kind === 'flag'
          ? [true, false]
          : row.kind === 'choice'
            ? row.choices
            : ['text'];
    const bad = row.kind === 'count' ? [row.least - 1, (row.most ?? Number.MAX_SAFE_INTEGER) + 1, '1'] : [7, {}];
    for (const value of good) expect(faultsOf(fileWith(place, value))).toEqual([]);
    for (const value of bad) expect(faultsOf(fileWith(place, value))).toHaveLength(1);
  });
});

test('the schema and the settings page agree with the table of settings', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, ['scripts/settings.mjs', '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
});

test('the example has no faults', () => {
  expect(faultsOf(parse(read('mcp-bridge.config.example.jsonc')) as object)).toEqual([]);
});
