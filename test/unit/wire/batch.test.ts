// The cut is compared with JSON.parse of the whole and of each message, on random batches in random places.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Batch, batchOf, cutBatch, MOST_IN_BATCH, messageIn, messagesOf } from '../../../src/wire/batch.ts';
import type { Frame } from '../../../src/wire/frame-splitter.ts';
import { frameAt, jsonText, place } from '../../support/json-text.ts';

const space = fc.stringMatching(/^[ \t\r]{0,2}$/);
const batchText = fc
  .tuple(space, fc.array(fc.tuple(space, jsonText, space), { maxLength: 6 }), space)
  .map(([before, items, behind]) => `${before}[${items.map((item) => item.join('')).join(',')}]${behind}`);

const textOf = ({ b, start, end }: Frame): string => b.toString('utf8', start, end);
const textsOf = (b: Buffer, spans: Batch['messages']): string[] => spans.map((span) => textOf(messageIn(b, span)));
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const frameOf = (text: string): Frame => {
  const b = Buffer.from(`${text}\n`);
  return { b, start: 0, end: b.length - 1 };
};

describe('a batch', () => {
  test('is cut into what JSON.parse finds in it, in the bytes that stand there', () => {
    fc.assert(
      fc.property(batchText, place, (text, where) => {
        const { b, start } = frameAt(text, where);
        const { messages, others, isTooLong } = cutBatch(b, start);
        const values = JSON.parse(text) as unknown[];
        const [found, rest] = [textsOf(b, messages), textsOf(b, others)];
        expect(found.map((message) => JSON.parse(message) as unknown)).toEqual(values.filter(isObject));
        expect(rest.map((other) => JSON.parse(other) as unknown)).toEqual(values.filter((value) => !isObject(value)));
        for (const piece of [...found, ...rest]) expect(text).toContain(piece);
        expect(isTooLong).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test('leaves each message as it is spelled: numbers, keys, escapes and white space', () => {
    const messages = [
      '{"n":12345678901234567890,"inf":1e400,"one":1.0,"zero":-0}',
      '{"b":1,"2":2,"1":1,"b":3}',
      '{ "a" :\t[ 1 , {"\\u0061\\/":"\\ud800"}\r] }',
    ];
    const { b, start } = frameOf(`[${messages.join(' ,\t')}\r]`);
    expect(textsOf(b, cutBatch(b, start).messages)).toEqual(messages);
  });

  test('gives each message bytes of its own, with a newline behind them', () => {
    const { b, start } = frameOf(`[{"a":1},{"b":"${'x'.repeat(10_000)}"}]`);
    const [first] = cutBatch(b, start).messages.map((span) => messageIn(b, span));
    expect(first?.b).toEqual(Buffer.from('{"a":1}\n'));
    expect([first?.start, first?.end, first?.b.buffer.byteLength]).toEqual([0, 7, 8]);
  });

  test('has so many messages and no more, whatever they are', () => {
    const cut = (items: number): Batch => cutBatch(frameOf(`[${Array(items).fill('{}').join()}]`).b, 0);
    expect(cut(MOST_IN_BATCH)).toMatchObject({ isTooLong: false, messages: { length: MOST_IN_BATCH } });
    expect(cut(MOST_IN_BATCH + 1)).toMatchObject({ isTooLong: true, messages: { length: MOST_IN_BATCH } });
    const numbers = cutBatch(frameOf(`[0${',0'.repeat(MOST_IN_BATCH)}]`).b, 0);
    expect(numbers).toMatchObject({ isTooLong: true, messages: [], others: { length: MOST_IN_BATCH } });
  });

  test('is made of some items of another one', () => {
    const { b, start } = frameOf('[7, {"a":1} ,[[1.0]],"x"]');
    expect(textOf(batchOf(b, cutBatch(b, start).others))).toBe('[7,[[1.0]],"x"]');
  });
});

describe('the messages of a frame', () => {
  const texts = (text: string): string[] => [...messagesOf(frameOf(text))].map(textOf);

  test('are itself, or those of the batch that it is, if that is not too long', () => {
    expect(texts(' {"a":[1]}')).toEqual([' {"a":[1]}']);
    expect(texts(' [{"a":[1]},7,{"b":1.0}]')).toEqual(['{"a":[1]}', '{"b":1.0}']);
    expect(texts(`[{}${',{}'.repeat(MOST_IN_BATCH)}]`)).toEqual([]);
  });
});
