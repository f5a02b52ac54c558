// The requests of clients of 2026 about their tasks: each goes to the instance that works on the task. It also makes
// notices out of the answers. Only a task's id, status and time are decoded.

import { NO_SUCH_TASK } from '../protocol/tasks-extension.ts';
import { textOf } from '../util/json-value.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { KeySet, setMembers } from '../wire/member-cuts.ts';
import { Splice } from '../wire/splice.ts';
import type { ClientRequest } from './call.ts';
import type { TaskPlan } from './call-plan.ts';
import type { TaskState } from './owned-tasks.ts';
import { openCall, type PendingRequests } from './pending-requests.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';

const splice = new Splice();

/** Opens a request about a task and passes it to the task's instance. */
export function askForTask(
  session: Session,
  view: View,
  pending: PendingRequests,
  request: ClientRequest,
  envelope: Envelope,
): void {
  const { frame } = request;
  const outward = textOf(envelope.decode(frame.b, Field.taskId));
  const place = view.taskPlace(session, outward);
  if (place === undefined) return session.output.fail(envelope.raw(frame.b, Field.id), NO_SUCH_TASK);
  const { instance, taskId, isKnown } = place;
  const isCancelled = envelope.decode(frame.b, Field.method) === session.era.own.cancelTask;
  const asked = { taskId, isCancelled, isAnywhere: !isKnown };
  const { name } = view;
  const plan: TaskPlan = { role: 'task', asked, ...((name === 'all' || name === 'discover') && { cutIn: name }) };
  session.waitsAlsoAt(instance); // the client may use another instance now
  if (taskId === outward) {
    const call = openCall(session, request, envelope, instance, plan);
    return call && instance.submit(call, frame, envelope);
  }
  const named = changedFrame(frame, envelope.span(Field.taskId), JSON.stringify(taskId));
  const call = pending.open(session, request, envelope, plan);
  if (call !== undefined) pending.give(call, { ...request, frame: named }, instance);
}

/** A task as a server describes it, and the position of its id. */
export interface ToldTask {
  readonly taskId: string;
  readonly at: Span;
  readonly state: TaskState;
}

/** Reads the task in the object that opens at b[at]; undefined if it has no id, or two. */
export function taskIn(b: Buffer, at: number): ToldTask | undefined {
  const members = findMembers(b, at, ['taskId', 'status', 'ttlMs']);
  const read = (name: string): unknown => {
    const span = members?.spans.get(name);
    return span === undefined ? undefined : JSON.parse(b.toString('utf8', span.from, span.to));
  };
  const taskId = read('taskId');
  const place = members?.spans.get('taskId');
  if (members?.isRepeated !== false || place === undefined || typeof taskId !== 'string') return undefined;
  return { taskId, at: place, state: { status: read('status'), ttlMs: read('ttlMs') } };
}

/** The members of an answer that a notice lacks, or has with another value. */
const OF_ANSWER = new KeySet(['resultType', '_meta', 'taskId']);
const HEAD = Buffer.from('{"jsonrpc":"2.0","method":"notifications/tasks","params":');

/** Turns a server's answer about a task into a notice. `taskId` is the client's id. */
export function taskNotice({ b }: Frame, envelope: Envelope, taskId: string): Frame {
  const { from, to } = envelope.span(Field.result);
  const id = Buffer.from(JSON.stringify(taskId)).toString('latin1');
  setMembers(splice.clear(), b, from, OF_ANSWER, `"taskId":${id}`);
  const params = splice.bytes(b, from, to);
  const notice = Buffer.concat([HEAD, params.subarray(0, -1), Buffer.from('}\n')]);
  return { b: notice, start: 0, end: notice.length - 1 };
}
