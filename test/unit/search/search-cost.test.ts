// What an agent's way from a question to the answer of a tool costs it, in tokens: the three requests and their answers,
// and the five definitions, over a catalog of 1,000 tools of public servers.

import { readdirSync, readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { beforeAll, expect, test } from 'vitest';
import { definitionsOf, META_TOOLS } from '../../../src/meta-tools/meta-tools.ts';
import { CoreInMemory, type TestClient } from '../../support/core-in-memory.ts';
import { recordedQuestions } from '../../support/recorded-tools.ts';

/** The result of `tools/list` in the view `discover`. */
const META_TOOL_LIST = JSON.stringify({ tools: definitionsOf(META_TOOLS) });

const DIR = new URL('../../../bench/search/tools/', import.meta.url);
const TOOLS = 1000;
/** The whole way, for three of four questions: what a server writes of its tool may be longer than all else. */
const MOST_TOKENS = 900;
const TYPICAL = 0.75;
/** The same without that: the tool's description and schemas, and its arguments. */
const MOST_OF_THE_BRIDGE = 750;

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly $ref?: string | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface RecordedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Schema;
}

interface Recorded {
  readonly name: string;
  readonly tools: readonly RecordedTool[];
}

// They are loaded when they are first needed, which takes longer than a test lets things happen.
beforeAll(async () => {
  await Promise.all([
    import('../../../src/meta-tools/schema-compiler.ts'),
    import('../../../src/search/tool-search.ts'),
  ]);
});

/** The recorded servers as they are, and more that are like them, with other words in what they say. */
function catalog(): Recorded[] {
  const recorded = readdirSync(DIR)
    .sort()
    .map((file) => JSON.parse(readFileSync(new URL(file, DIR), 'utf8')) as Recorded);
  const servers = [...recorded];
  const count = (): number => servers.reduce((sum, { tools }) => sum + tools.length, 0);
  for (let i = 0; count() < TOOLS; i++) {
    const { name, tools } = recorded[i % recorded.length] as Recorded;
    servers.push({ name: `${name}-${i}`, tools: tools.slice(0, TOOLS - count()).map((tool) => reworded(tool, i)) });
  }
  return servers;
}

/** Each fifth word is another one. */
function reworded(tool: RecordedTool, seed: number): RecordedTool {
  let n = seed;
  const change = (text: string): string =>
    text.replace(/[a-z]{3,}/gi, (word) => (++n % 5 === 0 ? [...word].reverse().join('') : word));
  const { description } = tool;
  return { ...tool, name: change(tool.name), ...(description !== undefined && { description: change(description) }) };
}

/** Arguments as an agent would put them: what the tool cannot do without. */
function exampleOf(schema: Schema, root: Schema): unknown {
  const { $ref, oneOf, anyOf, enum: values } = schema;
  const other = $ref === undefined ? (oneOf ?? anyOf)?.[0] : referredTo($ref, root);
  if (other !== undefined)
    return exampleOf({ ...schema, $ref: undefined, oneOf: undefined, anyOf: undefined, ...other }, root);
  const given = schema.const ?? values?.[0];
  if (given !== undefined) return given;
  const { properties = {}, required = [], items = {}, minItems = 0, minimum = 7 } = schema;
  const [kind = 'object'] = [schema.type].flat();
  if (kind === 'string') return 'an example text';
  if (kind === 'number' || kind === 'integer') return minimum;
  if (kind === 'boolean') return true;
  if (kind === 'array') return Array.from({ length: minItems }, () => exampleOf(items, root));
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {}, root)]));
}

function referredTo(ref: string, root: Schema): Schema {
  let found: unknown = root;
  for (const step of ref.split('/').slice(1)) found = (found as Record<string, unknown>)[step];
  return found as Schema;
}

class Agent {
  readonly #core: CoreInMemory;
  readonly #client: TestClient;
  #calls = 0;
  tokens = 0;

  constructor(core: CoreInMemory, client: TestClient) {
    this.#core = core;
    this.#client = client;
  }

  /** The text of the answer; counts what is asked and what is answered. */
  async call(name: string, args: object): Promise<string> {
    const id = `${++this.#calls}`;
    const params = { name, arguments: args };
    this.#client.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
    for (let n = 0; n < 300 && this.#client.answersTo(id).length === 0; n++) await this.#core.settle();
    const [answer] = this.#client.answersTo(id);
    const content = answer?.result?.content as { text: string }[] | undefined;
    const text = content?.[0]?.text ?? JSON.stringify(answer?.error);
    this.tokens += countTokens(JSON.stringify(params)) + countTokens(text);
    return text;
  }
}

test('three of four ways from a question to a result cost at most 900 tokens, of which the bridge has at most 750', async () => {
  const servers = catalog();
  expect(servers.flatMap(({ tools }) => tools)).toHaveLength(TOOLS);
  const core = new CoreInMemory({ servers: servers.map(({ name }) => name) });
  for (const { name, tools } of servers) {
    const server = core.server(name);
    server.has({ tools: [...tools] });
    const listed = server.answers;
    server.answers = (request, instance) =>
      request.method === 'tools/call'
        ? { result: { content: [{ type: 'text', text: 'Done.' }] } }
        : listed(request, instance);
  }
  const agent = new Agent(core, await core.ready({ _meta: { 'mcp-bridge/view': 'discover' } }));
  const costs: number[] = [];
  const own: number[] = [];
  for (const { question } of recordedQuestions()) {
    agent.tokens = countTokens(META_TOOL_LIST);
    const { results } = JSON.parse(await agent.call('search_tools', { query: question })) as {
      results: { server: string; tool: string }[];
    };
    const { server, tool } = results[0] ?? { server: '', tool: '' };
    const details = JSON.parse(await agent.call('get_tool_details', { server, tool })) as RecordedTool;
    const args = exampleOf(details.inputSchema, details.inputSchema);
    const answer = await agent.call('execute_tool', { server, tool, arguments: args });
    expect({ tool, answer }).toEqual({ tool, answer: 'Done.' });
    const { description, inputSchema, outputSchema, annotations } = details as RecordedTool & Record<string, unknown>;
    const written = JSON.stringify({ description, inputSchema, outputSchema, annotations });
    costs.push(agent.tokens);
    own.push(agent.tokens - countTokens(written) - countTokens(JSON.stringify(args)));
  }
  const at = (values: number[], part: number) => values.sort((a, b) => a - b)[Math.floor(part * values.length)] ?? 0;
  expect(at(costs, TYPICAL)).toBeLessThanOrEqual(MOST_TOKENS);
  expect(Math.max(...own)).toBeLessThanOrEqual(MOST_OF_THE_BRIDGE);
});
