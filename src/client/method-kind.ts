// What a client side has to know of a method to carry its request over the end of a daemon.

import { ByteTable } from '../wire/byte-table.ts';

export const MethodKind = {
  other: 0,
  /** Changes nothing, so it may be done twice. */
  safe: 1,
  initialize: 2,
  subscribe: 3,
  unsubscribe: 4,
  setLevel: 5,
} as const;
export type MethodKind = (typeof MethodKind)[keyof typeof MethodKind];

const KINDS = new ByteTable<MethodKind>([
  ['initialize', MethodKind.initialize],
  ['resources/subscribe', MethodKind.subscribe],
  ['resources/unsubscribe', MethodKind.unsubscribe],
  ['logging/setLevel', MethodKind.setLevel],
  ...[
    'ping',
    'tools/list',
    'prompts/list',
    'prompts/get',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'completion/complete',
    'server/discover',
  ].map((name) => [name, MethodKind.safe] as const),
]);

/** b[from, to) is the method's name with its quotes. */
export function methodKind(b: Buffer, from: number, to: number): MethodKind {
  return KINDS.find(b, from + 1, to - 1) ?? MethodKind.other;
}
