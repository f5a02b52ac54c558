// The reader of what a NATS server sends, compared with the package's own parser on random messages in random pieces.

import { readFileSync } from 'node:fs';
import { Kind, MsgImpl, Parser, type ParserEvent, ProtocolHandler, type Publisher } from '@nats-io/nats-core/internal';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BusMessage, ReceivedMessage } from '../../../src/federation/bus.ts';
import { published } from '../../../src/federation/nats-message.ts';
import { NatsReader, type NatsRoutes } from '../../../src/federation/nats-reader.ts';
import { runs } from '../../support/runs.ts';

const OURS = 7;
const NOBODY = { publish: () => undefined } as unknown as Publisher;

/** Messages as the package's parser has them. */
function parsed(bytes: Buffer) {
  const found: { sid: number; subject: string; reply: string | undefined; headers: object; text: string }[] = [];
  const push = ({ kind, msg, data }: ParserEvent): void => {
    if (kind !== Kind.MSG || msg === undefined || data === undefined) return;
    const message = new MsgImpl(msg, data, NOBODY);
    const headers = Object.fromEntries([...(message.headers ?? [])].map(([name, [one]]) => [name, one]));
    const reply = msg.reply === undefined ? undefined : message.reply;
    found.push({ sid: msg.sid, subject: message.subject, reply, headers, text: text(message.data) });
  };
  new Parser({ push: (event) => push(event as ParserEvent) }).parse(bytes);
  return found;
}

const text = (data: Uint8Array): string => Buffer.from(data).toString('latin1');
const plain = ({ subject, reply, headers, data }: ReceivedMessage) => ({ subject, reply, headers, text: text(data) });

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((to, i) => Buffer.from(bytes.subarray(places[i], to)));
}

const word = fc.string({ unit: fc.constantFrom('a', 'B', '7', '_', '-', '.'), minLength: 1, maxLength: 20 });
const value = fc.string({ unit: fc.constantFrom('a', 'Z', '0', ' ', ':', '=', 'é'), maxLength: 30 });
const anyMessage = fc.record({
  sid: fc.constantFrom(OURS, 8, 77),
  subject: word,
  reply: fc.option(word, { nil: undefined }),
  headers: fc.option(fc.dictionary(fc.constantFrom('Mcp-Seq', 'Mcp-Frame', 'X', 'x'), value), {
    nil: undefined,
  }),
  data: fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(0, 5000, 70_000).map((n) => Buffer.alloc(n, '\r\nHMSG ')),
  ),
});
type AnyMessage = typeof anyMessage extends fc.Arbitrary<infer T> ? T : never;

function bytesOf({ sid, subject, reply, headers, data }: AnyMessage): Buffer {
  const to = [subject, `${sid}`, ...(reply === undefined ? [] : [reply])].join(' ');
  if (headers === undefined)
    return Buffer.concat([Buffer.from(`MSG ${to} ${data.length}\r\n`), data, Buffer.from('\r\n')]);
  const lines = Object.entries(headers).map(([name, one]) => `${name}: ${one}\r\n`);
  const head = Buffer.from(`NATS/1.0\r\n${lines.join('')}\r\n`);
  const line = Buffer.from(`HMSG ${to} ${head.length} ${head.length + data.length}\r\n`);
  return Buffer.concat([line, head, data, Buffer.from('\r\n')]);
}

const otherLine = fc
  .constantFrom('PING\r\n', 'PONG\r\n', '+OK\r\n', 'INFO {"server_id":"x"}\r\n')
  .map((line) => Buffer.from(line));

function readerOf() {
  const came: ReceivedMessage[] = [];
  const rest: Buffer[] = [];
  const refused: string[] = [];
  const routes: NatsRoutes = new Map([[OURS, (message: ReceivedMessage) => void came.push(message)]]);
  const reader = new NatsReader({
    routes,
    pass: (bytes) => rest.push(bytes),
    refused: () => refused.push('a message'),
  });
  return { reader, came, refused, passed: () => Buffer.concat(rest), routes };
}

