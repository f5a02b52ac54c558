// Sends the daemon's traces and metrics to a collector as OTLP; loaded only if there is a destination. It listens to
// events, and adds the trace context to requests. It never delays anything, and its memory is limited.

import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { CallTracing } from '../core/call-tracing.ts';
import type { Events, ObservedClient, ObservedInstance } from '../core/events.ts';
import type { SignalReport, TelemetryReport } from '../model/telemetry-report.ts';
import type { TelemetrySettings } from '../model/telemetry-settings.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { type Exporter, metricExporter, traceExporter } from './exporters.ts';
import type { HrMoment } from './histogram.ts';
import { OperationMetrics } from './operation-metrics.ts';
import { type OtelSettings, otelSettings } from './otel-settings.ts';
import { type FinishedRequests, RequestTracer } from './request-tracer.ts';
import { SpanQueue } from './span-queue.ts';
import { momentOf, type SpanScope } from './span-record.ts';
import { clientSpan, serverSpan } from './spans.ts';
import { TurnClock } from './turn-clock.ts';

export interface TelemetryOptions {
  readonly settings: TelemetrySettings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly date: () => number;
  readonly logger: Logger;
}

/** Smaller differences between the clocks are ignored, because the time of day is adjusted now and then. */
const SAME_CLOCK_MS = 50;
const LOGGED_EVERY_MS = 60_000;

type Signal = 'traces' | 'metrics';
type MetricsBatch = NonNullable<ReturnType<OperationMetrics['collect']>>;

export class Telemetry {
  readonly #options: TelemetryOptions;
  readonly #settings: OtelSettings;
  readonly #resource: Resource;
  readonly #spans: SpanQueue | undefined;
  readonly #metrics: OperationMetrics | undefined;
  readonly #metricExporter: Exporter<MetricsBatch> | undefined;
  readonly #timer: Timer | undefined;
  readonly #logged = new Map<string, number>();
  readonly #failures = new Map<Signal, string>();
  #sendingMetrics: Promise<void> | undefined;
  #dateOffsetMs = Number.NEGATIVE_INFINITY;
  /** Counts the sessions that are still open. */
  #endSessions: () => void = () => undefined;

