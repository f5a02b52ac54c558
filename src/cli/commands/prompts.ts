// `mcp-bridge prompts`: lists the prompts of servers, or fills in one of them.

import { textOf } from '../../util/json-value.ts';
import { DONE, INTERRUPTED } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { patiently } from '../patience.ts';
import { printable, printableLines, printJson, table } from '../render/table.ts';
import { widthOf } from '../render/terminal.ts';
import { everyPage, recordsIn, type ToolCommandValues, withTools, wrongUsage } from '../tool-session.ts';

export interface PromptsValues extends ToolCommandValues {
  readonly action: 'list' | 'get';
  readonly name?: string | undefined;
  readonly arguments?: readonly string[] | undefined;
  readonly server?: string | undefined;
}

export function prompts(values: PromptsValues, host: CliHost): Promise<number> {
  return values.action === 'list' ? list(values, host) : get(values, host);
}

async function list(values: PromptsValues, host: CliHost): Promise<number> {
  if (values.name !== undefined)
    throw wrongUsage('prompts', 'list takes no name: --server NAME lists those of one server');
  const found = await withTools(values, host, (client) => everyPage(client, 'prompts'), { view: viewOf(values) });
  if (values.json === true) return printJson({ prompts: found }, host);
  const rows = found.map(({ name, arguments: given, description }) => [
    textOf(name),
    recordsIn(given)
      .map((argument) => (argument.required === true ? textOf(argument.name) : `[${textOf(argument.name)}]`))
      .join(' '),
    textOf(description),
  ]);
  host.stdout.write(
    rows.length === 0
      ? 'No server has prompts.\n'
      : table(['PROMPT', 'ARGUMENTS', 'DESCRIPTION'], rows, { width: widthOf(host) }),
  );
  return DONE;
}

async function get(values: PromptsValues, host: CliHost): Promise<number> {
  const { name, arguments: pairs = [] } = values;
  if (name === undefined) throw wrongUsage('prompts', 'Name a prompt, as prompts list does');
  const given = Object.fromEntries(pairs.map(pairIn));
  const answer = await withTools(
    values,
    host,
    (client) =>
      patiently({ host, timeoutMs: undefined }, (signal) =>
        client.request('prompts/get', JSON.stringify({ name, arguments: given }), { signal }),
      ),
    { view: viewOf(values) },
  );
  if (answer === undefined) return INTERRUPTED;
  if (values.json === true) return printJson(answer.result, host);
  const { messages } = (answer.result ?? {}) as { readonly messages?: unknown };
  for (const { role, content } of recordsIn(messages)) {
    const [{ text, type } = {}] = recordsIn([content]);
    const said = typeof text === 'string' ? printableLines(text) : `(${printable(textOf(type))})`;
    host.stdout.write(`${printable(textOf(role))}: ${said}\n`);
  }
  return DONE;
}

/** Reads one argument. Arguments of prompts are always strings. */
function pairIn(pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at <= 0) throw wrongUsage('prompts', `${pair} is not KEY=VALUE`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

const viewOf = ({ server }: PromptsValues): string => (server === undefined ? 'all' : `server:${server}`);
