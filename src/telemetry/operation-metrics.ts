// The four histograms of the convention: the durations of requests on both sides of the bridge, and of sessions. A name
// gets its own series only after a server has answered it with a result, so clients cannot invent series.

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
import { type Description, DurationHistogram, type HrMoment, type Series } from './histogram.ts';
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
const MOST_SERVERS = 1000;

export class OperationMetrics {
  readonly #histograms: readonly DurationHistogram[];
  readonly #serverOperation: DurationHistogram;
  readonly #clientOperation: DurationHistogram;
  readonly #serverSession: DurationHistogram;
  readonly #clientSession: DurationHistogram;
  readonly #ofAnswers: RecentSeries;
  readonly #ofServers = new Map<string, RecentSeries>();
  /** Names of tools and prompts that servers know, in the spellings of client and server. */
  readonly #names = new Set<string>();

  constructor(isDelta: boolean, now: HrMoment) {
    const made = (description: Description): DurationHistogram => new DurationHistogram(description, isDelta, now);
    this.#serverOperation = made(SERVER_OPERATION);
    this.#clientOperation = made(CLIENT_OPERATION);
    this.#serverSession = made(SERVER_SESSION);
    this.#clientSession = made(CLIENT_SESSION);
    this.#ofAnswers = new RecentSeries(this.#serverOperation);
    this.#histograms = [this.#serverOperation, this.#clientOperation, this.#serverSession, this.#clientSession];
  }

  answered({ client, method, target, failure, startedMs }: RequestTrace, endedMs: number): void {
    const { principal, protocolVersion = '' } = client;
    const seconds = (endedMs - startedMs) / MS_PER_SECOND;
    const known = this.#ofAnswers.get(method, target, protocolVersion, principal.kind, failure);
    if (known !== undefined) return known.add(seconds);
    const name = this.#nameOf(method, target, failure);
    const key = `${method.isKnown ? method.name : OTHER} ${name} ${keyOf(failure)} ${protocolVersion} ${principal.kind}`;
    const series = this.#serverOperation.of(key, () => ({
      ...operationAttributes(method, name, failure),
      ...(protocolVersion === '' ? {} : { [Attribute.protocolVersion]: protocolVersion }),
      ...clientNetwork(client),
    }));
    series.add(seconds);
    if (name === target) this.#ofAnswers.set(method, target, protocolVersion, principal.kind, failure, series);
  }

  served({ request: { method }, instance, server, target, failure, sentMs, endedMs }: ServerLeg): void {
    const { protocolVersion = '' } = instance;
    const seconds = (endedMs - sentMs) / MS_PER_SECOND;
    const recent = this.#recentOf(server);
    const known = recent.get(method, target, protocolVersion, server, failure);
    if (known !== undefined) return known.add(seconds);
    const name = this.#nameOf(method, target, failure);
    const key = `${server} ${method.isKnown ? method.name : OTHER} ${name} ${keyOf(failure)} ${protocolVersion}`;
    const series = this.#clientOperation.of(key, () => ({
      ...operationAttributes(method, name, failure),
      ...ofInstance(instance),
      [Attribute.bridgeServer]: server,
    }));
    series.add(seconds);
    if (name === target) recent.set(method, target, protocolVersion, server, failure, series);
  }

  #recentOf(server: string): RecentSeries {
    const known = this.#ofServers.get(server);
    if (known !== undefined) return known;
    if (this.#ofServers.size >= MOST_SERVERS) this.#ofServers.clear();
    const recent = new RecentSeries(this.#clientOperation);
    this.#ofServers.set(server, recent);
    return recent;
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

  /** The name for the series; '' if there is none, or none that is known. */
  #nameOf({ target: kind }: NamedMethod, target: string, failure: Failure | undefined): string {
    if (kind === undefined || target === '') return '';
    if (this.#names.has(target)) return target;
    if (failure !== undefined || this.#names.size >= MOST_NAMES) return '';
    this.#names.add(target);
    return target;
  }

  /** All counts in the exporters' form; undefined if there are none. */
  collect(resource: Resource, version: string, now: HrMoment): ResourceMetrics | undefined {
    const metrics = this.#histograms.flatMap((histogram) => histogram.collect(now) ?? []);
    if (metrics.length === 0) return undefined;
    return { resource, scopeMetrics: [{ scope: { name: 'mcp-bridge', version }, metrics }] };
  }
}

/**
 * The series of the last successful calls by name: most calls repeat an earlier one, and a full lookup would cost as
 * much as all other work for a call.
 */
class RecentSeries {
  readonly #histogram: DurationHistogram;
  readonly #byTarget = new Map<string, Series>();
  #generation = 0;
  #method: NamedMethod | undefined;
  #version = '';
  #peer = '';

  constructor(histogram: DurationHistogram) {
    this.#histogram = histogram;
  }

  /** The series; undefined if it must be looked up. */
  get(
    method: NamedMethod,
    target: string,
    version: string,
    peer: string,
    failure: object | undefined,
  ): Series | undefined {
    if (failure !== undefined || !this.#isOf(method, version, peer)) return undefined;
    return this.#byTarget.get(target);
  }

  set(
    method: NamedMethod,
    target: string,
    version: string,
    peer: string,
    failure: object | undefined,
    series: Series,
  ): void {
    if (failure !== undefined) return;
    if (!this.#isOf(method, version, peer) || this.#byTarget.size >= MOST_NAMES) this.#byTarget.clear();
    this.#generation = this.#histogram.generation;
    this.#method = method;
    this.#version = version;
    this.#peer = peer;
    this.#byTarget.set(target, series);
  }

  #isOf(method: NamedMethod, version: string, peer: string): boolean {
    return (
      this.#method === method &&
      this.#version === version &&
      this.#peer === peer &&
      this.#generation === this.#histogram.generation
    );
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
