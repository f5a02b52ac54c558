// `mcp-bridge connect`: the bridge as a stdio MCP server, for any client's config.

import type { Socket } from 'node:net';
import { notedBuild } from '../../client/daemon-build.ts';
import { newDaemonInput } from '../../client/daemon-link.ts';
import { openFirst } from '../../client/first-connection.ts';
import { type Located, locateBridge } from '../../client/locate.ts';
import { openOrStart as openAgain } from '../../client/open-or-start.ts';
import { answerUnavailable, type OpenInput, relay, type SocketReader } from '../../client/stdio-relay.ts';
import { toolsetView } from '../../model/toolset.ts';
import { checkClientId } from '../../protocol/client-id.ts';
import { BridgeError, messageOf, systemCode } from '../../util/bridge-error.ts';
import { systemClock } from '../../util/clock.ts';
import { printable } from '../../util/printable.ts';
import { sleep } from '../../util/sleep.ts';
import { readArguments, type Values } from '../arguments.ts';
import { DONE, FAILED, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { startSettings } from '../open-bridge.ts';
import { CONNECT } from '../start-options.ts';
import { locateOptions, useLocated } from '../where.ts';

/** The message for a person who typed the command. */
const FOR_PROGRAMS =
  'mcp-bridge: connect waits for an MCP client on stdin: it is for the config of one (mcp-bridge install). Ctrl-C ends it.\n';

export async function connect(args: readonly string[], host: CliHost): Promise<number> {
  const values = readArguments('connect', args, CONNECT);
  if ([values.server, values.view, values.toolset].filter((one) => one !== undefined).length > 1)
    throw new BridgeError('USAGE', '--server, --view and --toolset exclude each other', {
      hint: 'See: mcp-bridge connect --help',
    });
  const { stdout, stderr } = host;
  if (host.isPiped !== true && (host.stdin as { readonly isTTY?: boolean }).isTTY === true) stderr.write(FOR_PROGRAMS);
  let located: Located;
  let socket: Socket;
  try {
    located = await useLocated(() => locateBridge(locateOptions(values, host)), host);
    if (located.clientId) checkClientId(located.clientId, located.clientIdSource);
    // If the config cannot be read, use a running daemon: a new one might not be allowed to start.
    if (located.configError === undefined && startSettings(located, values, host) !== undefined)
      await replaceIfOlder(located.path, host);
    socket = await firstConnection(located, values, host);
  } catch (thrown) {
    const { withSocketInHint } = await import('../start-hint.ts');
    const error = failureOf(withSocketInHint(thrown, values));
    stderr.write(lineFor(error));
    await answerUnavailable(host.stdin, stdout, error);
    return FAILED;
  }
  const { where, reconnect } = located;
  const start = startSettings(located, values, host);
  const openInput = (reader: SocketReader): ReturnType<OpenInput> => {
    const stream = host.openStdin?.(reader);
    return { stream: stream ?? host.stdin, emitsData: stream === undefined };
  };
  const error = await relay({
    stdin: openInput,
    stdout,
    socket,
    meta: introduction(values, located, host),
    onEnd: (leave) => host.onEnd(leave),
    dial: (mayStart) => openAgain(where(), mayStart ? start : undefined, newDaemonInput),
    path: where,
    reconnect,
    clock: systemClock,
    sleep,
    random: Math.random,
  });
  if (error !== undefined) throw error;
  return DONE;
}

/** From this attempt on, checks that the client is still there. */
const LATE = 5;

async function firstConnection(located: Located, values: Values<typeof CONNECT>, host: CliHost): Promise<Socket> {
  const { where: path, reconnect } = located;
  const { stdout, stderr } = host;
  const gone = new AbortController();
  const clientGone = (error: unknown): void => gone.abort(error);
  stdout.once('error', clientGone);
  try {
    return await openFirst({
      start: startSettings(located, values, host),
      newInput: newDaemonInput,
      waits: (attempt) => {
        if (attempt === 2) stderr.write(`mcp-bridge: no mcp-bridge runs at ${printable(path())}; waiting for one\n`);
        // Only a write shows that somebody is still there; the space becomes part of the answer after it
        // (docs/adr/0004).
        if (attempt >= LATE) stdout.write(' ');
      },
      ...{ path, reconnect, clock: systemClock, sleep, random: Math.random, signal: gone.signal },
    });
  } finally {
    stdout.off('error', clientGone);
  }
}

/** The error that the client gets. Bugs are thrown again. */
function failureOf(thrown: unknown): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  if (systemCode(thrown) === undefined) throw thrown;
  return new BridgeError('DAEMON_UNREACHABLE', `The bridge cannot be reached: ${messageOf(thrown)}`, {
    cause: thrown,
    hint: 'See: mcp-bridge doctor',
  });
}

async function replaceIfOlder(path: string, host: CliHost): Promise<void> {
  const build = notedBuild(path);
  if (build === undefined || build === host.build) return;
  const { replaceOlder } = await import('../../client/older-daemon.ts');
  const remark = await replaceOlder(path, host);
  if (remark !== undefined) host.stderr.write(`mcp-bridge: ${remark}\n`);
}

function introduction(values: Values<typeof CONNECT>, located: Located, host: CliHost): Record<string, unknown> {
  const { clientId } = located;
  const view = viewIn(values) ?? host.environment.MCP_BRIDGE_VIEW;
  const project = host.environment.CLAUDE_PROJECT_DIR;
  return {
    'mcp-bridge/cwd': project?.startsWith('/') === true ? project : host.cwd,
    'mcp-bridge/pid': host.pid,
    ...(clientId ? { 'mcp-bridge/clientId': clientId } : {}),
    ...(view ? { 'mcp-bridge/view': view } : {}),
    ...(values.client ? { 'mcp-bridge/client': values.client } : {}),
  };
}

/** The view that a flag names; undefined if none does, so that the config decides. */
function viewIn({ server, view, toolset }: Values<typeof CONNECT>): string | undefined {
  if (server !== undefined) return `server:${server}`;
  return toolset === undefined ? view : toolsetView(toolset);
}
