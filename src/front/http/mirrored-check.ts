// Checks the headers of a request of 2026 that repeat parts of its body. The body decides what is done. A contradicting
// header is refused, because a proxy in between may have decided by it.

import type { IncomingHttpHeaders } from 'node:http';
import { ERA_2026 } from '../../protocol/era-2026.ts';
import { decodedHeader, type MirroredValue } from '../../protocol/mirrored-headers.ts';
import { rpcError } from '../../protocol/rpc-error.ts';
import { type Envelope, Field } from '../../wire/envelope.ts';

/** The error for a request whose headers contradict its body; undefined if they agree. */
export function mirrorRefusal(headers: IncomingHttpHeaders, b: Buffer, envelope: Envelope): string | undefined {
  const version = textIn(b, envelope, Field.protocolVersion);
  if (version !== undefined && headers['mcp-protocol-version'] !== version)
    return mismatch('MCP-Protocol-Version', headers['mcp-protocol-version']);
  if (headerText(headers['mcp-method']) !== textIn(b, envelope, Field.method))
    return mismatch('Mcp-Method', headers['mcp-method']);
  const { name } = ERA_2026.methods.of(b, envelope);
  const named = name === undefined ? undefined : textIn(b, envelope, name);
  if (named !== undefined && decodedHeader(headers['mcp-name']) !== named)
    return mismatch('Mcp-Name', headers['mcp-name']);
  return undefined;
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** The error for a call whose headers contradict these parameters; undefined if they agree. */
export function parameterRefusal(
  headers: IncomingHttpHeaders,
  values: readonly (readonly [header: string, value: MirroredValue])[],
): string | undefined {
  for (const [header, value] of values) {
    const given = headers[header.toLowerCase()];
    const text = decodedHeader(given);
    const isSame =
      text !== undefined &&
      (text === `${value}` || (typeof value === 'number' && DECIMAL.test(text) && Number(text) === value));
    if (!isSame) return mismatch(header, given);
  }
  return undefined;
}

function mismatch(header: string, value: unknown): string {
  const message = value === undefined ? `${header} is missing` : `${header} does not say what the body says`;
  return rpcError(ERA_2026.errors.headerMismatch ?? 0, `Header mismatch: ${message}`);
}

/** The text of a member; undefined if missing. */
function textIn(b: Buffer, envelope: Envelope, field: Field): string | undefined {
  const value = envelope.decode(b, field);
  return typeof value === 'string' ? value : undefined;
}

function headerText(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
