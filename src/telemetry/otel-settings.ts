// The settings of telemetry from the config and the OpenTelemetry variables. Variables override the config, as
// elsewhere. The exporters read addresses, headers and certificates that only variables name.

import { existsSync } from 'node:fs';
import { unescape as percentDecoded } from 'node:querystring';
import type { TelemetrySettings } from '../model/telemetry-settings.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { addressBelow, shownDestination } from './destination.ts';
import { type KnownSampler, samplerOf, sharedSampler } from './sampler.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Signal = 'TRACES' | 'METRICS';

type OtlpProtocol = 'http/protobuf' | 'http/json';

/** The options of an exporter; it reads the rest from variables. */
export interface ExporterSettings {
  readonly protocol: OtlpProtocol;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs: number | undefined;
}

export interface OtelSettings {
  /** Undefined for signals that are not sent. */
  readonly traces: ExporterSettings | undefined;
  readonly metrics: ExporterSettings | undefined;
  /** Both addresses in a form safe to show. */
  readonly destinations: { readonly traces: string | undefined; readonly metrics: string | undefined };
  readonly sampler: KnownSampler;
  /** True if servers get the trace context. */
  readonly propagates: boolean;
  readonly resource: Readonly<Record<string, string>>;
  readonly queue: QueueSettings;
  readonly intervalMs: number;
  /** True if each report counts from the previous one. */
  readonly isDelta: boolean;
  readonly limits: SpanLimits;
  readonly showsArguments: boolean;
  readonly showsResults: boolean;
  /** One sentence per unusable setting. */
  readonly faults: readonly string[];
}

export interface QueueSettings {
  readonly maxQueued: number;
  readonly maxBatch: number;
  readonly delayMs: number;
}

export interface SpanLimits {
  readonly attributes: number;
  readonly characters: number;
  readonly events: number;
}

/** A span has about twenty attributes; only the opt-in ones may be long. */
const MOST_CHARACTERS = 4096;
/** Smaller than other programs' batches, because writing a batch delays calls. */
const BATCH = 128;

class Variables {
  readonly faults: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The value of a variable; an empty one counts as missing. */
  text(name: string): string | undefined {
    const text = this.#environment[name]?.trim();
    return text === '' ? undefined : text;
  }

