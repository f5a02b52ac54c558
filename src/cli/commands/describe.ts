// `mcp-bridge describe`: shows what a tool does and takes, and how to call it.

import { isRecord, membersOf, textOf } from '../../util/json-value.ts';
import { shortened } from '../../util/printable.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { waitingFor } from '../render/spinner.ts';
import { printable, printJson, table } from '../render/table.ts';
import { widthOf } from '../render/terminal.ts';
import {
  descriptionOf,
  exampleCall,
  type NestedParameter,
  nestedParametersOf,
  type Parameter,
  typeName,
} from '../render/tool-schema.ts';
import { ask, type ToolCommandValues, withTools } from '../tool-session.ts';

export interface DescribeValues extends ToolCommandValues {
  readonly server: string;
  readonly tool: string;
}

type Details = Readonly<Record<string, unknown>>;

/** The indent of lines that belong to the parameter above. */
const INDENT = '  ';
const MOST_VALUES = 40;
const MOST_OF_DEFAULT = 24;

export async function describe(values: DescribeValues, host: CliHost): Promise<number> {
  const { server, tool } = values;
  const details = await withTools(values, host, (client, spinner) =>
    spinner.during(() => waitingFor([server]), ask(client, 'get_tool_details', { server, tool })),
  );
  if (values.json === true) printJson(details, host);
  else host.stdout.write(description(details, widthOf(host)));
  return DONE;
}

function description(details: Details, width: number | undefined): string {
  const { inputSchema, outputSchema, tags } = details;
  const [server, tool] = [textOf(details.server), textOf(details.tool)];
  const words = Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  const parameters = nestedParametersOf(inputSchema);
  const blocks = [
    `${printable(tool)}, of ${printable(server)}\n`,
    details.changed === true ? `It has changed: mcp-bridge tools ${printable(server)} --changed\n` : '',
    details.taskSupport === 'required' ? 'It runs as a task: `call` begins it, and waits for what comes of it.\n' : '',
    details.status === 'failed' ? 'Its server cannot be started at present.\n' : '',
    paragraphs(textOf(details.description)),
    annotationLine(membersOf(details.annotations)),
    words.length === 0 ? '' : `Tags: ${printable(words.join(', '))}\n`,
    parameters.length === 0 ? noParameters(inputSchema) : parameterTable(parameters, width),
    isRecord(outputSchema) ? answer(outputSchema) : '',
    `For example:\n  ${printable(exampleCall({ server, tool, inputSchema }))}\n`,
  ];
  return blocks.filter((block) => block !== '').join('\n');
}

function paragraphs(text: string): string {
  const lines = text.trim().split(/\r?\n/).map(printable);
  return text.trim() === '' ? '' : `${lines.join('\n')}\n`;
}

function parameterTable(parameters: readonly NestedParameter[], width: number | undefined): string {
  const rows = parameters.map(({ name, depth, isNeeded, shape }) => [
    INDENT.repeat(depth) + name,
    typeName(shape),
    isNeeded ? 'yes' : 'no',
    shape.schema.default === undefined ? '' : cut(JSON.stringify(shape.schema.default), width),
    explanation(shape),
  ]);
  return table(['NAME', 'TYPE', 'NEEDED', 'DEFAULT', 'DESCRIPTION'], rows);
}

/** Shortens a text on a terminal, where a long default would push everything else away. */
function cut(text: string, width: number | undefined): string {
  return width === undefined ? text : shortened(text, MOST_OF_DEFAULT);
}

function noParameters(inputSchema: unknown): string {
  const { properties, additionalProperties } = membersOf(inputSchema);
  const hasNone = isRecord(properties) || additionalProperties === false;
  return hasNone ? 'It has no parameters.\n' : 'Its schema names no parameters.\n';
}

function answer(outputSchema: unknown): string {
  const fields = nestedParametersOf(outputSchema);
  if (fields.length === 0) return 'It answers with JSON.\n';
  const rows = fields.map(({ name, depth, shape }) => [
    INDENT.repeat(depth) + name,
    typeName(shape),
    explanation(shape),
  ]);
  return `It answers with JSON:\n\n${table(['NAME', 'TYPE', 'DESCRIPTION'], rows)}`;
}

function explanation(shape: Parameter['shape']): string {
  const text = descriptionOf(shape).replace(/\s+/g, ' ').trim();
  const values = shape.values ?? shape.items?.values;
  if (values === undefined) return text;
  const names = values.slice(0, MOST_VALUES).map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const list = `One of: ${names.join(', ')}${values.length > MOST_VALUES ? ', …' : ''}`;
  return text === '' ? list : `${text}${/[.!?]$/.test(text) ? '' : '.'} ${list}`;
}

/** The server's own claims about its tool, which nobody has checked. */
function annotationLine(annotations: Details): string {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const words = [
    ...(readOnlyHint === true ? ['it only reads'] : []),
    ...(readOnlyHint === false && destructiveHint === false ? ['it changes things, but destroys nothing'] : []),
    ...(readOnlyHint !== true && destructiveHint === true ? ['it may destroy things'] : []),
    ...(readOnlyHint !== true && idempotentHint === true ? ['to call it again does nothing more'] : []),
    ...(openWorldHint === true ? ['it reaches beyond this machine'] : []),
    ...(openWorldHint === false ? ['it stays in its own world'] : []),
  ];
  return words.length === 0 ? '' : `The server says: ${words.join('; ')}.\n`;
}
