// Records the tools of public servers as data for the measurement of search: installs each package in a directory of its
// own, starts it, asks `tools/list`, and writes bench/search/tools/NAME.json.
//   node bench/search/record.mjs [NAME…]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from './server-packages.mjs';

const TARGET = fileURLToPath(new URL('tools/', import.meta.url));
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
const INSTALL_MS = 300_000;
const ANSWER_MS = 60_000;
const PROTOCOL = '2025-06-18';

const wanted = process.argv.slice(2);
for (const entry of PACKAGES) if (wanted.length === 0 || wanted.includes(entry.name)) await recordOne(entry);

async function recordOne(entry) {
  const dir = mkdtempSync(join(tmpdir(), 'mcp-record-'));
  try {
    const manifest = install(entry.package, dir);
    const tools = await toolsOf(launchOf(entry, manifest, dir), dir);
    const text = recordOf(entry.name, manifest, tools).replaceAll(join(dir, 'folder'), '/folder');
    refuseTraces(text, dir);
    mkdirSync(TARGET, { recursive: true });
    writeFileSync(join(TARGET, `${entry.name}.json`), text);
    console.log(`${entry.name}: ${tools.length} tools, ${text.length} bytes`);
  } catch (error) {
    process.exitCode = 1;
    console.error(`${entry.name}: ${error.message}`);
  } finally {
    remove(dir);
  }
}

/** Some servers start others that outlive them and still write there. */
function remove(dir) {
  try {
    rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  } catch (error) {
    console.error(`${dir} is left: ${error.message}`);
  }
}

/** A tool a line, so that another version of a server makes a difference that can be read. */
function recordOf(name, { name: npmPackage, version }, tools) {
  const head = JSON.stringify({ name, package: npmPackage, version }).slice(0, -1);
  return `${head},"tools":[\n${tools.map((tool) => JSON.stringify(tool)).join(',\n')}\n]}\n`;
}

function install(spec, dir) {
  writeFileSync(join(dir, 'package.json'), '{ "private": true }\n');
  execFileSync('npm', [...INSTALL, spec], { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS });
  const root = join(dir, 'node_modules', spec.slice(0, spec.lastIndexOf('@')));
  return { root, ...JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) };
}

function launchOf({ args = [], env = {} }, { root, name, bin }, dir) {
  const folder = join(dir, 'folder');
  mkdirSync(folder);
  const short = name.slice(name.indexOf('/') + 1);
  const program = typeof bin === 'string' ? bin : (bin[short] ?? Object.values(bin)[0]);
  const filled = (text) => text.replace('FOLDER', folder);
  return { args: [join(root, program), ...args.map(filled)], env, folder };
}

async function toolsOf({ args, env, folder }, dir) {
  const settings = { PATH: process.env.PATH, CI: 'true', HOME: dir, XDG_CONFIG_HOME: dir, ...env };
  const child = spawn(process.execPath, args, { cwd: folder, env: settings, stdio: 'pipe', detached: true });
  const isOver = once(child, 'exit');
  try {
    return await askForTools(child);
  } finally {
    endGroup(child.pid);
    await isOver;
  }
}

/** With what it has started itself. */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

async function askForTools(child) {
  const ask = conversationWith(child);
  const clientInfo = { name: 'recorder', version: '1.0.0' };
  await ask('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  const tools = [];
  let cursor;
  do {
    const page = await ask('tools/list', cursor === undefined ? {} : { cursor });
    tools.push(
      ...page.tools.map(({ name, title, description, inputSchema }) => ({ name, title, description, inputSchema })),
    );
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

function conversationWith(child) {
  const waiting = new Map();
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-500);
  });
  const failAll = (why) => {
    for (const { reject } of waiting.values()) reject(new Error(`${why}: ${complaint}`));
  };
  child.on('error', (error) => failAll(error.message));
  child.on('exit', (code) => failAll(`it ended with ${code}`));
  child.stdin.on('error', () => failAll('it does not read'));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = parse(line);
    if (message?.method !== undefined || message?.id === undefined) return;
    const { resolve, reject } = waiting.get(message.id) ?? {};
    if (message.error !== undefined) reject?.(new Error(message.error.message));
    else resolve?.(message.result);
  });
  return (method, params) =>
    new Promise((resolve, reject) => {
      const id = waiting.size + 1;
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}: ${complaint}`)), ANSWER_MS);
      timer.unref();
      waiting.set(id, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // Some print what is no message.
  }
}

/** What is recorded must be the same wherever it is recorded. */
function refuseTraces(text, dir) {
  for (const trace of [dir, tmpdir(), homedir(), userInfo().username, '//registry.'])
    if (trace.length > 4 && text.includes(trace)) throw new Error(`what it says has ${trace} in it`);
}
