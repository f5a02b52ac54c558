// Which traces are sent.

import { expect, test } from 'vitest';
import { samplerOf, sharedSampler } from '../../../src/telemetry/sampler.ts';
import { RandomIds } from '../../../src/telemetry/trace-context.ts';

const sampled = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
const dropped = { ...sampled, isSampled: false };
const admits = (name: string, argument: string | undefined, parent?: typeof sampled): boolean | undefined =>
  samplerOf(name, argument)?.admits('0'.repeat(31).concat('1'), parent);

test.each([
  ['always_on', undefined, true, true, true],
  ['always_off', undefined, false, false, false],
  ['traceidratio', '0', false, false, false],
  ['traceidratio', '1', true, true, true],
  ['parentbased_always_on', undefined, true, true, false],
  ['parentbased_always_off', undefined, false, true, false],
  ['parentbased_traceidratio', '0', false, true, false],
  ['parentbased_traceidratio', 'nonsense', true, true, false],
])('%s with %s', (name, argument, alone, withSampled, withDropped) => {
  expect([admits(name, argument), admits(name, argument, sampled), admits(name, argument, dropped)]).toEqual([
    ...[alone, withSampled, withDropped],
  ]);
});

test.each([
  ['always_on', undefined, { share: 1, followsClients: false }],
  ['parentbased_always_off', undefined, { share: 0, followsClients: true }],
  ['traceidratio', '0.25', { share: 0.25, followsClients: false }],
  ['parentbased_traceidratio', '0.25', { share: 0.25, followsClients: true }],
])('%s with %s says how much it admits', (name, argument, sampling) => {
  expect(samplerOf(name, argument)?.sampling).toEqual(sampling);
});

test('a sampler that there is not is none', () => {
  expect(samplerOf('jaeger_remote', undefined)).toBeUndefined();
});

test('a ratio admits the ids with the largest random parts', () => {
  const half = samplerOf('traceidratio', '0.5');
  const id = (end: string): string => `${'0'.repeat(32 - end.length)}${end}`;
  expect(half?.admits(id('7fffffffffff'), undefined)).toBe(false);
  expect(half?.admits(id('800000000000'), undefined)).toBe(true);
  expect(samplerOf('traceidratio', '0.01')?.admits('f'.repeat(32), undefined)).toBe(true);
});

test('a share of all traces is admitted, by about its size', () => {
  const ids = new RandomIds();
  const sampler = sharedSampler(0.25);
  const admitted = Array.from({ length: 20_000 }, () => sampler.admits(ids.traceId(), undefined)).filter(Boolean);
  expect(admitted.length).toBeGreaterThan(4_500);
  expect(admitted.length).toBeLessThan(5_500);
});
