// Checks a request that came over the bus. Its subject, headers and body must agree. The bus may have checked the
// subject, and others may have forwarded by the headers, but only the body is carried out.

import { ERA_2026 } from '../protocol/era-2026.ts';
import { BRIDGE_FIELDS } from '../protocol/request-envelope.ts';
import { certainId, INVALID_REQUEST } from '../protocol/rpc-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { BusHeaders } from './bus.ts';
import { HEADER, headerText, WIRE_CODE } from './frames.ts';
import { nameToken, type RequestSubject } from './subject.ts';

const envelope = new Envelope(ERA_2026.keys);

interface CheckedRequest {
  readonly subject: RequestSubject;
  readonly headers: BusHeaders;
  readonly body: Buffer;
  readonly maxDepth: number;
}

interface RequestRefusal {
  readonly code: number;
  readonly why: string;
}

/** Returns the id of a request as spelled, or the reason why the request is not handed on. */
export function checkedRequest({ subject, headers, body, maxDepth }: CheckedRequest): string | RequestRefusal {
  const mismatch = (why: string): RequestRefusal => ({ code: WIRE_CODE.mismatch, why: `Header mismatch: ${why}` });
  if (!envelope.scan(body, 0, body.length, maxDepth) || body.includes(0x0a))
    return { code: INVALID_REQUEST, why: 'Invalid request: not one message of JSON-RPC' };
  const idText = certainId(envelope, body);
  if (envelope.kind !== 'request' || idText === 'null')
    return { code: INVALID_REQUEST, why: 'Invalid request: a request with an id is expected' };
  const method = envelope.decode(body, Field.method);
  if (method !== headers[HEADER.method]) return mismatch(`${HEADER.method} does not say what the body says`);
  if (method !== subject.method) return mismatch('the subject names another method');
  const version = envelope.decode(body, Field.protocolVersion);
  if (version !== headers[HEADER.version]) return mismatch(`${HEADER.version} does not say what the body says`);
  const { name: field } = ERA_2026.methods.of(body, envelope);
  const named = field === undefined ? undefined : envelope.decode(body, field);
  const name = typeof named === 'string' ? named : undefined;
  if (name !== headerText(headers[HEADER.name])) return mismatch(`${HEADER.name} does not say what the body says`);
  if (subject.name !== nameToken(name)) return mismatch('the subject has another name');
  const isForeign = BRIDGE_FIELDS.some((one) => envelope.has(one));
  return isForeign
    ? { code: INVALID_REQUEST, why: 'A view, an id or a directory of another host is not taken' }
    : idText;
}
