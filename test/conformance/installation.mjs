// The programs of others that check the bridge, and a Node that runs them. They need a newer one than the bridge does,
// so they are no dependencies of it: they lie in the cache below node_modules, and are installed when first needed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodePackage } from '../support/node-package.mjs';

const DIR = fileURLToPath(new URL('../../node_modules/.cache/conformance/', import.meta.url));
const RECORD = join(DIR, 'installed.json');
const PATIENCE_MS = 170_000;

const SUITE = '@modelcontextprotocol/conformance';
const INSPECTOR = '@modelcontextprotocol/inspector';
const NEEDED_NODE = [22, 19];

const isNodeNewEnough = () => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > NEEDED_NODE[0] || (major === NEEDED_NODE[0] && minor >= NEEDED_NODE[1]);
};

const inside = (name, path) => join(DIR, 'node_modules', name, path);

function programOf(name, command) {
  const { bin } = JSON.parse(readFileSync(inside(name, 'package.json'), 'utf8'));
  return inside(name, bin[command]);
}

/** Installs what is not there yet. Returns the paths of a Node and of the programs that it runs. */
export async function installation(workspace) {
  const packages = [`${SUITE}@0.2.0-alpha.12`, `${INSPECTOR}@2.12.0`];
  if (!isNodeNewEnough()) packages.push(`${nodePackage()}@24`);
  const wanted = JSON.stringify(packages);
  if (!existsSync(RECORD) || readFileSync(RECORD, 'utf8') !== wanted) await install(workspace, packages, wanted);
  return {
    node: isNodeNewEnough() ? process.execPath : inside(nodePackage(), 'bin/node'),
    suite: programOf(SUITE, 'conformance'),
    inspector: programOf(INSPECTOR, 'inspector'),
  };
}

async function install(workspace, packages, record) {
  console.log(`Installing ${packages.join(', ')}`);
  mkdirSync(DIR, { recursive: true });
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const args = ['install', '--prefix', DIR, ...flags, ...packages];
  // With the user's own environment: where their packages come from may be said in their home.
  const { code, stderr } = await workspace.run('npm', args, PATIENCE_MS, { env: process.env });
  if (code !== 0) throw new Error(`They could not be installed. ${stderr}`);
  writeFileSync(RECORD, record);
}
