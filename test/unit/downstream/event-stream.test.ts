import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventStream } from '../../../src/downstream/response-body.ts';
import { TooLong } from '../../../src/wire/growing-bytes.ts';

interface Read {
  readonly type: string;
  readonly id: string | undefined;
  readonly data: string | undefined;
}

/** The events in these chunks, and the pauses that are asked for. */
function read(chunks: Iterable<Uint8Array>, mostBytes = 1 << 20): { events: Read[]; retries: number[] } {
  const events: Read[] = [];
  const retries: number[] = [];
  const stream = new EventStream(mostBytes, {
    event: ({ type, id, data }) => {
      if (data !== undefined) expect(data.b[data.end]).toBe(0x0a);
      events.push({ type, id, data: data?.b.toString('utf8', data.start, data.end) });
    },
    retry: (ms) => retries.push(ms),
  });
  for (const chunk of chunks) stream.push(chunk);
  return { events, retries };
}

const readText = (text: string) => read([Buffer.from(text)]);

describe('an event stream', () => {
  test.each<[string, string, Read[]]>([
    ['an event', 'event: a\nid: 7\ndata: {"x":1}\n\n', [{ type: 'a', id: '7', data: '{"x":1}' }]],
    ['one without a name', 'data:x\n\n', [{ type: 'message', id: undefined, data: 'x' }]],
    ['lines of data', 'data: a\ndata: b\n\n', [{ type: 'message', id: undefined, data: 'a b' }]],
    ['an id alone', 'id: 1\ndata:\n\n', [{ type: 'message', id: '1', data: undefined }]],
    ['comments', ': hello\n\n:\ndata: x\n\n', [{ type: 'message', id: undefined, data: 'x' }]],
    ['unknown fields', 'nobody: x\nevents: a\ndata: x\n\n', [{ type: 'message', id: undefined, data: 'x' }]],
    ['a mark in front', '\ufeffdata: x\n\n', [{ type: 'message', id: undefined, data: 'x' }]],
    ['an event that is not ended', 'data: x\n', []],
    ['an id that no header can carry', 'id: ü\ndata: x\n\n', [{ type: 'message', id: undefined, data: 'x' }]],
  ])('with %s', (_, text, events) => {
    expect(readText(text).events).toEqual(events);
    expect(readText(text.replaceAll('\n', '\r')).events).toEqual(events);
    expect(readText(text.replaceAll('\n', '\r\n')).events).toEqual(events);
  });

  test('an id counts until there is another one', () => {
    expect(readText('id: 1\ndata: a\n\ndata: b\n\n').events.map(({ id }) => id)).toEqual(['1', '1']);
  });

  test('pauses are whole numbers', () => {
    expect(readText('retry: 10\nretry: 1.5\nretry: -1\nretry:0\n').retries).toEqual([10, 0]);
  });

  test('is read like the slow way does, in whatever chunks it comes', () => {
    const line = fc.oneof(
      fc.constantFrom(
        '',
        '',
        ':c',
        'data',
        'data:',
        'data: x',
        'data:  ü🙂',
        'event: e',
        'id: 1',
        'id:',
        'retry: 5',
        'x: y',
      ),
      fc.string().map((text) => `data: ${text.replace(/[\r\n\ufeff]/g, '')}`),
    );
    const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 40 });
    fc.assert(
      fc.property(stream, fc.array(fc.nat(30)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map(([text, end]) => text + end).join(''));
        expect(read(inPieces(bytes, cuts)).events).toEqual(slowly(bytes.toString()));
      }),
    );
  });

  test.each([
    ['data', 'data: '],
    ['a comment', ': '],
    ['a field that nobody knows', 'x'],
    ['a name', 'event: '],
  ])('a line that never ends is cut off at the limit: %s', (_, start) => {
    const endless = function* (): Iterable<Uint8Array> {
      yield Buffer.from(start);
      for (;;) yield Buffer.alloc(100, 'x');
    };
    expect(() => read(endless(), 10_000)).toThrow(TooLong);
  });

  test('so is an event of lines without an end, and so are bytes that come one at a time', () => {
    const lines = function* (): Iterable<Uint8Array> {
      for (;;) yield Buffer.from('data: x\n');
    };
    const bytes = function* (): Iterable<Uint8Array> {
      for (;;) yield Buffer.from('x');
    };
    expect(() => read(lines(), 10_000)).toThrow(TooLong);
    expect(() => read(bytes(), 10_000)).toThrow(TooLong);
  });

  test('an event of just the limit is read', () => {
    const { events } = read([Buffer.from(`data: ${'x'.repeat(100)}\n\n`)], 100);
    expect(events[0]?.data).toHaveLength(100);
  });
});

function* inPieces(bytes: Buffer, cuts: readonly number[]): Iterable<Buffer> {
  let at = 0;
  for (const length of cuts) {
    yield bytes.subarray(at, at + length);
    at += length;
  }
  yield bytes.subarray(at);
}

function slowly(text: string): Read[] {
  const events: Read[] = [];
  let [type, id, data] = ['', undefined as string | undefined, [] as string[]];
  let hasId = false;
  for (const line of text.split(/\r\n|\r|\n/).slice(0, -1)) {
    if (line === '') {
      const joined = data.join(' ');
      if (data.length > 0 || hasId)
        events.push({ type: type || 'message', id: id || undefined, data: joined === '' ? undefined : joined });
      [type, data, hasId] = ['', [], false];
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    if (name === 'event') type = value;
    if (name === 'id') [id, hasId] = [value, true];
  }
  return events;
}
