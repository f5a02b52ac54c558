// The bridge and the other gateways, each ready to be started before the same server, as its own documentation says,
// and with its logging off where it can be.
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { untilAccepting } from './accepting.mjs';
import { peerProgram, titleOf } from './peer-packages.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { connectCommand, startDaemon, VIEW } from './subjects.mjs';
import { program } from './workspace.mjs';

const HOST = '127.0.0.1';
const ECHO = [process.execPath, program('echo-server.mjs')];
const LONGEST_START_MS = 15_000;
const STEP_MS = 50;
/** mcp-proxy greets SSE clients with a log message. */
const PROFILE = { takesNotifications: true };

// mcp-hub and supergateway have no option for the address that they listen on.
const PEERS = {
  'mcp-proxy': ({ port }) => ['--host', HOST, '--port', port, '--', ...ECHO],
  'mcp-hub': ({ port, config }) => ['--port', port, '--config', config],
  supergateway: ({ port, options }) => ['--stdio', ECHO.join(' '), '--port', port, '--logLevel', 'none', ...options],
};
const STATEFUL = ['--outputTransport', 'streamableHttp', '--stateful'];
const WS = ['--outputTransport', 'ws'];

/** Name -> how it is started; `calls` is how many it is given in the wide measurement. */
export const SUBJECTS = {
  'mcp-bridge, socket': { start: (workspace) => startBridge(workspace, 'socket'), calls: 40_000 },
  'mcp-bridge, connect': { start: (workspace) => startBridge(workspace, 'connect'), calls: 40_000 },
  [`${titleOf('mcp-proxy')}, Streamable HTTP`]: peer('mcp-proxy', { kind: 'http', path: '/mcp' }),
  [`${titleOf('mcp-proxy')}, SSE`]: peer('mcp-proxy', { kind: 'sse', path: '/sse' }),
  [`${titleOf('mcp-hub')}, SSE`]: peer('mcp-hub', { kind: 'sse', path: '/mcp', tool: 'echo__echo' }),
  [`${titleOf('supergateway')}, Streamable HTTP`]: peer('supergateway', {
    kind: 'http',
    path: '/mcp',
    options: STATEFUL,
  }),
  [`${titleOf('supergateway')}, SSE`]: peer('supergateway', { kind: 'sse', path: '/sse' }),
  [`${titleOf('supergateway')}, WebSocket`]: peer('supergateway', {
    kind: 'webSocket',
    path: '/message',
    options: WS,
    calls: 20_000,
  }),
};

function peer(name, { calls = 3000, ...endpoint }) {
  return { start: (workspace) => startPeer(workspace, name, endpoint), calls };
}

async function startBridge(workspace, way) {
  const { pid, path, child } = await startDaemon(workspace);
  const order =
    way === 'socket'
      ? { target: { unix: path }, meta: VIEW }
      : { target: { command: connectCommand(workspace, path) }, watchSpawned: true };
  return { order: { ...order, root: pid }, child };
}

async function startPeer(workspace, name, { kind, path, tool = 'echo', options = [] }) {
  const port = await freePort();
  const config = workspace.write({ mcpServers: { echo: { command: ECHO[0], args: ECHO.slice(1) } } });
  const args = PEERS[name]({ port: String(port), config, options });
  const child = workspace.spawn(process.execPath, [peerProgram(name), ...args], { stdio: 'ignore' });
  await untilAccepting({ host: HOST, port }, child);
  const target = { [kind]: `http://${HOST}:${port}${path}` };
  await untilServing(target, tool);
  return { order: { target, profile: PROFILE, tool, root: child.pid }, child };
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, HOST, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Some accept before their server is there. */
async function untilServing(target, tool) {
  const deadline = performance.now() + LONGEST_START_MS;
  while (!(await offers(target, tool))) {
    if (performance.now() > deadline) throw new Error(`no tool ${tool} at ${JSON.stringify(target)}`);
    await delay(STEP_MS);
  }
}

async function offers(target, tool) {
  const client = new RawClient(target, new Tally(), PROFILE);
  try {
    await client.initialize();
    const { tools } = await client.request('tools/list');
    return tools.some(({ name }) => name === tool);
  } catch {
    return false; // Not yet.
  } finally {
    client.close();
  }
}
