// `mcp-bridge logs`: the last lines that the daemon at this socket has logged in the background, or all daemons; or, of a server, what its processes have
// written on stderr. Starts nothing.

import { LogTail } from '../../local/log-tail.ts';
import { daemonLogFile } from '../../local/state-dir.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { DONE } from '../exit-code.ts';
import { following } from '../following.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { coloursOf } from '../render/colour.ts';
import { jsonLine, readableLine, socketIn } from '../render/log-line.ts';
import { printable } from '../render/table.ts';
import { wrongUsage } from '../tool-session.ts';

export interface LogsValues extends WhereValues {
  readonly server?: string | undefined;
  readonly lines?: string | undefined;
  readonly follow?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly all?: boolean | undefined;
}

const DEFAULT_LINES = 50;
const LOOK_MS = 200;

export async function logs(values: LogsValues, host: CliHost): Promise<number> {
  const count = countIn(values.lines);
  const { server, follow = false, json = false, all = false } = values;
  if (server !== undefined) return (await import('./server-logs.ts')).serverLogs({ ...values, server }, count, host);
  const path = daemonLogFile(host.environment, host.homedir);
  const { path: socket } = await locate(values, host);
  const tail = new LogTail(path, all ? undefined : (line) => isOf(socket, line));
  const last = tail.last(count);
  if (last === undefined) throw noLog(path);
  if (last.length === 0 && count > 0 && !all) host.stderr.write(nothingOf(socket));
  const colours = coloursOf(host);
  const shown = (lines: readonly string[]): string =>
    lines.map((line) => `${json ? jsonLine(line) : readableLine(line, colours, all)}\n`).join('');
  if (follow) await following(host, { intervalMs: LOOK_MS, first: shown(last), next: () => shown(tail.more()) });
  else host.stdout.write(shown(last));
  return DONE;
}

/** A line that names no daemon may be of this one: a trace of Node's, or why it did not start. */
function isOf(socket: string, line: string): boolean {
  return (socketIn(line) ?? socket) === socket;
}

function nothingOf(socket: string): string {
  return `mcp-bridge: no daemon at ${printable(socket)} has logged anything here; --all shows the lines of others\n`;
}

function countIn(lines: unknown = `${DEFAULT_LINES}`): number {
  if (typeof lines === 'string' && /^\d{1,9}$/.test(lines)) return Number(lines);
  throw wrongUsage('logs', '--lines is how many lines to show');
}

function noLog(path: string): BridgeError {
  return new BridgeError('LOG_NOT_FOUND', `There is no log at ${path}`, {
    hint: 'A daemon in the background (mcp-bridge start) logs there, one in the foreground to its stderr, and one that systemd runs to the journal: journalctl --user -u mcp-bridge',
  });
}
