// `telemetry` of the config: where traces and metrics go, and what a fault comes to.

import { expect, test } from 'vitest';
import { validate } from '../../../src/config/schema.ts';
import { NO_TELEMETRY } from '../../../src/model/telemetry-settings.ts';

const read = (telemetry: unknown) => {
  const { config, faults } = validate({ telemetry }, String);
  return { telemetry: config.telemetry, faults };
};

test('nothing is sent anywhere without it', () => {
  expect(validate({}, String).config.telemetry).toEqual(NO_TELEMETRY);
  expect(read({})).toEqual({ telemetry: NO_TELEMETRY, faults: [] });
  expect(NO_TELEMETRY).toMatchObject({ showsArguments: false, showsResults: false, otlp: { endpoint: undefined } });
});

test('it names the destination, the signals and the amount', () => {
  const { telemetry, faults } = read({
    otlp: { endpoint: 'https://host/base', protocol: 'http/json', timeoutMs: 5, headers: { a: 'b' } },
    sampling: 0.01,
    metrics: false,
    arguments: true,
    serviceName: 'desk',
    resource: { team: 'a' },
  });
  expect(faults).toEqual([]);
  expect(telemetry).toEqual({
    otlp: { endpoint: 'https://host/base', protocol: 'http/json', timeoutMs: 5, headers: { a: 'b' } },
    sampling: 0.01,
    sendsTraces: true,
    sendsMetrics: false,
    showsArguments: true,
    showsResults: false,
    serviceName: 'desk',
    resource: { team: 'a' },
  });
});

test.each([
  [{ endpoint: 'localhost:4318' }, 'telemetry.otlp.endpoint must be a URL'],
  [{ endpoint: 'file:///x' }, 'telemetry.otlp.endpoint must be a URL'],
  [{ endpoint: 'http://host', protocol: 'grpc' }, 'telemetry.otlp.protocol is one of'],
  [{ endpoint: 'http://host', headers: { a: 1 } }, 'telemetry.otlp.headers.a must be a string'],
  [7, 'telemetry.otlp must be an object'],
])('with a fault in %j nothing is sent to a wrong place', (otlp, fault) => {
  const { telemetry, faults } = read({ otlp });
  expect(telemetry.otlp).toEqual(NO_TELEMETRY.otlp);
  expect(faults).toEqual([expect.stringContaining(fault)]);
});

test.each([-0.1, 1.1, '1', null])('a share of %j is none: no trace is sent', (sampling) => {
  const { telemetry, faults } = read({ sampling });
  expect([telemetry.sampling, faults]).toEqual([0, [expect.stringContaining('telemetry.sampling must be')]]);
});
