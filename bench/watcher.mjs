// Watches a daemon as an open page does: one watch with four batches a second, and the reports that the page asks for.
import { connect } from 'node:net';

const BATCH_MS = 250;
const CALLS_PER_SECOND = 100;
const REPORTS_MS = 2000;

const [path] = process.argv.slice(2);
const socket = connect(path);
const say = (id, method, params) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
const _meta = { 'mcp-bridge/role': 'control' };
const clientInfo = { name: 'watcher', version: '1' };
let rest = '';
let batches = 0;

say('hello', 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo, _meta });
socket.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, error } = JSON.parse(line);
    if (error !== undefined) throw new Error(error.message);
    if (id === 'hello') say('watch', 'bridge/watch', { batchMs: BATCH_MS, callsPerSecond: CALLS_PER_SECOND });
    if (id === 'watch') process.stdout.write('watching\n');
    if (method === 'bridge/event') batches++;
  }
});
setInterval(() => {
  say('status', 'bridge/status', {});
  say('clients', 'bridge/connections', {});
}, REPORTS_MS);
socket.on('close', () => process.exit(batches > 0 ? 0 : 1));
