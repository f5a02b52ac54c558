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
function introduce(path) {
  const socket = connect(path);
  const ask = (id, method, params) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  createInterface({ input: socket }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line);
    if (error) return finish(`It answers: ${error.message}. ${error.data?.hint ?? ''}`);
    if (id === 1) {
      say(`\nA first client asks the server ${result.serverInfo.name} for its tools:`);
      return ask(2, 'tools/list', {});
    }
    for (const tool of result.tools ?? []) say(`  ${tool.name.padEnd(24)} ${(tool.description ?? '').slice(0, 80)}`);
    finish();
  });
  const finish = (text = '') => {
    socket.end();
    say(`${text}
The bridge goes on until Ctrl-C. In another terminal, from this directory:
  node dist/mcp-bridge.cjs status
Any MCP client can use it with this entry in its config:
  { "command": "node", "args": ["${process.cwd()}/dist/mcp-bridge.cjs", "connect"] }
`);
  };
  const clientInfo = { name: 'make-run', version: '1' };
  ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
}
