// The five tools of the view `discover` as a model sees them. It sees only these and pays for each word: names say what
// a tool does, descriptions say in which order to use them. Tests limit their length in tokens.

import { type ListedItem, wholeItem } from '../core/listed-item.ts';

export type MetaTool = 'list_mcp_servers' | 'search_tools' | 'list_tools' | 'get_tool_details' | 'execute_tool';

interface Parameter {
  readonly type: 'string' | 'number' | 'boolean' | 'object' | 'array';
  readonly isNeeded?: boolean;
  readonly description?: string;
}

export interface ToolTerms {
  readonly description: string;
  /** True if it changes nothing. In the protocol, tools without this may do anything. */
  readonly onlyReads?: boolean;
  readonly parameters: Readonly<Record<string, Parameter>>;
}

const SERVER: Parameter = { type: 'string', isNeeded: true };
const TOOL: Parameter = { type: 'string', isNeeded: true };

export const META_TOOLS: Readonly<Record<MetaTool, ToolTerms>> = {
  search_tools: {
    description: 'Find tools for a task. Start here.',
    parameters: {
      query: { type: 'string', isNeeded: true, description: 'The task' },
      server: { type: 'string' },
      limit: { type: 'number' },
    },
    onlyReads: true,
  },
  get_tool_details: {
    description: "A tool's schema. Read it before execute_tool.",
    parameters: { server: SERVER, tool: TOOL },
    onlyReads: true,
  },
  execute_tool: {
    description: 'Run a tool you found',
    parameters: { server: SERVER, tool: TOOL, arguments: { type: 'object' } },
  },
  list_mcp_servers: { description: 'List all servers', parameters: {}, onlyReads: true },
  list_tools: {
    description: "List a server's tools",
    parameters: { server: SERVER, includeDisabled: { type: 'boolean' } },
    onlyReads: true,
  },
};

/** The five definitions as items of a list. */
export const META_TOOL_ITEMS: readonly ListedItem[] = toolItemsOf(META_TOOLS);

/** The definitions of tools as items of a list. */
export function toolItemsOf(tools: Readonly<Record<string, ToolTerms>>): readonly ListedItem[] {
  return Object.keys(tools).map((key, i) => {
    const bytes = Buffer.from(JSON.stringify(definitionsOf(tools)[i]));
    return wholeItem(bytes, key, bytes.indexOf(JSON.stringify(key)));
  });
}

/** The definitions of tools as `tools/list` shows them. */
export function definitionsOf(tools: Readonly<Record<string, ToolTerms>>): object[] {
  return Object.entries(tools).map(([name, { description, parameters, onlyReads }]) => ({
    name,
    description,
    inputSchema: schemaOf(parameters),
    ...(onlyReads === true && { annotations: { readOnlyHint: true } }),
  }));
}

function schemaOf(parameters: ToolTerms['parameters']): object {
  const entries = Object.entries(parameters);
  const required = entries.filter(([, { isNeeded }]) => isNeeded === true).map(([name]) => name);
  const properties = entries.map(([name, { type, description }]) => [name, { type, description }]);
  return {
    type: 'object',
    ...(entries.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required }),
  };
}

/** Checks the arguments of a meta-tool. Returns one sentence per fault. */
export function argumentFaults(tool: MetaTool, args: Readonly<Record<string, unknown>>): string[] {
  const { limit } = args;
  const isNoCount = tool === 'search_tools' && typeof limit === 'number' && !(Number.isInteger(limit) && limit >= 1);
  return [...faultsIn(args, META_TOOLS[tool]), ...(isNoCount ? ['limit must be a whole number, 1 or more'] : [])];
}

/** The arguments without nulls: some models set unused fields to null. */
export function givenIn(
  args: Readonly<Record<string, unknown>>,
  { parameters }: ToolTerms,
): Readonly<Record<string, unknown>> {
  const isLeftOut = (name: string): boolean => args[name] === null && Object.hasOwn(parameters, name);
  return Object.fromEntries(Object.entries(args).filter(([name]) => !isLeftOut(name)));
}

/** Finds missing, unknown and mistyped arguments. Returns one sentence per fault. */
export function faultsIn(args: Readonly<Record<string, unknown>>, { parameters }: ToolTerms): string[] {
  const missing = Object.entries(parameters)
    .filter(([name, { isNeeded }]) => isNeeded === true && args[name] === undefined)
    .map(([name]) => `${name} is missing`);
  const others = Object.keys(args).flatMap((name) => {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (parameter === undefined) return [`${JSON.stringify(name.slice(0, 64))} is not known`];
    return isOf(parameter.type, args[name]) ? [] : [`${name} must be ${ARTICLES[parameter.type]}`];
  });
  return [...missing, ...others];
}

const ARTICLES = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
} as const;

function isOf(type: Parameter['type'], value: unknown): boolean {
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'array') return Array.isArray(value);
  return typeof value === type && !Number.isNaN(value);
}
