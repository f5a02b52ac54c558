import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { Envelope, Field } from '../../../src/wire/envelope.ts';
import { FlushTurn, Outbox } from '../../../src/wire/outbox.ts';
import { Splice } from '../../../src/wire/splice.ts';
import { frameAt, jsonText, place, stringText } from '../../support/json-text.ts';
import { ManualTurn, RecordingSink } from '../../support/recording-sink.ts';

const splice = new Splice();

function sent(fill: (splice: Splice) => Splice, b: Buffer, start: number, end: number): Buffer {
  const turn = new ManualTurn();
  const sink = new RecordingSink();
  fill(splice.clear()).send(new Outbox(sink, new FlushTurn(turn.defer)), b, start, end);
  turn.end();
  return sink.bytes;
}

const envelope = new Envelope(ERA_2025.keys);

describe('a splice', () => {
  const frame = fc
    .record({
      id: fc.oneof(fc.integer().map(String), stringText),
      token: jsonText,
      name: stringText,
      extra: jsonText,
      padding: fc.constantFrom('', 'é'.repeat(6000)),
    })
    .chain(({ id, token, name, extra, padding }) => {
      const params = [
        `"name": ${name}`,
        `"_meta":{"x":${extra},"progressToken" :${token} }`,
        `"arguments":{"id":1,"text":"${padding}"}`,
      ];
      const shuffled = fc.shuffledSubarray(params, { minLength: 3 }).map((list) => `{${list.join(',')}}`);
      return shuffled.chain((text) =>
        fc.shuffledSubarray(
          ['"jsonrpc":"2.0"', `"id":${id} `, '"method":"tools/call"', `"params":${text}`, `"zz": ${extra}`],
          { minLength: 5 },
        ),
      );
    })
    .map((members) => `{${members.join(', ')}}`);

  test('gives the same value as parse, change, stringify', () => {
    fc.assert(
      fc.property(frame, place, fc.nat(), (text, where, id) => {
        const { b, start, end } = frameAt(text, where);
        expect(envelope.scan(b, start, end, 128)).toBe(true);
        const changes: [Field, string][] = [
          [Field.metaProgressToken, String(id)],
          [Field.id, `"${id}"`],
          [Field.name, '"weather__forecast"'],
        ];
        const bytes = sent(
          (cuts) =>
            changes.reduce((all, [field, value]) => all.replace(envelope.from(field), envelope.to(field), value), cuts),
          b,
          start,
          end,
        );
        const expected = JSON.parse(text);
        expected.id = String(id);
        expected.params.name = 'weather__forecast';
        expected.params._meta.progressToken = id;
        expect(JSON.parse(bytes.toString())).toEqual(expected);
      }),
      { numRuns: 600 },
    );
  });

  test('leaves every byte outside of its cuts as it was, for cuts in any order', () => {
    const cuts = fc.tuple(
      fc.uint8Array({ maxLength: 40 }),
      fc.array(
        fc.tuple(fc.uint8Array({ maxLength: 9 }), fc.stringMatching(/^[ -~]{0,8}$/), fc.uint8Array({ maxLength: 30 })),
        { maxLength: 40 },
      ),
      fc.func(fc.nat()),
    );
    fc.assert(
      fc.property(cuts, place, ([head, parts, order], where) => {
        const bytes = Buffer.concat([head, ...parts.flatMap(([cut, , kept]) => [cut, kept])]);
        const { b, start, end } = frameAt(bytes, where);
        let at = start + head.length;
        const ranges = parts.map(([cut, text, kept]) => {
          const range = { from: at, to: at + cut.length, text };
          at += cut.length + kept.length;
          return range;
        });
        // Cuts that begin at one place would be in doubt about their order.
        fc.pre(new Set(ranges.map(({ from }) => from)).size === ranges.length);
        const shuffled = [...ranges].sort((one, other) => order(one.from) - order(other.from));
        const found = sent(
          (all) => shuffled.reduce((so, { from, to, text }) => so.replace(from, to, text), all),
          b,
          start,
          end,
        );
        const expected = Buffer.concat([
          head,
          ...parts.flatMap(([, text, kept]) => [Buffer.from(text), kept]),
          Buffer.from('\n'),
        ]);
        expect(found.equals(expected)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test('without a cut passes the frame on as it is', () => {
    const { b, start, end } = frameAt('{"a" : 1.0 }', {
      before: Buffer.from('xx'),
      ending: '\r\n',
      after: Buffer.from('yy'),
    });
    expect(sent((cuts) => cuts, b, start, end).toString()).toBe('{"a" : 1.0 }\n');
  });

  test('adds a text before a cut that begins at the same place, in whatever order they come', () => {
    const { b, start, end } = frameAt('abcdef');
    for (const fill of [
      (cuts: Splice) => cuts.replace(2, 4, '').replace(2, 2, '+'),
      (cuts: Splice) => cuts.replace(2, 2, '+').replace(2, 4, ''),
    ]) {
      expect(sent(fill, b, start, end).toString()).toBe('ab+ef\n');
      expect(fill(splice.clear()).bytes(b, start, end).toString()).toBe('ab+ef\n');
    }
  });

  test('is a fault if its cuts overlap, and writes nothing endless', () => {
    const { b, start, end } = frameAt('abcdef');
    expect(() => sent((cuts) => cuts.replace(1, 5, '').replace(2, 3, 'x'), b, start, end)).toThrow('overlap');
  });

  test('keeps nothing of the one before', () => {
    const { b, start, end } = frameAt('abcdef');
    expect(sent((cuts) => cuts.replace(0, 2, 'X').replace(4, 6, 'Y'), b, start, end).toString()).toBe('XcdY\n');
    expect(sent((cuts) => cuts, b, start, end).toString()).toBe('abcdef\n');
  });

  test('has room for as many cuts as a list has items, and for few again afterwards', () => {
    const items = 20_000;
    const { b, start, end } = frameAt('ab'.repeat(items));
    const many = (cuts: Splice): Splice => {
      for (let i = 0; i < items; i++) cuts.replace(2 * i, 2 * i + 1, '-');
      return cuts;
    };
    expect(sent(many, b, start, end).toString()).toBe(`${'-b'.repeat(items)}\n`);
    expect(sent((cuts) => cuts.replace(1, 2, 'X'), b, start, 4).toString()).toBe('aXab\n');
  });

  test('writes the characters of its texts as one byte each, so that ids of any spelling come back', () => {
    const id = Buffer.from('"é😀"');
    const { b, start, end } = frameAt('{"id":1}');
    expect(sent((cuts) => cuts.replace(6, 7, id.toString('latin1')), b, start, end).toString()).toBe('{"id":"é😀"}\n');
  });
});
