// Refusals of HTTP requests before any session sees them, and their answers.

import type { ServerResponse } from 'node:http';
import { ERA_2026 } from '../../protocol/era-2026.ts';
import { METHOD_NOT_FOUND, PARSE_ERROR } from '../../protocol/rpc-error.ts';

export interface HttpRefusal {
  readonly status: number;
  /** An error in JSON. */
  readonly error: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const JSON_HEAD: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
};

/** Answers with an error, under the request's id as the client spelled it. */
export function refuse(response: ServerResponse, { status, error, headers }: HttpRefusal, idText = 'null'): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  // In latin1, as the id was read.
  const head = `{"jsonrpc":"2.0","id":${idText},"error":`;
  const body = Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(`${error}}\n`)]);
  response.writeHead(status, { ...JSON_HEAD, ...headers, 'content-length': String(body.length) });
  response.end(body);
}

/** Answers without a body. */
export function accept(response: ServerResponse): void {
  response.writeHead(202, { 'content-length': '0' }).end();
}

const { headerMismatch, missingClientCapability, unsupportedVersion } = ERA_2026.errors;
const OF_THE_ENVELOPE: ReadonlySet<number | undefined> = new Set([
  headerMismatch,
  missingClientCapability,
  unsupportedVersion,
  PARSE_ERROR,
]);

/** The HTTP status for an error that is the whole answer to a request of 2026. */
export function statusOf(code: number): number {
  if (code === METHOD_NOT_FOUND) return 404;
  return OF_THE_ENVELOPE.has(code) ? 400 : 200;
}
