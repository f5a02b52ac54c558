// The keys of a frame's envelope in the revisions up to 2025-11-25. Apart from the rest of the era, because a client's side
// reads frames and asks nothing about methods: each program that connects would load the tables of methods for nothing.

import { Field, type Key, KeyTable } from '../wire/envelope.ts';

const META = new KeyTable([
  { text: 'progressToken', field: Field.metaProgressToken },
  { text: 'traceparent', field: Field.traceparent },
  { text: 'tracestate', field: Field.tracestate },
  // By which a request of the other era is known: it has no place on a connection with a handshake.
  { text: 'io.modelcontextprotocol/protocolVersion', field: Field.protocolVersion },
]);
const PARAMS = new KeyTable([
  { text: 'name', field: Field.name },
  { text: '_meta', field: Field.meta, inside: META },
  { text: 'uri', field: Field.uri },
  { text: 'requestId', field: Field.requestId },
  { text: 'progressToken', field: Field.progressToken },
  { text: 'task', field: Field.task },
  { text: 'taskId', field: Field.taskId },
  { text: 'arguments', field: Field.arguments },
]);
export const TOP_KEYS_2025: readonly Key[] = [
  { text: 'id', field: Field.id },
  { text: 'method', field: Field.method },
  { text: 'params', field: Field.params, inside: PARAMS },
  { text: 'jsonrpc', field: Field.jsonrpc },
  { text: 'error', field: Field.error },
];

/** The keys that are read in each frame. */
export const KEYS_2025 = new KeyTable([...TOP_KEYS_2025, { text: 'result', field: Field.result }]);
