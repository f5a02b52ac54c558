// What the bundles that start often load at once: nothing that only some servers need.

import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { ROOT } from '../support/test-daemon.ts';

const codeOf = (name: string): string => {
  const bytes = readFileSync(join(ROOT, 'dist', name));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
};

test.each([
  ['mcp-bridge.cjs', []],
  ['later.cjs', ['fs-native-extensions']],
  // Those behind the first two are loaded with the first rule for tools, or arguments to be checked.
  ['daemon.cjs', ['fs-native-extensions', 'json-rpc-2.0', 'ajv', 'picomatch']],
  ['later/finder.cjs.gz', []],
])('%s requires no package but %j', (name, allowed) => {
  const required = [...codeOf(name).matchAll(/\brequire\d*\(["'`]([^."'`][^"'`]*)["'`]\)/g)].map(
    ([, path]) => path ?? '',
  );
  const packages = required.filter((path) => !isBuiltin(path)).map((path) => path.split('/')[0]);
  expect(allowed).toEqual(expect.arrayContaining([...new Set(packages)]));
  expect(required.filter((path) => /^node:(http|https|tls)$/.test(path))).toEqual([]);
});

test('connect loads neither node:crypto nor the check of all of a config', () => {
  const code = codeOf('mcp-bridge.cjs');
  expect(/node:crypto|registryHosts/.exec(code)?.[0]).toBeUndefined();
});

test.each([
  'mcp-bridge.cjs',
  'later.cjs',
  'daemon.cjs',
  'later/ajv.cjs.gz',
  'later/code-mode.cjs.gz',
  'later/finder.cjs.gz',
  'later/http-authorization.cjs.gz',
  'later/http-front.cjs.gz',
  'later/json-rpc.cjs.gz',
  'later/jsonc-parser.cjs.gz',
  'later/metrics-text.cjs.gz',
  'later/oauth.cjs.gz',
  'later/ws.cjs.gz',
  'hosts/federation.cjs.gz',
  'telemetry/telemetry.cjs.gz',
])('%s is ASCII, so that it can be read as it is and takes one byte for each character', (name) => {
  expect([...new Set(codeOf(name))].filter((letter) => letter > '\u007f')).toEqual([]);
});

test('connect loads the code that it needs without a daemon separately, after its first answer', () => {
  const ofLoss = /could not be reached again|The daemon did not start|bridge\/again/;
  expect(codeOf('mcp-bridge.cjs')).not.toMatch(ofLoss);
  expect(codeOf('later.cjs')).toMatch(ofLoss);
});

test('the daemon has nothing of discovery in it', () => {
  const code = codeOf('daemon.cjs');
  const ofDiscovery = /claude_desktop_config\.json|smol-toml|parseAllDocuments|parseTree/;
  expect(code).not.toMatch(ofDiscovery);
  expect(codeOf('later/finder.cjs.gz')).toMatch(ofDiscovery);
});

test('the daemon has nothing of HTTP in it', () => {
  const ofHttp = /x-accel-buffering|access-control-allow/;
  expect(ofHttp.exec(codeOf('daemon.cjs'))?.[0]).toBeUndefined();
  expect(ofHttp.test(codeOf('later/http-front.cjs.gz'))).toBe(true);
});

