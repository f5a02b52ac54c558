// Theme: the memory of eight agents that have eight servers each, directly and behind the bridge. The agents are this
// bench's own and do not count; everything that they need to have running does.
import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { argumentsOf, programOf, pssMib, treeOf } from './process-figures.mjs';
import { commandOf, realServers } from './real-servers.mjs';
import { connectCommand, startDaemon } from './subjects.mjs';
import { atMost } from './target.mjs';
import { Worker } from './worker.mjs';

const AGENTS = 8;
const SETTLE_MS = 2000;
const MOST_LOOKING_MS = 20_000;
/** The daemon, and the shell that ends the servers if the daemon is killed. */
const BRIDGE_PROCESSES = 2;

const isDedicated = ({ args }) => args[0]?.includes('server-sequential-thinking') === true;

const agents = Array.from({ length: AGENTS });
const viewOf = (name) => `server:${name}`;

// How one agent has its servers: the connections that it makes.
const WAYS = {
  direct: {
    title: 'direct stdio',
    connections: ({ servers }) => Object.values(servers).map((server) => ({ target: { command: commandOf(server) } })),
  },
  sockets: {
    title: 'bridge, a socket per server',
    connections: ({ servers, daemon }) => Object.keys(servers).map((name) => overSocket(daemon, viewOf(name))),
  },
  connect: {
    title: 'bridge, one `connect` per agent, view all',
    connections: ({ daemon }) => [overConnect(daemon, 'all')],
  },
  connects: {
    title: 'bridge, a `connect` per server',
    connections: ({ servers, daemon }) => Object.keys(servers).map((name) => overConnect(daemon, viewOf(name))),
  },
};

const overSocket = ({ path }, view) => ({ target: { unix: path }, meta: { 'mcp-bridge/view': view } });
const overConnect = ({ commandOfView }, view) => ({ target: { command: commandOfView(view) } });

export async function measureEightByEight(workspace) {
  const servers = realServers(workspace);
  const folder = workspace.newPath('folder');
  mkdirSync(folder);
  const results = {};
  for (const way of Object.keys(WAYS)) results[way] = await measureWay(workspace, { way, servers, folder });
  return theme(results, servers);
}

async function measureWay(workspace, { way, servers, folder }) {
  const daemon = way === 'direct' ? undefined : await startBridge(workspace, servers);
  const worker = new Worker(workspace, 'agents.mjs');
  const connections = agents.flatMap(() => WAYS[way].connections({ servers, daemon }));
  const opened = await worker.order({ open: connections, folder });
  await delay(SETTLE_MS);
  if (daemon !== undefined) await untilAtRest(daemon);
  const result = { ...opened, connections: connections.length, ...figuresOf({ daemon, servers, opened }) };
  await worker.order({ close: true });
  await worker.end(workspace);
  if (daemon !== undefined) await workspace.end(daemon.child);
  return result;
}

/** The process that looks for servers is none of what stands between. */
async function untilAtRest({ pid }) {
  for (let waitedMs = 0; waitedMs < MOST_LOOKING_MS; waitedMs += 100) {
    if (!treeOf(pid).some((other) => argumentsOf(other).some((word) => word.endsWith('finder.cjs')))) return;
    await delay(100);
  }
}

async function startBridge(workspace, servers) {
  const daemon = await startDaemon(workspace, { servers });
  return { ...daemon, commandOfView: (view) => connectCommand(workspace, daemon.path, view) };
}

function figuresOf({ daemon, servers, opened: { pids = [] } }) {
  const programs = new Set(Object.values(servers).map(({ args }) => args[0]));
  const isServer = (pid) => programs.has(programOf(pid));
  const all = [...pids, ...(daemon === undefined ? [] : [daemon.pid])].flatMap(treeOf);
  const [own, rest] = [all.filter(isServer), all.filter((pid) => !isServer(pid))];
  const dedicated = own.filter((pid) => isDedicated({ args: [programOf(pid)] })).length;
  return { servers: own.length, dedicated, rest: rest.length, serversMib: pssMib(own), restMib: pssMib(rest) };
}

const totalMib = ({ serversMib, restMib }) => serversMib + restMib;

function theme(results, servers) {
  const toDirect = (way) => totalMib(results[way]) / totalMib(results.direct);
  return {
    title: 'Eight agents with eight servers each',
    notes: [
      `PSS, one run. The servers: ${Object.keys(servers).join(', ')}. What stands between are the daemon, its guard, and each \`connect\`.`,
      'sequential-thinking keeps what one client thinks, so it is dedicated: at most a process for each agent. The lists come from what is known, once one has listed.',
    ],
    columns: ['how', 'connections', 'servers', 'between', 'servers MiB', 'between MiB', 'all MiB', '/ direct'],
    rows: Object.entries(results).map(([way, result]) => [
      WAYS[way].title,
      ...[result.connections, result.servers, result.rest].map(String),
      ...[result.serversMib, result.restMib, totalMib(result), toDirect(way)],
    ]),
    targets: [atMost('eight agents with eight servers each, PSS, bridge / direct', toDirect('sockets'), 0.2)],
    faults: faultsOf(results, Object.values(servers)),
    raw: results,
  };
}

function faultsOf(results, servers) {
  return Object.entries(results).flatMap(([way, result]) => {
    const { connections, toolCounts = [], faults, firstFault } = result;
    const isWhole = toolCounts.length === connections && toolCounts.every((count) => count > 0);
    return [
      ...(faults > 0 ? [`${way}: ${firstFault}`] : []),
      ...(isAsWanted(way, result, servers)
        ? []
        : [`${way}: ${result.servers} servers, ${result.dedicated} of them dedicated, and ${result.rest} others`]),
      ...(isWhole ? [] : [`${way}: tools are missing`]),
    ];
  });
}

/** Clients share a process of each server that keeps no state, and have at most one each of the others. */
function isAsWanted(way, { servers: count, dedicated, rest, connections }, servers) {
  if (way === 'direct') return count === connections && rest === 0;
  const kept = servers.filter(isDedicated).length;
  const isShared = count - dedicated === servers.length - kept;
  const between = BRIDGE_PROCESSES + (way === 'sockets' ? 0 : connections);
  return isShared && dedicated >= kept && dedicated <= kept * AGENTS && rest === between;
}
