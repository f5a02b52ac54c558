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
  ResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { complete, prompts } from './prompts.mjs';
import { asking, askingPrompts, demanding, questionsOf } from './questions.mjs';
import { listedResources, listedTemplates, readResource } from './resources.mjs';
import { changing, tools } from './tools.mjs';

const RESOURCE_NOT_FOUND = -32002;

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
const listed = (table) =>
  Object.entries(table).map(([name, { description, inputSchema, arguments: args }]) => ({
    name,
    description,
    ...(inputSchema && { inputSchema }),
    ...(args && { arguments: args }),
  }));

const allTools = { ...tools, ...changing, ...asking, ...demanding };

const log = (data) => server.sendLoggingMessage({ level: 'info', data });

function entry(table, name) {
  if (!Object.hasOwn(table, name)) throw new McpError(ErrorCode.InvalidParams, `Unknown name: ${name}`);
  return table[name];
}

async function callTool({ params }, extra) {
  const { name, arguments: args = {} } = params;
  const tool = entry(allTools, name);
  try {
    const isAsking = tool.rounds !== undefined;
    return { content: await (isAsking ? finished(tool, args, extra) : tool.run(args, { server, log, ...extra })) };
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: error.message }] };
  }
}

/** Asks all rounds, each of them at once. */
async function finished(asker, args, { sendRequest }) {
  let answers = {};
  for (const round of asker.rounds.keys()) {
    const questions = Object.entries(questionsOf(asker, round, args, server.getClientCapabilities() ?? {}));
    const answered = questions.map(async ([key, question]) => [key, await sendRequest(question, ResultSchema)]);
    answers = Object.fromEntries(await Promise.all(answered));
  }
  return asker.finish(answers);
}

async function getPrompt({ params }, extra) {
  const { name, arguments: args = {} } = params;
  if (Object.hasOwn(askingPrompts, name)) return { messages: await finished(askingPrompts[name], args, extra) };
  return { messages: entry(prompts, name).run(args) };
}

function read(uri) {
  const found = readResource(uri);
  if (found === undefined) throw new McpError(RESOURCE_NOT_FOUND, 'Resource not found', { uri });
  return found;
}

const handlers = [
  [ListToolsRequestSchema, () => ({ tools: listed(allTools) })],
  [CallToolRequestSchema, callTool],
  [ListPromptsRequestSchema, () => ({ prompts: listed({ ...prompts, ...askingPrompts }) })],
  [GetPromptRequestSchema, getPrompt],
  [CompleteRequestSchema, ({ params }) => ({ completion: complete(params.argument) })],
  [ListResourcesRequestSchema, () => ({ resources: listedResources })],
  [ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: listedTemplates })],
  [ReadResourceRequestSchema, ({ params }) => ({ contents: [read(params.uri)] })],
  [SubscribeRequestSchema, () => ({})],
  [UnsubscribeRequestSchema, () => ({})],
];
for (const [schema, handler] of handlers) server.setRequestHandler(schema, handler);
await server.connect(new StdioServerTransport());
