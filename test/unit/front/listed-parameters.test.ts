// Lists of tools that a call over HTTP is checked by: those that come late or never, and those that many wait for at once.

import { describe, expect, test } from 'vitest';
import { ListedParameters } from '../../../src/front/http/listed-parameters.ts';
import type { Carrier } from '../../../src/wire/link.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { asking2026 } from '../../support/http-client.ts';

const PAGE = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const MARKED = {
  name: 'marked',
  inputSchema: { type: 'object', properties: { place: { type: 'string', 'x-mcp-header': 'Place' } } },
};
const MISMATCH = /"code":-32020/;

/** A core that answers each request for a list with what `answer` makes of it, or not at all. */
function listing(answer: (request: { id: unknown; params: object }) => object | undefined) {
  const clock = new FakeClock();
  const asked: object[] = [];
  let closed = 0;
  const accept = (link: Carrier): void => {
    link.start({
      frame: (b, start, end) => {
        const request = JSON.parse(b.toString('utf8', start, end)) as { id: unknown; params: object };
        asked.push(request.params);
        const result = answer(request);
        if (result === undefined) return;
        link.outbox.utf8(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...result }));
        link.outbox.endFrame();
        link.outbox.flush();
      },
      closed: () => closed++,
      ended: () => undefined,
      drained: () => undefined,
      overflowed: () => undefined,
      badFrame: () => undefined,
    } as Parameters<Carrier['start']>[0]);
  };
  const parameters = new ListedParameters({ clock, turn: new FlushTurn(), maxMessageBytes: 1 << 20, accept });
  const refusalOf = (headers: Record<string, string> = {}, meta: object = {}) => {
    const { body } = asking2026('tools/call', { name: 'marked', arguments: { place: 'Rom' }, _meta: meta });
    const b = Buffer.from(`${JSON.stringify(body)}\n`);
    return parameters.refusalOf({ headers, b, end: b.length - 1 });
  };
  return { clock, asked, refusalOf, closed: () => closed };
}

test('a call is checked by all pages of the list, which calls at once wait for together', async () => {
  const { asked, refusalOf, closed } = listing(({ params }) => ({
    result: { ...PAGE, ...('cursor' in params ? { tools: [MARKED] } : { tools: [], nextCursor: 'more' }) },
  }));
  const [refused, fine] = await Promise.all([refusalOf(), refusalOf({ 'mcp-param-place': 'Rom' })]);
  expect(refused).toMatch(MISMATCH);
  expect(fine).toBeUndefined();
  expect(asked).toMatchObject([{}, { cursor: 'more' }]);
  await expect.poll(closed).toBe(1);
});

test('a list is asked for once, and again when a call does not fit it or it is old', async () => {
  const { clock, asked, refusalOf } = listing(() => ({ result: { ...PAGE, tools: [MARKED] } }));
  expect(await refusalOf({ 'mcp-param-place': 'Rom' })).toBeUndefined();
  expect(refusalOf({ 'mcp-param-place': 'Rom' })).toBeUndefined();
  expect(refusalOf()).toMatch(MISMATCH); // just listed
  clock.advance(2000);
  expect(await refusalOf()).toMatch(MISMATCH);
  expect(asked).toHaveLength(2);
  clock.advance(60_000);
  expect(await refusalOf({ 'mcp-param-place': 'Rom' })).toBeUndefined();
  expect(asked).toHaveLength(3);
});

test('requests that see other servers have lists of their own, which are asked for with what they say', async () => {
  const { asked, refusalOf } = listing(({ params }) => ({
    result: { ...PAGE, tools: JSON.stringify(params).includes('/marked') ? [MARKED] : [] },
  }));
  expect(await refusalOf({}, { 'mcp-bridge/cwd': '/plain' })).toBeUndefined();
  expect(await refusalOf({}, { 'mcp-bridge/cwd': '/marked' })).toMatch(MISMATCH);
  expect(refusalOf({}, { 'mcp-bridge/cwd': '/plain' })).toBeUndefined();
  expect(asked).toHaveLength(2);
});

describe('a call goes on unchecked', () => {
  test('after ten seconds if no list has come', async () => {
    const { clock, refusalOf, closed } = listing(() => undefined);
    const refused = refusalOf();
    clock.advance(10_000);
    expect(await refused).toBeUndefined();
    await expect.poll(closed).toBe(1);
    expect(refusalOf()).toBeUndefined(); // the next one does not wait
  });

  test('if the server has no tools to list', async () => {
    const { refusalOf } = listing(() => ({ error: { code: -32601, message: 'No tools' } }));
    expect(await refusalOf()).toBeUndefined();
  });
});
