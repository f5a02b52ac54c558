// A stdio MCP server that lists the recorded tools of a public one, and answers each call with a short text.
//   node bench/recorded-server.mjs NAME
import { readFileSync } from 'node:fs';
import { lineReader } from './line-reader.mjs';
import { turnWriter } from './turn-writer.mjs';

const { tools } = JSON.parse(readFileSync(new URL(`search/tools/${process.argv[2]}.json`, import.meta.url), 'utf8'));
const write = turnWriter(process.stdout);

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bench-recorded', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'Done.' }] }),
  ping: () => ({}),
};

process.stdin
  .on(
    'data',
    lineReader((line) => {
      const { id, method, params } = JSON.parse(line.toString());
      if (id === undefined) return;
      const outcome =
        ANSWERS[method] === undefined
          ? { error: { code: -32601, message: 'Method not found' } }
          : { result: ANSWERS[method](params) };
      write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
    }),
  )
  .on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
