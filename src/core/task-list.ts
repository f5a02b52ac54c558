// The answer to `tasks/list` if a client's tasks may be on several instances. No client gets another client's task.

import { cursorIn } from '../protocol/request-params.ts';
import { NO_SUCH_CURSOR } from '../protocol/rpc-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { ClientRequest } from './call.ts';
import type { Instance } from './instance.ts';
import type { PendingRequests } from './pending-requests.ts';
import type { Session } from './session.ts';

/** Answers `tasks/list` with the client's tasks; asks each instance for its own. The list has one page. */
export function listTasks(
  session: Session,
  pending: PendingRequests,
  request: ClientRequest,
  envelope: Envelope,
): void {
  if (cursorIn(request.frame, envelope) !== undefined)
    return session.output.fail(envelope.raw(request.frame.b, Field.id), NO_SUCH_CURSOR);
  const call = pending.open(session, request, envelope);
  if (call === undefined) return;
  const tasks = tasksOf(session);
  pending.later(call, request, tasks, async () => {
    const result = `{"tasks":[${(await tasks).join(',')}]}`;
    pending.answer(call, () => call.output.answer(call.idText, result));
  });
}

/** The tasks as JSON, without those that their servers no longer know. */
async function tasksOf(session: Session): Promise<string[]> {
  const tasks = await Promise.all([...session.tasks].map(([taskId, instance]) => askFor(taskId, instance)));
  return tasks.filter((task) => task !== '');
}

function askFor(taskId: string, instance: Instance): Promise<string> {
  return new Promise((resolve) =>
    instance.ask(instance.era.own.taskState, { taskId }, (answer, envelope) => {
      const hasResult = answer !== undefined && envelope.has(Field.result);
      resolve(hasResult ? answer.b.toString('utf8', envelope.from(Field.result), envelope.to(Field.result)) : '');
    }),
  );
}
