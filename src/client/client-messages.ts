// Builds what a program says to another client of the bridge, as a request for any MCP client's `request`:
//
//   await client.request(messageTo('reviewer', 'review/start', { branch: 'main' }), ReviewResult)

import { isRecord, membersOf } from '../util/json-value.ts';

const FROM = 'mcp-bridge/from';
const HOPS = 'mcp-bridge/hops';

export interface MessageOptions {
  /** True if it wants no answer; the request is answered with `{}` once it is on its way. */
  readonly notify?: boolean;
  /** The params of the message that caused this one; the bridge uses them to detect loops. */
  readonly causedBy?: object | undefined;
}

export interface BridgeRequest {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** Returns a request for a client that accepts this method. The answer is the receiver's own. */
export function messageTo(
  to: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { notify, causedBy }: MessageOptions = {},
): BridgeRequest {
  const hops = causedBy === undefined ? undefined : membersOf(metaOf(causedBy))[HOPS];
  return {
    method: 'bridge/send',
    params: {
      ...{ to, method, params },
      ...(notify === true && { notify }),
      ...(hops !== undefined && { _meta: { [HOPS]: hops } }),
    },
  };
}

/** Returns the sender of a message, as the bridge says; undefined for a message that no client sent. */
export function senderOf(params: object): string | undefined {
  const from = membersOf(metaOf(params))[FROM];
  return typeof from === 'string' ? from : undefined;
}

function metaOf(params: object): unknown {
  return isRecord(params) ? params._meta : undefined;
}
