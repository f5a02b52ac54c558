// Reads the bytes of a `bridge/send`, and writes the message for its receiver. The params are passed on as they came,
// except for three members of `_meta` that only the bridge may write: from, hops, and the progress token.

import { BridgeError } from '../util/bridge-error.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findMembers, type Members, type Span } from '../wire/json-members.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';

const FROM = 'mcp-bridge/from';
const HOPS = 'mcp-bridge/hops';
const TOKEN = 'progressToken';

const LONGEST_METHOD = 256;

export interface ClientMessage {
  readonly to: string;
  readonly method: string;
  /** True if the sender wants no answer: it hears only that the message was delivered. */
  readonly isNotice: boolean;
  /** The number of times that the message was passed on before. */
  readonly hops: number;
  readonly frame: Frame;
  readonly methodSpan: Span;
  readonly params: Span | undefined;
  readonly meta: Span | undefined;
}

/** Reads the params of a `bridge/send`. Throws if they are wrong. */
export function readMessage(frame: Frame, params: Span | undefined): ClientMessage {
  const { b } = frame;
  const outer = membersAt(b, params, ['to', 'method', 'params', 'notify', '_meta'], 'params');
  const to = valueAt(b, outer.spans.get('to'));
  const method = valueAt(b, outer.spans.get('method'));
  const notify = valueAt(b, outer.spans.get('notify')) ?? false;
  const methodSpan = outer.spans.get('method');
  if (typeof to !== 'string' || to === '') throw wrong('params.to must be the id of a client');
  if (typeof method !== 'string' || methodSpan === undefined || method === '' || method.length > LONGEST_METHOD)
    throw wrong(`params.method must be a string of at most ${LONGEST_METHOD} characters`);
  if (typeof notify !== 'boolean') throw wrong('params.notify must be true or false');
  const inner = outer.spans.get('params');
  const meta = inner && membersAt(b, inner, ['_meta'], 'params.params').spans.get('_meta');
  const isObject = meta !== undefined && b[meta.from] === 0x7b;
  const hops = Math.max(hopsIn(b, outer.spans.get('_meta')), hopsIn(b, isObject ? meta : undefined));
  return { to, method, isNotice: notify, hops, frame, methodSpan, params: inner, meta };
}

const splice = new Splice();

/** Writes a message for its receiver: as a request with an `id`, else as a notification. The stamp is ASCII. */
export function writeMessage(
  outbox: Outbox,
  message: ClientMessage,
  stamp: { readonly id: string | undefined; readonly from: string; readonly wantsProgress: boolean },
): void {
  const { frame, methodSpan, params } = message;
  const idText = JSON.stringify(stamp.id);
  outbox.latin1(stamp.id === undefined ? '{"jsonrpc":"2.0","method":' : `{"jsonrpc":"2.0","id":${idText},"method":`);
  outbox.bytes(frame.b, methodSpan.from, methodSpan.to);
  outbox.latin1(',"params":');
  const ours = { [FROM]: stamp.from, [HOPS]: message.hops + 1, ...(stamp.wantsProgress && { [TOKEN]: stamp.id }) };
  if (params === undefined) outbox.latin1(`{"_meta":${JSON.stringify(ours)}}`);
  else {
    stampMeta(message, params, ours, stamp.id);
    splice.write(outbox, frame.b, params.from, params.to);
  }
  outbox.latin1('}');
  outbox.endFrame();
}

/** Replaces the bridge's members of `_meta`, and adds those that are missing. */
function stampMeta(
  { frame: { b }, meta }: ClientMessage,
  params: Span,
  ours: Readonly<Record<string, unknown>>,
  id: string | undefined,
): void {
  splice.clear();
  const theirs = meta === undefined ? undefined : findMembers(b, meta.from, [FROM, HOPS, TOKEN]);
  if (meta !== undefined && theirs === undefined) {
    splice.replace(meta.from, meta.to, JSON.stringify(ours));
    return;
  }
  if (theirs === undefined) {
    const { close, isEmpty } = membersAt(b, params, [], 'params.params');
    splice.replace(close, close, `${isEmpty ? '' : ','}"_meta":${JSON.stringify(ours)}`);
    return;
  }
  // The sender's own token is replaced: the bridge could not tell which request its progress belongs to.
  const values: Readonly<Record<string, unknown>> = { ...ours, [TOKEN]: ours[TOKEN] ?? id ?? null };
  const missing = Object.keys(ours).filter((name) => !theirs.spans.has(name));
  for (const [name, { from, to }] of theirs.spans) splice.replace(from, to, JSON.stringify(values[name]));
  const added = missing.map((name) => `${JSON.stringify(name)}:${JSON.stringify(values[name])}`).join(',');
  if (added !== '') splice.replace(theirs.close, theirs.close, `${theirs.isEmpty ? '' : ','}${added}`);
}

function hopsIn(b: Buffer, meta: Span | undefined): number {
  if (meta === undefined) return 0;
  const { spans } = membersAt(b, meta, [FROM, HOPS, TOKEN], '_meta');
  const hops = valueAt(b, spans.get(HOPS)) ?? 0;
  if (typeof hops !== 'number' || !Number.isSafeInteger(hops) || hops < 0)
    throw wrong(`_meta["${HOPS}"] must be a whole number`);
  return hops;
}

/**
 * Throws for repeated members and for names that differ only in case: a decoder may take either one, and could be shown
 * a false sender.
 */
function membersAt(b: Buffer, span: Span | undefined, names: readonly string[], place: string): Members {
  const members = span === undefined ? undefined : findMembers(b, span.from, names);
  if (members === undefined) throw wrong(`${place} must be an object`);
  const folded = names.map(fold);
  if (members.isRepeated || members.others.some((name) => folded.includes(fold(name))))
    throw wrong(`A member of ${place} that names the sender or the receiver is there twice, or in other letters`);
  return members;
}

/** Folds a key like decoders that ignore case. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}

function valueAt(b: Buffer, span: Span | undefined): unknown {
  return span === undefined ? undefined : JSON.parse(b.toString('utf8', span.from, span.to));
}

function wrong(problem: string): BridgeError {
  return new BridgeError('MESSAGE_INVALID', problem, {
    hint: 'bridge/send takes {to, method, params}. See docs/agents.md.',
  });
}
