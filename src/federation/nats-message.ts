// A message in the bytes of the NATS protocol. Its headers are read once and written once, as one text each.

import { invariant } from '../util/invariant.ts';
import { type BusHeaders, headerLines, type OutgoingMessage, type ReceivedMessage } from './bus.ts';

const VERSION = 'NATS/1.0';
const UNHEARD = 503;
const LINE_END = '\r\n';
const FIRST_LINE = `${VERSION}${LINE_END}`;
const NO_SPACE = /^\S+$/;
const NO_HEADERS: BusHeaders = {};
/** The longest name of a call has 16 KiB, which are 22 KiB in base64. */
const MOST_HEAD_BYTES = 32 * 1024;
const MOST_HEADERS = 64;
/** A longer message is not copied behind its headers: the package copies it with all output of the turn. */
const MOST_COPIED_BYTES = 16 * 1024;
const END = Buffer.from(LINE_END);

export interface MessageHead {
  readonly subject: string;
  readonly reply: string | undefined;
  /** The bytes of the headers; 0 without any. */
  readonly headBytes: number;
}

/** Reads the message in these bytes, headers and data; undefined if its headers are larger than anybody needs. */
export function receivedIn({ subject, reply, headBytes }: MessageHead, b: Buffer): ReceivedMessage | undefined {
  if (headBytes === 0) return { subject, reply, headers: NO_HEADERS, data: b, isUnheard: false };
  if (headBytes > MOST_HEAD_BYTES) return undefined;
  const text = b.toString('utf8', 0, headBytes);
  const headers = headersIn(text);
  if (headers === undefined) return undefined;
  const isUnheard = b.length === headBytes && statusIn(text) === UNHEARD;
  return { subject, reply, headers, data: b.subarray(headBytes), isUnheard, headBytes };
}

/** Reads the status code behind the version; only messages of the server itself have one. */
function statusIn(text: string): number {
  return text.startsWith(LINE_END, VERSION.length) ? 0 : Number.parseInt(text.slice(VERSION.length), 10);
}

/** Reads the first value of each header; undefined if there are too many. */
function headersIn(text: string): BusHeaders | undefined {
  const headers: Record<string, string> = {};
  let at = text.indexOf(LINE_END) + LINE_END.length;
  for (let lines = 0; lines <= MOST_HEADERS; lines++) {
    const end = text.indexOf(LINE_END, at);
    if (end <= at) return headers;
    const colon = text.indexOf(':', at);
    if (colon > at && colon < end) headers[text.slice(at, colon)] ??= text.slice(colon + 1, end).trim();
    at = end + LINE_END.length;
  }
  return undefined;
}

/** Returns the bytes that publish a message, in pieces. The server takes at most `mostBytes` in headers and data. */
export function published(
  { subject, reply, fixed, headers, data }: OutgoingMessage,
  mostBytes = Infinity,
): Uint8Array[] {
  if (!NO_SPACE.test(subject) || (reply !== undefined && !NO_SPACE.test(reply)))
    invariant(false, 'a subject has no space');
  const head = `${FIRST_LINE}${fixed === undefined ? '' : fixed.text}${headerLines(headers)}${LINE_END}`;
  const headBytes = Buffer.byteLength(head);
  if (headBytes + data.length > mostBytes) invariant(false, `the bus takes ${headBytes + data.length} bytes`);
  const to = reply === undefined ? subject : `${subject} ${reply}`;
  const text = `HPUB ${to} ${headBytes} ${headBytes + data.length}\r\n${head}`;
  if (data.length > MOST_COPIED_BYTES) return [Buffer.from(text), data, END];
  const textBytes = Buffer.byteLength(text);
  const b = Buffer.allocUnsafe(textBytes + data.length + END.length);
  const from = b.utf8Write(text, 0);
  b.set(data, from);
  b.set(END, from + data.length);
  return [b];
}
