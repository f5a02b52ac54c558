// The notices that a request `subscriptions/listen` asks for.

import { isRecord, membersOf } from '../util/json-value.ts';
import { INVALID_PARAMS, rpcError } from './rpc-error.ts';

export interface ListenFilter {
  /** The lists, named by the server capability. */
  readonly lists: readonly ('tools' | 'prompts' | 'resources')[];
  /** Each once. */
  readonly uris: readonly string[];
  /** Task ids, each once. */
  readonly tasks: readonly string[];
}

const LISTS = ['tools', 'prompts', 'resources'] as const;

/** Reads the filter; a string result is the error in JSON. */
export function listenFilterIn(params: unknown): ListenFilter | string {
  const { notifications } = membersOf(params);
  if (!isRecord(notifications)) return rpcError(INVALID_PARAMS, 'params.notifications is an object');
  const wrong = LISTS.find((name) => !isFlag(notifications[`${name}ListChanged`]));
  if (wrong !== undefined) return rpcError(INVALID_PARAMS, `params.notifications.${wrong}ListChanged is true or false`);
  const { resourceSubscriptions: uris = [] } = notifications;
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string'))
    return rpcError(INVALID_PARAMS, 'params.notifications.resourceSubscriptions is a list of URIs');
  const { taskIds: tasks = [] } = notifications;
  if (!Array.isArray(tasks) || !tasks.every((taskId) => typeof taskId === 'string'))
    return rpcError(INVALID_PARAMS, 'params.notifications.taskIds is a list of ids of tasks');
  const lists = LISTS.filter((name) => notifications[`${name}ListChanged`] === true);
  return { lists, uris: [...new Set(uris)], tasks: [...new Set(tasks)] };
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}
