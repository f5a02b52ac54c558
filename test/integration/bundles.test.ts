// What the bundles that start often load at once: nothing that only some servers need.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/test-daemon.ts';

const codeOf = (name: string): string => readFileSync(join(ROOT, 'dist', name), 'utf8');

test.each([
  ['mcp-bridge.cjs', ['fs-native-extensions']],
  // Those behind the first two are loaded with the first rule for tools, or arguments to be checked.
  ['daemon.cjs', ['fs-native-extensions', 'json-rpc-2.0', 'ajv', 'picomatch']],
  ['finder.cjs', []],
])('%s requires no package but %j', (name, allowed) => {
  const required = [...codeOf(name).matchAll(/\brequire\d*\(["'`]([^."'`][^"'`]*)["'`]\)/g)].map(
    ([, path]) => path ?? '',
  );
  const packages = required.filter((path) => !path.startsWith('node:')).map((path) => path.split('/')[0]);
  expect(allowed).toEqual(expect.arrayContaining([...new Set(packages)]));
  expect(required.filter((path) => /^node:(http|https|tls)$/.test(path))).toEqual([]);
});

test('the daemon has nothing of discovery in it, and no letter for which all of it would take two bytes each', () => {
  const code = codeOf('daemon.cjs');
  expect(code).not.toMatch(/src\/discovery|smol-toml|parseAllDocuments|parseTree/);
  expect([...code].filter((letter) => letter > '\u00ff')).toEqual([]);
  expect(codeOf('finding.cjs')).toMatch(/src\/discovery/);
});
