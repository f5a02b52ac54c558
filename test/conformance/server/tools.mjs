// The tools of the server, by name. Each `run` gets its arguments and what came with the call, and returns content.
import { setTimeout as delay } from 'node:timers/promises';
import { audio, image, resource, text } from './content.mjs';

const STEP_MS = 50;
const NO_ARGUMENTS = { type: 'object', properties: {} };

const answers = (description, ...content) => ({ description, inputSchema: NO_ARGUMENTS, run: () => content });

async function log(_args, { log: say }) {
  await say('Tool execution started');
  await delay(STEP_MS);
  await say('Tool processing data');
  await delay(STEP_MS);
  await say('Tool execution completed');
  return [text('Logged three messages.')];
}

async function logOnce(_args, { log: say }) {
  await say('Tool executed');
  return [text('Logged one message.')];
}

async function progress(_args, { _meta, sendNotification }) {
  const progressToken = _meta?.progressToken;
  for (const done of [0, 50, 100]) {
    if (done > 0) await delay(STEP_MS);
    if (progressToken === undefined) continue;
    const params = { progressToken, progress: done, total: 100 };
    await sendNotification({ method: 'notifications/progress', params });
  }
  return [text('Made progress.')];
}

function fail() {
  throw new Error('This tool intentionally returns an error for testing');
}

const contactSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const changes = (description, change) => ({
  description,
  inputSchema: NO_ARGUMENTS,
  run: async (_args, { server }) => {
    await change(server);
    return [text('It has changed.')];
  },
});

const placeSchema = {
  type: 'object',
  properties: {
    place: { type: 'string', 'x-mcp-header': 'Place' },
    inside: { type: 'object', properties: { floor: { type: 'integer', 'x-mcp-header': 'Floor' } } },
  },
};

/** Longer than a client over HTTP waits for an answer before it gets a stream, to which it can come back. */
const LONG_MS = 1500;

async function takeLong() {
  await delay(LONG_MS);
  return [text('It has taken long.')];
}

/** Those that only the suite of 2026 asks for. */
export const changing = {
  test_mirrored_parameters: {
    description: 'Has parameters that stand in headers too',
    inputSchema: placeSchema,
    run: () => [text('Accepted.')],
  },
  test_logging_tool: { description: 'Logs once', inputSchema: NO_ARGUMENTS, run: logOnce },
  test_trigger_tool_change: changes('Says that the tools have changed', (server) => server.sendToolListChanged()),
  test_trigger_prompt_change: changes('Says that the prompts have changed', (server) => server.sendPromptListChanged()),
};

export const tools = {
  test_simple_text: answers('Answers with text', text('This is a simple text response for testing.')),
  test_image_content: answers('Answers with an image', image),
  test_audio_content: answers('Answers with sound', audio),
  test_embedded_resource: answers(
    'Answers with a resource',
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  test_multiple_content_types: answers(
    'Answers with text, an image and a resource',
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ),
  test_tool_with_logging: { description: 'Logs while it runs', inputSchema: NO_ARGUMENTS, run: log },
  test_error_handling: { description: 'Always fails', inputSchema: NO_ARGUMENTS, run: fail },
  test_tool_with_progress: { description: 'Tells of its progress', inputSchema: NO_ARGUMENTS, run: progress },
  test_reconnection: { description: 'Takes long', inputSchema: NO_ARGUMENTS, run: takeLong },
  json_schema_2020_12_tool: {
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: contactSchema,
    run: () => [text('Accepted.')],
  },
};
