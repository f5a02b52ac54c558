// The bodies of answers over HTTP, read within limits. The bytes that count are those after decompression: a few that
// come over the network may be many.

import type { Frame } from '../wire/frame-splitter.ts';
import { GrowingBytes, TooLong } from '../wire/growing-bytes.ts';
import type { IsOver, ReadPacer } from '../wire/read-pacer.ts';
import { type EventSink, EventStream } from './event-stream.ts';
import { networkFailure, RemoteFailure } from './remote-failure.ts';

export interface BodyOptions {
  /** Of one message; more is an error. */
  readonly mostBytes: number;
  /** Bounds what one turn works on of all that servers say. */
  readonly pacer: ReadPacer;
  /** Pending while what the server says may not be read. */
  readonly mayRead?: () => Promise<void> | undefined;
}

/** What `fetch` takes for a piece, however small: 10 to 20 µs. A server may send pieces of one byte. */
const FETCHED_MS = 0.015;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The whole body as a frame. Throws a RemoteFailure if it is too long. */
export async function readFrame(response: Response, options: BodyOptions): Promise<Frame> {
  const bytes = new GrowingBytes(options.mostBytes);
  await readPieces(response, options, (piece) => {
    bytes.add(piece);
    return piece.length;
  });
  const frame = bytes.takeFrame();
  const { b, end } = frame;
  const start = b.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  for (let at = b.indexOf(0x0a); at < end; at = b.indexOf(0x0a, at + 1)) b[at] = 0x20; // a frame ends at its newline
  return { b, start, end };
}

/** Reads events until the stream ends. Throws a RemoteFailure if one is too long, or the connection breaks. */
export function readEvents(response: Response, options: EventSink & BodyOptions): Promise<void> {
  const events = new EventStream(options.mostBytes, options);
  return readPieces(response, options, (piece, isOver) => events.push(piece, isOver));
}

async function readPieces(
  { body }: Response,
  { mostBytes, pacer, mayRead }: BodyOptions,
  take: (piece: Uint8Array, isOver: IsOver) => number,
): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const paced = pacer.reader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => Promise.reject(brokenBy(error)));
      if (done) return;
      let rest: Uint8Array = value;
      const step = (isOver: IsOver): boolean => {
        rest = rest.subarray(take(rest, isOver));
        return rest.length === 0;
      };
      await paced.run(step, FETCHED_MS);
      await mayRead?.();
    }
  } catch (error) {
    if (error instanceof TooLong) throw tooLong(mostBytes);
    throw error;
  } finally {
    // Of a stream that has ended there is nothing to cancel; of any other nothing more shall come.
    reader.cancel().catch(() => undefined);
  }
}

/** It was aborted, or something has happened to the connection. */
function brokenBy(error: unknown): unknown {
  return error instanceof Error && error.name === 'AbortError' ? error : networkFailure(error);
}

function tooLong(mostBytes: number): RemoteFailure {
  return new RemoteFailure(`sent a message of more than ${mostBytes} bytes (limits.maxMessageBytes)`, {
    isTooLong: true,
  });
}
