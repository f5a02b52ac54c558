// The context of a trace in its spelling.

import { expect, test } from 'vitest';
import { RandomIds, traceParentIn, traceparentMember } from '../../../src/telemetry/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test.each([
  [`00-${TRACE}-${SPAN}-01`, true],
  [`00-${TRACE}-${SPAN}-00`, false],
  [`00-${TRACE}-${SPAN}-03`, true],
  [`01-${TRACE}-${SPAN}-01-more`, true],
])('%s is read', (text, isSampled) => {
  expect(traceParentIn(text)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
});

test.each([
  '',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01 `,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `01-${TRACE}-${SPAN}-01-${'x'.repeat(1000)}`,
])('%j is none', (text) => {
  expect(traceParentIn(text)).toBeUndefined();
});

test('ids are random, of the right length, and never zero', () => {
  const ids = new RandomIds();
  const made = new Set(Array.from({ length: 2000 }, () => ids.traceId()));
  expect(made.size).toBe(2000);
  for (const id of made) expect(id).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  expect(ids.spanId()).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
});

test('what is written is what is read', () => {
  const { traceparent } = JSON.parse(`{${traceparentMember(TRACE, SPAN, true)}}`) as { traceparent: string };
  expect(traceParentIn(traceparent)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
});
