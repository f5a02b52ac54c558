// How long discovery takes in a fresh process, and in one that remembers, when one file has changed: 200 files with
// 2,000 definitions, beside the places of all clients that are not there. Run after `make build`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILES = 200;
const DEFINITIONS_A_FILE = 10;
const RUNS = 11;

if (process.argv[2] === 'once') await measureOnce(process.argv[3]);
else measureAll();

async function measureOnce(home) {
  const before = performance.now();
  const { discoverServers, nodeDiscoveryHost, SourceMemory } = await import('../dist/discovery.js');
  const self = { bins: ['mcp-bridge'], packages: ['mcp-bridge'], endpoints: [] };
  const host = nodeDiscoveryHost({
    platform: process.platform,
    homedir: home,
    cwd: join(home, 'project'),
    env: {},
    self,
  });
  const memory = new SourceMemory();
  const { servers } = await discoverServers(host, { memory });
  const ms = performance.now() - before;
  const reload = await measureReload({ host, memory, discoverServers }, join(home, 'MCPs', 'file-0.json'));
  console.log(JSON.stringify({ ms, servers: servers.length, ...reload }));
}

async function measureReload({ host, memory, discoverServers }, changed) {
  let filesRead = 0;
  const read = (path) => {
    filesRead++;
    return host.files.read(path);
  };
  const counting = { ...host, files: { ...host.files, read } };
  memory.changed(changed);
  const before = performance.now();
  await discoverServers(counting, { memory });
  return { reloadMs: performance.now() - before, filesRead };
}

function measureAll() {
  const home = mkdtempSync(join(tmpdir(), 'mcp-discovery-'));
  try {
    makeTree(home);
    const own = fileURLToPath(import.meta.url);
    const runs = Array.from({ length: RUNS }, () =>
      JSON.parse(execFileSync(process.execPath, [own, 'once', home], { encoding: 'utf8' })),
    );
    console.log(`discovery of ${runs[0].servers} definitions in ${FILES} files, in ${RUNS} processes`);
    tell(
      'with loading it',
      runs.map(({ ms }) => ms),
    );
    tell(
      `reload after one changed file (reads ${runs[0].filesRead})`,
      runs.map(({ reloadMs }) => reloadMs),
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function tell(what, times) {
  const sorted = times.sort((a, b) => a - b);
  const [median, best, worst] = [sorted[RUNS >> 1], sorted[0], sorted.at(-1)].map((ms) => ms.toFixed(0));
  console.log(`  ${what}: median ${median} ms, best ${best} ms, worst ${worst} ms`);
}

/** Servers of all kinds, as they are in the files of people who have many. */
function makeTree(home) {
  const dir = join(home, 'MCPs');
  mkdirSync(dir, { recursive: true });
  mkdirSync(join(home, 'project'));
  for (let file = 0; file < FILES; file++) {
    const mcpServers = Object.fromEntries(
      Array.from({ length: DEFINITIONS_A_FILE }, (_, i) => [`server-${file}-${i}`, definition(file, i)]),
    );
    writeFileSync(join(dir, `file-${file}.json`), JSON.stringify({ mcpServers }, null, 2));
  }
}

function definition(file, i) {
  if (i % 3 === 0)
    return { type: 'http', url: `https://server-${file}.example/${i}/mcp`, headers: { 'X-Key': 'value' } };
  if (i % 3 === 1)
    return { command: 'npx', args: ['-y', `@scope/package-${file}-${i}`, '--flag'], env: { KEY: 'value' } };
  return { command: 'node', args: [`/opt/servers/${file}/${i}.js`], description: 'A server that does something' };
}
