// The server of main.mjs in the era of 2026, over stdio, and in no other. Its tools that ask do it by results, and their
// states are signed. Its tasks are those of task-tools.mjs.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import {
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { EXTENSIONS, TaskTools } from '../../fixtures/servers/task-tools.mjs';
import { complete, prompts } from './prompts.mjs';
import { asking, askingPrompts, demanding, questionsOf } from './questions.mjs';
import { listedResources, listedTemplates, readResource } from './resources.mjs';
import { changing, tools } from './tools.mjs';

const VERSION = '2026-07-28';
const KEY = 'io.modelcontextprotocol/';
const [INVALID_PARAMS, UNSUPPORTED_VERSION] = [-32602, -32022];
/** Always the same, so that two runs give the same states. */
const SECRET = 'of the tests';

const listed = (table) =>
  Object.entries(table).map(([name, { description, inputSchema, arguments: args }]) => ({
    name,
    description,
    ...(inputSchema && { inputSchema }),
    ...(args && { arguments: args }),
  }));

function entry(table, name) {
  if (!Object.hasOwn(table, name)) throw new ProtocolError(INVALID_PARAMS, `Unknown name: ${name}`);
  return table[name];
}

const signature = (payload) => createHmac('sha256', SECRET).update(payload).digest('base64url');

const signed = (state) => {
  const payload = Buffer.from(JSON.stringify(state)).toString('base64url');
  return `${payload}.${signature(payload)}`;
};

function verified(state) {
  const [payload = '', seal = ''] = state.split('.');
  const [given, wanted] = [Buffer.from(seal), Buffer.from(signature(payload))];
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new ProtocolError(INVALID_PARAMS, 'The state was changed');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
}

const declaredBy = (mcpReq) => mcpReq.envelope?.[`${KEY}clientCapabilities`] ?? {};

/** The next round of questions, or what `finish` makes of the answers. */
function proceed(asker, name, args, { mcpReq }) {
  const state = mcpReq.requestState();
  const { of, round } = state === undefined ? { of: name, round: 0 } : verified(state);
  if (of !== name) throw new ProtocolError(INVALID_PARAMS, 'The state is of another tool');
  const ask = (number) => {
    const inputRequests = questionsOf(asker, number, args, declaredBy(mcpReq));
    return inputRequired({
      inputRequests,
      ...(asker.hasState && { requestState: signed({ of: name, round: number }) }),
    });
  };
  const answers = mcpReq.inputResponses ?? {};
  const questions = questionsOf(asker, round, args, declaredBy(mcpReq));
  if (Object.keys(questions).some((key) => answers[key] === undefined)) return ask(round);
  return round + 1 < asker.rounds.length ? ask(round + 1) : { done: asker.finish(answers) };
}

async function callTool(server, { params }, context) {
  const { name, arguments: args = {} } = params;
  if (Object.hasOwn(demanding, name)) return needSampling(context);
  if (Object.hasOwn(asking, name)) {
    const { done, ...more } = proceed(asking[name], name, args, context);
    return done === undefined ? more : { content: done };
  }
  const { mcpReq } = context;
  const tool = entry({ ...tools, ...changing }, name);
  const rest = {
    server,
    _meta: mcpReq._meta,
    sendNotification: (notice) => mcpReq.notify(notice),
    log: (data) => mcpReq.log('info', data),
  };
  try {
    return { content: await tool.run(args, rest) };
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: error.message }] };
  }
}

function needSampling({ mcpReq }) {
  if (declaredBy(mcpReq).sampling === undefined)
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  return { content: [{ type: 'text', text: 'The client can sample.' }] };
}

function getPrompt({ params }, context) {
  const { name, arguments: args = {} } = params;
  if (!Object.hasOwn(askingPrompts, name)) return { messages: entry(prompts, name).run(args) };
  const { done, ...more } = proceed(askingPrompts[name], name, args, context);
  return done === undefined ? more : { messages: done };
}

function makeServer() {
  const server = new Server(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
        extensions: EXTENSIONS,
      },
    },
  );
  const taskTools = Object.fromEntries(tasks.listed.map((tool) => [tool.name, tool]));
  const allTools = { ...taskTools, ...tools, ...changing, ...asking, ...demanding };
  const handlers = {
    'tools/list': () => ({ tools: listed(allTools) }),
    'tools/call': (request, context) => callTool(server, request, context),
    'prompts/list': () => ({ prompts: listed({ ...prompts, ...askingPrompts }) }),
    'prompts/get': (request, context) => getPrompt(request, context),
    'completion/complete': ({ params }) => ({ completion: complete(params.argument) }),
    'resources/list': () => ({ resources: listedResources }),
    'resources/templates/list': () => ({ resourceTemplates: listedTemplates }),
    'resources/read': ({ params }) => ({ contents: [read(params.uri)] }),
  };
  for (const [method, handler] of Object.entries(handlers)) server.setRequestHandler(method, handler);
  return server;
}

function read(uri) {
  const found = readResource(uri);
  if (found === undefined) throw new ProtocolError(INVALID_PARAMS, 'Resource not found', { uri });
  return found;
}

/** Why a request is refused for its envelope; undefined if it is not. The SDK looks at that of the first request alone. */
function refusalOf({ method, params }) {
  const { [`${KEY}protocolVersion`]: requested, [`${KEY}clientCapabilities`]: declared } = params?._meta ?? {};
  if (method === 'initialize' && requested === undefined) return undefined; // which the SDK refuses itself
  if (requested === undefined || declared === undefined)
    return { code: INVALID_PARAMS, message: 'The request does not say its version and capabilities' };
  if (requested === VERSION) return undefined;
  return { code: UNSUPPORTED_VERSION, message: 'Unsupported version', data: { supported: [VERSION], requested } };
}

/** The SDK knows no tasks. */
const tasks = new TaskTools();

/** Passes on what the SDK may see; the rest is answered here. */
function checked(input, output) {
  const passed = new PassThrough();
  const lines = createInterface({ input });
  const take = async (line) => {
    const message = JSON.parse(line);
    const refusal = message.method === undefined || message.id === undefined ? undefined : refusalOf(message);
    const answer = refusal === undefined ? await tasks.answer(message) : { error: refusal };
    if (answer === undefined) passed.write(`${line}\n`);
    else output.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer })}\n`);
  };
  lines.on('line', (line) => void take(line));
  lines.on('close', () => setImmediate(() => passed.end())); // behind what was just read
  return passed;
}

const transport = new StdioServerTransport(checked(process.stdin, process.stdout), process.stdout);
serveStdio(makeServer, { transport, legacy: 'reject' });
