// The two spans of a request with all attributes that the convention asks for: the bridge as the client's server, and the bridge as
// the server's client. Arguments and results are in them only if the config says so.

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

/** What both sides say of a request. */
function requestAttributes(
  method: NamedMethod,
  target: string,
  { failure, uri }: { readonly failure: Failure | undefined; readonly uri: string | undefined },
): Attributes {
  return {
    [Attribute.method]: method.name,
    ...(method.target === undefined || target === '' ? {} : { [method.target]: target }),
    ...(method.target === Attribute.tool ? { [Attribute.operation]: 'execute_tool' } : {}),
    ...(uri === undefined ? {} : { [Attribute.resourceUri]: cut(shownUri(uri), LONGEST_URI) }),
    ...(failure === undefined ? {} : { [Attribute.errorType]: failure.type }),
    ...(failure?.status === undefined ? {} : { [Attribute.statusCode]: failure.status }),
    ...(failure?.code === undefined || failure.code === '' ? {} : { [Attribute.bridgeError]: failure.code }),
  };
}

const opted = (key: string, value: string | undefined): Attributes => (value === undefined ? {} : { [key]: value });

const nameOf = ({ name }: NamedMethod, target: string): string => (target === '' ? name : `${name} ${target}`);

/** The target of a method that has one: a name that is given elsewhere is none. */
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
      attributes: {
        ...requestAttributes(method, target, { failure, uri: details.uri }),
        [Attribute.requestId]: cut(details.id, LONGEST_CLIENT),
        ...opted(Attribute.protocolVersion, client.protocolVersion),
        ...opted(Attribute.sessionId, client.clientId === '' ? undefined : client.clientId),
        ...clientNetwork(client),
        ...opted(Attribute.bridgeClient, client.name === '' ? undefined : cut(client.name, LONGEST_CLIENT)),
        ...opted(Attribute.bridgeView, client.view?.name),
        ...opted(Attribute.toolArguments, details.toolArguments),
        ...opted(Attribute.toolResult, details.result),
      },
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
      attributes: {
        ...requestAttributes(method, target, { failure, uri: details.uri }),
        [Attribute.requestId]: String(leg.requestId),
        ...opted(Attribute.protocolVersion, instance.protocolVersion),
        ...opted(Attribute.sessionId, instance.era.hasHandshake ? instance.instanceId : undefined),
        ...serverNetwork(instance),
        [Attribute.bridgeServer]: server,
        ...opted(
          Attribute.toolArguments,
          isAimed ? (details.aimedArguments ?? details.toolArguments) : details.toolArguments,
        ),
        ...opted(Attribute.toolResult, leg.result),
      },
      failure,
      notes: [],
    },
    scope,
  );
}
