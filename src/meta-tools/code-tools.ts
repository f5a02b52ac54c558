// The tools by which a model runs programs: the only ones in the view `code`, additional ones in `discover`. Tests
// limit their length in tokens.

import { type ToolTerms, toolItemsOf } from './meta-tools.ts';

export type CodeTool = 'run_code' | 'run_python';

export const CODE_TOOLS: Readonly<Record<CodeTool, ToolTerms>> = {
  run_code: {
    description:
      'Run JavaScript or TypeScript that calls tools, many at once if it likes. Only what it returns or prints comes back. ' +
      'Await servers.NAME.TOOL(args), search(task), describe("NAME.TOOL") for types. discovered_servers({detailed: true}) ' +
      'lists servers. End with return.',
    parameters: {
      code: { type: 'string', isNeeded: true },
      timeout: { type: 'number', description: 'seconds' },
    },
  },
  run_python: {
    description:
      'The same in Python: await mcp_NAME.TOOL(arg=value), from mcp import runtime, await runtime.search(task), ' +
      'runtime.discovered_servers(detailed=True). End with a value or print.',
    parameters: {
      code: { type: 'string', isNeeded: true },
      servers: { type: 'array' },
      timeout: { type: 'number', description: 'seconds' },
    },
  },
};

export const CODE_TOOL_NAMES: ReadonlyMap<string, CodeTool> = new Map(
  Object.keys(CODE_TOOLS).map((name) => [JSON.stringify(name), name as CodeTool]),
);

const ITEMS = toolItemsOf(CODE_TOOLS);

/** The definitions as items of a list. */
export function codeToolItems(hasPython: boolean): typeof ITEMS {
  return hasPython ? ITEMS : ITEMS.slice(0, 1);
}
