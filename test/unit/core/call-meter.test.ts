import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallMeter, CallMeters, LATENCY_BOUNDS_MS } from '../../../src/core/call-meter.ts';
import { Events } from '../../../src/core/events.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';

test('each answer is in the one bucket that its time belongs to, as a slow count says', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 600_000 })), (times) => {
      const clock = new FakeClock();
      const meter = new CallMeter(clock);
      for (const ms of times) {
        const sent = meter.now();
        clock.advance(ms);
        meter.answered(sent, ms % 2 === 0);
      }
      const { buckets, sumMs, maxMs, errors } = meter.report('a');
      const bounds = [...LATENCY_BOUNDS_MS, Number.POSITIVE_INFINITY];
      const expected = bounds.map((to, i) => times.filter((ms) => ms <= to && ms > (bounds[i - 1] ?? -1)).length);
      expect(buckets).toEqual(expected);
      expect(sumMs).toBeCloseTo(times.reduce((sum, ms) => sum + ms, 0));
      expect(maxMs).toBe(Math.max(0, ...times));
      expect(errors).toBe(times.filter((ms) => ms % 2 === 1).length);
    }),
  );
});

test('the clock of a daemon that has run for a year measures as well', () => {
  const clock = new FakeClock();
  clock.advance(365 * 86_400_000);
  const meter = new CallMeter(clock);
  for (let i = 0; i < 100; i++) {
    const sent = meter.now();
    clock.advance(3_600_000); // the moments wrap around on the way
    meter.answered(sent, true);
  }
  expect(meter.report('a')).toMatchObject({ sumMs: 360_000_000 });
  expect(meter.report('a').buckets.at(-1)).toBe(100);
});

test('namesakes are counted together, others are not', () => {
  const meters = new CallMeters(new FakeClock(), new Events(() => undefined));
  meters.of('a').unanswered();
  meters.of('a').unanswered();
  meters.of('b').answered(0, false);
  expect(meters.report()).toMatchObject([
    { server: 'a', unanswered: 2 },
    { server: 'b', unanswered: 0, errors: 1 },
  ]);
});

test('answers, refusals, calls given up and calls lost with the server are counted separately', async () => {
  const core = new CoreInMemory();
  const client = await core.ready();
  for (const id of [1, 2, 3, 4]) client.call(id);
  await core.settle();
  const server = core.server();
  core.clock.advance(7);
  server.answer(server.requests[0]);
  server.say({ jsonrpc: '2.0', id: server.requests[1]?.id, error: { code: -1, message: 'no' } });
  client.cancel(3);
  await core.settle();
  server.crash();
  await core.settle();
  const [report] = core.meters.report();
  expect(report).toMatchObject({ server: 'memory', sumMs: 14, errors: 1, unanswered: 2 });
  expect(report?.buckets[LATENCY_BOUNDS_MS.indexOf(10)]).toBe(2);
});
