// `make run`: the bridge in the foreground, and a first conversation with it, so that there is something to see.
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const say = (text) => process.stdout.write(`${text}\n`);
const daemon = spawn(process.execPath, ['dist/mcp-bridge.cjs', 'serve'], { stdio: ['ignore', 'inherit', 'pipe'] });
createInterface({ input: daemon.stderr }).on('line', (line) => {
  process.stderr.write(`${line}\n`);
  const path = /^mcp-bridge: listening on (.*)$/.exec(line)?.[1];
  if (path !== undefined) introduce(path);
});
process.on('SIGTERM', () => daemon.kill());
process.on('SIGINT', () => undefined); // a terminal sends it to the daemon as well
daemon.on('exit', (code) => process.exit(code ?? 1));

/** Talks to the bridge as any client would, and shows it. */
async function introduce(path) {
  const { instances } = await ask(path, { 'mcp-bridge/role': 'control' }, 'bridge/status');
  for (const { server } of instances) {
    say(`\nA client asks the server ${server} for its tools:`);
    const { tools, failed } = await ask(path, { 'mcp-bridge/view': `server:${server}` }, 'tools/list');
    for (const tool of tools ?? []) say(`  ${tool.name.padEnd(24)} ${(tool.description ?? '').slice(0, 80)}`);
    if (failed !== undefined) say(`  ${failed}`);
  }
  say(`
The bridge goes on until Ctrl-C. In another terminal, from this directory:
  node dist/mcp-bridge.cjs status
Any MCP client can use it with one of these entries in its config:`);
  const program = `${process.cwd()}/dist/mcp-bridge.cjs`;
  for (const { server } of instances)
    say(`  ${JSON.stringify({ [server]: { command: 'node', args: [program, 'connect', '--server', server] } })}`);
}

/** Initializes a connection of its own, asks one thing, and resolves to the result. */
function ask(path, meta, method) {
  return new Promise((resolve) => {
    const socket = connect(path);
    const send = (id, name, params) =>
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: name, params })}\n`);
    createInterface({ input: socket }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line);
      if (id === 1 && !error) return send(2, method, {});
      socket.end();
      resolve(result ?? { failed: `${error.message}. ${error.data?.hint ?? ''}` });
    });
    const clientInfo = { name: 'make-run', version: '1' };
    send(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo, _meta: meta });
  });
}
