// What the config and the variables of OpenTelemetry come to.

import { describe, expect, test } from 'vitest';
import { NO_TELEMETRY, type TelemetrySettings, wantsTelemetry } from '../../../src/model/telemetry-settings.ts';
import { otelSettings } from '../../../src/telemetry/otel-settings.ts';

const CONFIG: TelemetrySettings = {
  ...NO_TELEMETRY,
  otlp: {
    endpoint: 'http://config:4318/base/',
    protocol: 'http/protobuf',
    timeoutMs: 5000,
    headers: { token: 'secret' },
  },
};
const OF_ENV = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://env:4318' };
const settingsOf = (environment: Record<string, string> = {}, config = CONFIG) =>
  otelSettings(config, environment, '1.2.3');

test.each([
  [{}, NO_TELEMETRY, false],
  [{}, CONFIG, true],
  [OF_ENV, NO_TELEMETRY, true],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://env' }, NO_TELEMETRY, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, NO_TELEMETRY, false],
  [{ ...OF_ENV, OTEL_SDK_DISABLED: 'TRUE' }, CONFIG, false],
  [{ ...OF_ENV, OTEL_SDK_DISABLED: 'no' }, CONFIG, true],
])('%j: wanted or not', (environment, config, isWanted) => {
  expect(wantsTelemetry(config, environment)).toBe(isWanted);
});

describe('the address', () => {
  test('of the config gets the paths, the headers and the time limit', () => {
    const { traces, metrics } = settingsOf();
    const common = { protocol: 'http/protobuf', headers: { token: 'secret' }, timeoutMs: 5000 };
    expect(traces).toEqual({ ...common, url: 'http://config:4318/base/v1/traces' });
    expect(metrics).toEqual({ ...common, url: 'http://config:4318/base/v1/metrics' });
  });

  test('of a variable is the exporter’s to read, and gets no header of the config', () => {
    expect(settingsOf(OF_ENV).traces).toEqual({
      protocol: 'http/protobuf',
      url: undefined,
      headers: undefined,
      timeoutMs: undefined,
    });
  });

  test('of one signal leaves the other without', () => {
    const { traces, metrics } = settingsOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://env' }, NO_TELEMETRY);
    expect([traces !== undefined, metrics]).toEqual([true, undefined]);
  });

  test.each([
    [{ OTEL_TRACES_EXPORTER: 'none' }, [false, true]],
    [{ OTEL_METRICS_EXPORTER: 'console' }, [true, false]],
    [{ OTEL_METRICS_EXPORTER: 'prometheus, otlp' }, [true, true]],
  ])('%j', (environment, sent) => {
    const { traces, metrics } = settingsOf(environment);
    expect([traces !== undefined, metrics !== undefined]).toEqual(sent);
  });

  test('a switch of the config keeps a signal in', () => {
    const { traces, metrics } = settingsOf({}, { ...CONFIG, sendsTraces: false });
    expect([traces, metrics !== undefined]).toEqual([undefined, true]);
  });
});

test.each([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, 'http/json'],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' }, 'http/protobuf'],
])('%j is %s', (environment, protocol) => {
  expect(settingsOf(environment).traces?.protocol).toBe(protocol);
});

