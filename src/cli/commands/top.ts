// `mcp-bridge status --watch`, `mcp-bridge top`: show the daemon's work repeatedly, across restarts. On a terminal the
// screen is redrawn, and `top` takes keys; a pipe gets one snapshot after another.

import { ControlClient } from '../../client/control-client.ts';
import { residentBytesOfGroups } from '../../local/process-table.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { printableJson } from '../../util/printable.ts';
import { sleep } from '../../util/sleep.ts';
import { DONE } from '../exit-code.ts';
import { CallsOfDaemon } from '../followed-calls.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { timeSpanMs } from '../patience.ts';
import { LiveScreen } from '../render/live-screen.ts';
import { notesOf } from '../render/status-view.ts';
import { duration, oneLine } from '../render/table.ts';
import { tableStyle } from '../render/terminal.ts';
import { callList, clientList, perSecond, serverList, shownMemory, shownRate } from '../render/top-lists.ts';
import { TopScreen, type TopSize } from '../render/top-screen.ts';
import { type Earlier, type Moment, momentLines } from '../render/watch-view.ts';
import { wrongUsage } from '../tool-session.ts';

export interface WatchValues extends WhereValues {
  readonly json?: boolean | undefined;
  readonly interval?: string | undefined;
}

/** Nobody can read more calls than this; the daemon counts the others. */
const CALLS_PER_SECOND = 100;
const BATCH_MS = 500;
const DEFAULT_INTERVAL_MS = 1000;
const SHORTEST_INTERVAL_MS = 100;
const LONGEST_INTERVAL_MS = 86_400_000;
/** The period that latencies cover. */
const WINDOW_MS = 60_000;
const KEYS = 'q ends';

export async function watch(values: WatchValues, host: CliHost): Promise<number> {
  const intervalMs = intervalOf(values.interval);
  const { path } = await locate(values, host);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const screen = new LiveScreen(host);
  screen.once('ended', end);
  host.onEnd(end);
  const moments = new Moments();
  screen.open();
  try {
    while (!ending.signal.aborted) {
      const lines = await look(path, host, moments, values.json === true);
      if (ending.signal.aborted) break;
      screen.show(screen.isTerminal ? [...lines, '', KEYS] : lines);
      await sleep(intervalMs, ending.signal).catch(() => undefined); // it rejects only when watching ends
    }
  } finally {
    screen.close();
  }
  return DONE;
}

/**
 * `mcp-bridge top`: on a terminal, a screen with three lists that keys sort, filter and scroll; a pipe gets the output
 * of `watch`.
 */
export async function top(values: WatchValues, host: CliHost): Promise<number> {
  const live = new LiveScreen(host);
  if (!live.isTerminal || values.json === true) return watch(values, host);
  const intervalMs = intervalOf(values.interval);
  const { path } = await locate(values, host);
  const session = new TopSession(path, host);
  const screen = new TopScreen();
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const draw = (): void => live.show(session.lines(screen, live.size));
  live.onKey = (key) => {
    const isKnown = screen.press(key);
    if (isKnown) draw();
    return isKnown;
  };
  live.once('ended', end);
  live.on('resized', draw);
  host.onEnd(end);
  live.open();
  try {
    while (!ending.signal.aborted) {
      await session.look();
      if (ending.signal.aborted) break;
      draw();
      await sleep(intervalMs, ending.signal).catch(() => undefined); // it rejects only when watching ends
    }
  } finally {
    session.close();
    live.close();
  }
  return DONE;
}

/** Follows the daemon at a path, and its successors. */
class TopSession {
  readonly #path: string;
  readonly #host: CliHost;
  readonly #moments = new Moments();
  readonly #calls = new CallsOfDaemon();
  #client: ControlClient | undefined;
  #now: Moment | undefined;
  #earlier: Earlier = { last: undefined, first: undefined };
  #trouble = '';

  constructor(path: string, host: CliHost) {
    this.#path = path;
    this.#host = host;
  }

  /** Asks the daemon for its state. If none answers, the last state stays on the screen. */
  async look(): Promise<void> {
    try {
      const client = await this.#open();
      const status = await client.call('bridge/status');
      const clients = (await client.call('bridge/connections')).filter(({ view }) => view !== 'control');
      const pids = new Set(status.instances.flatMap(({ pid }) => pid ?? []));
      const now = { atMs: performance.now(), status, clients, memory: residentBytesOfGroups(pids) };
      this.#now = now;
      this.#earlier = this.#moments.add(now);
      this.#trouble = '';
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      this.close();
      this.#moments.forget();
      this.#trouble = oneLine(`${error.message}; waiting for it to come back (to start one: mcp-bridge start)`);
    }
  }

