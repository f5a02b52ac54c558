// A stdio MCP server that does as little as it can: `echo {text}` answers with its text, `blob {kib}` with so many KiB.
// It is the same behind every subject of the bench, so what differs is what stands before it. With ERA=2026 it speaks that
// revision alone. It ends when its stdin does.
import { lineReader } from './line-reader.mjs';
import { turnWriter } from './turn-writer.mjs';

const IS_OF_2026 = process.env.ERA === '2026';
const METHOD_NOT_FOUND = -32601;
const UNSUPPORTED_VERSION = -32022;
const INVALID_PARAMS = -32602;
const MOST_KIB = 65536;

const write = turnWriter(process.stdout);
const reply = (id, resultJson) => write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultJson}}\n`);
const refuse = (id, code, message, data) =>
  write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })}\n`);
const SERVER_INFO = { name: 'bench-echo', version: '1.0.0' };

/** As many as a large catalog has; they are there to be found, and not to be called. */
function moreTools(count) {
  return Array.from({ length: count }, (_, i) => ({
    name: `number_${i}`,
    description: `Number ${i} of many tools: reads an item of kind ${i % 17}, by its name and in its place, and says what it is worth`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the item' },
        place: { type: 'string', description: 'Where the item stands' },
        limit: { type: 'integer', description: 'How many of them at most' },
      },
      required: ['name'],
    },
  }));
}

const toolList = JSON.stringify({
  ...(IS_OF_2026 ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}),
  tools: [
    {
      name: 'echo',
      description: 'Returns its text',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    },
    {
      name: 'blob',
      description: 'Returns a text of so many KiB',
      inputSchema: { type: 'object', properties: { kib: { type: 'integer' } }, required: ['kib'] },
    },
    ...moreTools(Number(process.env.TOOLS ?? 0)),
  ],
});

const RESULT_TYPE = IS_OF_2026 ? '"resultType":"complete",' : '';
const textResult = (textJson) => `{${RESULT_TYPE}"content":[{"type":"text","text":${textJson}}]}`;

const blobs = new Map();
function blobJson(kib) {
  if (!blobs.has(kib)) blobs.set(kib, JSON.stringify('0123456789abcde\n'.repeat(64 * kib)));
  return blobs.get(kib);
}

function callTool(id, { name, arguments: given }) {
  if (name === 'echo' && typeof given?.text === 'string') return reply(id, textResult(JSON.stringify(given.text)));
  if (name === 'blob' && given?.kib >= 0 && given.kib <= MOST_KIB) return reply(id, textResult(blobJson(given.kib)));
  refuse(id, INVALID_PARAMS, `Unknown tool, or wrong arguments: ${name}`);
}

function initialize(id, { protocolVersion }) {
  if (IS_OF_2026) return refuse(id, UNSUPPORTED_VERSION, 'Unsupported protocol version', { supported: ['2026-07-28'] });
  reply(id, JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo: SERVER_INFO }));
}

function discover(id) {
  const kept = { ttlMs: 0, cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': SERVER_INFO } };
  const supportedVersions = ['2026-07-28'];
  reply(id, JSON.stringify({ resultType: 'complete', supportedVersions, capabilities: { tools: {} }, ...kept }));
}

function answer(line) {
  const { id, method, params } = JSON.parse(line.toString());
  if (id === undefined) return;
  if (method === 'tools/call') callTool(id, params);
  else if (method === 'ping') reply(id, '{}');
  else if (method === 'initialize') initialize(id, params);
  else if (method === 'server/discover' && IS_OF_2026) discover(id);
  else if (method === 'tools/list') reply(id, toolList);
  else refuse(id, METHOD_NOT_FOUND, 'Method not found');
}

process.stdin.on('data', lineReader(answer)).on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
