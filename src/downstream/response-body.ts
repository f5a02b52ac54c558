// The bodies of answers over HTTP, read within limits. The bytes that count are those after decompression: a few that
// come over the network may be many.

import type { Frame } from '../wire/frame-splitter.ts';
import { GrowingBytes, TooLong } from '../wire/growing-bytes.ts';
import { type EventSink, EventStream } from './event-stream.ts';
import { networkFailure, RemoteFailure } from './remote-failure.ts';

type MayRead = () => Promise<void> | undefined;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The whole body as a frame. Throws a RemoteFailure if it is too long. */
export async function readFrame(response: Response, mostBytes: number): Promise<Frame> {
  const bytes = new GrowingBytes(mostBytes);
  await readPieces(response, mostBytes, (piece) => bytes.add(piece));
  const frame = bytes.takeFrame();
  const { b, end } = frame;
  const start = b.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  for (let at = b.indexOf(0x0a); at < end; at = b.indexOf(0x0a, at + 1)) b[at] = 0x20; // a frame ends at its newline
  return { b, start, end };
}

/** Reads events until the stream ends. Throws a RemoteFailure if one is too long, or the connection breaks. */
export function readEvents(
  response: Response,
  { mostBytes, mayRead, ...sink }: EventSink & { readonly mostBytes: number; readonly mayRead: MayRead },
): Promise<void> {
  const events = new EventStream(mostBytes, sink);
  return readPieces(response, mostBytes, (piece) => events.push(piece), mayRead);
}

async function readPieces(
  { body }: Response,
  mostBytes: number,
  take: (piece: Uint8Array) => void,
  mayRead: MayRead = () => undefined,
): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => Promise.reject(brokenBy(error)));
      if (done) return;
      take(value);
      await mayRead();
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
