// The envelope keys of versions up to 2025-11-25. They are separate from the era, because a client's side reads frames
// but knows no methods: each connecting program would load the method tables for nothing.

import { Field, type Key, KeyTable } from '../wire/envelope.ts';

const META = new KeyTable([
  { text: 'progressToken', field: Field.metaProgressToken },
  { text: 'traceparent', field: Field.traceparent },
  { text: 'tracestate', field: Field.tracestate },
  // Identifies requests of 2026, which are invalid after a handshake.
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

/** The keys to read in each frame. */
export const KEYS_2025 = new KeyTable([...TOP_KEYS_2025, { text: 'result', field: Field.result }]);
