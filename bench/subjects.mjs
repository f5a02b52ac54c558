// What is measured against each other. Each subject has a target for the load generator, and names the processes that
// stand between a client and its server, whose CPU time is the subject's own.
import { basename, join } from 'node:path';
import { untilAccepting } from './accepting.mjs';
import { program } from './workspace.mjs';

export const VIEW = { 'mcp-bridge/view': 'server:echo' };
const VIEW_OF_ALL = { 'mcp-bridge/view': 'all' };
export const VIEW_DISCOVER = { 'mcp-bridge/view': 'discover' };
const EXECUTED = { server: 'echo', tool: 'echo' };
const ECHO = [process.execPath, program('echo-server.mjs')];
export const ECHO_CONFIG = { command: ECHO[0], args: ECHO.slice(1) };

/** Starts a daemon, with one server if no others are named; resolves to { pid, path, child } when it accepts. */
export async function startDaemon(
  workspace,
  { prefix = [], settings = {}, servers = { echo: ECHO_CONFIG }, build } = {},
) {
  const path = workspace.newPath('sock');
  // What an earlier run has learnt would have servers not start that are to be measured.
  const discovery = { cache: { enabled: false } };
  const config = workspace.write({ discovery, ...settings, mcpServers: servers });
  const bridge = build === undefined ? workspace.bridge : join(build, basename(workspace.bridge));
  const serve = [bridge, 'serve', '--mcp-bridge-socket', path, '--config', config, '--log-level', 'warn'];
  const child = start(workspace, [...prefix, process.execPath, ...serve], 'ignore');
  await untilAccepting(path, child);
  return { pid: child.pid, path, child };
}

/** A command for a client that wants to reach a daemon by stdio. */
export const connectCommand = (workspace, path, view = VIEW['mcp-bridge/view']) => [
  ...[process.execPath, workspace.bridge, 'connect', '--no-autostart'],
  ...['--mcp-bridge-socket', path, '--view', view],
];

function start(workspace, [command, ...args], stderr = 'inherit') {
  return workspace.spawn(command, args, { stdio: ['ignore', 'ignore', stderr] });
}

async function startOnSocket(workspace, prefix, name) {
  const path = workspace.newPath('sock');
  const child = start(workspace, [...prefix, process.execPath, program(name), path, ...ECHO]);
  await untilAccepting(path, child);
  return { target: { unix: path }, watch: [child.pid] };
}

/** Starts all subjects; `prefix` runs each of them, and what it starts, under another command such as taskset. */
export async function startSubjects(workspace, prefix = []) {
  const daemon = await startDaemon(workspace, { prefix });
  return {
    direct: { target: { command: ECHO }, watch: [] },
    relay: await startOnSocket(workspace, prefix, 'relay.mjs'),
    limit: await startOnSocket(workspace, prefix, 'limit-mux.mjs'),
    socket: { target: { unix: daemon.path }, watch: [daemon.pid], meta: VIEW },
    all: { target: { unix: daemon.path }, watch: [daemon.pid], meta: VIEW_OF_ALL, tool: 'echo__echo' },
    execute: { target: { unix: daemon.path }, watch: [daemon.pid], meta: VIEW_DISCOVER, tool: EXECUTED },
    connect: {
      target: { command: connectCommand(workspace, daemon.path) },
      watch: [daemon.pid],
      watchSpawned: true,
    },
  };
}

export const SUBJECT_TITLES = {
  direct: 'direct stdio',
  relay: 'relay',
  limit: 'limit-mux',
  socket: 'bridge, socket',
  all: 'bridge, view all',
  execute: 'bridge, execute_tool',
  connect: 'bridge, connect',
};
