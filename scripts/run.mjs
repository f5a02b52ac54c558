// `make run`: the bridge in the foreground, and a first conversation with it, so that there is something to see.
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** Someone is waiting: not all of a long list of servers that do not start. */
const MOST_TRIED = 3;

const say = (text) => process.stdout.write(`${text}\n`);
const daemon = spawn(process.execPath, ['dist/mcp-bridge.cjs', 'serve', '--log-level', 'warn'], {
  stdio: ['ignore', 'inherit', 'pipe'],
});
createInterface({ input: daemon.stderr }).on('line', (line) => {
  // A clone has no mcp-bridge on its PATH.
  process.stderr.write(`${line.replace(/(?<=: )mcp-bridge (?=stop$)/, 'node dist/mcp-bridge.cjs ')}\n`);
  const path = /^mcp-bridge: listening on (.*)$/.exec(line)?.[1];
  if (path !== undefined) introduce(path).catch(giveUp);
});
process.on('SIGTERM', () => daemon.kill());
process.on('SIGINT', () => undefined); // a terminal sends it to the daemon as well
daemon.on('exit', (code) => process.exit(code ?? 1));

/** The daemon is the script's own: it ends with it. */
function giveUp(error) {
  process.stderr.write(`make run: ${error.message}\n`);
  process.exitCode = 1;
  daemon.removeAllListeners('exit');
  daemon.kill();
}

/** Talks to the bridge as any client would, and shows it. */
async function introduce(path) {
  const { instances } = await ask(path, { 'mcp-bridge/role': 'control' }, 'bridge/status');
  const servers = [...new Set(instances.map(({ server }) => server))];
  const shown = await firstThatWorks(path, servers);
  const others = servers.slice(shown);
  if (others.length > 0) say(`\nOthers are started when they are needed: ${others.join(', ')}`);
  // A client may be started without the variable.
  const at = process.env.MCP_BRIDGE_SOCKET ? ['--mcp-bridge-socket', path] : [];
  const entry = { command: 'node', args: [`${process.cwd()}/dist/mcp-bridge.cjs`, 'connect', ...at] };
  say(`
The bridge goes on until Ctrl-C. In another terminal, from this directory:
  node dist/mcp-bridge.cjs status
Any MCP client can use all of it with this entry in its config:
  ${JSON.stringify({ 'mcp-bridge': entry })}`);
}

/** Tries the servers in turn; resolves to the number of those that were tried. */
async function firstThatWorks(path, servers) {
  for (const [i, server] of servers.slice(0, MOST_TRIED).entries()) if (await showTools(path, server)) return i + 1;
  return Math.min(servers.length, MOST_TRIED);
}

/** Resolves to whether the server has answered. */
async function showTools(path, server) {
  say(`\nA client asks the server ${server} for its tools:`);
  const { tools, failed } = await ask(path, { 'mcp-bridge/view': `server:${server}` }, 'tools/list');
  for (const tool of tools ?? []) say(`  ${tool.name.padEnd(24)} ${(tool.description ?? '').slice(0, 80)}`.trimEnd());
  if (failed !== undefined) say(`  ${failed.replaceAll('\n', '\n  ')}`);
  return failed === undefined;
}

/** Initializes a connection of its own, asks one thing, and resolves to the result. */
async function ask(path, meta, method) {
  const socket = connect(path);
  const failed = new Promise((_, reject) => socket.once('error', reject));
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const request = async (id, name, params) => {
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: name, params })}\n`);
    const { result, error } = await Promise.race([answerTo(id, lines), failed]);
    return result ?? { failed: [error.message, error.data?.hint].filter(Boolean).join('. ') };
  };
  try {
    const clientInfo = { name: 'make-run', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo, _meta: meta };
    const hello = await request(1, 'initialize', params);
    return hello.failed === undefined ? await request(2, method, {}) : hello;
  } finally {
    socket.destroy();
  }
}

/** Whatever else comes before it, such as a notification, is not for us. */
async function answerTo(id, lines) {
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error('the bridge has closed the connection');
    const message = JSON.parse(value);
    if (message.id === id && message.method === undefined) return message;
  }
}
