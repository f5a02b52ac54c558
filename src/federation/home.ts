// The home's side: sends the requests of this daemon's clients to owners on other hosts, and hands the answers on. It
// owns the subject for all answers, and the clock of all calls. Each call has a token, so that one owner cannot answer
// for another.

import { randomBytes } from 'node:crypto';
import type { Limits } from '../model/limits.ts';
import type { BusServer } from '../model/server-definition.ts';
import { type Clock, everyOnTime, type Timer } from '../util/clock.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { Bus, ReceivedMessage } from './bus.ts';
import type { Claims } from './claims.ts';
import { BULK_END } from './frames.ts';
import type { AnsweredCall } from './home-call.ts';
import { HomeConnection } from './home-connection.ts';
import type { Holder } from './lease-table.ts';
import { StreamPace } from './stream-pace.ts';
import { tokenOf } from './subject.ts';

const TICK_MS = 1000;
const TOKEN_BYTES = 12;
/** The system is asked for the random bytes of so many tokens at a time. */
const TOKENS_AT_ONCE = 256;

export interface HomeOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly limits: Limits;
  readonly tenant: string;
  readonly user: string;
  readonly host: string;
  /** True if parts come on a connection of their own. */
  readonly hasBulk: boolean;
  readonly claims: Claims;
  /** Returns the known run of the daemon on a host; undefined if the host is not present. */
  readonly runOf: (host: string) => string | undefined;
  /** Returns the hosts that offer a server of this name and may be asked. */
  readonly ownersOf: (name: string) => readonly string[];
  /** True if every host that offers the server may be asked, so that NATS may choose one. */
  readonly mayAskAny: (name: string) => boolean;
  /** Called when something of another host was not taken. */
  readonly refused: (server: string, host: string | undefined, why: string) => void;
}

/** The options of each connection, given by its opener. */
export interface OpenContext {
  readonly pacer: ReadPacer;
  readonly failed: (error: unknown) => void;
}

export class Home {
  readonly #options: HomeOptions;
  readonly #prefix: string;
  readonly #calls = new Map<string, AnsweredCall>();
  readonly #connections = new Set<HomeConnection>();
  readonly #ends: (() => void)[];
  readonly #pace: StreamPace;
  readonly #tick: Timer;
  #tokens: string[] = [];
  /** The reason why the bus is away; undefined while it is up. */
  #down: string | undefined = 'it is not connected yet';

  constructor(options: HomeOptions) {
    this.#options = options;
    const { bus, clock, host, hasBulk } = options;
    this.#pace = new StreamPace(clock);
    this.#prefix = `_INBOX.${tokenOf(host)}.${randomToken()}.`;
    const take = (message: ReceivedMessage): void => {
      const [token = ''] = message.subject.slice(this.#prefix.length).split('.');
      this.#calls.get(token)?.take(message);
    };
    this.#ends = [
      bus.subscribe(`${this.#prefix}*`, take),
      ...(hasBulk ? [bus.subscribe(`${this.#prefix}*${BULK_END}`, take, { lane: 'bulk' })] : []),
      bus.watch((event) => {
        if (event.is === 'up') this.#onUp();
        if (event.is === 'down') this.#down = event.why;
        if (event.is === 'denied' && event.operation === 'publish')
          for (const connection of [...this.#connections]) connection.denied(event.subject);
      }),
    ];
    this.#tick = everyOnTime(clock, TICK_MS, () => this.tick());
  }

  /** The reason why the bus cannot be reached; undefined while it can. */
  get down(): string | undefined {
    return this.#down;
  }

  #onUp(): void {
    const wasDown = this.#down !== undefined;
    this.#down = undefined;
    if (wasDown) for (const connection of [...this.#connections]) connection.busIsBack();
  }

  /** Opens a connection. `holder` is the host that serves a server if one host does at a time. */
  open(definition: BusServer, context: OpenContext, holder?: Holder): HomeConnection {
    const connection: HomeConnection = new HomeConnection(definition, {
      ...this.#options,
      ...context,
      holder,
      pace: this.#pace,
      down: () => this.#down,
      expect: (call) => {
        const token = this.#token();
        this.#calls.set(token, call);
        return { reply: this.#prefix + token, forget: () => void this.#calls.delete(token) };
      },
    });
    this.#connections.add(connection);
    void connection.ended.then(() => this.#connections.delete(connection));
    return connection;
  }

  /** Called when another host, or none, serves a server by its name alone. */
  leaseChanged(token: string, holder: Holder | undefined): void {
    for (const connection of [...this.#connections]) connection.leaseChanged(token, holder);
  }

  #token(): string {
    if (this.#tokens.length === 0) this.#tokens = newTokens();
    return this.#tokens.pop() ?? randomToken();
  }

  /** The unanswered calls, for reports and tests. */
  get openCalls(): number {
    return this.#calls.size;
  }

  /** Called once a second. */
  tick(): void {
    const nowMs = this.#options.clock.now();
    for (const connection of [...this.#connections]) connection.tick(nowMs);
  }

  close(): void {
    this.#tick.cancel();
    for (const connection of [...this.#connections]) void connection.stop();
    for (const end of this.#ends) end();
  }
}

function randomToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function newTokens(): string[] {
  const letters = randomBytes(TOKEN_BYTES * TOKENS_AT_ONCE).toString('base64url');
  const each = letters.length / TOKENS_AT_ONCE;
  return Array.from({ length: TOKENS_AT_ONCE }, (_, i) => letters.slice(i * each, (i + 1) * each));
}
