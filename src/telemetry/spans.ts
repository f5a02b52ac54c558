// The two spans of a request with all attributes of the convention: the bridge as the client's server, and as the
// server's client. Arguments and results are included only if the config says so.

import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import {
  Attribute,
  type Attributes,
  clientNetwork,
  cut,
  type NamedMethod,
  serverNetwork,
  shownUri,
  targetIn,
} from './convention.ts';
import type { Failure, RequestDetails, RequestTrace, ServerLeg } from './request-trace.ts';
import { readableSpan, SpanKind, type SpanScope } from './span-record.ts';

const LONGEST_URI = 1024;
const LONGEST_CLIENT = 200;

/** The attributes of a request that both spans begin with. */
function requestAttributes(
  method: NamedMethod,
  target: string,
  { failure, uri }: { readonly failure: Failure | undefined; readonly uri: string | undefined },
): Attributes {
  const attributes: Attributes = { [Attribute.method]: method.name };
  if (method.target !== undefined && target !== '') attributes[method.target] = target;
  if (method.target === Attribute.tool) attributes[Attribute.operation] = 'execute_tool';
  if (uri !== undefined) attributes[Attribute.resourceUri] = cut(shownUri(uri), LONGEST_URI);
  if (failure === undefined) return attributes;
  attributes[Attribute.errorType] = failure.type;
  set(attributes, Attribute.statusCode, failure.status);
  set(attributes, Attribute.bridgeError, failure.code);
  return attributes;
}

/** Sets an attribute, unless its value is unknown or empty. */
function set(attributes: Attributes, key: string, value: string | undefined): void {
  if (value !== undefined && value !== '') attributes[key] = value;
}

const nameOf = ({ name }: NamedMethod, target: string): string => (target === '' ? name : `${name} ${target}`);

/** The target, for methods that have one; names elsewhere are ignored. */
const targetOf = (method: NamedMethod, spelled: string): string =>
  method.target === undefined || spelled === '' ? '' : targetIn(spelled);

export function serverSpan(
  request: RequestTrace,
  details: RequestDetails,
  endedMs: number,
  scope: SpanScope,
): ReadableSpan {
  const { client, method, parent, failure } = request;
  const target = targetOf(method, request.target);
  const attributes = requestAttributes(method, target, { failure, uri: details.uri });
  attributes[Attribute.requestId] = cut(details.id, LONGEST_CLIENT);
  set(attributes, Attribute.protocolVersion, client.protocolVersion);
  set(attributes, Attribute.sessionId, client.clientId);
  Object.assign(attributes, clientNetwork(client));
  set(attributes, Attribute.bridgeClient, cut(client.name, LONGEST_CLIENT));
  set(attributes, Attribute.bridgeView, client.view?.name);
  set(attributes, Attribute.toolArguments, details.toolArguments);
  set(attributes, Attribute.toolResult, details.result);
  return readableSpan(
    {
      name: nameOf(method, target),
      kind: SpanKind.server,
      traceId: request.traceId,
      spanId: request.spanId,
      parentId: parent?.spanId,
      isParentRemote: true,
      state: details.state,
      startedMs: request.startedMs,
      endedMs,
      attributes,
      failure,
      notes: details.notes,
    },
    scope,
  );
}

export function clientSpan(leg: ServerLeg, details: RequestDetails, scope: SpanScope): ReadableSpan {
  const { request, instance, server, failure } = leg;
  const { method } = request;
  const target = targetOf(method, leg.target);
  const isAimed = leg.target !== request.target;
  const attributes = requestAttributes(method, target, { failure, uri: details.uri });
  attributes[Attribute.requestId] = String(leg.requestId);
  set(attributes, Attribute.protocolVersion, instance.protocolVersion);
  if (instance.era.hasHandshake) set(attributes, Attribute.sessionId, instance.instanceId);
  Object.assign(attributes, serverNetwork(instance));
  attributes[Attribute.bridgeServer] = server;
  set(attributes, Attribute.toolArguments, (isAimed ? details.aimedArguments : undefined) ?? details.toolArguments);
  set(attributes, Attribute.toolResult, leg.result);
  return readableSpan(
    {
      name: nameOf(method, target),
      kind: SpanKind.client,
      traceId: request.traceId,
      spanId: leg.spanId,
      parentId: request.spanId,
      isParentRemote: false,
      state: details.state,
      startedMs: leg.sentMs,
      endedMs: leg.endedMs,
      attributes,
      failure,
      notes: [],
    },
    scope,
  );
}
