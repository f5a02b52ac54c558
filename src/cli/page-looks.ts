// The parts of the dashboard's page that come from this machine instead of the daemon: the definitions in all clients'
// files, the end of the audit log, and a tool that a person tries. It decides nothing.

import type { ControlClient } from '../client/control-client.ts';
import { ToolClient } from '../client/tool-client.ts';
import { LogTail } from '../local/log-tail.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import type { CliHost } from './host.ts';
import { locate, type WhereValues } from './locate.ts';
import { openOrStart } from './open-bridge.ts';
import { reportOf } from './render/discovery-report.ts';
import { askIfRunning } from './running-daemon.ts';
import { survey } from './survey.ts';

type Params = Readonly<Record<string, unknown>>;
/** A method that this process answers for a page. */
export type PageMethod = (params: Params, signal: AbortSignal) => Promise<object>;

const MOST_LINES = 1000;

export function pageLooks(values: WhereValues, host: CliHost): Readonly<Record<string, PageMethod>> {
  return {
    'ui/discovery': async () => reportOf(await survey(values, host)),
    'ui/audit': (params) => auditLines(params, values, host),
    'ui/try': (params, signal) => tryTool(params, signal, values, host),
  };
}

/** The last lines, newest first. A line that is no JSON is left out: it is incomplete, or of another program. */
async function auditLines({ limit }: Params, values: WhereValues, host: CliHost): Promise<object> {
  const { path } = await locate(values, host);
  const status = await askIfRunning(path, host, (client: ControlClient) => client.call('bridge/status'));
  const file = status?.audit?.file ?? null;
  if (file === null) return { file, lines: [] };
  const most = typeof limit === 'number' && limit > 0 ? Math.min(Math.floor(limit), MOST_LINES) : MOST_LINES;
  const lines = new LogTail(file).last(most) ?? [];
  return { file, lines: lines.reverse().flatMap((line) => recordIn(line) ?? []) };
}

function recordIn(line: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch (error) {
    expectSyntaxError(error);
    return undefined;
  }
}

/** Calls a tool as any client would, in its server's view. Returns the texts that went over the socket. */
async function tryTool(params: Params, signal: AbortSignal, values: WhereValues, host: CliHost): Promise<object> {
  const [server, tool, given] = [textOf(params.server), textOf(params.tool), membersOf(params.arguments)];
  const located = await locate(values, host);
  const { version, cwd } = host;
  const client = await ToolClient.open(await openOrStart(located, { 'no-autostart': true }, host), {
    ...{ version, cwd, view: `server:${server}`, clientId: 'mcp-bridge-ui' },
  });
  const startMs = performance.now();
  const request = JSON.stringify({ method: 'tools/call', params: { name: tool, arguments: given } });
  const ended = (answer: string): object => ({ request, answer, ms: performance.now() - startMs });
  try {
    const answer = await client.callTool(tool, JSON.stringify(given), { signal, isAct: true });
    return ended(`{"result":${answer.text()}}`);
  } catch (error) {
    // The server or the bridge answered with an error.
    if (error instanceof BridgeError && isRecord(error.cause)) return ended(JSON.stringify({ error: error.cause }));
    throw error;
  } finally {
    await client.close();
  }
}