  constructor(options: TelemetryOptions) {
    const { settings, environment, version, clock, logger } = options;
    this.#options = options;
    this.#settings = otelSettings(settings, environment, version);
    for (const fault of this.#settings.faults) logger.warn('telemetry', { fault });
    this.#resource = resourceFromAttributes(this.#settings.resource);
    const { traces, metrics, queue, isDelta, intervalMs } = this.#settings;
    if (traces !== undefined)
      this.#spans = new SpanQueue({
        ...queue,
        clock,
        exporter: traceExporter(traces),
        sent: (failure, lost) => this.#note('traces', failure, lost),
      });
    if (metrics === undefined) return;
    this.#metrics = new OperationMetrics(isDelta, this.#momentAt(clock.now()));
    this.#metricExporter = metricExporter(metrics);
    this.#timer = clock.every(intervalMs, () => void this.#sendMetrics());
  }

  report(): TelemetryReport {
    const { sampler, faults } = this.#settings;
    return {
      traces: this.#signalReport('traces'),
      metrics: this.#signalReport('metrics'),
      sampling: sampler.sampling,
      faults,
    };
  }

  #signalReport(signal: Signal): SignalReport | null {
    const url = this.#settings.destinations[signal];
    return url === undefined ? null : { url, failure: this.#failures.get(signal) ?? null };
  }

  /** Begins to listen; returns the hook that adds the context to requests, if wanted. */
  watch(events: Events): CallTracing | undefined {
    if (this.#spans === undefined && this.#metrics === undefined) return undefined;
    const { sampler, showsArguments, showsResults } = this.#settings;
    this.#watchSessions(events);
    const turn = new TurnClock(this.#options.clock);
    const propagates = this.#settings.propagates && this.#spans !== undefined;
    const tracer = new RequestTracer(
      {
        sampler: this.#spans === undefined ? { admits: () => false } : sampler,
        propagates,
        showsArguments,
        showsResults,
        now: () => turn.now(),
        finished: this.#finished(),
      },
      events,
    );
    return propagates ? tracer : undefined;
  }

  #finished(): FinishedRequests {
    const spans = this.#spans;
    const metrics = this.#metrics;
    const scope: SpanScope = {
      resource: this.#resource,
      version: this.#options.version,
      limits: this.#settings.limits,
      momentAt: (ms) => this.#momentAt(ms),
    };
    return {
      answered: (request, endedMs) => {
        metrics?.answered(request, endedMs);
        if (request.details !== undefined) spans?.add(serverSpan(request, request.details, endedMs, scope));
      },
      served: (leg) => {
        metrics?.served(leg);
        if (leg.request.details !== undefined) spans?.add(clientSpan(leg, leg.request.details, scope));
      },
    };
  }

  #watchSessions(events: Events): void {
    const metrics = this.#metrics;
    if (metrics === undefined) return;
    const { clock } = this.#options;
    const clients = new Map<ObservedClient, number>();
    const instances = new Map<ObservedInstance, number>();
    events.clientReady.on((client) => {
      if (client.view !== undefined) clients.set(client, clock.now());
    });
    events.clientLeft.on((client) => {
      const since = clients.get(client);
      if (clients.delete(client) && since !== undefined) metrics.clientLeft(client, clock.now() - since);
    });
    events.instanceReady.on((instance) => instances.set(instance, clock.now()));
    const ended = (instance: ObservedInstance, errorType: string | undefined): void => {
      const since = instances.get(instance);
      if (instances.delete(instance) && since !== undefined)
        metrics.instanceEnded(instance, clock.now() - since, errorType);
    };
    events.instanceStopped.on((instance) => ended(instance, undefined));
    events.instanceDied.on((instance, error) => ended(instance, error.code));
    this.#endSessions = () => {
      for (const instance of [...instances.keys()]) ended(instance, undefined);
    };
  }

  async #sendMetrics(): Promise<void> {
    if (this.#sendingMetrics !== undefined) return; // no second report while one is late
    const { version, clock } = this.#options;
    const batch = this.#metrics?.collect(this.#resource, version, this.#momentAt(clock.now()));
    if (batch === undefined || this.#metricExporter === undefined) return;
    this.#sendingMetrics = this.#metricExporter.send(batch).then((failure) => {
      this.#sendingMetrics = undefined;
      this.#note('metrics', failure);
    });
    await this.#sendingMetrics;
  }

  /** Logs failures, at most once a minute, and recovery. */
  #note(what: Signal, failure: string | undefined, lost?: number): void {
    const { logger, clock } = this.#options;
    const loggedMs = this.#logged.get(what);
    if (failure === undefined) {
      this.#failures.delete(what);
      if (this.#logged.delete(what)) logger.info(`the collector takes ${what} again`);
      return;
    }
    this.#failures.set(what, failure);
    if (loggedMs !== undefined && clock.now() - loggedMs < LOGGED_EVERY_MS) return;
    this.#logged.set(what, clock.now());
    logger.warn(`the collector does not take ${what}`, { reason: failure, ...(lost === undefined ? {} : { lost }) });
  }

  /** The time of day at a time of the steady clock. */
  #momentAt(ms: number): HrMoment {
    const { clock, date } = this.#options;
    const offsetMs = date() - clock.now();
    if (Math.abs(offsetMs - this.#dateOffsetMs) > SAME_CLOCK_MS) this.#dateOffsetMs = offsetMs;
    return momentOf(ms + this.#dateOffsetMs);
  }

  /** Sends everything, and waits at most this long. */
  async close(mostMs: number): Promise<void> {
    this.#timer?.cancel();
    this.#endSessions();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, mostMs); // it keeps the process alive, because the exporters may not
    });
    const rest = this.#sendingMetrics ?? Promise.resolve();
    await Promise.race([Promise.all([this.#spans?.flush(), rest.then(() => this.#sendMetrics())]), late]);
    clearTimeout(timer);
  }
}
