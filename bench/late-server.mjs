// A stdio MCP server whose one tool, `late {ms}`, answers after so long, with the time at which it did: nanoseconds on
// the machine's monotonic clock, which every process of it reads alike. It ends when its stdin does.
import { lineReader } from './line-reader.mjs';

const tools = [{ name: 'late', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
const reply = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);

function answer(line) {
  const { id, method, params } = JSON.parse(line.toString());
  if (id === undefined) return;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    reply(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'late', version: '1' } });
  } else if (method === 'tools/list') reply(id, { tools });
  else if (method === 'tools/call')
    setTimeout(
      () => reply(id, { content: [{ type: 'text', text: String(process.hrtime.bigint()) }] }),
      params.arguments.ms,
    );
  else reply(id, {});
}

process.stdin.on('data', lineReader(answer)).on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
