// `mcp-bridge tools --changed` and `--accept`: shows how tools have changed, and lets a person accept that.

import type {
  AcceptReport,
  ChangedServer,
  ChangedTool,
  ControlClient,
  ShownDefinition,
} from '../../client/control-client.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { textOf } from '../../util/json-value.ts';
import { nearest, suggestion } from '../../util/nearest.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { absent } from '../refused.ts';
import { definitionDifference, wholeDefinition } from '../render/definition-difference.ts';
import { jsonText, printable } from '../render/table.ts';
import { confirm, hasPerson } from '../render/terminal.ts';
import { ask, recordsIn, type ToolCommandValues, withControl, withTools, wrongUsage } from '../tool-session.ts';

export interface ChangedToolsValues extends ToolCommandValues {
  readonly server?: string | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly yes?: boolean | undefined;
}

export function showChanged(values: ChangedToolsValues, host: CliHost): Promise<number> {
  return withControl(values, host, async (client) => {
    const changed = await changesOf(client, values, host);
    await checkNames(changed, values, host);
    const servers = changed.map((server) => only(server, values.tools));
    const shown = servers.filter(({ tools }) => tools.length > 0);
    if (values.json === true) host.stdout.write(jsonText({ servers: shown }));
    else host.stdout.write(shown.length === 0 ? NOTHING : shown.map((server) => view(server)).join('\n') + ADVICE);
    return DONE;
  });
}

const NOTHING = 'No tool has changed or come since it was first seen or accepted.\n';
const ADVICE = '\nTo agree to it: mcp-bridge tools SERVER [TOOL…] --accept\n';

export function acceptChanged(values: ChangedToolsValues, host: CliHost): Promise<number> {
  const { server: name } = values;
  if (name === undefined) throw wrongUsage('tools', 'Name the server whose tools you accept');
  if (values.json === true) throw wrongUsage('tools', '--json does not go with --accept');
  return withControl(values, host, async (client) => {
    const [changed] = await changesOf(client, values, host);
    if (changed === undefined) await checkNames([], values, host);
    const wanted = changed && chosen(changed, values.tools ?? []);
    if (wanted === undefined || wanted.tools.length === 0) {
      host.stdout.write(`${printable(name)}: nothing waits to be accepted.\n`);
      return DONE;
    }
    host.stdout.write(`${view(wanted)}\n`);
    await agree(wanted, values, host);
    const tools = Object.fromEntries(wanted.tools.map(({ tool, now }) => [tool, now.hash]));
    tell(wanted, await client.call('bridge/accept', { cwd: host.cwd, server: name, tools }), host);
    return DONE;
  });
}

async function changesOf(
  client: ControlClient,
  values: ChangedToolsValues,
  host: CliHost,
): Promise<readonly ChangedServer[]> {
  const { server } = values;
  const params = { cwd: host.cwd, ...(server !== undefined && { server }) };
  const { servers, unknown } = await client.call('bridge/changes', params);
  if (unknown !== null) {
    const error = new BridgeError('SERVER_NOT_FOUND', unknown.message, {
      hint: unknown.hint,
      facts: { near: unknown.near ?? [] },
    });
    throw await absent(server ?? '', { error, values, host });
  }
  return servers;
}

/** Throws if the server does not have one of the tools. */
async function checkNames(changed: readonly ChangedServer[], values: ChangedToolsValues, host: CliHost): Promise<void> {
  const { server, tools = [] } = values;
  const known = changed.flatMap((one) => one.tools.map(({ tool }) => tool));
  const others = tools.filter((tool) => !known.includes(tool));
  if (server === undefined || others.length === 0) return;
  const list = await withTools(values, host, (client) => ask(client, 'list_tools', { server, includeDisabled: true }));
  const unchanged = recordsIn(list.tools).map(({ name }) => textOf(name));
  const strange = others.find((tool) => !unchanged.includes(tool));
  if (strange === undefined) return;
  const near = nearest(strange, [...known, ...unchanged]);
  throw new BridgeError('TOOL_NOT_FOUND', `Server ${server} has no tool ${JSON.stringify(strange)}`, {
    hint: suggestion(near) ?? `See: mcp-bridge tools ${server}`,
  });
}

const only = (server: ChangedServer, names: readonly string[] = []): ChangedServer =>
  names.length === 0 ? server : { ...server, tools: server.tools.filter(({ tool }) => names.includes(tool)) };

function chosen(server: ChangedServer, names: readonly string[]): ChangedServer {
  const known = server.tools.map(({ tool }) => tool);
  const strange = names.find((name) => !known.includes(name));
  if (strange === undefined) return only(server, names);
  const similar = nearest(strange, known);
  throw new BridgeError('TOOL_NOT_FOUND', `${server.server} has no tool ${JSON.stringify(strange)} that has changed`, {
    hint: suggestion(similar) ?? 'mcp-bridge tools --changed shows which there are.',
  });
}

/** Reports the result. Only what was shown is accepted: the daemon reports tools that have changed again since. */
function tell({ server }: ChangedServer, { accepted, others, isKept }: AcceptReport, host: CliHost): void {
  if (accepted.length > 0) host.stdout.write(`${printable(`Accepted, of ${server}: ${accepted.join(', ')}`)}\n`);
  if (!isKept)
    throw new BridgeError('FILE_UNUSABLE', 'It could not be written to its file, and applies until the daemon ends', {
      hint: 'Its log says why.',
    });
  if (others.length > 0)
    throw new BridgeError('REQUEST_REFUSED', `Not accepted, because changed meanwhile: ${others.join(', ')}`, {
      hint: `See: mcp-bridge tools ${server} --changed`,
    });
}

async function agree({ tools }: ChangedServer, { yes }: ChangedToolsValues, host: CliHost): Promise<void> {
  if (yes === true) return;
  if (!hasPerson(host))
    throw new BridgeError('REQUEST_REFUSED', 'Nothing was accepted: there is no terminal to ask on', {
      hint: 'Having looked at it, add --yes.',
    });
  if (await confirm(tools.length === 1 ? 'Accept it?' : `Accept these ${tools.length}?`, host)) return;
  throw new BridgeError('REQUEST_REFUSED', 'Nothing was accepted');
}

// --- how it looks ---

function view({ server, policy, tools }: ChangedServer): string {
  return tools.map((tool) => `${[headOf(server, policy, tool), ...bodyOf(tool)].map(printable).join('\n')}\n`).join('');
}

function headOf(server: string, policy: ChangedServer['policy'], { tool, state }: ChangedTool): string {
  if (state === 'new') return `${server}: ${tool} is new`;
  return `${server}: ${tool} has changed${policy === 'block' ? ', and is blocked' : ''}`;
}

function bodyOf({ state, before, now }: ChangedTool): string[] {
  const lines = (): string[] => {
    if (now.definition === null) return ['What it is now is too long to be kept.'];
    if (state === 'new') return wholeDefinition(now.definition);
    if (before === null) return ['What it was is not known any more. It is:', ...whole(now)];
    if (before.definition === null) return ['What it was was too long to be kept. It is:', ...whole(now)];
    return definitionDifference(before.definition, now.definition);
  };
  return lines().map((line) => `  ${line}`);
}

const whole = ({ definition }: ShownDefinition): string[] => wholeDefinition(definition);
