// `mcp-bridge logs SERVER`: prints the stderr of a server's processes, as far as the daemon still has it.

import { once } from 'node:events';
import { ControlClient, type LogsReport, type ProcessLog } from '../../client/control-client.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { printableJson } from '../../util/printable.ts';
import { sleep } from '../../util/sleep.ts';
import { DONE, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate } from '../locate.ts';
import { absent } from '../refused.ts';
import { jsonText, printable, printableTabbed } from '../render/table.ts';
import { ask } from './daemon-commands.ts';
import type { LogsValues } from './logs.ts';

type ServerLogsValues = LogsValues & { readonly server: string };

const LOOK_MS = 500;
/** Sequences that colour a text are no part of it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one
const COLOUR = /\u001b\[[\d;]*m/g;

export async function serverLogs(values: ServerLogsValues, count: number, host: CliHost): Promise<number> {
  const { server, follow = false, json = false } = values;
  const params = { server, cwd: host.cwd };
  const report = await ask(values, host, 'bridge/logs', follow ? { ...params, after: {} } : params);
  await checkReport(report, values, host);
  const last = { ...report, processes: report.processes.map((one) => lastLinesOf(one, count)) };
  if (!follow) {
    host.stdout.write(json ? jsonText(last) : allText(last));
    return DONE;
  }
  const { path } = await locate(values, host);
  const followed = new FollowedServer({ path, params, json, host }, report);
  await following(host, { intervalMs: LOOK_MS, first: followed.news(last), next: () => followed.next() });
  return DONE;
}

async function checkReport(report: LogsReport, values: ServerLogsValues, host: CliHost): Promise<void> {
  const { server, transport, unknown } = report;
  if (unknown !== null) {
    const error = new BridgeError('SERVER_NOT_FOUND', unknown.message, {
      hint: unknown.hint,
      facts: { near: unknown.near ?? [] },
    });
    throw await absent(server, { error, values, host });
  }
  if (transport === 'stdio' || report.processes.length > 0) return;
  throw noLogOf(server, transport);
}

/** The error for a server that has no process here. */
export function noLogOf(server: string, transport: LogsReport['transport']): BridgeError {
  if (transport === 'bus') {
    const [, name = '', on] = /^(.*)@([^@]*)$/.exec(server) ?? [];
    return on === undefined
      ? new BridgeError('LOG_NOT_FOUND', `Server ${server} runs on another host, and its log is there`, {
          ...{ server, hint: 'Which hosts there are: mcp-bridge hosts' },
        })
      : new BridgeError('LOG_NOT_FOUND', `Server ${server} runs on host ${on}, and its log is there`, {
          ...{ server, hint: `There: mcp-bridge logs ${name}. How that host is: mcp-bridge hosts` },
        });
  }
  const why =
    transport === 'dial-in'
      ? `Server ${server} has connected by itself: what it writes on stderr is where it was started`
      : `Server ${server} is at a URL, and has no process here that could write on stderr`;
  return new BridgeError('LOG_NOT_FOUND', why, {
    server,
    hint: 'What the bridge says of it: mcp-bridge status, and mcp-bridge logs',
  });
}

function lastLinesOf(process: ProcessLog, count: number): ProcessLog {
  const lines = linesIn(process.text);
  if (lines.length <= count) return process;
  return {
    ...process,
    text: lines
      .slice(lines.length - count)
      .map((line) => `${line}\n`)
      .join(''),
  };
}

function linesIn(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n|\r/);
}

function allText({ server, processes }: LogsReport): string {
  if (processes.length === 0)
    return `${printable(server)} has not been started by this daemon, so there is nothing that it has written\n`;
  return processes
    .map((process) => `${headingOf(server, process)}\n${linesText(process.text) || '(nothing on stderr)\n'}`)
    .join('\n');
}

