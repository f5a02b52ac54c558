// The client's `initialize`, and the bridge's answer to it. The first is handed on in the client's own bytes, plus
// additions, and kept to be said again to the next daemon. The second is read for the agreement about resuming; the
// client never sees that part.

import { isClientId } from '../protocol/client-id.ts';
import type { ResumeRequest } from '../protocol/initialize.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import { findMembers, type Members, type Span } from '../wire/json-members.ts';
import { replaced } from './bytes.ts';
import { notification } from './own-messages.ts';
import { type Refusal, readRefusal } from './rpc-refusal.ts';

export interface Welcome {
  /** Undefined if the daemon cannot resume. */
  readonly token: string | undefined;
  readonly isResumed: boolean;
  /** The number of our bytes that the daemon has. */
  readonly received: number;
  readonly protocolVersion: string;
  /** The lists with change notifications: tools, prompts, resources. */
  readonly changingLists: readonly string[];
  /** True if the daemon sends updates of resources. */
  readonly hasSubscriptions: boolean;
  readonly clientId: string;
  /** The maximum message size of the daemon. */
  readonly maxMessageBytes: number;
}

export const LISTS = ['tools', 'prompts', 'resources'];
/** The members of a welcome that are for this side alone. */
const OURS = ['resumeToken', 'resumed', 'received', 'graceMs', 'daemon', 'maxMessageBytes'].map(
  (name) => `mcp-bridge/${name}`,
);

const RESUME = 'mcp-bridge/resume';

/**
 * Returns the client's `initialize` in b[start, end) as a line. It adds that the client can resume, and the members of
 * `meta` that the client has not set. Undefined for bytes that no daemon takes as an `initialize`.
 */
export function introductionLine(
  b: Buffer,
  frame: { start: number; end: number },
  { read, meta }: { read: Envelope; meta: object },
): Buffer | undefined {
  const params = read.has(Field.params) ? findMembers(b, read.from(Field.params), ['_meta']) : undefined;
  if (params === undefined || params.isRepeated || read.id(b, Field.id) === undefined) return undefined;
  const span = params.spans.get('_meta');
  if (span === undefined) return extended(b, frame, params, { _meta: { ...meta, [RESUME]: true } });
  const theirs = findMembers(b, span.from, Object.keys(meta));
  if (theirs === undefined) return replaced(b, frame, { ...span, text: jsonOf({ ...meta, [RESUME]: true }) });
  const unsaid = Object.entries(meta).filter(([name]) => !theirs.spans.has(name));
  // If a name is there twice, the last one counts: the client has no say in whether it can resume.
  return extended(b, frame, theirs, { ...Object.fromEntries(unsaid), [RESUME]: true });
}

/**
 * Returns the line with the members that all requests of a client without a handshake share. It is sent once, before
 * the first request.
 */
export function defaultsLine(meta: object): Buffer {
  return notification('bridge/defaults', `{"_meta":${jsonOf(meta)}}`);
}

/** Adds members at the end of an object. */
function extended(
  b: Buffer,
  frame: { start: number; end: number },
  { close, isEmpty }: Members,
  members: object,
): Buffer {
  const text = `${isEmpty ? '' : ','}${jsonOf(members).slice(1, -1)}`;
  return replaced(b, frame, { from: close, to: close, text });
}

/** Returns JSON in which each character is one byte. */
export function jsonOf(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1');
}

export class Introduction {
  /** The line that was sent first. */
  readonly line: Buffer;

  constructor(line: Buffer) {
    this.line = line;
  }

  /** The version that the client asks for; '' without one. */
  get protocolVersion(): string {
    return textOf(membersOf(membersOf(JSON.parse(this.line.toString())).params).protocolVersion);
  }

  /** Returns the `initialize` to say again, under an id of its own, for the client that others know by `clientId`. */
  again(id: string, clientId: string, resume: ResumeRequest | true): Buffer {
    const message = membersOf(JSON.parse(this.line.toString()));
    const params = membersOf(message.params);
    // An id that a daemon has made up, or extended, may be longer than a daemon accepts.
    const named = isClientId(clientId) ? { 'mcp-bridge/clientId': clientId } : {};
    const _meta = { ...membersOf(params._meta), ...named, [RESUME]: resume };
    return Buffer.from(`${JSON.stringify({ ...message, id, params: { ...params, _meta } })}\n`);
  }
}

/** Reads an answer to `initialize`. */
export function readWelcome(b: Buffer, start: number, end: number): Welcome | Refusal {
  const { result, error } = membersOf(JSON.parse(b.toString('utf8', start, end)));
  if (!isRecord(result)) return readRefusal(error);
  const meta = membersOf(result._meta);
  const capabilities = membersOf(result.capabilities);
  const received = meta['mcp-bridge/received'];
  const most = meta['mcp-bridge/maxMessageBytes'];
  return {
    token: textOf(meta['mcp-bridge/resumeToken']) || undefined,
    isResumed: meta['mcp-bridge/resumed'] === true,
    received: typeof received === 'number' ? received : 0,
    protocolVersion: textOf(result.protocolVersion),
    changingLists: LISTS.filter((list) => membersOf(capabilities[list]).listChanged === true),
    hasSubscriptions: membersOf(capabilities.resources).subscribe === true,
    clientId: textOf(meta['mcp-bridge/clientId']),
    maxMessageBytes: typeof most === 'number' ? most : Number.POSITIVE_INFINITY,
  };
}

/** Returns the answer for the client, without the token. `meta` is where its `_meta` stands. */
export function withoutResumption(
  b: Buffer,
  frame: { start: number; end: number },
  meta: { from: number; to: number },
): Buffer {
  const names = findMembers(b, meta.from, OURS)?.others ?? [];
  const spans = findMembers(b, meta.from, names)?.spans ?? new Map<string, Span>();
  const theirs = [...spans].map(([name, { from, to }]) => `${jsonOf(name)}:${b.latin1Slice(from, to)}`);
  return replaced(b, frame, { ...meta, text: `{${theirs.join(',')}}` });
}