test('own messages are read as the package would, and all else passes through byte for byte, however it is cut', () => {
  const anyPart = fc.oneof({ weight: 4, arbitrary: anyMessage.map(bytesOf) }, otherLine);
  fc.assert(
    fc.property(fc.array(anyPart, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }), (parts, cuts) => {
      const { reader, came, passed } = readerOf();
      for (const piece of pieces(Buffer.concat(parts), cuts)) reader.push(piece);
      const all = parts.map((bytes) => ({ bytes, messages: parsed(bytes) }));
      const isOurs = ({ messages }: (typeof all)[number]): boolean => messages[0]?.sid === OURS;
      const ours = all.filter(isOurs).flatMap(({ messages }) => messages);
      expect(came.map((one) => ({ sid: OURS, ...plain(one) }))).toEqual(ours);
      expect(passed().equals(Buffer.concat(all.filter((one) => !isOurs(one)).map(({ bytes }) => bytes)))).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

test('what is published is what the other side reads', () => {
  const anyHeaders = fc.dictionary(
    fc.constantFrom('Mcp-Seq', 'Mcp-Name', 'X'),
    value.map((one) => one.trim()),
  );
  fc.assert(
    fc.property(
      word,
      fc.option(word, { nil: undefined }),
      anyHeaders,
      anyMessage,
      (subject, reply, headers, { data }) => {
        const message: BusMessage = { subject, reply, headers, data };
        const [, line = '', rest = Buffer.alloc(0)] = cutLine(Buffer.concat(published(message)));
        const words = line.split(' ');
        const sizes = words.splice(-2);
        const { reader, came } = readerOf();
        reader.push(Buffer.from(`HMSG ${[subject, OURS, ...words.slice(2), ...sizes].join(' ')}\r\n`));
        reader.push(rest);
        expect(words.slice(0, 2)).toEqual(['HPUB', subject]);
        expect(came.map(plain)).toEqual([{ subject, reply, headers, text: text(data) }]);
      },
    ),
    { numRuns: runs(300) },
  );
});

function cutLine(bytes: Buffer): [undefined, string, Buffer] {
  const at = bytes.indexOf('\r\n');
  return [undefined, bytes.toString('latin1', 0, at), bytes.subarray(at + 2)];
}

describe('the reader', () => {
  test('knows the word of the server that nobody listens', () => {
    const { reader, came } = readerOf();
    reader.push(Buffer.from(`HMSG a ${OURS} 16 16\r\nNATS/1.0 503\r\n\r\n\r\n`));
    expect(came).toMatchObject([{ subject: 'a', isUnheard: true }]);
  });

  test.each(['HMSG a\r\n', `HMSG a ${OURS} 9 4\r\n`, `MSG a ${OURS} x\r\n`, 'HELLO\r\n', 'MSG a b c d e\r\n'])(
    'leaves everything to the package from %j on',
    (line) => {
      const { reader, came, passed } = readerOf();
      const after = `MSG a ${OURS} 1\r\nx\r\n`;
      reader.push(Buffer.from(line));
      reader.push(Buffer.from(after));
      expect([came, passed().toString()]).toEqual([[], line + after]);
    },
  );

  test('keeps no line that does not end', () => {
    const { reader, passed } = readerOf();
    for (let i = 0; i < 20; i++) reader.push(Buffer.alloc(64 * 1024, 'I'));
    expect(passed().length).toBe(20 * 64 * 1024);
  });

  test.each([
    ['more headers than anybody needs', 'a:b\r\n'.repeat(65)],
    ['longer headers than anybody needs', `a:${'b'.repeat(32 * 1024)}\r\n`],
  ])('reads no message with %s', (_, lines) => {
    const { reader, came, refused } = readerOf();
    const head = `NATS/1.0\r\n${lines}\r\n`;
    reader.push(Buffer.from(`HMSG a ${OURS} ${head.length} ${head.length}\r\n${head}\r\nMSG a ${OURS} 1\r\nx\r\n`));
    expect([refused.length, came.map(plain)]).toEqual([
      1,
      [{ subject: 'a', reply: undefined, headers: {}, text: 'x' }],
    ]);
  });

  test('stops when others have waited long enough, and goes on where it stopped', () => {
    const { reader, came } = readerOf();
    const flood = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from(`MSG a ${OURS} 1\r\nx\r\n`)));
    let rest = reader.push(flood, () => true);
    expect(came.length).toBeGreaterThan(0);
    expect(came.length).toBeLessThan(50);
    while (rest !== undefined) rest = reader.push(rest, () => true);
    expect(came.length).toBe(1000);
  });

  test('hands on nothing once its subscription has ended, also if the message has begun to come', () => {
    const { reader, came, passed, routes } = readerOf();
    routes.delete(OURS);
    reader.push(Buffer.from(`MSG a ${OURS} 1\r\nx\r\n`));
    expect([came, passed().toString()]).toEqual([[], `MSG a ${OURS} 1\r\nx\r\n`]);
  });
});

describe('publishing', () => {
  const message = { subject: 'a.b', headers: {}, data: Buffer.from('x') };

  test('counts the bytes of a subject that is not ASCII', () => {
    const [bytes] = published({ ...message, subject: 'ä.ö' });
    expect(Buffer.from(bytes ?? []).toString()).toBe('HPUB ä.ö 12 13\r\nNATS/1.0\r\n\r\nx\r\n');
  });

  test.each<[string, Partial<BusMessage>]>([
    ['a space in the subject', { subject: 'a b' }],
    ['a line end in the reply', { reply: 'a\r\nPUB' }],
    ['a line end in a header', { headers: { X: 'a\r\nY: b' } }],
    ['more than the server takes', { data: Buffer.alloc(100) }],
  ])('refuses %s', (_, wrong) => {
    expect(() => published({ ...message, ...wrong }, 100)).toThrow('Invariant broken');
  });
});

test('the packages below which messages are read are those that ADR 91 names: read it before another version is taken', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const versions = Object.entries(devDependencies).filter(([name]) => name.startsWith('@nats-io/'));
  expect(new Set(versions.map(([, version]) => version))).toEqual(new Set(['3.3.1']));
  const { setupHandlers, send } = NodeTransport.prototype;
  const { sendCommand } = ProtocolHandler.prototype;
  expect([setupHandlers, send, sendCommand].map((one) => typeof one)).toEqual(['function', 'function', 'function']);
});
