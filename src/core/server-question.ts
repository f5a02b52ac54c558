// One question of a server to a client, in its bytes, and the errors that the bridge gives for an answer.

import { membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { QuestionKind } from './era/era-2025.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';

/** What it is about, named as the client's capability is. */
export type QuestionRole = QuestionKind | 'tasks';

export interface ServerQuestion extends Frame {
  readonly role: QuestionRole;
  /** The server's id, as it is spelled, and where it stands. */
  readonly idText: string;
  readonly idFrom: number;
  readonly idTo: number;
  /** The token under which it wants to hear how far the client is, likewise; '' without one. */
  readonly tokenText: string;
  readonly tokenFrom: number;
  readonly tokenTo: number;
  readonly params: Readonly<Record<string, unknown>>;
  deadlineMs: number;
  /** The clients that have given up a call since it came, and had others: it may be about that one. */
  readonly givenUpBy: Set<Session>;
}

/** `read` says where its parts stand. */
export function readQuestion(role: QuestionRole, { b, start, end }: Frame, read: Envelope): ServerQuestion {
  return {
    ...{ role, b, start, end, deadlineMs: 0, givenUpBy: new Set() },
    ...{ idText: read.raw(b, Field.id), idFrom: read.from(Field.id), idTo: read.to(Field.id) },
    tokenText: read.has(Field.metaProgressToken) ? read.raw(b, Field.metaProgressToken) : '',
    tokenFrom: read.from(Field.metaProgressToken),
    tokenTo: read.to(Field.metaProgressToken),
    params: membersOf(read.decode(b, Field.params)),
  };
}

/** The first look at it sets its time. */
export function isLate(question: { deadlineMs: number }, nowMs: number, afterMs: number): boolean {
  if (question.deadlineMs === 0) question.deadlineMs = nowMs + afterMs;
  return nowMs >= question.deadlineMs;
}

/** The error that this client would give, if it would give one. */
export function refusalBy(session: Session, { role, params }: ServerQuestion): string | undefined {
  const offered = membersOf(session.capabilities[role]);
  if (session.hasEnded) return rpcError(INTERNAL_ERROR, 'The client has ended its side, so it cannot answer');
  if (!session.canBeAsked(role)) return rpcError(METHOD_NOT_FOUND, `The client does not support ${role}`);
  if (role === 'elicitation' && params.mode === 'url' && offered.url === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support elicitation by URL');
  if (role === 'sampling' && params.tools !== undefined && offered.tools === undefined)
    return rpcError(INVALID_PARAMS, 'The client does not support tools in sampling');
  return undefined;
}

/** `outcome` is the member `result` or `error`, as JSON. A server that has gone needs no answer. */
export function answerServer(outbox: Outbox | undefined, idText: string, outcome: string): void {
  if (outbox === undefined) return;
  outbox.utf8(`{"jsonrpc":"2.0","id":`);
  outbox.latin1(idText);
  outbox.utf8(`,${outcome}}`);
  outbox.endFrame();
}

export function refuseServer(outbox: Outbox | undefined, idText: string, message: string): void {
  answerServer(outbox, idText, `"error":${rpcError(INTERNAL_ERROR, message)}`);
}
