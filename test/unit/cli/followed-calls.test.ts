// The calls that `top` shows, from the events that tell of them.

import { expect, test } from 'vitest';
import { CallsOfDaemon } from '../../../src/cli/followed-calls.ts';
import { callList, shownTime } from '../../../src/cli/render/top-lists.ts';
import type { DaemonEvent, EventBatch } from '../../../src/client/control-client.ts';

const batch = (events: readonly object[], more: Partial<EventBatch> = {}): EventBatch => ({
  ...{ watch: 'w', at: 0, lost: 0, callsBegun: 0, callsLeftOut: 0 },
  events: events as readonly DaemonEvent[],
  ...more,
});
const named = (call: string) => ({ call, client: 'me', server: 'files', tool: 'read' });
const begun = (call: string, at = 1000): object => ({
  kind: 'call.begun',
  at,
  ...named(call),
  server: null,
  tool: null,
});
const ended = (call: string, outcome = 'ok'): object => ({
  ...{ kind: 'call.ended', at: 1500, ...named(call) },
  ...{ begunAt: 1000, outcome, totalMs: 500, waitedMs: 100, serverMs: 400 },
});
const states = ({ calls }: CallsOfDaemon): unknown => calls.map(({ call, state, server }) => [call, state, server]);

test('a call is where its events say, and then among those that have ended', () => {
  const calls = new CallsOfDaemon();
  calls.take(batch([begun('a'), { kind: 'call.waiting', at: 1, for: 'client', ...named('a') }]));
  expect(states(calls)).toEqual([['a', 'waits client', 'files']]);
  calls.take(batch([{ kind: 'call.sent', at: 2, ...named('a') }, begun('b')]));
  expect(states(calls)).toEqual([
    ['b', 'begun', null],
    ['a', 'at server', 'files'],
  ]);
  calls.take(batch([ended('a', 'timeout')]));
  expect(states(calls)).toEqual([
    ['b', 'begun', null],
    ['a', 'timeout', 'files'],
  ]);
  expect([calls.openCount, calls.endedCount]).toEqual([1, 1]);
});

test('the number of kept calls is limited, and hidden ones are counted', () => {
  const calls = new CallsOfDaemon();
  calls.take(batch(Array.from({ length: 3000 }, (_, i) => begun(`open ${i}`))));
  calls.take(
    batch(
      Array.from({ length: 3000 }, (_, i) => ended(`done ${i}`)),
      { callsLeftOut: 7 },
    ),
  );
  expect([calls.openCount, calls.endedCount, calls.leftOut]).toEqual([2000, 1000, 1007]);
  expect(calls.calls).toHaveLength(3000);
});

test('calls whose end may be lost are not shown as under way', () => {
  const calls = new CallsOfDaemon();
  calls.take(batch([begun('a')]));
  calls.take(batch([begun('b')], { lost: 3 }));
  expect(states(calls)).toEqual([['b', 'begun', null]]);
});

test('hostile names cannot move the cursor, and a call under way shows its age', () => {
  const calls = new CallsOfDaemon();
  calls.take(batch([{ ...begun('a'), client: 'a\u001b[2Jb\nc' }]));
  const [row = []] = callList(calls.calls, 3000).rows;
  expect(row.map(({ text }) => text).join(' ')).toMatch(/^[\x20-\x7e]+$/);
  expect(row[5]?.text).toBe('2.0 s');
});

test.each([
  [0.04, '0.0 ms'],
  [9.96, '10.0 ms'],
  [999, '999 ms'],
  [99_900, '99.9 s'],
  [600_000, '10 min'],
  [36_000_000, '10 h'],
])('%d ms is shown in at most seven characters', (ms, shown) => {
  expect(shownTime(ms)).toBe(shown);
  expect(shown.length).toBeLessThanOrEqual(7);
});