  /** Opens the connection that also brings the events. */
  async #open(): Promise<ControlClient> {
    if (this.#client !== undefined) return this.#client;
    const client = await ControlClient.open(this.#path, this.#host.version);
    this.#client = client;
    this.#calls.forget();
    client.onEvents = (batch) => this.#calls.take(batch);
    await client.call('bridge/watch', { kinds: ['call'], batchMs: BATCH_MS, callsPerSecond: CALLS_PER_SECOND });
    return client;
  }

  lines(screen: TopScreen, size: TopSize): string[] {
    const now = this.#now;
    if (now === undefined) return [this.#trouble || `Asking the daemon at ${oneLine(this.#path)}`, '', 'q ends'];
    const { status, clients } = now;
    const { leftOut, openCount, endedCount, calls } = this.#calls;
    const callNote = [
      `${openCount} open, ${endedCount} ended`,
      ...(leftOut === 0 ? [] : [`${leftOut.toLocaleString('en')} not shown`]),
    ].join(', ');
    const content = {
      head: this.#head(now),
      notes: { servers: String(status.instances.length), clients: String(clients.length), calls: callNote },
      lists: {
        servers: serverList(now, this.#earlier),
        clients: clientList(clients),
        calls: callList(calls, Date.now()),
      },
      warning: this.#trouble || notesOf(status).map((note) => oneLine(`! ${note}`))[0] || '',
    };
    return screen.lines(content, size);
  }

  #head(now: Moment): string {
    const { version, pid, uptimeMs, counters, memory } = now.status;
    const { last } = this.#earlier;
    const before = last?.status.counters.requests;
    const requests = before === undefined ? undefined : perSecond((counters.requests ?? 0) - before, now, last);
    const rate = requests === undefined ? '' : `   ${shownRate(requests)}`;
    return oneLine(
      `mcp-bridge ${version}   pid ${pid}   up ${duration(uptimeMs)}   ${shownMemory(memory.residentBytes)}${rate}`,
    );
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}

function intervalOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_INTERVAL_MS;
  const ms = timeSpanMs(text, 's') ?? 0;
  if (ms >= SHORTEST_INTERVAL_MS && ms <= LONGEST_INTERVAL_MS) return ms;
  throw wrongUsage('top', '--interval is a number of seconds, or a time such as 500ms or 5m, from 100ms to 24h');
}

/** The lines for this moment; if no daemon answers, one line that says so. */
async function look(path: string, host: CliHost, moments: Moments, asJson: boolean): Promise<string[]> {
  let client: ControlClient | undefined;
  try {
    client = await ControlClient.open(path, host.version);
    const status = await client.call('bridge/status');
    const clients = await client.call('bridge/connections');
    if (asJson) return [printableJson(JSON.stringify({ ...status, connections: clients }))];
    const pids = new Set(status.instances.flatMap(({ pid }) => pid ?? []));
    const connected = clients.filter(({ view }) => view !== 'control');
    const now = { atMs: performance.now(), status, clients: connected, memory: residentBytesOfGroups(pids) };
    return momentLines(now, moments.add(now), { servers: tableStyle(host, 1), clients: tableStyle(host, 3) });
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    moments.forget();
    if (asJson) return [printableJson(JSON.stringify({ error: { code: error.code, message: error.message } }))];
    return [oneLine(`${error.message}; waiting for it to come back (to start one: mcp-bridge start)`)];
  } finally {
    client?.close();
  }
}

/** The snapshots of the last minute, all from one daemon. */
class Moments {
  #kept: Moment[] = [];

  add(now: Moment): { last: Moment | undefined; first: Moment | undefined } {
    if (this.#kept.at(-1)?.status.pid !== now.status.pid) this.forget();
    const last = this.#kept.at(-1);
    this.#kept = [...this.#kept.filter(({ atMs }) => now.atMs - atMs <= WINDOW_MS), now];
    const first = this.#kept[0];
    return { last, first: first === now ? undefined : first };
  }

  forget(): void {
    this.#kept = [];
  }
}