test('a protocol that is not spoken sends nothing, and says so', () => {
  const { traces, faults } = settingsOf({ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' });
  expect([traces, faults]).toEqual([undefined, [expect.stringContaining('http/json')]]);
});

test.each([
  [{}, { 'service.name': 'mcp-bridge', 'service.version': '1.2.3' }],
  [{ OTEL_SERVICE_NAME: 'mine' }, { 'service.name': 'mine', 'service.version': '1.2.3' }],
  [
    { OTEL_RESOURCE_ATTRIBUTES: 'service.name=listed, team = a%20b%2Cc ,pct=100%' },
    { 'service.name': 'listed', 'service.version': '1.2.3', team: 'a b,c', pct: '100%' },
  ],
  [
    { OTEL_RESOURCE_ATTRIBUTES: 'service.name=listed', OTEL_SERVICE_NAME: 'mine' },
    { 'service.name': 'mine', 'service.version': '1.2.3' },
  ],
])('the resource with %j', (environment, resource) => {
  expect(settingsOf(environment).resource).toEqual(resource);
});

test('resource attributes that are no list are not used, and said', () => {
  const { resource, faults } = settingsOf({ OTEL_RESOURCE_ATTRIBUTES: 'a=1,nonsense' });
  expect([resource.a, faults]).toEqual([undefined, [expect.stringContaining('OTEL_RESOURCE_ATTRIBUTES')]]);
});

test('the config names the service and more attributes', () => {
  const config = { ...CONFIG, serviceName: 'configured', resource: { team: 'a' } };
  expect(settingsOf({}, config).resource).toMatchObject({ 'service.name': 'configured', team: 'a' });
});

test('numbers are read, bounded, and refused with a word', () => {
  const { queue, limits, intervalMs, faults, isDelta } = settingsOf({
    OTEL_BSP_MAX_QUEUE_SIZE: '99999999',
    OTEL_BSP_SCHEDULE_DELAY: '0',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '7',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '10',
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '3',
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'Delta',
  });
  expect(queue).toEqual({ maxQueued: 65_536, maxBatch: 7, delayMs: 5000 });
  expect(limits).toEqual({ attributes: 3, characters: 10, events: 32 });
  expect([intervalMs, isDelta]).toEqual([1000, true]);
  expect(faults).toEqual([expect.stringContaining('OTEL_BSP_SCHEDULE_DELAY')]);
});

test.each([
  [{}, true],
  [{ OTEL_PROPAGATORS: 'baggage' }, false],
  [{ OTEL_PROPAGATORS: 'none' }, false],
  [{ OTEL_PROPAGATORS: 'b3, tracecontext' }, true],
])('servers are told the context with %j: %s', (environment, propagates) => {
  expect(settingsOf(environment).propagates).toBe(propagates);
});

test.each(['127.0.0.1:4318', 'localhost:4318', 'garbage', 'ftp://collector', 'http:collector'])(
  'the address %j of a variable is none, and nothing is sent anywhere',
  (OTEL_EXPORTER_OTLP_ENDPOINT) => {
    const { traces, metrics, faults } = settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT });
    expect([traces, metrics]).toEqual([undefined, undefined]);
    expect(faults).toEqual([
      expect.stringContaining('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL'),
      expect.stringContaining('so no metrics are sent'),
    ]);
  },
);

test.each([
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1%' }, 'OTEL_TRACES_SAMPLER_ARG'],
  [{ OTEL_TRACES_EXPORTER: 'console' }, 'OTEL_TRACES_EXPORTER'],
  [{ OTEL_PROPAGATORS: 'b3' }, 'OTEL_PROPAGATORS'],
  [{ OTEL_EXPORTER_OTLP_COMPRESSION: 'zstd' }, 'OTEL_EXPORTER_OTLP_COMPRESSION'],
  [{ OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: 'x' }, 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'],
  [{ OTEL_EXPORTER_OTLP_CERTIFICATE: '/nope' }, 'OTEL_EXPORTER_OTLP_CERTIFICATE'],
])('%j is told as a fault, once', (environment, variable) => {
  expect(settingsOf(environment).faults).toEqual([expect.stringContaining(variable)]);
});

test('a share that is no number leaves that of the config', () => {
  const environment = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1%' };
  const { sampler } = settingsOf(environment, { ...CONFIG, sampling: 0 });
  expect(sampler.admits('f'.repeat(32), undefined)).toBe(false);
});

test('the sampler of a variable comes before the share of the config', () => {
  const config = { ...CONFIG, sampling: 0 };
  const admits = (environment: Record<string, string>): boolean =>
    settingsOf(environment, config).sampler.admits('f'.repeat(32), undefined);
  expect([admits({}), admits({ OTEL_TRACES_SAMPLER: 'always_on' })]).toEqual([false, true]);
  const { sampler, faults } = settingsOf({ OTEL_TRACES_SAMPLER: 'mine' }, config);
  expect([sampler.admits('f'.repeat(32), undefined), faults.length]).toEqual([false, 1]);
});
