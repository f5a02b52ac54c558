// `connect`: relays between stdin and stdout on one side and the bridge on the other, as one server that never breaks
// (client/). It runs once per client, so it loads nothing that it can do without.

import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { INTERNAL_ERROR } from '../protocol/rpc-codes.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { FrameInput, type SocketReader } from '../wire/frame-input.ts';
import type { ConnectionOptions, ServedClient } from './connection-options.ts';
import { FrameRun } from './frame-run.ts';
import { ResumingConnection } from './resuming-connection.ts';
import { UnreadTraffic } from './unread-traffic.ts';

export type { SocketReader };

/** Opens stdin: as a socket that reads with `reader`, or as a stream that emits data. */
export type OpenInput = (reader: SocketReader) => { readonly stream: Readable; readonly emitsData: boolean };

export interface Relay extends Omit<ConnectionOptions, 'client'> {
  readonly stdin: OpenInput;
  readonly stdout: Writable;
  /** The first connection to the daemon. */
  readonly socket: Parameters<ResumingConnection['open']>[0];
  /** Registers `leave`, to be called when this process is told to end. */
  readonly onEnd: (leave: () => void) => void;
}

/** The maximum size of a frame. The daemon has its own limit; its config may raise that to this. */
const MOST_FRAME_BYTES = 1 << 30;
/**
 * The interval of the writes that check if the client is alive, after it has ended its side while answers are missing.
 */
const SPACE_MS = 1000;

/** Relays until the client has ended it and has every answer, or until an error makes that impossible. */
export function relay({
  stdin: openInput,
  stdout,
  socket,
  onEnd,
  ...options
}: Relay): Promise<BridgeError | undefined> {
  return new Promise((resolve) => {
    let takes = true;
    let asking: NodeJS.Timeout | undefined;
    // After any larger write a socket reports that it is full, even if the kernel has just taken everything.
    const write = (bytes: Buffer): void => {
      takes = stdout.write(bytes) || stdout.writableLength === 0;
    };
    const run = new FrameRun(write, (pieces) => {
      stdout.cork();
      for (const piece of pieces) stdout.write(piece);
      stdout.uncork();
      takes = stdout.writableLength === 0;
    });
    const client: ServedClient = {
      frame: (b, start, end) => run.add(b, start, end),
      frames: (b, start, end) => run.addAll(b, start, end),
      longFrame: (pieces) => run.addLong(pieces),
      // On any other stream, nobody knows who still holds the written bytes.
      isDone: () => stdout instanceof Socket && stdout.writableLength === 0,
      flush: () => {
        run.flush();
        return takes;
      },
      full: (isFull) => void (isFull ? stdin.pause() : stdin.resume()),
      event: () => undefined,
      // Ends only after the client's pipe has taken everything written.
      closed: (error) => {
        clearInterval(asking);
        stdin.destroy();
        stdout.write('', () => resolve(error));
      },
    };
    const connection = new ResumingConnection({
      ...options,
      client,
      unread: (stream, requests) => new UnreadTraffic(stream, requests),
    });
    const input = new FrameInput({ maxFrameBytes: MOST_FRAME_BYTES, isTakenAtOnce: false });
    input.start({
      frames: (b, start, end) => connection.frames(b, start, end),
      longFrame: (pieces, bytes) => connection.longFrame(pieces, bytes),
      readEnded: () => connection.flush(),
      overflowed: () => connection.close(),
      mayReuse: (memory) => connection.mayReuse(memory),
    });
    const clientGone = (): void => connection.close();
    const { stream: stdin, emitsData } = openInput(input.reader());
    if (emitsData) stdin.on('data', (chunk: Buffer) => input.push(chunk, 0, chunk.length));
    stdin.once('end', () => {
      connection.end();
      // Only a write shows if the client is still there; a space is part of the following answer (docs/adr/0004).
      asking = setInterval(() => stdout.write(' '), SPACE_MS).unref();
    });
    stdin.on('error', clientGone);
    stdout.on('error', clientGone);
    stdout.on('drain', () => {
      takes = true;
      connection.taken();
    });
    // Otherwise the daemon would keep the session for a client that does not come back.
    onEnd(clientGone);
    connection.open(socket);
  });
}

/** Tells a client that there is no bridge, in answer to its first requests. */
export function answerUnavailable(
  stdin: Readable,
  stdout: Writable,
  { code, message, hint }: { readonly code: string; readonly message: string; readonly hint: string | undefined },
): Promise<void> {
  const error = { code: INTERNAL_ERROR, message, data: { code, hint } };
  return new Promise((resolve) => {
    let text = '';
    stdin.setEncoding('utf8');
    stdin.on('data', (chunk: string) => {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      const ids = lines.map(idOf).filter((id) => id !== undefined);
      if (ids.length === 0) return;
      stdin.pause();
      const answers = ids.map((id) => `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
      stdout.write(answers.join(''), () => resolve());
    });
    stdin.once('end', () => resolve());
  });
}

/** Returns the id for the answer; undefined if the line gets none. */
function idOf(line: string): unknown {
  try {
    return (JSON.parse(line) as { id?: unknown }).id;
  } catch (error) {
    expectSyntaxError(error);
    return null; // it is not JSON, so it has no id
  }
}
