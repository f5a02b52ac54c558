// Bundles the command into dist/. What `connect` and the daemon load is one CommonJS file each: that starts some
// milliseconds sooner and takes 2 MB less than ES modules. The other commands are ES modules, split at what they share.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
/** Two programs of one version that were made of different sources are two builds. */
const sources = createHash('sha256');
for (const path of ['package.json', ...readdirSync('src', { recursive: true }).map((name) => join('src', name))].sort())
  if (/\.(?:ts|json|css|html|svg)$/.test(path))
    sources.update(path).update('\0').update(readFileSync(path)).update('\0');
const buildId = `${version}+${sources.digest('hex').slice(0, 12)}`;
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  packages: 'external',
  define: { MCP_BRIDGE_VERSION: JSON.stringify(version), MCP_BRIDGE_BUILD: JSON.stringify(buildId) },
  logLevel: 'warning',
};
// In short names, or what is read of the text would stay in the daemon's memory: 3 MiB. The maps are for who reads a trace.
const commonJs = {
  ...common,
  format: 'cjs',
  define: { ...common.define, 'import.meta.filename': '__filename' },
  minify: true,
  sourcemap: 'external',
  sourcesContent: false,
};

/** What is needed to run it is in the file itself; what is native stays outside. */
const whole = {
  packages: 'bundle',
  external: ['fs-native-extensions'],
  legalComments: 'none',
  mainFields: ['module', 'main'],
};

/**
 * The packages that a daemon needs later, if at all, by the names of their files; two parts of one package are one file, or each
 * would have classes of its own, which the other does not know. It reads them, compressed, when it starts: npm
 * may have replaced or removed the package by the time that they are needed.
 */
const laterPackages = {
  'json-rpc-2.0': 'json-rpc',
  'jsonc-parser': 'jsonc-parser',
  ws: 'ws',
  'ajv/dist/2020.js': 'ajv',
  ajv: 'ajv',
  '@modelcontextprotocol/client': 'oauth',
};
const later = {
  name: 'later',
  setup({ onResolve, onLoad }) {
    const isLater = ({ path }) =>
      path in laterPackages ? { path: laterPackages[path], namespace: 'later' } : undefined;
    onResolve({ filter: /^(?:json-rpc-2\.0|jsonc-parser|ws|ajv.*|@modelcontextprotocol\/client)$/ }, isLater);
    onLoad({ filter: /.*/, namespace: 'later' }, ({ path }) => ({
      contents: `module.exports = require('./later-code.ts').laterCode('${path}')`,
      resolveDir: 'src/local',
    }));
  },
};

/**
 * The sign-in is a part of the SDK of which the rest is not needed, so it is bundled and not installed. Its warnings would print
 * texts of servers.
 */
const oauth = { ...whole, minify: true, drop: ['console'] };
const oauthFrom = (names) => ({
  contents: `export { ${names.join(', ')} } from '@modelcontextprotocol/client'`,
  resolveDir: '.',
});

/** The command takes the sign-in from a file of its own. */
const ownOauth = {
  name: 'own-oauth',
  setup({ onResolve }) {
    onResolve({ filter: /^@modelcontextprotocol\/client$/ }, () => ({ path: './oauth.js', external: true }));
  },
};

/** The parser of command lines is twenty small packages, which cost each command as much time as Node itself: one file here. */
const ownYargs = {
  name: 'own-yargs',
  setup({ onResolve }) {
    onResolve({ filter: /^yargs$/ }, () => ({ path: './yargs.js', external: true }));
  },
};

/** Discovery is no part of the daemon: it runs in another process, and only for the bridge's own servers in this one. */
const ownDiscovery = {
  name: 'own-discovery',
  setup({ onResolve }) {
    onResolve({ filter: /\/discovery\/finding\.ts$/ }, () => ({ path: 'finder', namespace: 'later' }));
  },
};

/** The front for HTTP is no part of the daemon until somebody speaks HTTP, and neither is what only HTTP asks for. */
const ownFront = {
  name: 'own-front',
  setup({ onResolve }) {
    onResolve({ filter: /\/front\/http\/front\.ts$/ }, () => ({ path: 'http-front', namespace: 'later' }));
    onResolve({ filter: /\/front\/http\/authorization\.ts$/ }, () => ({
      path: 'http-authorization',
      namespace: 'later',
    }));
    onResolve({ filter: /\/control\/metrics-text\.ts$/ }, () => ({ path: 'metrics-text', namespace: 'later' }));
  },
};

/** Programs of models are no part of the daemon until the first one comes. */
const ownCodeMode = {
  name: 'own-code-mode',
  setup({ onResolve }) {
    onResolve({ filter: /\/code-mode\/code-mode\.ts$/ }, () => ({ path: 'code-mode', namespace: 'later' }));
  },
};