test('the daemon reads neither the interpreter of programs nor its runner until they are switched on', () => {
  const ofPrograms = /discovered_servers\(|--disallow-code-generation-from-strings/;
  expect(codeOf('daemon.cjs')).not.toMatch(/--disallow-code-generation-from-strings|quickjs|sucrase/i);
  expect(codeOf('later/code-mode.cjs.gz')).toMatch(ofPrograms);
  // All of dist/later is read when a daemon starts, and this only with `codeMode.enabled`.
  expect(readdirSync(join(ROOT, 'dist/code-mode')).sort()).toEqual(['LICENSE', 'python.cjs.gz', 'sandbox.cjs.gz']);
  for (const name of readdirSync(join(ROOT, 'dist/later')))
    expect(codeOf(`later/${name}`), name).not.toMatch(/quickjs|sucrase/i);
});

test('the daemon has nothing of other hosts in it, and does not read it without a bus', () => {
  const ofHosts = /JetStreamNotEnabled|Mcp-Accept-Part/;
  expect(ofHosts.exec(codeOf('daemon.cjs'))?.[0]).toBeUndefined();
  expect(ofHosts.test(codeOf('hosts/federation.cjs.gz'))).toBe(true);
  expect(readdirSync(join(ROOT, 'dist/later'))).not.toContain('federation.cjs.gz');
});

test('the daemon contains nothing of OpenTelemetry, and its telemetry is not read without an endpoint', () => {
  const ofTelemetry = /resourceSpans|mcp\.server\.operation\.duration|gen_ai\./;
  expect(ofTelemetry.exec(codeOf('daemon.cjs'))?.[0]).toBeUndefined();
  expect(codeOf('telemetry/telemetry.cjs.gz')).toMatch(ofTelemetry);
  expect(codeOf('telemetry/telemetry.cjs.gz')).not.toMatch(/\bimport\(/);
  expect(readdirSync(join(ROOT, 'dist/later'))).not.toContain('telemetry.cjs.gz');
});

test('the front for HTTP has nothing in it that verifies signatures', () => {
  const ofSignatures = /ERR_JWS_SIGNATURE_VERIFICATION_FAILED/;
  for (const name of ['daemon.cjs', 'later/http-front.cjs.gz']) expect(codeOf(name)).not.toMatch(ofSignatures);
  expect(codeOf('later/http-authorization.cjs.gz')).toMatch(ofSignatures);
});

/** A file of the command, with all that it imports before it runs. */
function loadedBy(name: string, seen = new Set<string>()): string {
  if (seen.has(name)) return '';
  seen.add(name);
  const code = codeOf(name);
  const imported = [...code.matchAll(/^(?:import|\} from|import \w+ from) "\.\/(.*)";$/gm)].map(
    ([, path]) => path ?? '',
  );
  return code + imported.map((path) => loadedBy(path, seen)).join('');
}

test('a command loads discovery and the parser of its words only when it needs them', () => {
  const ofCommand = loadedBy('dispatch.js');
  expect(ofCommand).toContain('Every day'); // of the table of commands
  expect(ofCommand).not.toMatch(/claude_desktop_config\.json|y18n/);
  expect(loadedBy('yargs.js')).toMatch(/y18n/);
});

test('mcp-bridge/client loads no more than docs/library.md says, and no package', async () => {
  const { metafile } = await build({
    entryPoints: [join(ROOT, 'src/client/index.ts')],
    ...{ bundle: true, minify: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
    ...{ packages: 'external', outdir: 'none', write: false, metafile: true },
    absWorkingDir: ROOT,
  });
  const { outputs } = metafile;
  const named = (name: string): string => {
    const path = Object.keys(outputs).find((one) => outputs[one]?.entryPoint?.endsWith(name));
    if (path === undefined) throw new Error(`${name} is not loaded by itself`);
    return path;
  };
  const loaded = new Set<string>();
  /** How many bytes these files load that were not loaded before. */
  const load = (...names: string[]): number => {
    const before = bytesOf(loaded);
    const add = (path: string): void => {
      if (loaded.has(path)) return;
      loaded.add(path);
      for (const { kind, path: other } of outputs[path]?.imports ?? [])
        if (kind === 'import-statement' && outputs[other] !== undefined) add(other);
    };
    for (const name of names) add(named(name));
    return bytesOf(loaded) - before;
  };
  const bytesOf = (paths: Set<string>): number =>
    [...paths].reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
  const first = load('client/index.ts');
  const connecting = load('client/open-or-start.ts', 'client/resuming-connection.ts', 'client/locate.ts');
  process.stdout.write(`mcp-bridge/client: ${first} bytes, connecting ${connecting}\n`);
  const said = [...(sectionOf('What is loaded').matchAll(/under (\d+) kB/g) ?? [])].map(([, kb]) => Number(kb) * 1000);
  expect(said).toHaveLength(2);
  const [mostFirst = 0, mostConnecting = 0] = said;
  expect(mostFirst).toBeLessThanOrEqual(15_000);
  expect(first).toBeLessThan(mostFirst);
  expect(connecting).toBeLessThan(mostConnecting);
  const packages = [...loaded].flatMap((path) =>
    (outputs[path]?.imports ?? []).filter(({ kind, external }) => kind === 'import-statement' && external === true),
  );
  expect(packages.map(({ path }) => path).filter((path) => !path.startsWith('node:'))).toEqual([]);
});

function sectionOf(title: string): string {
  const page = readFileSync(join(ROOT, 'docs/library.md'), 'utf8');
  return page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
}

test('the page of the dashboard has at most 150 kB of script, and names nothing elsewhere', () => {
  const [script, style, html] = ['dashboard.js', 'dashboard.css', 'index.html'].map((name) =>
    codeOf(`dashboard/${name}`),
  );
  expect(Buffer.byteLength(script ?? '')).toBeLessThanOrEqual(150_000);
  expect(html).not.toMatch(/<script(?! type="module" src="\/dashboard\.js">)|<style| style=| on\w+=/);
  const addresses = [script, style, html].flatMap((text) => text?.match(/\bhttps?:\/\/[^"'`\s)]+/g) ?? []);
  expect(addresses.filter((address) => !address.startsWith('http://www.w3.org/'))).toEqual([]);
});
