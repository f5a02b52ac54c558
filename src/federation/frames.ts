// The messages of wire v1 as data: their headers, kinds of frames and error codes. The bridge's own headers are marked;
// a peer that does not send `Mcp-Accept-Part` gets none of their features.

import { ERA_2026 } from '../protocol/era-2026.ts';
import type { BusHeaders } from './bus.ts';

export const HEADER = {
  wire: 'Mcp-Wire',
  method: 'Mcp-Method',
  name: 'Mcp-Name',
  version: 'MCP-Protocol-Version',
  frame: 'Mcp-Frame',
  /** `1` if the caller fetches long answers from the store of claims. */
  acceptClaim: 'Mcp-Accept-Claim',
  /** The id of an answer that is parked in the store of claims. */
  claim: 'Mcp-Claim',
  // Ours from here on.
  /** The caller numbers frames, gives credit, and puts parts together. */
  acceptPart: 'Mcp-Accept-Part',
  /** The caller also listens to `{reply}.bulk`, for parts. */
  acceptBulk: 'Mcp-Accept-Bulk',
  /**
   * `{stream} {number} {done}`: the stream of calls, this call's number, and the number below which all calls are
   * answered.
   */
  call: 'Mcp-Call',
  /** The asking host. */
  host: 'Mcp-Host',
  /** The asking client on that host, as its daemon calls it. */
  client: 'Mcp-Client',
  /** `{attempt} {owner}`: a request that was sent before, and the owner's run that it was meant for, or `-`. */
  again: 'Mcp-Again',
  /** The owner must not begin before it is told to. */
  hold: 'Mcp-Hold',
  /** The run of the owner that may begin. */
  begin: 'Mcp-Begin',
  /** The number of the lease by which an owner serves a server by its name alone. */
  fence: 'Mcp-Fence',
  /** The number of a frame within its call and direction, from 1 on. */
  seq: 'Mcp-Seq',
  /** The total bytes that may be sent. */
  credit: 'Mcp-Credit',
  /** The number of the last frame with none missing before it. */
  got: 'Mcp-Got',
  /** The number of the last frame that was sent; stands in a sign of life. */
  sent: 'Mcp-Sent',
  /** The size of a request that comes in parts. */
  length: 'Mcp-Length',
  /** `{host} {run}` of the answering owner. */
  owner: 'Mcp-Owner',
} as const;

export const WIRE_VERSION = '1';
export const [PROTOCOL_VERSION = ''] = ERA_2026.versions;

/**
 * `msg`: a notification. `end`: the answer; empty if the call was cancelled. `err`: an error of the owner's daemon.
 * `ka`: the call goes on. `ack`: the call has begun. `part`: a piece of a message; the next frame of another kind ends
 * the message.
 */
export type BusFrameKind = 'msg' | 'end' | 'err' | 'ka' | 'ack' | 'part';
const KINDS: ReadonlySet<string> = new Set(['msg', 'end', 'err', 'ka', 'ack', 'part'] satisfies BusFrameKind[]);

export function frameKindOf(headers: BusHeaders): BusFrameKind | undefined {
  const kind = headers[HEADER.frame];
  return kind !== undefined && KINDS.has(kind) ? (kind as BusFrameKind) : undefined;
}

/** The end of the subject on which the caller says more about its call. */
export const CONTROL_END = '.ctl';
/** The end of the subject on which the caller gets parts. */
export const BULK_END = '.bulk';

export const WIRE_CODE = {
  /** The stream of frames broke, and nobody knows the outcome of the call. */
  streamLost: -32010,
  /** Nobody listens to the subject. */
  nobody: -32011,
  tooLarge: -32012,
  denied: -32013,
  credentials: -32014,
  /** Subject, headers and body contradict each other. */
  mismatch: ERA_2026.errors.headerMismatch ?? 0,
} as const;

/** The method of a call that stays open and tells its caller about changes. */
export const LISTEN = 'subscriptions/listen';

/** The maximum size of a frame. */
export const MOST_FRAME_BYTES = 256 * 1024;
/** The maximum bytes of one call that are on their way. */
export const WINDOW_BYTES = 1024 * 1024;
/** A silent call gives a sign of life after this time. */
export const KEEP_ALIVE_MS = 5000;
/** A call is lost if it is silent for so long. */
export const LOST_MS = 3 * KEEP_ALIVE_MS;

const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Encodes a text as the value of a header. */
export function headerValue(text: string): string {
  if (PLAIN.test(text) && !text.startsWith('=?')) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** Decodes the text in the value of a header; undefined if it cannot be read. */
export function headerText(value: string | undefined): string | undefined {
  if (value === undefined || !value.startsWith('=?')) return value;
  const [, base64] = SENTINEL.exec(value) ?? [];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('utf8');
}

const STREAM = /^[A-Za-z0-9_-]{1,64}$/;

/** The place of a call among its caller's calls. */
export interface CallPlace {
  readonly stream: string;
  readonly number: number;
  /** All calls of the stream below this number are answered. */
  readonly done: number;
}

export function callPlace({ stream, number, done }: CallPlace): string {
  return `${stream} ${number} ${done}`;
}

export function callPlaceIn(headers: BusHeaders): CallPlace | undefined {
  const [stream = '', number, done, more] = headers[HEADER.call]?.split(' ') ?? [];
  const place = { stream, number: countIn(number), done: countIn(done) };
  if (!STREAM.test(stream) || more !== undefined || place.number === undefined || place.done === undefined)
    return undefined;
  return place.number >= 1 && place.done <= place.number
    ? { stream, number: place.number, done: place.done }
    : undefined;
}

/** Reads a whole number of at most 15 digits. */
export function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Returns the error response to a request; `id` is JSON. */
export function errorResponse(id: string, error: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
}

const NEWLINE = 0x0a;

export function bufferOf(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** Returns the message with a newline behind it. `hasRoom` is true if the byte behind the message belongs to it. */
export function withNewline(message: Buffer, hasRoom: boolean): Buffer {
  const { length } = message;
  const frame = hasRoom ? Buffer.from(message.buffer, message.byteOffset, length + 1) : Buffer.allocUnsafe(length + 1);
  if (!hasRoom) message.copy(frame);
  frame[length] = NEWLINE;
  return frame;
}
