// The headers of a request of 2026, which say again what stands in its body. The body decides what is done; a header that says
// something else is refused, because what stands in between may have decided by it.

import type { IncomingHttpHeaders } from 'node:http';
import { ERA_2026 } from '../../protocol/era-2026.ts';
import { rpcError } from '../../protocol/rpc-error.ts';
import { type Envelope, Field } from '../../wire/envelope.ts';

const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** The error for a request whose headers do not say what its body says; undefined if they do. */
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

function mismatch(header: string, value: unknown): string {
  const message = value === undefined ? `${header} is missing` : `${header} does not say what the body says`;
  return rpcError(ERA_2026.errors.headerMismatch ?? 0, `Header mismatch: ${message}`);
}

/** The text of a member; undefined without one. */
function textIn(b: Buffer, envelope: Envelope, field: Field): string | undefined {
  const value = envelope.decode(b, field);
  return typeof value === 'string' ? value : undefined;
}

function headerText(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

/** The value of a header that may be written in Base64; undefined if it cannot be read. */
function decodedHeader(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  if (!header.startsWith('=?base64?')) return header;
  const [, base64] = SENTINEL.exec(header) ?? [];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('utf8');
}
