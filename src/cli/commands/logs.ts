// `mcp-bridge logs`: prints the last log lines of the daemon at this socket or of all daemons; or the stderr of a
// server's processes. It starts nothing.

import { LogTail } from '../../local/log-tail.ts';
import { daemonLogFile } from '../../local/state-dir.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { expectSyntaxError } from '../../util/expected-error.ts';
import { isRecord } from '../../util/json-value.ts';
import { printableJson } from '../../util/printable.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { type Colours, coloursOf } from '../render/colour.ts';
import { printable, printableTabbed } from '../render/table.ts';
import { wrongUsage } from '../tool-session.ts';
import { following } from './server-logs.ts';

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

/** True for lines of this daemon. A line without a socket may be its own too, such as a stack trace of Node. */
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

/** A value that needs no quotes. */
const PLAIN = /^[^\s"=]+$/;

/** Formats a line. `showsSocket`: lines of several daemons are mixed. */
export function readableLine(line: string, colours: Colours | undefined, showsSocket = false): string {
  const record = recordIn(line);
  if (record === undefined) return printableTabbed(line.replace(/\r$/, ''));
  const { time, level, message, socket, ...others } = record;
  const fields = showsSocket && socket !== undefined ? { ...others, socket } : others;
  const levelText = printable(`${level}`);
  const padded = levelText.padEnd(5);
  const shownLevel = colours?.level(padded) ?? padded;
  const shownFields = Object.entries(fields).map(([name, value]) => `  ${printable(name)}=${valueText(value)}`);
  return `${printable(`${time}`)} ${shownLevel} ${printable(`${message}`)}${shownFields.join('')}`;
}

/** Returns each line as one JSON object, even lines that the logger did not write. Safe for terminals. */
export function jsonLine(line: string): string {
  return printableJson(recordIn(line) === undefined ? JSON.stringify({ message: line }) : line);
}

/** The socket of the daemon that logged the line; undefined if none is named. */
export function socketIn(line: string): string | undefined {
  const socket = recordIn(line)?.socket;
  return typeof socket === 'string' ? socket : undefined;
}

function recordIn(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && ['time', 'level', 'message'].every((name) => typeof value[name] === 'string')
      ? value
      : undefined;
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // another program's line
  }
}

function valueText(value: unknown): string {
  return printable(typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value));
}
