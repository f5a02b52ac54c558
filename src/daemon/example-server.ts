// The server that the bridge offers while nothing is configured, so that a first look shows something real. It is a
// process that all clients share, as small as an MCP server can be, and loads nothing.

import { createInterface } from 'node:readline';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly protocolVersion?: string;
    readonly arguments?: Record<string, unknown>;
  };
}

const tool = (name: string, description: string, properties: object = {}) => ({
  name,
  description,
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
});

const TOOLS = [
  tool('echo', 'Returns the text that it is given', { text: { type: 'string' } }),
  tool('add', 'Adds two numbers', { a: { type: 'number' }, b: { type: 'number' } }),
  tool('time', 'The time on this machine'),
  tool('visitors', 'How many calls this one process has answered, for all clients together'),
];

let calls = 0;

function run(name: string | undefined, args: Record<string, unknown>): string | undefined {
  calls++;
  switch (name) {
    case 'echo':
      return String(args.text ?? '');
    case 'add':
      return String(Number(args.a) + Number(args.b));
    case 'time':
      return new Date().toISOString();
    case 'visitors':
      return `Calls answered by process ${process.pid}: ${calls}`;
    default:
      return undefined;
  }
}

function answer({ method, params = {} }: Message): { result: unknown } | { error: unknown } {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'mcp-bridge-example', version: '1.0.0' },
          instructions: 'An example that mcp-bridge offers while no server is configured.',
        },
      };
    case 'ping':
      return { result: {} };
    case 'tools/list':
      return { result: { tools: TOOLS } };
    case 'tools/call': {
      const text = run(params.name, params.arguments ?? {});
      if (text === undefined) return { error: { code: -32602, message: `Unknown tool: ${params.name}` } };
      return { result: { content: [{ type: 'text', text }] } };
    }
    default:
      return { error: { code: -32601, message: 'Method not found' } };
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message) })}\n`);
});
