// What the view `discover` tells an agent before it has asked for anything.

import { printable } from '../util/printable.ts';

const MOST_NAMED = 20;
const LONGEST_NAME = 48;

const HOW =
  'Tools of many servers are behind these five. Find one with search_tools, read its schema with get_tool_details, ' +
  'and run it with execute_tool.';

export function discoverInstructions(servers: readonly string[]): string {
  const named = servers.slice(0, MOST_NAMED).map((name) => printable(shortened(name)));
  const more = servers.length - named.length;
  return `${HOW} Servers: ${named.join(', ')}${more === 0 ? '' : ` and ${more} more, see list_mcp_servers`}.`;
}

const shortened = (name: string): string =>
  name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
