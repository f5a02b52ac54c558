// The server that the conformance suite asks for, over stdio: it has the very names and texts of the suite's scenarios.
// It must keep to what they ask, so that whatever fails direct is a fault here and not in the suite.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { complete, prompts } from './prompts.mjs';
import { listedResources, listedTemplates, readResource } from './resources.mjs';
import { tools } from './tools.mjs';

const server = new Server(
  { name: 'conformance', version: '1.0.0' },
  {
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      completions: {},
    },
  },
);

/** The table's entries as a list shows them: what is said of them, not what they do. */
const listed = (table) => Object.entries(table).map(([name, { run, ...said }]) => ({ name, ...said }));

function entry(table, name) {
  if (!Object.hasOwn(table, name)) throw new McpError(ErrorCode.InvalidParams, `Unknown name: ${name}`);
  return table[name];
}

async function callTool({ params }, extra) {
  const tool = entry(tools, params.name);
  try {
    return { content: await tool.run(params.arguments ?? {}, { server, ...extra }) };
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: error.message }] };
  }
}

const handlers = [
  [ListToolsRequestSchema, () => ({ tools: listed(tools) })],
  [CallToolRequestSchema, callTool],
  [ListPromptsRequestSchema, () => ({ prompts: listed(prompts) })],
  [GetPromptRequestSchema, ({ params }) => ({ messages: entry(prompts, params.name).run(params.arguments ?? {}) })],
  [CompleteRequestSchema, ({ params }) => ({ completion: complete(params.argument) })],
  [ListResourcesRequestSchema, () => ({ resources: listedResources })],
  [ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: listedTemplates })],
  [ReadResourceRequestSchema, ({ params }) => ({ contents: [readResource(params.uri)] })],
  [SubscribeRequestSchema, () => ({})],
  [UnsubscribeRequestSchema, () => ({})],
];
for (const [schema, handler] of handlers) server.setRequestHandler(schema, handler);
await server.connect(new StdioServerTransport());
