// What is added to a client's `initialize`, and taken from the answer to it: nothing else of their bytes is different.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Introduction, introductionLine, withoutResumption } from '../../../src/client/introduction.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { Envelope, Field } from '../../../src/wire/envelope.ts';

const META = { 'mcp-bridge/cwd': '/ä', 'mcp-bridge/view': 'all' };

function lineOf(text: string): string | undefined {
  const b = Buffer.from(`before\n${text}\nbehind`);
  const read = new Envelope(ERA_2025.keys);
  const frame = { start: 7, end: 7 + Buffer.byteLength(text) };
  expect(read.scan(b, frame.start, frame.end, 100)).toBe(true);
  return introductionLine(b, frame, { read, meta: META })?.toString();
}

const hello = (params: string, id = '1'): string =>
  `{"id":${id}, "params":${params},"method":"initialize","jsonrpc":"2.0"}`;

describe('a client’s initialize', () => {
  test.each([
    ['{ "x":1.0 }', '{ "x":1.0 ,"_meta":{"mcp-bridge/cwd":"/ä","mcp-bridge/view":"all","mcp-bridge/resume":true}}'],
    ['{}', '{"_meta":{"mcp-bridge/cwd":"/ä","mcp-bridge/view":"all","mcp-bridge/resume":true}}'],
    [
      '{"_meta":null,"x":"é"}',
      '{"_meta":{"mcp-bridge/cwd":"/ä","mcp-bridge/view":"all","mcp-bridge/resume":true},"x":"é"}',
    ],
    [
      '{"_meta":{},"x":1e2}',
      '{"_meta":{"mcp-bridge/cwd":"/ä","mcp-bridge/view":"all","mcp-bridge/resume":true},"x":1e2}',
    ],
    [
      '{"_meta":{ "mcp-bridge\\u002fview":"discover", "y":1.50}}',
      '{"_meta":{ "mcp-bridge\\u002fview":"discover", "y":1.50,"mcp-bridge/cwd":"/ä","mcp-bridge/resume":true}}',
    ],
    [
      '{"_meta":{"mcp-bridge/resume":false,"mcp-bridge/cwd":1,"mcp-bridge/view":2}}',
      '{"_meta":{"mcp-bridge/resume":false,"mcp-bridge/cwd":1,"mcp-bridge/view":2,"mcp-bridge/resume":true}}',
    ],
  ])('%s', (params, made) => {
    expect(lineOf(hello(params, '"\\u0061"'))).toBe(`${hello(made, '"\\u0061"')}\n`);
  });

  test.each([
    ['without params', '{"jsonrpc":"2.0","id":1,"method":"initialize"}'],
    ['with a list as params', hello('[]')],
    ['with two _meta', hello('{"_meta":{},"_meta":{}}')],
    ['with an id that is none', hello('{}', '1.5')],
  ])('%s is left to the daemon', (_, text) => {
    expect(lineOf(text)).toBeUndefined();
  });

  test('is equal to one that was decoded and encoded again', () => {
    const meta = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('mcp-bridge/cwd', 'mcp-bridge/view', 'mcp-bridge/resume')),
      fc.jsonValue(),
    );
    const params = fc.record(
      { other: fc.jsonValue(), _meta: fc.oneof(meta, fc.constantFrom(null, 7, 'x')) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(params, fc.nat(3), (said, indent) => {
        const text = JSON.stringify(said, null, indent).replaceAll('\n', ' ');
        const theirs = typeof said._meta === 'object' ? said._meta : {};
        const made = JSON.parse(lineOf(hello(text)) ?? 'null') as unknown;
        const _meta = { ...META, ...theirs, 'mcp-bridge/resume': true };
        expect(made).toEqual(JSON.parse(hello(JSON.stringify({ ...said, _meta }))));
      }),
    );
  });

  test('is repeated under another id, with the session to resume', () => {
    const again = new Introduction(Buffer.from(hello('{"x":1,"_meta":{"y":2,"mcp-bridge/resume":true}}'))).again(
      'own',
      'me',
      { token: 't', received: 5 },
    );
    expect(JSON.parse(again.toString())).toEqual({
      id: 'own',
      jsonrpc: '2.0',
      method: 'initialize',
      params: {
        x: 1,
        _meta: { y: 2, 'mcp-bridge/clientId': 'me', 'mcp-bridge/resume': { token: 't', received: 5 } },
      },
    });
  });
});

test('only the members between the bridge and this side are cut from the answer', () => {
  const ours = '"mcp-bridge/resumeToken":"t","mcp-bridge/resumed":false';
  const answer = (meta: string): string => `{"id":1.0,"jsonrpc":"2.0","result":{"_meta":{${meta}}, "é":1.0}}`;
  const text = answer(`"a" : 1.0, "\\u0062":"\\u0062é",${ours},"mcp-bridge/clientId":"me"`);
  const b = Buffer.from(`${text}\n`);
  const read = new Envelope(ERA_2025.keys);
  read.scan(b, 0, b.length - 1, 100);
  const from = b.indexOf('{"a"');
  const meta = { from, to: b.indexOf('}', from) + 1 };
  expect(read.has(Field.result)).toBe(true);
  const shown = withoutResumption(b, { start: 0, end: b.length - 1 }, meta).toString();
  expect(shown).toBe(`${answer('"a":1.0,"b":"\\u0062é","mcp-bridge/clientId":"me"')}\n`);
});
