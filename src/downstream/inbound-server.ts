// A server that connected to the bridge by itself. The bridge cannot start it: one instance uses its link while it is
// connected, and either side may close the link. Until an instance uses it, the server's requests are answered here.

import { ERA_2025 } from '../protocol/era-2025.ts';
import { certainId, INVALID_REQUEST, REGISTERED_ALREADY, rpcError } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import type { Link, LinkHandler } from '../wire/link.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { ServerConnection } from './connection.ts';

/** Time for the server to read its backlog. */
const GOODBYE_MS = 1000;
const INITIALIZED = '"notifications/initialized"';
/** The maximum length of that notification. */
const LONGEST_INITIALIZED = 512;
/** A server that leaves this much unread gets no more answers. */
const MOST_UNTAKEN = 65_536;
const UNHEARD = rpcError(
  INVALID_REQUEST,
  'This connection belongs to a server: it may ask something only while a call of a client is under way',
);

const read = new Envelope(ERA_2025.keys);

export class InboundServer implements ServerConnection {
  readonly pid = undefined;
  readonly wasOpen = true;
  readonly link: Link;
  readonly #link: Link;
  readonly #clock: Clock;
  readonly #ended = deferred<string>();
  #handler: LinkHandler | undefined;
  #hasSpoken = false;
  #isOpened = false;
  #isStopped = false;
  hasHungUp = false;

  constructor(link: Link, { clock, pacer }: { readonly clock: Clock; readonly pacer: ReadPacer }) {
    this.#link = link;
    this.#clock = clock;
    link.pace?.(pacer);
    this.link = {
      outbox: link.outbox,
      start: (handler) => {
        this.#handler = handler;
      },
      pause: () => link.pause(),
      resume: () => link.resume(),
      end: () => link.end(),
      destroy: () => link.destroy(),
    };
    link.start({
      frame: (b, start, end) => this.#frame(b, start, end),
      overflowed: () => this.#handler?.overflowed(),
      badFrame: (reason, ends) => this.#handler?.badFrame(reason, ends),
      ended: () => {
        this.hasHungUp = !this.#isStopped;
        if (this.#handler === undefined) this.#link.end();
        else this.#handler.ended();
      },
      closed: () => {
        this.hasHungUp ||= !this.#isStopped;
        this.#handler?.closed();
        this.#ended.resolve('has hung up');
      },
      drained: () => this.#handler?.drained(),
    });
  }

  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** Hands the connection to the one instance that uses it. Throws if another one does already. */
  open(name: string): ServerConnection {
    if (this.#isOpened) throw notConnected(name);
    this.#isOpened = true;
    return this;
  }

  /** Passes a message on to the instance, or answers it here while none listens. */
  #frame(b: Buffer, start: number, end: number): void {
    const isFirst = !this.#hasSpoken;
    this.#hasSpoken = true;
    // It registered with `initialize`, like a client, and may now send the notification that follows.
    if (isFirst && end - start < LONGEST_INITIALIZED && b.includes(INITIALIZED, start) && isWithin(b, start, end))
      return;
    if (this.#handler === undefined) this.#answerAlone(b, start, end);
    else this.#handler.frame(b, start, end);
  }

  /** Answers a request while no instance listens. */
  #answerAlone(b: Buffer, start: number, end: number): void {
    const { outbox } = this.#link;
    if (!read.scan(b, start, end, DEEPEST) || read.kind !== 'request' || outbox.queuedBytes > MOST_UNTAKEN) return;
    outbox.latin1(`{"jsonrpc":"2.0","id":${certainId(read, b)},${answerTo(read.decode(b, Field.method))}}`);
    outbox.endFrame();
  }

  /** Sends a notification to the server, whether an instance uses it or not. */
  tell(notice: string): void {
    const { outbox } = this.#link;
    outbox.latin1(notice);
    outbox.endFrame();
  }

  lastWords(): string {
    return '';
  }

  lastLine(): string {
    return '';
  }

  safe(text: string): string {
    return text.replace(KNOWN_TOKEN, '[secret]');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#link.end();
    const timer = this.#clock.after(GOODBYE_MS, () => this.#link.destroy());
    await this.ended;
    timer.cancel();
  }
}

function answerTo(method: unknown): string {
  if (method === 'ping') return '"result":{}';
  return `"error":${method === 'initialize' ? REGISTERED_ALREADY : UNHEARD}`;
}

function isWithin(b: Buffer, start: number, end: number): boolean {
  return b.indexOf(INITIALIZED, start) < end;
}

export function notConnected(name: string): BridgeError {
  return new BridgeError('SERVER_NOT_CONNECTED', `Server ${name} is not connected`, {
    server: name,
    hint: 'It connects to the bridge by itself: check that its program runs.',
  });
}
