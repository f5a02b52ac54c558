// What the config says of traces and metrics. Nothing is loaded for them unless an address is known: here, or in the variables
// that programs with OpenTelemetry have in common.

import { defaultsOf, OTLP, type SettingsOf, TELEMETRY } from './settings.ts';

type Values = SettingsOf<typeof TELEMETRY>;

export interface TelemetrySettings {
  readonly sendsTraces: boolean;
  readonly sendsMetrics: boolean;
  /** True if spans have the arguments of tools, or their results. */
  readonly showsArguments: boolean;
  readonly showsResults: boolean;
  readonly serviceName: string | undefined;
  /** The share of traces that are sent, from 0 to 1, of those that no client has decided about. */
  readonly sampling: number;
  /** More attributes of the resource. */
  readonly resource: Readonly<Record<string, string>>;
  readonly otlp: OtlpSettings;
}

export interface OtlpSettings extends SettingsOf<typeof OTLP> {
  /** The URL of a collector; undefined if the config names none. */
  readonly endpoint: string | undefined;
  /** They may hold secrets. */
  readonly headers: Readonly<Record<string, string>>;
}

export function telemetrySettings(
  { traces, metrics, arguments: showsArguments, results, serviceName }: Values,
  others: Pick<TelemetrySettings, 'sampling' | 'resource' | 'otlp'>,
): TelemetrySettings {
  return {
    sendsTraces: traces,
    sendsMetrics: metrics,
    showsArguments,
    showsResults: results,
    serviceName,
    ...others,
  };
}

export const NO_TELEMETRY: TelemetrySettings = telemetrySettings(defaultsOf(TELEMETRY), {
  sampling: 1,
  resource: {},
  otlp: { ...defaultsOf(OTLP), endpoint: undefined, headers: {} },
});

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** True if traces or metrics have somewhere to go, and nobody has switched them off. */
export function wantsTelemetry({ otlp }: TelemetrySettings, environment: Environment): boolean {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  return otlp.endpoint !== undefined || ENDPOINTS.some((name) => (environment[name]?.trim() ?? '') !== '');
}
