// The tasks of one client on several servers.

import { Field } from '../wire/envelope.ts';
import type { Backend } from './backend.ts';
import type { Session } from './session.ts';

/** What each server says of the client's tasks there, as JSON; tasks that it does not know any more are left out. */
export async function tasksOf(session: Session): Promise<string[]> {
  const tasks = await Promise.all([...session.tasks].map(([taskId, backend]) => askFor(taskId, backend)));
  return tasks.filter((task) => task !== '');
}

function askFor(taskId: string, backend: Backend): Promise<string> {
  return new Promise((resolve) =>
    backend.ask('tasks/get', { taskId }, (answer, read) => {
      const hasResult = answer !== undefined && read.has(Field.result);
      resolve(hasResult ? answer.b.toString('utf8', read.from(Field.result), read.to(Field.result)) : '');
    }),
  );
}
