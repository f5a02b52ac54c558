// The extension `io.modelcontextprotocol/tasks` of 2026: a call may be answered with a task, which its client polls
// later.

import { isRecord, membersOf } from '../util/json-value.ts';
import { ERA_2026, TASKS } from './era-2026.ts';
import type { ClientCapabilities } from './initialize.ts';
import { INVALID_PARAMS, rpcError } from './rpc-error.ts';

const [, EXTENSION] = TASKS;

/** The capabilities of a client that accepts tasks. */
const REQUIRED = { extensions: { [EXTENSION]: {} } };

/** The error for a client that asks for tasks without having declared them. */
export const TASKS_NOT_DECLARED: string = rpcError(
  ERA_2026.errors.missingClientCapability ?? 0,
  `The request has to declare the extension ${EXTENSION} in its client capabilities`,
  { requiredCapabilities: REQUIRED },
);

export const NO_SUCH_TASK: string = rpcError(INVALID_PARAMS, 'There is no such task of this client');

/** True if these capabilities, of a client or a server, include the extension. */
export function declaresTasks({ extensions }: { readonly extensions?: unknown }): boolean {
  return isRecord(membersOf(extensions)[EXTENSION]);
}

/** The same capabilities with the extension. */
export function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { ...capabilities.extensions, ...REQUIRED.extensions } };
}

/** The same capabilities without the extension. */
export function withoutTasks(capabilities: ClientCapabilities): ClientCapabilities {
  if (!declaresTasks(capabilities)) return capabilities;
  const { extensions, ...others } = capabilities;
  const { [EXTENSION]: _, ...kept } = membersOf(extensions);
  return Object.keys(kept).length === 0 ? others : { ...others, extensions: kept };
}
