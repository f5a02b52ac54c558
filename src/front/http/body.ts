// The body of a POST as bytes: limited, and turned into one frame, as if it had arrived as a line.

import type { IncomingMessage } from 'node:http';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

export type BodyFault = 'too-long' | 'broken-off' | 'no-room';

/** The memory for arriving bodies of all clients together. */
export interface BodyRoom {
  bytes: number;
  readonly most: number;
}

interface BodyBounds {
  readonly most: number;
  readonly room: BodyRoom;
}

/** Collects a body and calls back once: with the body and a newline behind it, or with the reason for its refusal. */
export function collectBody(
  request: IncomingMessage,
  { most, room }: BodyBounds,
  done: (body: Buffer | undefined, fault?: BodyFault) => void,
): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > most) return done(undefined, 'too-long');
  let chunks: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const finish = (fault?: BodyFault): void => {
    if (isDone) return;
    isDone = true;
    room.bytes -= bytes;
    const body = fault === undefined ? joined(chunks, bytes) : undefined;
    chunks = [];
    done(body, fault);
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    bytes += chunk.length;
    room.bytes += chunk.length;
    if (bytes > most) return finish('too-long');
    if (room.bytes > room.most) return finish('no-room');
    chunks.push(chunk);
  });
  request.on('end', () => finish());
  request.on('close', () => finish('broken-off'));
  request.on('error', () => finish('broken-off'));
}

function joined(chunks: readonly Buffer[], bytes: number): Buffer {
  const whole = Buffer.allocUnsafe(bytes + 1);
  let at = 0;
  for (const chunk of chunks) at += chunk.copy(whole, at);
  whole[bytes] = NEWLINE;
  unbreak(whole, bytes);
  return whole;
}

/** Replaces line ends by spaces, because a frame is one line. In JSON both mean the same. */
function unbreak(b: Buffer, end: number): void {
  for (let i = b.indexOf(NEWLINE); i < end; i = b.indexOf(NEWLINE, i + 1)) b[i] = SPACE;
  for (let i = b.indexOf(CARRIAGE_RETURN); i >= 0 && i < end; i = b.indexOf(CARRIAGE_RETURN, i + 1)) b[i] = SPACE;
}
