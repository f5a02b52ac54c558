// The config's settings for traces and metrics. Telemetry is loaded only if an address is known, from here or from the
// common OpenTelemetry variables.

import { defaultsOf, OTLP, type SettingsOf, TELEMETRY } from './settings.ts';

type Values = SettingsOf<typeof TELEMETRY>;

export interface TelemetrySettings {
  readonly sendsTraces: boolean;
  readonly sendsMetrics: boolean;
  /** True if spans contain tools' arguments, or their results. */
  readonly showsArguments: boolean;
  readonly showsResults: boolean;
  readonly serviceName: string | undefined;
  /** The share of traces that are sent, from 0 to 1, among those that no client has decided. */
  readonly sampling: number;
  /** More attributes of the resource. */
  readonly resource: Readonly<Record<string, string>>;
  readonly otlp: OtlpSettings;
}

export interface OtlpSettings extends SettingsOf<typeof OTLP> {
  /** The URL of a collector; undefined if the config names none. */
  readonly endpoint: string | undefined;
  /** May contain secrets. */
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

/** True if traces or metrics have a destination and are not switched off. */
export function wantsTelemetry({ otlp }: TelemetrySettings, environment: Environment): boolean {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  return otlp.endpoint !== undefined || ENDPOINTS.some((name) => (environment[name]?.trim() ?? '') !== '');
}
