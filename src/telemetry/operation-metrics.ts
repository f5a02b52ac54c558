// The four histograms of the convention: how long requests take on both sides of the bridge, and how long sessions last. A name counts
// as one once a server has answered it with a result: a client cannot make up series.

import type { Resource } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ObservedClient, ObservedInstance } from '../core/events.ts';
import {
  Attribute,
  type Attributes,
  clientNetwork,
  type NamedMethod,
  OTHER,
  serverNetwork,
  targetIn,
} from './convention.ts';
import { type Description, DurationHistogram, type HrMoment } from './histogram.ts';
import type { Failure, RequestTrace, ServerLeg } from './request-trace.ts';

const SERVER_OPERATION: Description = {
  name: 'mcp.server.operation.duration',
  description:
    'MCP request or notification duration as observed on the receiver from the time it was received until the result or ack is sent.',
};
const CLIENT_OPERATION: Description = {
  name: 'mcp.client.operation.duration',
  description:
    'The duration of the MCP request or notification as observed on the sender from the time it was sent until the response or ack is received.',
};
const SERVER_SESSION: Description = {
  name: 'mcp.server.session.duration',
  description: 'The duration of the MCP session as observed on the MCP server.',
};
const CLIENT_SESSION: Description = {
  name: 'mcp.client.session.duration',
  description: 'The duration of the MCP session as observed on the MCP client.',
};

const MS_PER_SECOND = 1000;
const MOST_NAMES = 5000;

export class OperationMetrics {
  readonly #histograms: readonly DurationHistogram[];
  readonly #serverOperation: DurationHistogram;
  readonly #clientOperation: DurationHistogram;
  readonly #serverSession: DurationHistogram;
  readonly #clientSession: DurationHistogram;
  /** Names of tools and prompts that servers know, as the client and as the server spell them. */
  readonly #names = new Set<string>();

  constructor(isDelta: boolean, now: HrMoment) {
    const made = (description: Description): DurationHistogram => new DurationHistogram(description, isDelta, now);
    this.#serverOperation = made(SERVER_OPERATION);
    this.#clientOperation = made(CLIENT_OPERATION);
    this.#serverSession = made(SERVER_SESSION);
    this.#clientSession = made(CLIENT_SESSION);
    this.#histograms = [this.#serverOperation, this.#clientOperation, this.#serverSession, this.#clientSession];
  }

  answered({ client, method, target, failure, startedMs }: RequestTrace, endedMs: number): void {
    const name = this.#nameOf(method, target, failure);
    const { principal, protocolVersion = '' } = client;
    const key = `${method.isKnown ? method.name : OTHER} ${name} ${keyOf(failure)} ${protocolVersion} ${principal.kind}`;
    this.#serverOperation.add(key, (endedMs - startedMs) / MS_PER_SECOND, () => ({
      ...operationAttributes(method, name, failure),
      ...(protocolVersion === '' ? {} : { [Attribute.protocolVersion]: protocolVersion }),
      ...clientNetwork(client),
    }));
  }

  served({ request: { method }, instance, server, target, failure, sentMs, endedMs }: ServerLeg): void {
    const name = this.#nameOf(method, target, failure);
    const { protocolVersion = '' } = instance;
    const key = `${server} ${method.isKnown ? method.name : OTHER} ${name} ${keyOf(failure)} ${protocolVersion}`;
    this.#clientOperation.add(key, (endedMs - sentMs) / MS_PER_SECOND, () => ({
      ...operationAttributes(method, name, failure),
      ...ofInstance(instance),
      [Attribute.bridgeServer]: server,
    }));
  }

  clientLeft(client: ObservedClient, ms: number): void {
    const { protocolVersion = '', principal } = client;
    this.#serverSession.add(`${protocolVersion} ${principal.kind}`, ms / MS_PER_SECOND, () => ({
      ...(protocolVersion === '' ? {} : { [Attribute.protocolVersion]: protocolVersion }),
      ...clientNetwork(client),
    }));
  }

  instanceEnded(instance: ObservedInstance, ms: number, errorType: string | undefined): void {
    const { server, protocolVersion = '' } = instance;
    this.#clientSession.add(`${server} ${protocolVersion} ${errorType ?? ''}`, ms / MS_PER_SECOND, () => ({
      ...ofInstance(instance),
      [Attribute.bridgeServer]: server,
      ...(errorType === undefined ? {} : { [Attribute.errorType]: errorType }),
    }));
  }

  /** The name by which series differ; '' where there is none, or none that is known. */
  #nameOf({ target: kind }: NamedMethod, target: string, failure: Failure | undefined): string {
    if (kind === undefined || target === '') return '';
    if (this.#names.has(target)) return target;
    if (failure !== undefined || this.#names.size >= MOST_NAMES) return '';
    this.#names.add(target);
    return target;
  }

  /** All that was counted, in the form in which the exporters take it; undefined if that is nothing. */
  collect(resource: Resource, version: string, now: HrMoment): ResourceMetrics | undefined {
    const metrics = this.#histograms.flatMap((histogram) => histogram.collect(now) ?? []);
    if (metrics.length === 0) return undefined;
    return { resource, scopeMetrics: [{ scope: { name: 'mcp-bridge', version }, metrics }] };
  }
}

const keyOf = (failure: Failure | undefined): string =>
  failure === undefined ? '' : `${failure.type} ${failure.status ?? ''}`;

function operationAttributes(method: NamedMethod, target: string, failure: Failure | undefined): Attributes {
  return {
    [Attribute.method]: method.isKnown ? method.name : OTHER,
    ...(method.target === undefined || target === '' ? {} : { [method.target]: targetIn(target) }),
    ...(method.target === Attribute.tool ? { [Attribute.operation]: 'execute_tool' } : {}),
    ...(failure === undefined ? {} : { [Attribute.errorType]: failure.type }),
    ...(failure?.status === undefined ? {} : { [Attribute.statusCode]: failure.status }),
  };
}

function ofInstance(instance: ObservedInstance): Attributes {
  const { protocolVersion } = instance;
  return {
    ...(protocolVersion === undefined ? {} : { [Attribute.protocolVersion]: protocolVersion }),
    ...serverNetwork(instance),
  };
}
