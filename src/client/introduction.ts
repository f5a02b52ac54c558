// The client's `initialize`, and what the bridge answers to it. Both are read once and kept small: the first to be said
// again to the next daemon, the second for what has been agreed about resuming, which is none of the client's business.

import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { isClientId } from '../wire/client-id.ts';

/** What is to be resumed, and how many of the daemon's bytes have come. */
export interface ResumeWish {
  readonly token: string;
  readonly received: number;
}

export interface Welcome {
  /** Undefined from a daemon that cannot resume. */
  readonly token: string | undefined;
  readonly isResumed: boolean;
  /** How many of our bytes the daemon has. */
  readonly received: number;
  readonly protocolVersion: string;
  /** The lists of which changes are told: tools, prompts, resources. */
  readonly changingLists: readonly string[];
  /** Whether updates of resources are. */
  readonly hasSubscriptions: boolean;
  readonly clientId: string;
  /** The daemon takes no longer message. */
  readonly maxMessageBytes: number;
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

const LISTS = ['tools', 'prompts', 'resources'];
/** What a welcome says to this side alone. */
const OURS = ['resumeToken', 'resumed', 'received', 'graceMs', 'daemon', 'maxMessageBytes'].map(
  (name) => `mcp-bridge/${name}`,
);

export class Introduction {
  readonly #message: Readonly<Record<string, unknown>>;
  readonly #params: Readonly<Record<string, unknown>>;
  readonly #meta: Readonly<Record<string, unknown>>;

  private constructor(message: Readonly<Record<string, unknown>>, meta: Readonly<Record<string, unknown>>) {
    this.#message = message;
    this.#params = membersOf(message.params);
    this.#meta = meta;
  }

  /** `meta` is said where the client itself has not. Undefined for what no daemon takes for an `initialize`. */
  static read(b: Buffer, { start, end, meta }: { start: number; end: number; meta: object }): Introduction | undefined {
    const message: unknown = JSON.parse(b.toString('utf8', start, end));
    if (!isRecord(message) || !isRecord(message.params)) return undefined;
    return new Introduction(message, { ...meta, ...membersOf(message.params._meta) });
  }

  /** The version that is asked for; '' without one. */
  get protocolVersion(): string {
    return textOf(this.#params.protocolVersion);
  }

  /** As one line, for the first time. */
  line(): Buffer {
    return this.#line({}, { 'mcp-bridge/resume': true });
  }

  /** Said again, under an id of its own, for the client that others know by `clientId`. */
  again(id: string, clientId: string, resume: ResumeWish | true): Buffer {
    // What a daemon has made up, or appended, may be longer than what it takes.
    const named = isClientId(clientId) ? { 'mcp-bridge/clientId': clientId } : {};
    return this.#line({ id }, { ...named, 'mcp-bridge/resume': resume });
  }

  #line(also: object, meta: object): Buffer {
    const params = { ...this.#params, _meta: { ...this.#meta, ...meta } };
    return Buffer.from(`${JSON.stringify({ ...this.#message, ...also, params })}\n`);
  }
}

/** Reads an answer to `initialize`. */
export function readWelcome(b: Buffer, start: number, end: number): Welcome | Refusal {
  const { result, error } = membersOf(JSON.parse(b.toString('utf8', start, end)));
  if (!isRecord(result)) {
    const { message, data } = membersOf(error);
    return { code: textOf(membersOf(data).code), message: textOf(message) };
  }
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
  const members = Object.entries(membersOf(JSON.parse(b.toString('utf8', meta.from, meta.to))));
  const theirs = Object.fromEntries(members.filter(([name]) => !OURS.includes(name)));
  return Buffer.concat([
    b.subarray(frame.start, meta.from),
    Buffer.from(JSON.stringify(theirs)),
    b.subarray(meta.to, frame.end),
    Buffer.from('\n'),
  ]);
}
