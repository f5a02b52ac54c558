// Theme: what starting costs, against the smallest process that Node can be: time until `connect` has answered an
// `initialize`, time until a daemon accepts, and the memory of a `connect` among others of its kind.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { untilAccepting } from './accepting.mjs';
import { memoryKib } from './process-figures.mjs';
import { median, medianRatio, shuffled } from './statistics.mjs';
import { connectCommand, startDaemon, VIEW } from './subjects.mjs';
import { atMost } from './target.mjs';
import { program } from './workspace.mjs';

const COPIES = 8;
const SETTLE_MS = 1500;
const INITIALIZE = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' }, _meta: VIEW },
})}\n`;

export async function measureStartup(workspace, { isQuick }) {
  const daemon = await startDaemon(workspace);
  const shim = [process.execPath, program('smallest-shim.cjs'), daemon.path];
  const connect = connectCommand(workspace, daemon.path);
  const startsOf = {
    'node -e 0': () => untilExit(workspace, [process.execPath, '-e', '0']),
    'smallest shim': () => untilAnswer(workspace, shim),
    connect: () => untilAnswer(workspace, connect),
    daemon: () => untilDaemonAccepts(workspace),
  };
  const rounds = isQuick ? 5 : 21;
  const startMs = await interleaved(startsOf, rounds);
  const bare = [process.execPath, '-e', 'process.stdin.resume()'];
  const memory = {
    'node reading stdin': await heldMemory(workspace, bare, { says: false }),
    'smallest shim': await heldMemory(workspace, shim, { says: true }),
    connect: await heldMemory(workspace, connect, { says: true }),
  };
  await workspace.end(daemon.child);
  return theme({ startMs, memory, rounds });
}

async function interleaved(startsOf, rounds) {
  const names = Object.keys(startsOf);
  const startMs = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of shuffled(names)) {
      const ms = await startsOf[name]();
      if (round >= 0) startMs[name].push(ms);
    }
  }
  return startMs;
}

async function untilExit(workspace, [command, ...args]) {
  const began = performance.now();
  const child = workspace.spawn(command, args, { stdio: 'ignore' });
  await once(child, 'exit');
  return performance.now() - began;
}

async function untilAnswer(workspace, command) {
  const began = performance.now();
  const child = await answering(workspace, command);
  const ms = performance.now() - began;
  await workspace.end(child);
  return ms;
}

/** Starts a command, says hello, and resolves to the process once it has answered. */
async function answering(workspace, [command, ...args]) {
  const child = workspace.spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => child.kill()).write(INITIALIZE);
  const answer = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => undefined)]);
  if (answer === undefined || JSON.parse(answer[0].toString()).result === undefined)
    throw new Error(`no answer to initialize from ${args.slice(0, 2).join(' ')}`);
  return child;
}

async function untilDaemonAccepts(workspace) {
  const path = workspace.newPath('sock');
  const config = workspace.write({ mcpServers: {} });
  const args = [workspace.bridge, 'serve', '--mcp-bridge-socket', path, '--config', config, '--log-level', 'warn'];
  const began = performance.now();
  const child = workspace.spawn(process.execPath, args, { stdio: 'ignore' });
  await untilAccepting(path, child);
  const ms = performance.now() - began;
  await workspace.end(child);
  return ms;
}

/** The memory of one of several at once, so that what they share counts as it does on a machine with many agents. */
async function heldMemory(workspace, command, { says }) {
  const [file, ...args] = command;
  const start = () =>
    says ? answering(workspace, command) : workspace.spawn(file, args, { stdio: ['pipe', 'ignore', 'ignore'] });
  const held = await Promise.all(Array.from({ length: COPIES }, start));
  await delay(SETTLE_MS);
  const each = held.map(({ pid }) => memoryKib(pid));
  await Promise.all(held.map((child) => workspace.end(child)));
  return { rssMib: median(each.map(({ rss }) => rss / 1024)), pssMib: median(each.map(({ pss }) => pss / 1024)) };
}

function theme({ startMs, memory, rounds }) {
  const ratio = (name) => medianRatio(startMs[name], startMs['node -e 0']);
  const bare = memory['node reading stdin'];
  const names = [...new Set([...Object.keys(startMs), ...Object.keys(memory)])];
  return {
    title: 'Starting',
    notes: [
      `Medians of ${rounds} interleaved rounds: \`node -e 0\` until it has ended, shims until they have answered \`initialize\`, ` +
        `the daemon until it accepts. Memory is that of one of ${COPIES} at once.`,
    ],
    columns: ['what', 'ms', '/ node -e 0', 'RSS MiB', 'PSS MiB', 'PSS above bare node, MiB'],
    rows: names.map((name) => [
      name,
      median(startMs[name] ?? [Number.NaN]),
      startMs[name] === undefined ? Number.NaN : ratio(name),
      memory[name]?.rssMib,
      memory[name]?.pssMib,
      (memory[name]?.pssMib ?? Number.NaN) - bare.pssMib,
    ]),
    targets: [
      atMost('`connect` to its first answer / node -e 0', ratio('connect'), 1.15),
      atMost('the daemon until it accepts / node -e 0', ratio('daemon'), 2.5),
      atMost('`connect` above a bare node process, PSS', memory.connect.pssMib - bare.pssMib, 2, 'MiB'),
    ],
    faults: [],
    raw: { startMs, memory },
  };
}
