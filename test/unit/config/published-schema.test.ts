// What is published in config/ says the same as the code.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { DEFAULT_AUDIT } from '../../../src/config/audit-settings.ts';
import { validate } from '../../../src/config/schema.ts';
import { DEFAULT_LIVENESS } from '../../../src/core/liveness.ts';
import { DEFAULT_LIMITS } from '../../../src/wire/limits.ts';

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

  test('draws the same borders', () => {
    for (const section of ['limits', 'liveness', 'audit']) {
      for (const [key, { minimum, maximum }] of Object.entries(schema.properties[section]?.properties ?? {})) {
        if (minimum !== undefined) {
          expect(faultsOf({ [section]: { [key]: minimum } })).toEqual([]);
          expect(faultsOf({ [section]: { [key]: minimum - 1 } })).toHaveLength(1);
        }
        if (maximum !== undefined) expect(faultsOf({ [section]: { [key]: maximum + 1 } })).toHaveLength(1);
      }
    }
  });

  test('knows what may become of tools that change', () => {
    const known = schema.properties.policy?.properties?.onToolChange?.enum ?? [];
    expect(known).toEqual(['allow', 'warn', 'block']);
    for (const onToolChange of known)
      expect(validate({ policy: { onToolChange } }, (path) => path)).toMatchObject({
        config: { onToolChange },
        faults: [],
      });
    const { config, faults } = validate({ policy: { onToolChange: 'ask' } }, (path) => path);
    expect([config.onToolChange, faults]).toEqual([undefined, ['policy.onToolChange is one of allow, warn, block']]);
  });

  test('knows the sections that the code knows', () => {
    const sections = Object.fromEntries(
      Object.keys(schema.properties).map((key) => [key, key === '$schema' ? '' : {}]),
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

test('the example has no faults', () => {
  expect(faultsOf(parse(read('mcp-bridge.config.example.jsonc')) as object)).toEqual([]);
});
