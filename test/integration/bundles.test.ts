// What the bundles that start often load at once: nothing that only some servers need.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
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
  const ofDiscovery = /claude_desktop_config\.json|smol-toml|parseAllDocuments|parseTree/;
  expect(code).not.toMatch(ofDiscovery);
  expect([...code].filter((letter) => letter > '\u00ff')).toEqual([]);
  expect(codeOf('finding.cjs')).toMatch(ofDiscovery);
});

test('mcp-bridge/client has under 15 kB, and what connecting loads is watched too', async () => {
  const { metafile } = await build({
    entryPoints: [join(ROOT, 'src/client/index.ts')],
    ...{ bundle: true, minify: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
    ...{ packages: 'external', outdir: 'none', write: false, metafile: true },
    absWorkingDir: ROOT,
  });
  const { outputs } = metafile;
  const named = (name: string): string =>
    Object.keys(outputs).find((path) => outputs[path]?.entryPoint?.endsWith(name)) ?? '';
  const loadedBy = (paths: readonly string[]): Set<string> => {
    const loaded = new Set<string>();
    const load = (path: string): void => {
      if (loaded.has(path)) return;
      loaded.add(path);
      for (const { kind, path: other } of outputs[path]?.imports ?? [])
        if (kind === 'import-statement' && outputs[other] !== undefined) load(other);
    };
    for (const path of paths) load(path);
    return loaded;
  };
  const bytes = (paths: Set<string>): number => [...paths].reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
  const entry = named('client/index.ts');
  expect(bytes(loadedBy([entry]))).toBeLessThan(15_000);
  const carries = ['client/open-or-start.ts', 'client/resuming-connection.ts'].map(named);
  expect(bytes(loadedBy([entry, ...carries]))).toBeLessThan(45_000);
  const packages = [...loadedBy([entry, ...carries, named('client/locate.ts')])].flatMap((path) =>
    (outputs[path]?.imports ?? []).filter(({ kind, external }) => kind === 'import-statement' && external === true),
  );
  expect(packages.map(({ path }) => path).filter((path) => !path.startsWith('node:'))).toEqual([]);
});
