// The addresses of collectors, as they are shown.

import { expect, test } from 'vitest';
import { NO_TELEMETRY } from '../../../src/model/telemetry-settings.ts';
import { shownDestination } from '../../../src/telemetry/destination.ts';
import { otelSettings } from '../../../src/telemetry/otel-settings.ts';

test.each([
  ['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/traces'],
  ['https://ann:CANARY@collector.example/v1/traces', 'https://collector.example/v1/traces'],
  ['https://collector.example/v1/traces?token=CANARY&a=b#CANARY', 'https://collector.example/v1/traces'],
  ['https://collector.example/a8f3c1d9e7b2c4d6/v1/traces', 'https://collector.example/***/v1/traces'],
  ['https://collector.example/key/short/v1/traces', 'https://collector.example/key/***/v1/traces'],
  ['https://collector.example/glpat-abcdefghij/v1/traces', 'https://collector.example/***/v1/traces'],
  ['https://collector.example/glpat-abcdefghij%20/v1', 'https://collector.example/***/v1'],
  ['not a URL', ''],
])('%s is shown as %s', (address, shown) => {
  expect(shownDestination(address)).toBe(shown);
});

const ENDPOINT = 'http://ann:CANARY@common:4318/base/?token=CANARY';

test.each([
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT },
    'http://common:4318/base/v1/traces',
    'http://common:4318/base/v1/metrics',
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://own:1/spans' },
    'http://own:1/spans',
    'http://common:4318/base/v1/metrics',
  ],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://own:1/' }, undefined, 'http://own:1/'],
])('the variables %j: where each signal goes', (environment, traces, metrics) => {
  expect(otelSettings(NO_TELEMETRY, environment, '1').destinations).toEqual({ traces, metrics });
});
