// A server whose one tool writes down each call before it answers, so that what was run can be counted whatever dies.
import { appendFileSync } from 'node:fs';

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) answer(JSON.parse(line));
});

function answer({ id, method, params }) {
  if (id === undefined) return;
  if (method === 'initialize')
    return say(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'counter', version: '1' },
    });
  if (method === 'tools/list') return say(id, { tools: [{ name: 'note', inputSchema: { type: 'object' } }] });
  if (method !== 'tools/call') return say(id, {});
  const { text } = params.arguments;
  appendFileSync(process.env.NOTES, `${text}\n`);
  say(id, { content: [{ type: 'text', text }] });
}

const say = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
