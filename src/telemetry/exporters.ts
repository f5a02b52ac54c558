// The exporters of OpenTelemetry, which send OTLP over HTTP. No other file uses their packages. They retry within their
// own time limit, one batch at a time.

import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { ExporterSettings } from './otel-settings.ts';

/** Sends a batch. Resolves when it has arrived, or with the reason why it has not. */
export interface Exporter<Batch> {
  send(batch: Batch): Promise<string | undefined>;
}

interface LibraryExporter<Batch> {
  export(batch: Batch, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
}

const ARRIVED = 0;

function optionsOf({ url, headers, timeoutMs }: ExporterSettings) {
  return {
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(timeoutMs === undefined ? {} : { timeoutMillis: timeoutMs }),
    concurrencyLimit: 1,
    keepAlive: true,
  };
}

export function traceExporter(settings: ExporterSettings): Exporter<readonly ReadableSpan[]> {
  const options = optionsOf(settings);
  const exporter: LibraryExporter<ReadableSpan[]> =
    settings.protocol === 'http/json' ? new JsonTraceExporter(options) : new ProtobufTraceExporter(options);
  return { send: (spans) => sent(exporter, [...spans]) };
}

export function metricExporter(settings: ExporterSettings): Exporter<ResourceMetrics> {
  const options = optionsOf(settings);
  const exporter: LibraryExporter<ResourceMetrics> =
    settings.protocol === 'http/json' ? new JsonMetricExporter(options) : new ProtobufMetricExporter(options);
  return { send: (metrics) => sent(exporter, metrics) };
}

function sent<Batch>(exporter: LibraryExporter<Batch>, batch: Batch): Promise<string | undefined> {
  return new Promise((resolve) => {
    exporter.export(batch, ({ code, error }) => resolve(code === ARRIVED ? undefined : reasonOf(error)));
  });
}

/** The reason in few words, because the collector's own text may be anything. */
function reasonOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (typeof code === 'number') return `it answered with status ${code}`;
  if (typeof code === 'string' && /^[A-Z_0-9]{1,40}$/.test(code)) return code;
  const message = error?.message ?? '';
  if (/retryable/.test(message)) return 'it asked to try again later, until there was no time left';
  if (/time|destroyed/i.test(message)) return 'it did not answer in time';
  return error?.name === 'OTLPExporterError' ? 'it did not take them' : 'it could not be reached';
}