/** Traces and metrics are no part of the daemon until they have somewhere to go. */
const ownTelemetry = {
  name: 'own-telemetry',
  setup({ onResolve }) {
    onResolve({ filter: /\/telemetry\/telemetry\.ts$/ }, () => ({ path: 'telemetry', namespace: 'later' }));
  },
};

/** Other hosts are no part of the daemon until its config names a bus. */
const ownFederation = {
  name: 'own-federation',
  setup({ onResolve }) {
    onResolve({ filter: /\/federation\/federation\.ts$/ }, () => ({ path: 'federation', namespace: 'later' }));
  },
};

/** A `connect` that runs for long must come back after its package was replaced, so it has what it takes to try again. */
const patient = {
  name: 'patient',
  setup({ onResolve }) {
    const { resolve } = createRequire(import.meta.url);
    onResolve({ filter: /^p-retry$/ }, () => ({ path: resolve('p-retry') }));
    onResolve({ filter: /^is-network-error$/ }, () => ({
      path: createRequire(resolve('p-retry')).resolve('is-network-error'),
    }));
  },
};

/** Leaves the dynamic imports of these out of a bundle: they are files of their own. */
const elsewhere = {
  name: 'elsewhere',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/(?:dispatch|older-daemon|options-first|start-hint|config-program)\.ts$/ }, ({ path }) => ({
      path: `./${basename(path, '.ts')}.js`,
      external: true,
    }));
    // Required and not imported, so that the loader of ES modules stays asleep.
    onResolve({ filter: /\/daemon\/start\.ts$/ }, () => ({ path: 'daemon', namespace: 'required' }));
    onResolve({ filter: /^\.\/later\.ts$/ }, () => ({ path: 'later', namespace: 'kept' }));
    onLoad({ filter: /.*/, namespace: 'kept' }, () => ({
      contents: `let code; const run = require('./bundle-file.ts').keepBundle('later.cjs');
        exports.laterCode = () => (code ??= run().laterCode())`,
      resolveDir: 'src/local',
    }));
    onLoad({ filter: /.*/, namespace: 'required' }, () => ({
      contents: `module.exports = require('./bundle-file.ts').loadBundle('daemon.cjs')`,
      resolveDir: 'src/local',
    }));
  },
};

/** What a daemon may run later: one file with all that it needs, compressed. */
async function packed(name, source, dir = 'later') {
  const { outputFiles, metafile } = await build({
    ...commonJs,
    ...whole,
    sourcemap: false,
    write: false,
    metafile: true,
    ...source,
  });
  writeFileSync(`dist/${dir}/${name}.cjs.gz`, gzipSync(outputFiles[0].contents, { level: 9 }));
  return metafile;
}

/** The licenses of all the packages that are in a bundle. */
function licensesOf(metafile) {
  const inputs = Object.keys(metafile.inputs).filter((path) => path.startsWith('node_modules/'));
  const packages = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)[0]));
  const byText = new Map();
  for (const dir of [...packages].sort())
    for (const file of readdirSync(dir).filter((name) => /^licen[cs]e/i.test(name))) {
      const text = readFileSync(join(dir, file), 'utf8');
      byText.set(text, [...(byText.get(text) ?? []), dir.replace(/^.*node_modules\//, '')]);
    }
  return [...byText].map(([text, names]) => `${names.join(', ')}\n\n${text}`).join('\n\n');
}

/** The process that runs programs of models: the interpreter, and what removes types. In a directory that only daemons read that need it. */
async function builtSandbox() {
  const metafile = await packed(
    'sandbox',
    {
      entryPoints: ['src/code-mode/sandbox-program.ts'],
      loader: { '.wasm': 'binary' },
      define: { ...common.define, 'import.meta.url': '"file:///sandbox"' },
    },
    'code-mode',
  );
  writeFileSync('dist/code-mode/LICENSE', licensesOf(metafile));
  await packed('python', { entryPoints: ['src/code-mode/python-program.ts'] }, 'code-mode');
}

/** The room that sends traces and metrics. A module that is compiled by itself may import nothing at run time; it may require. */
async function builtTelemetry() {
  // Only a daemon that has somewhere to send traces and metrics reads it.
  const source = { entryPoints: ['src/telemetry/telemetry.ts'], supported: { 'dynamic-import': false } };
  writeFileSync('dist/telemetry/LICENSE', licensesOf(await packed('telemetry', source, 'telemetry')));
}

/** The parser of command lines, with the licenses of all the packages that are in it. */
async function builtYargs() {
  const { metafile } = await build({
    ...common,
    ...whole,
    minify: true,
    metafile: true,
    format: 'esm',
    stdin: { contents: "export { default } from 'yargs'", resolveDir: '.' },
    outfile: 'dist/yargs.js',
  });
  writeFileSync('dist/yargs.LICENSE', licensesOf(metafile));
}

/** Nobody sees the indentation of templates, which is a tenth of the page's script. */
const narrowTemplates = {
  name: 'narrow-templates',
  setup({ onLoad }) {
    onLoad({ filter: /src\/dashboard\/.*\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/\n\s+/g, '\n'),
      loader: 'ts',
    }));
  },
};

