// `mcp-bridge types`: prints TypeScript declarations of tools, as programs in code mode see them.

import { type DeclaredTool, typeDeclarations } from '../../code-mode/type-declarations.ts';
import { isRecord, membersOf, textOf } from '../../util/json-value.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { waitingFor } from '../render/spinner.ts';
import { printable, printJson } from '../render/table.ts';
import { ask, type ToolCommandValues, withTools } from '../tool-session.ts';

export interface TypesValues extends ToolCommandValues {
  readonly names?: readonly string[] | undefined;
}

export async function types(values: TypesValues, host: CliHost): Promise<number> {
  const tools = await withTools(values, host, async (client, spinner) => {
    const listed = itemsIn(await ask(client, 'list_mcp_servers', {}), 'servers').map(({ name }) => textOf(name));
    const servers = values.names === undefined || values.names.length === 0 ? listed : values.names;
    const found: DeclaredTool[] = [];
    for (const server of servers)
      found.push(...(await spinner.during(() => waitingFor([server]), toolsOf(client, server))));
    return found;
  });
  const declarations = typeDeclarations(tools);
  if (values.json === true) printJson({ declarations }, host);
  else host.stdout.write(declarations.split('\n').map(printable).join('\n'));
  return DONE;
}

type AskedClient = Parameters<typeof ask>[0];

async function toolsOf(client: AskedClient, server: string): Promise<DeclaredTool[]> {
  const names = itemsIn(await ask(client, 'list_tools', { server }), 'tools').map(({ name }) => textOf(name));
  return Promise.all(
    names.map(async (tool) => {
      const { description, inputSchema, outputSchema } = membersOf(
        await ask(client, 'get_tool_details', { server, tool }),
      );
      return { server, tool, description, inputSchema, outputSchema };
    }),
  );
}

function itemsIn(answer: unknown, member: string): readonly Readonly<Record<string, unknown>>[] {
  const items = membersOf(answer)[member];
  return Array.isArray(items) ? items.filter(isRecord) : [];
}
