// What a page leaves to itself for when it is loaded again.

import { expect, test } from 'vitest';
import { keptSeconds, keptText } from '../../../src/dashboard/kept-history.ts';

const DAEMON = { pid: 7, startedMs: 1_000_000 };
const second = (at: number, callsPerSecond = 1) => ({ at, callsPerSecond, errorsPerSecond: 0.5, inFlight: 2 });

test('a history comes back unchanged, except for what is older than the chart', () => {
  const text = keptText(DAEMON, [second(10), second(400, 2.7189), second(401)]);
  expect(keptSeconds(text, DAEMON, 300, 600)).toEqual([second(400, 2.719), second(401)]);
  expect(keptSeconds(text, DAEMON, 300, 400)).toEqual([second(400, 2.719)]);
});

test.each([
  ['another process', { ...DAEMON, pid: 8 }],
  ['a later daemon with the same process id', { ...DAEMON, startedMs: 1_060_000 }],
])('a history of %s is not taken', (_, owner) => {
  expect(keptSeconds(keptText(DAEMON, [second(400)]), owner, 300, 600)).toEqual([]);
});

test('the clock of the day may have been set a little', () => {
  const owner = { ...DAEMON, startedMs: DAEMON.startedMs + 1500 };
  expect(keptSeconds(keptText(DAEMON, [second(400)]), owner, 300, 600)).toHaveLength(1);
});

test.each([
  '',
  '{',
  'null',
  '[]',
  '{"pid":7,"startedMs":"x","rows":[]}',
  '{"pid":7,"startedMs":1000000,"rows":{}}',
  '{"pid":7,"startedMs":1000000,"rows":[null,[400],["400",1,1,1],[400,1,null,2]]}',
])('%s is no history', (text) => {
  expect(keptSeconds(text, DAEMON, 300, 600)).toEqual([]);
});

test('five minutes are a text of a few kilobytes', () => {
  const seconds = Array.from({ length: 300 }, (_, i) => second(1_795_126_053.123 + i, 49_999.123));
  expect(keptText(DAEMON, seconds).length).toBeLessThan(16_000);
});
