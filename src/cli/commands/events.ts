// `mcp-bridge events`: prints past events of the daemon, and with --follow new ones, also across its restarts. One
// line, or one line of JSON, per event. It only reads, and starts nothing.

import { once } from 'node:events';
import {
  ControlClient,
  type DaemonEvent,
  EVENT_KINDS,
  type EventBatch,
  type WatchParams,
} from '../../client/control-client.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { nearest, suggestion } from '../../util/nearest.ts';
import { printableJson } from '../../util/printable.ts';
import { sleep } from '../../util/sleep.ts';
import { DONE, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { eventLine } from '../render/event-line.ts';
import { wrongUsage } from '../tool-session.ts';
import { ask } from './daemon-commands.ts';

export interface EventsValues extends WhereValues {
  readonly follow?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly lines?: string | undefined;
  readonly kind?: string | readonly string[] | undefined;
  readonly server?: string | readonly string[] | undefined;
  readonly client?: string | readonly string[] | undefined;
  readonly tool?: string | readonly string[] | undefined;
  readonly calls?: string | undefined;
}

const DEFAULT_PAST = 50;
const DEFAULT_PAST_BEFORE_NEWS = 10;
/** The pause before it looks again for a daemon that has gone. */
const LOOK_MS = 500;
const ALL = Number.MAX_SAFE_INTEGER;

export async function events(values: EventsValues, host: CliHost): Promise<number> {
  const { follow = false, json = false } = values;
  const wanted = filterOf(values);
  const count = countIn(values.lines, '--lines', follow ? DEFAULT_PAST_BEFORE_NEWS : DEFAULT_PAST);
  if (!follow) {
    if (values.calls !== undefined) throw wrongUsage('events', '--calls goes with --follow');
    const { events: past } = await ask(values, host, 'bridge/events', { ...wanted, last: count });
    if (past.length === 0 && !json) host.stderr.write(nothingOf(wanted));
    host.stdout.write(past.map((event) => shown(event, json)).join(''));
    return DONE;
  }
  const callsPerSecond = countIn(values.calls, '--calls', undefined);
  const { path } = await locate(values, host);
  const params = { ...wanted, ...(callsPerSecond !== undefined && { callsPerSecond }) };
  await new Following({ path, host, json, params, past: count }).untilEnd();
  return DONE;
}

type Wanted = Record<'kinds' | 'servers' | 'clients' | 'tools', readonly string[]>;

/** The kinds of events that no daemon keeps. */
const NEVER_KEPT = /^(?:call|question|message|incident)(?:\.|$)/;
const ONLY_NOW = 'Calls, questions, messages and incidents are shown only while they happen: --follow';

function nothingOf({ kinds, servers, clients, tools }: Wanted): string {
  if (kinds.length > 0 && kinds.every((kind) => NEVER_KEPT.test(kind)))
    return `mcp-bridge: nothing of this kind is kept. ${ONLY_NOW}\n`;
  const isAny = [kinds, servers, clients, tools].every(({ length }) => length === 0);
  return `mcp-bridge: nothing ${isAny ? '' : 'of this kind '}has happened yet. ${ONLY_NOW}\n`;
}

function filterOf(values: EventsValues): Wanted {
  const kinds = listOf(values.kind);
  const groups = new Set(EVENT_KINDS.flatMap((kind) => [kind, kind.split('.')[0] ?? kind]));
  const strange = kinds.find((kind) => !groups.has(kind));
  if (strange !== undefined) {
    const near = suggestion(nearest(strange, [...groups]));
    throw wrongUsage(
      'events',
      `There is no kind ${JSON.stringify(strange)}. ${near ?? `There are: ${[...groups].join(', ')}`}`,
    );
  }
  return { kinds, servers: listOf(values.server), clients: listOf(values.client), tools: listOf(values.tool) };
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

function countIn<Otherwise>(text: unknown, option: string, otherwise: Otherwise): number | Otherwise {
  if (text === undefined) return otherwise;
  if (typeof text === 'string' && /^\d{1,9}$/.test(text)) return Number(text);
  throw wrongUsage('events', `${option} is a number`);
}

function shown(event: DaemonEvent, json: boolean): string {
  return json ? `${printableJson(JSON.stringify(event))}\n` : `${eventLine(event)}\n`;
}

interface FollowingOptions {
  readonly path: string;
  readonly host: CliHost;
  readonly json: boolean;
  readonly params: WatchParams;
  /** The number of past events to begin with. */
  readonly past: number;
}

/** Follows the events of the daemon at a path, and of its successors. */
class Following {
  readonly #options: FollowingOptions;
  readonly #ending = new AbortController();
  #client: ControlClient | undefined;
  /** The last error that prevented a look. */
  #trouble = '';
  #past: number;

  constructor(options: FollowingOptions) {
    this.#options = options;
    this.#past = options.past;
    const end = (): void => {
      this.#ending.abort();
      this.#client?.close();
    };
    options.host.onEnd(end);
    options.host.stdout.on('error', end);
  }

  async untilEnd(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#followOne();
      await sleep(LOOK_MS, signal).catch(() => undefined); // it rejects only when following ends
    }
  }

  /** Follows one daemon until it has gone. */
  async #followOne(): Promise<void> {
    const { path, host, params } = this.#options;
    try {
      const client = await ControlClient.open(path, host.version);
      this.#client = client;
      client.onEvents = (batch) => this.#take(client, batch);
      const { watch, refused, past } = await client.call('bridge/watch', { ...params, past: this.#past });
      if (watch === null) throw new BridgeError('REQUEST_REFUSED', `No events are shown: ${refused}`);
      this.#trouble = '';
      this.#write(client, past.map((event) => this.#shown(event)).join(''));
      this.#past = ALL; // nothing of the next daemon was shown yet
      if (!this.#ending.signal.aborted) await client.untilClosed();
      if (!this.#ending.signal.aborted) this.#tell('DAEMON_NOT_RUNNING', 'The daemon has gone');
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      if (!this.#ending.signal.aborted) this.#tell(error.code, error.message);
    } finally {
      this.#client?.close();
    }
  }

  #tell(code: BridgeError['code'], message: string): void {
    if (code === this.#trouble) return;
    this.#trouble = code;
    this.#options.host.stderr.write(
      lineFor(
        new BridgeError(code, `${message}; waiting for it to come back`, { hint: 'To start one: mcp-bridge start' }),
      ),
    );
  }

  #shown(event: DaemonEvent): string {
    return shown(event, this.#options.json);
  }

  #take(client: ControlClient, { at, events: news, lost, callsBegun, callsLeftOut }: EventBatch): void {
    const lines = news.map((event) => this.#shown(event)).join('');
    this.#write(client, `${lines}${this.#missing({ at, lost, callsBegun, callsLeftOut })}`);
  }

  /** The number of events that are not shown, and the reason. */
  #missing({ at, lost, callsBegun, callsLeftOut }: Omit<EventBatch, 'watch' | 'events'>): string {
    if (lost === 0 && callsLeftOut === 0) return '';
    if (this.#options.json) return `${JSON.stringify({ kind: 'left-out', at, lost, callsBegun, callsLeftOut })}\n`;
    const calls =
      callsLeftOut === 0 ? '' : `… ${callsLeftOut} of ${callsBegun} calls are not shown: too many a second\n`;
    return lost === 0 ? calls : `${calls}… ${lost} events are lost: they were not read fast enough\n`;
  }

  /** Stops reading until our own reader has room: the daemon then drops events, and reports how many. */
  #write(client: ControlClient, text: string): void {
    const { stdout } = this.#options.host;
    if (text === '' || stdout.write(text)) return;
    client.pause();
    once(stdout, 'drain', { signal: this.#ending.signal }).then(
      () => client.resume(),
      () => undefined, // an error of stdout ends following
    );
  }
}