  count(name: string, otherwise: number, most: number, least = 1): number {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= least) return Math.min(value, most);
    this.faults.push(`${name} must be a whole number from ${least} up; it is not used`);
    return otherwise;
  }

  /** Reports a fault once, even if two signals find it. */
  fault(text: string): void {
    if (!this.faults.includes(text)) this.faults.push(text);
  }

  ofSignal(signal: Signal, name: string): string | undefined {
    return this.text(this.nameOfSignal(signal, name));
  }

  /** The variable that applies to a signal: its own if set, else the common one. */
  nameOfSignal(signal: Signal, name: string): string {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${name}`;
    return this.text(own) === undefined ? `OTEL_EXPORTER_OTLP_${name}` : own;
  }
}

export function otelSettings(config: TelemetrySettings, environment: Environment, version: string): OtelSettings {
  const variables = new Variables(environment);
  const characters = variables.count('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', MOST_CHARACTERS, 1_048_576, 0);
  const traces = config.sendsTraces ? exporterSettings(variables, config, 'TRACES') : undefined;
  const metrics = config.sendsMetrics ? exporterSettings(variables, config, 'METRICS') : undefined;
  return {
    traces,
    metrics,
    destinations: {
      traces: traces && destinationOf(variables, traces, 'TRACES'),
      metrics: metrics && destinationOf(variables, metrics, 'METRICS'),
    },
    sampler: chosenSampler(variables, config),
    propagates: listOf(variables, 'OTEL_PROPAGATORS', 'tracecontext', OTHER_PROPAGATORS).some(isTraceContext),
    resource: resourceOf(variables, config, version),
    queue: {
      maxQueued: variables.count('OTEL_BSP_MAX_QUEUE_SIZE', 2048, 65_536),
      maxBatch: variables.count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', BATCH, 4096),
      delayMs: variables.count('OTEL_BSP_SCHEDULE_DELAY', 5000, 3_600_000),
    },
    intervalMs: variables.count('OTEL_METRIC_EXPORT_INTERVAL', 60_000, 86_400_000),
    isDelta: /^(?:delta|lowmemory)$/i.test(
      variables.text('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE') ?? 'cumulative',
    ),
    limits: {
      attributes: variables.count('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 128, 128, 0),
      characters: variables.count('OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', characters, 1_048_576, 0),
      events: variables.count('OTEL_SPAN_EVENT_COUNT_LIMIT', 32, 128, 0),
    },
    showsArguments: config.showsArguments,
    showsResults: config.showsResults,
    faults: variables.faults,
  };
}

const isTraceContext = (name: string): boolean => name.trim() === 'tracecontext';

/** Values in OpenTelemetry's lists that have no effect here. */
const OTHER_EXPORTERS = new Set(['none']);
const OTHER_PROPAGATORS = new Set(['none', 'baggage']);

/** Reads a list; warns about names without effect here, because the user expects one. */
function listOf(variables: Variables, name: string, known: string, others: ReadonlySet<string>): readonly string[] {
  const names = (variables.text(name) ?? known).split(',').map((one) => one.trim());
  const strange = names.filter((one) => one !== known && !others.has(one));
  if (strange.length > 0) variables.faults.push(`${name} names what there is not here; only ${known} is used`);
  return names;
}

/** Checks variables that the exporters read, because they silently ignore invalid ones. */
function checkExporterVariables(variables: Variables, signal: Signal): void {
  const look = (name: string, isGood: (text: string) => boolean, wanted: string): void => {
    const variable = variables.nameOfSignal(signal, name);
    const text = variables.text(variable);
    if (text !== undefined && !isGood(text)) variables.fault(`${variable} must be ${wanted}; it is not used`);
  };
  look('COMPRESSION', (text) => text === 'gzip' || text === 'none', 'gzip or none');
  look('TIMEOUT', (text) => /^\d{1,9}$/.test(text), 'a whole number of milliseconds');
  for (const name of ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY']) look(name, existsSync, 'a file');
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && parsedUrl(text) !== undefined;
}

function chosenSampler(variables: Variables, { sampling }: TelemetrySettings): KnownSampler {
  const name = variables.text('OTEL_TRACES_SAMPLER');
  if (name === undefined) return sharedSampler(sampling);
  const share = variables.text('OTEL_TRACES_SAMPLER_ARG');
  if (share !== undefined && /ratio$/.test(name) && !(Number(share) >= 0 && Number(share) <= 1)) {
    variables.faults.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; the sampling of the config is used');
    return sharedSampler(sampling);
  }
  const sampler = samplerOf(name, share);
  if (sampler === undefined)
    variables.faults.push('OTEL_TRACES_SAMPLER names no sampler that there is; it is not used');
  return sampler ?? sharedSampler(sampling);
}

/** The exporter's options for a signal; undefined if it has no destination. */
function exporterSettings(
  variables: Variables,
  { otlp }: TelemetrySettings,
  signal: Signal,
): ExporterSettings | undefined {
  const chosen = listOf(variables, `OTEL_${signal}_EXPORTER`, 'otlp', OTHER_EXPORTERS);
  if (!chosen.includes('otlp')) return undefined;
  checkExporterVariables(variables, signal);
  const protocol = variables.ofSignal(signal, 'PROTOCOL') ?? otlp.protocol;
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    variables.faults.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL is not http/protobuf or http/json, so no ${signal.toLowerCase()} are sent`,
    );
    return undefined;
  }
  const address = variables.ofSignal(signal, 'ENDPOINT');
  if (address !== undefined && !isHttpUrl(address)) {
    // Otherwise the exporter would send to its default, with headers meant for this address.
    variables.fault(
      `${variables.nameOfSignal(signal, 'ENDPOINT')} must be a URL such as http://localhost:4318, so no ${signal.toLowerCase()} are sent`,
    );
    return undefined;
  }
  if (address !== undefined)
    // The config's headers are only for the config's address.
    return { protocol, url: undefined, headers: undefined, timeoutMs: undefined };
  if (otlp.endpoint === undefined) return undefined;
  return {
    protocol,
    url: addressBelow(otlp.endpoint, PATHS[signal]),
    headers: otlp.headers,
    timeoutMs: variables.ofSignal(signal, 'TIMEOUT') === undefined ? otlp.timeoutMs : undefined,
  };
}

const PATHS = { TRACES: 'v1/traces', METRICS: 'v1/metrics' } as const;

/** The address in a form safe to show, even if the exporter takes it from a variable. */
function destinationOf(variables: Variables, { url }: ExporterSettings, signal: Signal): string {
  if (url !== undefined) return shownDestination(url);
  const own = variables.text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`);
  return shownDestination(own ?? addressBelow(variables.text('OTEL_EXPORTER_OTLP_ENDPOINT') ?? '', PATHS[signal]));
}

function resourceOf(
  variables: Variables,
  { resource, serviceName }: TelemetrySettings,
  version: string,
): Record<string, string> {
  const listed = listedAttributes(variables);
  const name = variables.text('OTEL_SERVICE_NAME') ?? listed['service.name'] ?? serviceName ?? 'mcp-bridge';
  return { 'service.version': version, ...resource, ...listed, 'service.name': name };
}

/** Parses `key=value,key=value`, where values may be percent-encoded. */
function listedAttributes(variables: Variables): Record<string, string> {
  const text = variables.text('OTEL_RESOURCE_ATTRIBUTES') ?? '';
  const pairs = text === '' ? [] : text.split(',').map(pairIn);
  if (pairs.every((pair) => pair !== undefined)) return Object.fromEntries(pairs);
  variables.faults.push('OTEL_RESOURCE_ATTRIBUTES is not a list of key=value; it is not used');
  return {};
}

function pairIn(text: string): readonly [string, string] | undefined {
  const [, key, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(text) ?? [];
  if (key === undefined || value === undefined) return undefined;
  return [key, percentDecoded(value)];
}
