// What a call of `execute_tool` asks for: remembering the beginning of the last one changes nothing.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExecutionReader } from '../../../src/meta-tools/execution.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { Envelope } from '../../../src/wire/envelope.ts';

const SPACES = ['', ' ', '\t'];
const INNER = ['{}', '{"a":1}', '{ "deep": [{"tool":"x"}, "}}"], "b":"\\u007d" }', '[]', '7', '{"a":{}}'];
const OUTER = ['', ',"other":1', ',"arguments":{"b":2}', ',"tool":"else"', ',"server":"t"'];
const BEHIND = [
  '',
  ',"_meta":{"progressToken":1}',
  ',"arguments":{}',
  ',"arguments":{"server":"z","tool":"y","arguments":{}}',
];

const request = fc
  .record({
    tool: fc.constantFrom('"one"', '"tw\\u006f"', '"ü"', '7'),
    before: fc.constantFrom('', '"_meta":{"progressToken":"p"},'),
    space: fc.constantFrom(...SPACES),
    inner: fc.constantFrom(...INNER),
    outer: fc.constantFrom('', '', '', ...OUTER),
    behind: fc.constantFrom('', '', '', ...BEHIND),
  })
  .map(({ tool, before, space, inner, outer, behind }) => {
    const args = `{"server":"s","tool":${tool},"arguments":${inner}${space}${outer}}`;
    const params = `{${before}"name":"execute_tool","arguments":${args}${space}${behind}}`;
    return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  });

test('a call is read as if it were the first, whatever was read before', () => {
  fc.assert(
    fc.property(fc.array(request, { minLength: 2, maxLength: 6 }), (requests) => {
      const reader = new ExecutionReader();
      for (const text of requests) {
        const b = Buffer.from(`padding${text}\n`);
        const frame = { b, start: 7, end: b.length - 1 };
        const read = new Envelope(ERA_2025.keys);
        read.scan(b, frame.start, frame.end, 128);
        expect(reader.read(frame, read)).toEqual(new ExecutionReader().read(frame, read));
      }
    }),
    { numRuns: 3000 },
  );
});
