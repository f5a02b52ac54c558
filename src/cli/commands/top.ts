// `mcp-bridge status --watch`, `mcp-bridge top`: what the daemon does, again and again, also across its restarts. On a
// terminal it is written over; a pipe gets one snapshot after the other.

import { ControlClient } from '../../client/control-client.ts';
import { residentBytesOfGroups } from '../../local/process-table.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { printableJson } from '../../util/printable.ts';
import { sleep } from '../../util/sleep.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { timeSpanMs } from '../patience.ts';
import { LiveScreen } from '../render/live-screen.ts';
import { oneLine } from '../render/table.ts';
import { tableStyle } from '../render/terminal.ts';
import { type Moment, momentLines } from '../render/watch-view.ts';
import { wrongUsage } from '../tool-session.ts';

export interface WatchValues extends WhereValues {
  readonly json?: boolean | undefined;
  readonly interval?: string | undefined;
}

const DEFAULT_INTERVAL_MS = 1000;
const SHORTEST_INTERVAL_MS = 100;
const LONGEST_INTERVAL_MS = 86_400_000;
/** Latencies are those of the last minute. */
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
      await sleep(intervalMs, ending.signal).catch(() => undefined); // it rejects only when it is ended
    }
  } finally {
    screen.close();
  }
  return DONE;
}

function intervalOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_INTERVAL_MS;
  const ms = timeSpanMs(text, 's') ?? 0;
  if (ms >= SHORTEST_INTERVAL_MS && ms <= LONGEST_INTERVAL_MS) return ms;
  throw wrongUsage('top', '--interval is a number of seconds, or a time such as 500ms or 5m, from 100ms to 24h');
}

/** The lines of this moment; where no daemon answers, the one that says so. */
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
    return [oneLine(`${error.message}; waiting for it to come back`)];
  } finally {
    client?.close();
  }
}

/** The moments of the last minute, all of one daemon. */
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
