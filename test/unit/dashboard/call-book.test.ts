// The calls that a page knows of, by lists and events in any order.

import { expect, test } from 'vitest';
import { CallBook } from '../../../src/dashboard/call-book.ts';

const NAMED = { call: 'a', client: 'ann', server: 'files', tool: 'read' };
const begun = { ...NAMED, kind: 'call.begun', at: 1000, role: 'call' };
const ended = {
  ...NAMED,
  kind: 'call.ended',
  begunAt: 1000,
  at: 1250,
  outcome: 'ok',
  totalMs: 250,
  waitedMs: 50,
  serverMs: 180,
};

test('a call goes from waiting to running to ended', () => {
  const book = new CallBook();
  expect(book.take(begun)).toBe(true);
  expect(book.open).toEqual([expect.objectContaining({ call: 'a', state: 'waiting', at: 1000 })]);
  book.take({ ...NAMED, kind: 'call.waiting', at: 1001, for: 'turn' });
  expect(book.open[0]).toMatchObject({ state: 'waiting', waitsFor: 'turn' });
  book.take({ ...NAMED, kind: 'call.sent', at: 1050 });
  expect(book.open[0]).toMatchObject({ state: 'sent', waitsFor: null, waitedMs: 49 });
  book.take(ended);
  expect([book.open, book.ended]).toEqual([[], [expect.objectContaining({ state: 'ended', at: 1000, totalMs: 250 })]]);
});

test('late events of an ended call do not open it again', () => {
  const book = new CallBook();
  for (const event of [ended, begun, { ...NAMED, kind: 'call.sent', at: 1050 }]) book.take(event);
  book.takeList({ open: [{ ...NAMED, state: 'sent', at: 1000 }], recent: [] });
  expect([book.open.length, book.ended.length]).toEqual([0, 1]);
});

test('a call that a list no longer has ended unseen', () => {
  const book = new CallBook();
  book.take(begun);
  book.takeList({ open: [{ ...NAMED, call: 'b', state: 'sent', at: 900 }], recent: [] });
  expect(book.open.map(({ call }) => call)).toEqual(['b']);
});

test('the last thousand that have ended are kept, the newest first', () => {
  const book = new CallBook();
  const recent = Array.from({ length: 1000 }, (_, i) => ({ ...ended, call: `old ${999 - i}` }));
  book.takeList({ open: [], recent });
  book.take({ ...ended, call: 'new' });
  expect(book.ended.length).toBe(1000);
  expect([book.ended[0]?.call, book.ended[1]?.call, book.ended.at(-1)?.call]).toEqual(['new', 'old 999', 'old 1']);
});

test('events that are about something else, or about nothing, change nothing', () => {
  const book = new CallBook();
  for (const event of [null, 7, {}, { kind: 'client.ready' }, { kind: 'call.begun' }, { kind: 'call.ended', call: 3 }])
    book.take(event);
  expect([book.open, book.ended]).toEqual([[], []]);
});