function headingOf(server: string, { pid, running }: ProcessLog): string {
  const who = pid === null ? 'not started' : `pid ${pid}${running ? '' : ', ended'}`;
  return `${printable(server)} (${who}):`;
}

function linesText(text: string): string {
  return linesIn(text)
    .map((line) => `${printableTabbed(line.replace(COLOUR, ''))}\n`)
    .join('');
}

interface FollowedContext {
  readonly path: string;
  readonly params: { readonly server: string; readonly cwd: string };
  readonly json: boolean;
  readonly host: CliHost;
}

/** Reads new text repeatedly, across restarts of the server and the daemon. */
class FollowedServer {
  readonly #context: FollowedContext;
  /** The position up to which each process was read, by pid. */
  #after: Readonly<Record<string, number>>;
  /** The process named in the last heading. */
  #shown: number | null | undefined;
  /** The last error that prevented a look. */
  #trouble = '';

  constructor(context: FollowedContext, first: LogsReport) {
    this.#context = context;
    this.#after = positionsIn(first);
  }

  async next(): Promise<string> {
    const report = await this.#look();
    if (report === undefined) return '';
    const before = this.#after;
    this.#after = positionsIn(report);
    const isLost = ({ pid, from, text }: ProcessLog): boolean => text !== '' && from > (before[`${pid}`] ?? 0);
    if (this.#context.json) return this.news(report);
    const told = report.processes.map((one) => (isLost(one) ? { ...one, text: `${LOST}${one.text}` } : one));
    return this.news({ ...report, processes: told });
  }

  news({ server, processes, ...rest }: LogsReport): string {
    const saying = processes.filter(({ text }) => text !== '');
    if (this.#context.json)
      return saying.length === 0 ? '' : `${printableJson(JSON.stringify({ server, processes: saying, ...rest }))}\n`;
    return saying.map((process) => `${this.#heading(server, process)}${linesText(process.text)}`).join('');
  }

  #heading(server: string, process: ProcessLog): string {
    if (process.pid === this.#shown) return '';
    const gap = this.#shown === undefined ? '' : '\n';
    this.#shown = process.pid;
    return `${gap}${headingOf(server, process)}\n`;
  }

  /** Reads once; undefined while no daemon answers, which is reported once. */
  async #look(): Promise<LogsReport | undefined> {
    const { path, params, host } = this.#context;
    let client: ControlClient | undefined;
    try {
      client = await ControlClient.open(path, host.version);
      const report = await client.call('bridge/logs', { ...params, after: this.#after });
      this.#trouble = '';
      return report;
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      if (error.code !== this.#trouble)
        host.stderr.write(lineFor(new BridgeError(error.code, `${error.message}; waiting for it to come back`)));
      this.#trouble = error.code;
      return undefined;
    } finally {
      client?.close();
    }
  }
}

/** Stands for text that was written faster than it was read. */
const LOST = '…\n';

function positionsIn({ processes }: LogsReport): Record<string, number> {
  return Object.fromEntries(processes.map(({ pid, to }) => [`${pid}`, to]));
}

interface Followed {
  readonly intervalMs: number;
  /** The text to print first. */
  readonly first: string;
  /** Returns the text written since; '' for none. */
  readonly next: () => Promise<string> | string;
}

export async function following(host: CliHost, { intervalMs, first, next }: Followed): Promise<void> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  host.onEnd(end);
  host.stdout.on('error', end);
  await written(first, host, ending.signal);
  while (!ending.signal.aborted) {
    await sleep(intervalMs, ending.signal).catch(() => undefined); // it rejects only when following ends
    if (!ending.signal.aborted) await written(await next(), host, ending.signal);
  }
}

/** Writes text; resolves when the reader has room for more, or has gone. */
async function written(text: string, { stdout }: CliHost, signal: AbortSignal): Promise<void> {
  if (text === '' || stdout.write(text)) return;
  await once(stdout, 'drain', { signal }).catch(() => undefined); // an error of stdout ends following, above
}
