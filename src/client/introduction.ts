// The client's `initialize`, and what the bridge answers to it. The first is handed on in the client's own bytes, with
// what is added to them, and kept to be said again to the next daemon; the second is read for what has been agreed about
// resuming, which is none of the client's business.

import { isClientId } from '../protocol/client-id.ts';
import type { ResumeRequest } from '../protocol/initialize.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import { findMembers, type Members, type Span } from '../wire/json-members.ts';
import { replaced } from './bytes.ts';
import { notification } from './own-messages.ts';
import { type Refusal, readRefusal } from './rpc-refusal.ts';

export interface Welcome {
  /** Undefined from a daemon that cannot resume. */
  readonly token: string | undefined;
  readonly isResumed: boolean;
  /** How many of our bytes the daemon has. */
  readonly received: number;
  readonly protocolVersion: string;
  /** The lists of which changes are told: tools, prompts, resources. */
  readonly changingLists: readonly string[];
  /** True if the daemon sends updates of resources. */
  readonly hasSubscriptions: boolean;
  readonly clientId: string;
  /** The daemon takes no longer message. */
  readonly maxMessageBytes: number;
}

export const LISTS = ['tools', 'prompts', 'resources'];
/** The members of a welcome that are for this side alone. */
const OURS = ['resumeToken', 'resumed', 'received', 'graceMs', 'daemon', 'maxMessageBytes'].map(
  (name) => `mcp-bridge/${name}`,
);

const RESUME = 'mcp-bridge/resume';

/**
 * The client's `initialize` in b[start, end) as a line, with that it can resume, and with `meta` where the client has not
 * said it. Undefined for what no daemon takes for one.
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
  // Of a name that is there twice the last one counts: whether it can resume is not for the client to say.
  return extended(b, frame, theirs, { ...Object.fromEntries(unsaid), [RESUME]: true });
}

/** The members that all requests of a client without a handshake have in common: said once, before the first of them. */
export function defaultsLine(meta: object): Buffer {
  return notification('bridge/defaults', `{"_meta":${jsonOf(meta)}}`);
}

/** With more members at the end of an object. */
function extended(
  b: Buffer,
  frame: { start: number; end: number },
  { close, isEmpty }: Members,
  members: object,
): Buffer {
  const text = `${isEmpty ? '' : ','}${jsonOf(members).slice(1, -1)}`;
  return replaced(b, frame, { from: close, to: close, text });
}

/** JSON in which each character is one byte. */
export function jsonOf(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1');
}

export class Introduction {
  /** As it was said for the first time. */
  readonly line: Buffer;

  constructor(line: Buffer) {
    this.line = line;
  }

  /** The version that is asked for; '' without one. */
  get protocolVersion(): string {
    return textOf(membersOf(membersOf(JSON.parse(this.line.toString())).params).protocolVersion);
  }

  /** Said again, under an id of its own, for the client that others know by `clientId`. */
  again(id: string, clientId: string, resume: ResumeRequest | true): Buffer {
    const message = membersOf(JSON.parse(this.line.toString()));
    const params = membersOf(message.params);
    // What a daemon has made up, or appended, may be longer than what it takes.
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

/** The same answer as the client gets it, which does not learn the token. `meta` is where its `_meta` stands. */
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
