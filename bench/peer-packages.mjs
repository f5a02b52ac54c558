// The other gateways that the bridge is put beside: their versions, and where they are installed. They are too big to be
// dependencies of this project, so they are fetched when they are first measured.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { program } from './workspace.mjs';

const VERSIONS = { 'mcp-proxy': '6.7.19', 'mcp-hub': '4.2.1', supergateway: '4.0.0' };
const PREFIX = program('../node_modules/.cache/peers');
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
const INSTALL_MS = 300_000;

const manifestOf = (name) => join(PREFIX, 'node_modules', name, 'package.json');
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

function isInstalled([name, version]) {
  return existsSync(manifestOf(name)) && readJson(manifestOf(name)).version === version;
}

export const arePeersInstalled = () => Object.entries(VERSIONS).every(isInstalled);

export function installPeers() {
  const wanted = Object.entries(VERSIONS);
  if (arePeersInstalled()) return;
  mkdirSync(PREFIX, { recursive: true });
  writeFileSync(join(PREFIX, 'package.json'), '{ "private": true }\n');
  const packages = wanted.map(([name, version]) => `${name}@${version}`);
  execFileSync('npm', [...INSTALL, ...packages], { cwd: PREFIX, stdio: 'inherit', timeout: INSTALL_MS });
}

/** The program that a peer is started with. */
export function peerProgram(name) {
  const { bin } = readJson(manifestOf(name));
  return join(PREFIX, 'node_modules', name, typeof bin === 'string' ? bin : bin[name]);
}

export const titleOf = (name) => `${name} ${VERSIONS[name]}`;