/** The page of `mcp-bridge ui`: one script, one style sheet, and what names them. Nothing of it is loaded from elsewhere. */
async function builtDashboard() {
  const dir = 'dist/dashboard';
  await build({
    bundle: true,
    platform: 'browser',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    format: 'esm',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [narrowTemplates],
    alias: { htm: 'htm/mini' },
    entryPoints: { dashboard: 'src/dashboard/main.ts', 'dashboard-style': 'src/dashboard/dashboard.css' },
    outdir: dir,
  });
  renameSync(`${dir}/dashboard-style.css`, `${dir}/dashboard.css`);
  for (const name of ['index.html', 'icon.svg']) copyFileSync(`src/dashboard/${name}`, `${dir}/${name}`);
  const licenses = ['preact', '@preact/signals', '@preact/signals-core', 'htm'].map((name) => {
    const file = readdirSync(`node_modules/${name}`).find((one) => /^licen[cs]e/i.test(one));
    return `${name}\n\n${readFileSync(`node_modules/${name}/${file}`, 'utf8')}`;
  });
  writeFileSync(`${dir}/LICENSE`, licenses.join('\n\n'));
}

rmSync('dist', { recursive: true, force: true });
mkdirSync('dist/later', { recursive: true });
mkdirSync('dist/code-mode', { recursive: true });
mkdirSync('dist/hosts', { recursive: true });
mkdirSync('dist/telemetry', { recursive: true });
await Promise.all([
  build({
    ...commonJs,
    entryPoints: ['src/cli/main.ts'],
    outfile: 'dist/mcp-bridge.cjs',
    plugins: [elsewhere],
  }),
  build({
    ...commonJs,
    entryPoints: ['src/client/later.ts'],
    outfile: 'dist/later.cjs',
    plugins: [patient],
  }),
  build({
    ...commonJs,
    entryPoints: ['src/daemon/start.ts'],
    outfile: 'dist/daemon.cjs',
    plugins: [ownDiscovery, ownFront, ownCodeMode, ownTelemetry, ownFederation, later],
  }),
  ...[...new Set(Object.values(laterPackages))]
    .filter((name) => name !== 'oauth')
    .map((name) => {
      const paths = Object.keys(laterPackages).filter((path) => laterPackages[path] === name);
      const parts = paths.map((path) => `require('${path}')`);
      const contents = `module.exports = ${parts.length === 1 ? parts[0] : `Object.assign({}, ${parts.join(', ')})`}`;
      return packed(name, { stdin: { contents, resolveDir: '.' } });
    }),
  packed('oauth', { ...oauth, stdin: oauthFrom(['auth']) }),
  build({
    ...common,
    ...oauth,
    format: 'esm',
    stdin: oauthFrom([
      ...['auth', 'InsecureTokenEndpointError', 'IssuerMismatchError', 'OAuthError'],
      'validateAuthorizationResponseIssuer',
    ]),
    outfile: 'dist/oauth.js',
  }),
  packed('http-front', { entryPoints: ['src/front/http/front.ts'] }),
  packed('metrics-text', { entryPoints: ['src/control/metrics-text.ts'] }),
  packed('code-mode', { entryPoints: ['src/code-mode/code-mode.ts'] }),
  builtSandbox(),
  packed('http-authorization', { entryPoints: ['src/front/http/authorization.ts'] }),
  builtTelemetry(),
  // Only a daemon whose config names a bus reads it.
  packed('federation', { entryPoints: ['src/federation/federation.ts'] }, 'hosts').then((metafile) =>
    writeFileSync('dist/hosts/federation.LICENSE', licensesOf(metafile)),
  ),
  builtYargs(),
  builtDashboard(),
  // The daemon hands its code to a process, and nothing else may be needed to run it.
  packed('finder', { entryPoints: ['src/daemon/finder-program.ts'] }),
  build({
    ...common,
    format: 'esm',
    splitting: true,
    outdir: 'dist',
    plugins: [ownOauth, ownYargs],
    entryPoints: {
      dispatch: 'src/cli/dispatch.ts',
      'options-first': 'src/cli/options-first.ts',
      client: 'src/client/index.ts',
      'older-daemon': 'src/client/older-daemon.ts',
      'start-hint': 'src/cli/start-hint.ts',
      'config-program': 'src/config/config-program.ts',
      'example-server': 'src/daemon/example-server.ts',
      discovery: 'src/discovery/index.ts',
      registry: 'src/registry/index.ts',
    },
  }),
]);
// The types of what can be imported, for those who do.
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
copyFileSync('node_modules/@modelcontextprotocol/client/LICENSE', 'dist/oauth.LICENSE');
chmodSync('dist/mcp-bridge.cjs', 0o755);
// What it says of itself, for `man mcp-bridge`.
await import('./man-page.mjs');
