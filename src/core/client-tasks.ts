// The tasks of one client on several instances, as one list.

import { type Envelope, Field } from '../wire/envelope.ts';
import type { ClientRequest } from './call.ts';
import type { Instance } from './instance.ts';
import type { PendingRequests } from './pending-requests.ts';
import { INVALID_PARAMS, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';
import { cursorIn } from './view.ts';

/** The list has one page. */
const NO_SUCH_CURSOR: string = rpcError(INVALID_PARAMS, 'There is no such cursor');

/** Answers `tasks/list` with what each instance says of the client's tasks there. */
export function listTasks(session: Session, pending: PendingRequests, request: ClientRequest, read: Envelope): void {
  if (cursorIn(request.frame, read) !== undefined)
    return session.answerError(read.raw(request.frame.b, Field.id), NO_SUCH_CURSOR);
  const call = pending.open(request, read);
  if (call === undefined) return;
  const tasks = tasksOf(session);
  pending.later(call, request, tasks, async () => {
    const result = `{"tasks":[${(await tasks).join(',')}]}`;
    pending.answer(call, () => session.answer(call.idText, result));
  });
}

/** As JSON; those that are not known there any more are left out. */
async function tasksOf(session: Session): Promise<string[]> {
  const tasks = await Promise.all([...session.tasks].map(([taskId, instance]) => askFor(taskId, instance)));
  return tasks.filter((task) => task !== '');
}

function askFor(taskId: string, instance: Instance): Promise<string> {
  return new Promise((resolve) =>
    instance.ask('tasks/get', { taskId }, (answer, read) => {
      const hasResult = answer !== undefined && read.has(Field.result);
      resolve(hasResult ? answer.b.toString('utf8', read.from(Field.result), read.to(Field.result)) : '');
    }),
  );
}
