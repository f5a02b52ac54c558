// Compared with a scan of the whole frame: what the ends of a frame say is what the scan says, or nothing.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { Envelope, Field } from '../../../src/wire/envelope.ts';
import { FrameHead, idOf } from '../../../src/wire/frame-head.ts';

const head = new FrameHead();
const envelope = new Envelope(ERA_2025.keys);

const payload = fc.oneof(
  fc.json(),
  fc.constantFrom(
    '{"a":",\\"id\\":7}"}',
    '{"text":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}"}',
    '{"nested":{"id":9,"jsonrpc":"2.0"}}',
    '[{"id":3}]',
    '"\\\\"',
    `{"long":"${'x'.repeat(5000)}"}`,
  ),
);
const idText = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom('"a"', '""', '-1', '1.5', '1e3', '007', 'null', '"\\u0061"', '"é"', '"a,\\"id\\":2"', '{}'),
  fc.string({ maxLength: 80 }).map((text) => JSON.stringify(text)),
);
const member = fc.oneof(
  { weight: 4, arbitrary: fc.constant('"jsonrpc":"2.0"') },
  { weight: 4, arbitrary: idText.map((id) => `"id":${id}`) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('tools/call', 'initialize', 'initialized', 'resources/subscribe', 'logging/setLevel', 'a\\u0062')
      .map((name) => `"method":"${name}"`),
  },
  { weight: 3, arbitrary: payload.map((json) => `"params":${json}`) },
  { weight: 2, arbitrary: payload.map((json) => `"result":${json}`) },
  { weight: 2, arbitrary: payload.map((json) => `"error":${json}`) },
  { weight: 1, arbitrary: fc.constantFrom('"other":1', '"ID":4', '"\\u0069d":5', '"id" : 6', '"jsonrpc":"1.0"') },
);
const frame = fc
  .tuple(fc.uniqueArray(member, { maxLength: 6 }), fc.constantFrom(',', ', '), fc.constantFrom('', ' ', '}', ',"id":8'))
  .map(([members, comma, junk]) => `{${members.join(comma)}${junk}}`);

/** What a scan of the whole frame says: undefined for one that is refused. One that is both may be taken for either. */
function scanned(text: string): { kind: string; id: unknown; isError: boolean } | undefined {
  const b = Buffer.from(`${text}\n`);
  if (!envelope.scan(b, 0, b.length - 1, 100)) return undefined;
  const isBoth = envelope.has(Field.result) && envelope.has(Field.error);
  return {
    kind: envelope.kind,
    id: envelope.id(b, Field.id),
    isError: isBoth ? head.isError : envelope.has(Field.error),
  };
}

function pieces(text: string, cuts: readonly number[]): Buffer[] {
  const b = Buffer.from(`${text}\n`);
  const places = [0, ...cuts.map((cut) => cut % b.length), b.length].sort((one, other) => one - other);
  return places.slice(1).flatMap((to, i) => (to > (places[i] ?? 0) ? [b.subarray(places[i], to)] : []));
}

describe('the ends of a frame', () => {
  test('of a message that is taken say what the whole of it says, or nothing', () => {
    fc.assert(
      fc.property(frame, fc.array(fc.nat(), { maxLength: 3 }), (text, cuts) => {
        const whole = scanned(text);
        if (whole === undefined) return; // whoever acts on such a frame scans it first
        const line = `${text}\n`;
        const latin1 = Buffer.from(line).toString('latin1');
        const cut = pieces(text, cuts);
        for (const isRequest of [() => head.isRequestLine(latin1, 0), () => head.isRequest(cut)])
          if (isRequest()) expect([whole.kind, whole.id]).toEqual(['request', idOf(head.idText)]);
        for (const isAnswer of [() => head.isAnswerLine(latin1, 0), () => head.isAnswer(cut)])
          if (isAnswer())
            expect(scanned(text)).toEqual({ kind: 'response', id: idOf(head.idText), isError: head.isError });
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}',
    '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x"}}',
    '{"jsonrpc":"2.0","method":"tools/call","params":{},"id":7}',
    '{"method":"tools/call","params":{"name":"x"},"jsonrpc":"2.0","id":7}',
    '{"id":7,"jsonrpc":"2.0","method":"tools/call","params":{}}',
  ])('know the request of each SDK: %s', (text) => {
    expect([head.isRequestLine(`${text}\n`, 0), head.idText, head.next]).toEqual([true, '7', text.length + 1]);
    expect([head.isRequest([Buffer.from(`${text}\n`)]), head.idText]).toEqual([true, '7']);
  });

  test.each([
    ['{"jsonrpc":"2.0","id":"a","result":{"content":[]}}', false],
    ['{"result":{"content":[]},"jsonrpc":"2.0","id":"a"}', false],
    ['{"result":{"content":[]},"id":"a","jsonrpc":"2.0"}', false],
    ['{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}', true],
    ['{"error":{"code":1,"message":""},"jsonrpc":"2.0","id":"a"}', true],
  ])('know the answer of each SDK: %s', (text, isError) => {
    expect([head.isAnswerLine(`${text}\n`, 0), head.idText, head.isError]).toEqual([true, '"a"', isError]);
    expect([head.isAnswer([Buffer.from(`${text}\n`)]), head.idText, head.isError]).toEqual([true, '"a"', isError]);
  });

  test.each(['initialize', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel'])(
    'leave %s, which sets something, to a scan',
    (method) => {
      const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{}}\n`;
      expect([head.isRequestLine(text, 0), head.isRequest([Buffer.from(text)])]).toEqual([false, false]);
    },
  );
});
