// The parameters that a call must repeat in headers (`x-mcp-header`), for one principal and view. Only the list of
// tools names them, so it is requested like a client would, on a separate connection. If a server does not list its
// tools in time, calls are accepted anyway.

import type { IncomingHttpHeaders } from 'node:http';
import { duplexPair } from 'node:stream';
import { ERA_2026 } from '../../protocol/era-2026.ts';
import { isAnswerTo, listRequestFor, MirroredHeaders, nextCursorIn } from '../../protocol/mirrored-headers.ts';
import type { Clock } from '../../util/clock.ts';
import { Envelope, Field } from '../../wire/envelope.ts';
import { FrameSplitter } from '../../wire/frame-splitter.ts';
import { DEEPEST } from '../../wire/json-grammar.ts';
import type { Carrier } from '../../wire/link.ts';
import type { FlushTurn } from '../../wire/outbox.ts';
import { StreamLink } from '../../wire/stream-link.ts';
import { parameterRefusal } from './mirrored-check.ts';

/** How long a list is used. If a call does not match it, a newer list is checked. */
const FRESH_MS = 60_000;
/** How long a list is used even then. */
const CERTAIN_MS = 1000;
/** How long a call waits for the list. */
const WAIT_MS = 10_000;
const MOST_PAGES = 1000;
/** The maximum number of kept lists for different directories and views. */
const MOST_KEPT = 16;
const NEWLINE = Buffer.from('\n');

interface ListedParametersOptions {
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly maxMessageBytes: number;
  readonly accept: (link: Carrier) => void;
}

/** A call as it arrived: the message is b[0, end). */
interface CallBody {
  readonly headers: IncomingHttpHeaders;
  readonly b: Buffer;
  readonly end: number;
}

interface Known {
  readonly marks: MirroredHeaders;
  readonly listedMs: number;
}

/** Shared: each call is handled before the next one is scanned. */
const envelope = new Envelope(ERA_2026.keys);

export class ListedParameters {
  readonly #options: ListedParametersOptions;
  /** Keys are what the request says about its view and directory: each has its own list. */
  readonly #known = new Map<string, Known>();
  readonly #listing = new Map<string, Promise<void>>();

  constructor(options: ListedParametersOptions) {
    this.#options = options;
  }

  /** The error for a call whose headers contradict its body; a promise if the tools must be listed first. */
  refusalOf(call: CallBody): string | undefined | Promise<string | undefined> {
    if (!envelope.scan(call.b, 0, call.end, DEEPEST)) return undefined;
    const place = placeOf(call.b);
    const known = this.#known.get(place);
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : this.#options.clock.now() - known.listedMs;
    if (known !== undefined && ageMs < FRESH_MS) {
      const refused = refusalBy(known.marks, call);
      if (refused === undefined || ageMs < CERTAIN_MS) return refused;
    }
    return this.#listed(place, call).then(() => this.#refusalNow(place, call));
  }

  #refusalNow(place: string, call: CallBody): string | undefined {
    const known = this.#known.get(place);
    if (known === undefined || !envelope.scan(call.b, 0, call.end, DEEPEST)) return undefined;
    return refusalBy(known.marks, call);
  }

  #listed(place: string, call: CallBody): Promise<void> {
    const under = this.#listing.get(place);
    if (under !== undefined) return under;
    const listing = this.#list(place, call).finally(() => this.#listing.delete(place));
    this.#listing.set(place, listing);
    return listing;
  }

  async #list(place: string, call: CallBody): Promise<void> {
    const { clock } = this.#options;
    const marks = new MirroredHeaders(
      () => undefined,
      () => clock.now(),
    );
    await this.#readPages(marks, call);
    const before = this.#known.get(place);
    // If the new list is missing or incomplete, the old one is the best guess.
    const best = marks.isListed ? marks : (before?.marks ?? marks);
    this.#known.delete(place);
    this.#known.set(place, { marks: best, listedMs: clock.now() });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KEPT && oldest !== undefined) this.#known.delete(oldest);
  }

  /** Resolves when all pages have arrived, or no more will. */
  async #readPages(marks: MirroredHeaders, { b, end }: CallBody): Promise<void> {
    const { clock, turn, maxMessageBytes, accept } = this.#options;
    const message = new Uint8Array(b.buffer as ArrayBuffer, b.byteOffset, end);
    const [near, far] = duplexPair();
    accept(new StreamLink(far, far, { maxFrameBytes: maxMessageBytes, turn }));
    await new Promise<void>((resolve) => {
      let page = 0;
      const ask = (cursor?: string): void =>
        void near.write(Buffer.concat([listRequestFor(message, `${page}`, cursor, PLACE_MEMBERS), NEWLINE]));
      const splitter = new FrameSplitter(maxMessageBytes, {
        frame: (bytes, start, to) => {
          const frame = { b: bytes, start, end: to };
          if (!isAnswerTo(frame, `${page}`)) return;
          marks.sift(frame, page === 0);
          const cursor = nextCursorIn(frame);
          page++;
          if (cursor === undefined || page >= MOST_PAGES) resolve();
          else ask(cursor);
        },
        overflowed: resolve,
        badFrame: () => resolve(),
      });
      near.on('data', (chunk: Buffer) => splitter.push(chunk));
      near.on('error', () => resolve()).on('close', () => resolve());
      const late = clock.after(WAIT_MS, resolve);
      near.on('close', () => late.cancel());
      ask();
    });
    near.destroy();
    far.destroy();
  }
}

/** Members of `_meta` that change the tools of a principal at the same path. */
const PLACE_MEMBERS = [
  { key: 'mcp-bridge/view', field: Field.bridgeView },
  { key: 'mcp-bridge/cwd', field: Field.bridgeCwd },
] as const;

/** The place that the scanned call's list depends on; '' for nearly all calls. */
function placeOf(b: Buffer): string {
  if (!PLACE_MEMBERS.some(({ field }) => envelope.has(field))) return '';
  return PLACE_MEMBERS.map(({ field }) => (envelope.has(field) ? envelope.raw(b, field) : '')).join(' ');
}

/** Checks the scanned call. */
function refusalBy(marks: MirroredHeaders, { headers, b }: CallBody): string | undefined {
  const tool = marks.isEmpty ? undefined : envelope.decode(b, Field.name);
  return typeof tool === 'string' ? parameterRefusal(headers, marks.valuesIn(b, envelope, tool)) : undefined;
}
