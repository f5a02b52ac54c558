// What bad input gets, each over a real socket, and that none of it disturbs the neighbour.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

let daemon: TestDaemon;
let neighbour: RawClient;
let calls = 0;

beforeAll(async () => {
  daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer() },
    limits: { maxMessageBytes: 1_000_000 },
  });
  neighbour = await daemon.client();
});
afterAll(() => daemon.stop());

/** The neighbour's calls go on as if nothing had happened. */
async function undisturbed(): Promise<void> {
  const text = `call ${++calls}`;
  expect(textOf(await neighbour.callTool(calls, 'echo', { text }))).toBe(text);
}

const deep = (depth: number): string =>
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const line = (text: string | Buffer): Buffer => Buffer.concat([Buffer.from(text), Buffer.from('\n')]);

const PARSE_ERRORS: [string, Buffer][] = [
  ['what is not JSON', line('hello')],
  ['half of a message', line('{"jsonrpc":"2.0","id":1,"method":"ping"')],
  ['a trailing comma', line('{"jsonrpc":"2.0","id":1,"method":"ping",}')],
  [
    'a byte order mark',
    line(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}')])),
  ],
  ['a NUL', line('{"jsonrpc":"2.0","id":1,"method":"ping\0"}')],
  ['a control character in a string', line('{"jsonrpc":"2.0","id":1,"method":"pi\tng"}')],
  ['bytes that are not UTF-8', line(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]))],
  ['an overlong encoding', line(Buffer.from([0x22, 0xc0, 0x80, 0x22]))],
  ['a wrong escape', line('{"jsonrpc":"2.0","id":1,"method":"\\x70ing"}')],
];

const INVALID_REQUESTS: [string, string, unknown][] = [
  ['an empty object', '{}', null],
  ['a text', '"ping"', null],
  ['a number', '7', null],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null],
  ['an empty batch', '[]', null],
  ['no version', '{"id":1,"method":"ping"}', 1],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 1],
  ['neither a method nor an answer', '{"jsonrpc":"2.0","id":1}', 1],
  ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":7}', 1],
  ['an id of null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', null],
  ['a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', null],
  ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', null],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{"__proto__":1},"method":"ping"}', null],
  ['an id that is a truth value', '{"jsonrpc":"2.0","id":true,"method":"ping"}', null],
  ['an id of 257 bytes', `{"jsonrpc":"2.0","id":"${'x'.repeat(257)}","method":"ping"}`, null],
  ['an id of 100 KB', `{"jsonrpc":"2.0","id":"${'x'.repeat(100_000)}","method":"ping"}`, null],
  ['two ids', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', null],
  ['two methods', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', 1],
  ['an escaped key', '{"jsonrpc":"2.0","id":1,"\\u006dethod":"tools/call","method":"ping"}', 1],
  ['a key in another case', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', 1],
  ['two names of a tool', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash"}}', 1],
  [
    'a name of a tool in another case',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"crash"}}',
    1,
  ],
  [
    'an escaped name of a tool',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","n\\u0061me":"crash"}}',
    1,
  ],
  [
    'two progress tokens',
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1,"progressToken":2}}}',
    1,
  ],
  ['129 levels', deep(128), 1],
];

describe.each(PARSE_ERRORS)('%s', (_, bytes) => {
  test('gets -32700 with the id null', async () => {
    const client = await daemon.client();
    await client.write(bytes);
    expect(await client.next()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32700 } });
    expect((await client.request('after', 'ping')).result).toEqual({});
    await undisturbed();
    client.destroy();
  });
});

describe.each(INVALID_REQUESTS)('%s', (_, text, id) => {
  test('gets -32600', async () => {
    const client = await daemon.client();
    client.send(text);
    expect(await client.next()).toMatchObject({ jsonrpc: '2.0', id, error: { code: -32600 } });
    expect((await client.request('after', 'ping')).result).toEqual({});
    await undisturbed();
    client.destroy();
  });
});

test('128 levels, an id of 256 bytes and a message at the limit are accepted', async () => {
  const client = await daemon.client();
  client.send(deep(127));
  expect((await client.next()).result).toEqual({});
  const longId = 'x'.repeat(256);
  expect((await client.request(longId, 'ping')).result).toEqual({});
  const head = '{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"';
  client.send(`${head}${'x'.repeat(1_000_000 - head.length - 3)}"}}`);
  expect((await client.next()).result).toEqual({});
  client.destroy();
});

test('a message over the limit gets one error, then the connection closes', async () => {
  const client = await daemon.client();
  const head = '{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"';
  client.send(`${head}${'x'.repeat(1_000_001 - head.length - 3)}"}}`);
  client.send({ jsonrpc: '2.0', id: 4, method: 'ping' });
  expect(await client.next()).toMatchObject({
    id: null,
    error: { code: -32600, message: expect.stringContaining('1000000') },
  });
  await client.untilClosed();
  expect(client.lines).toHaveLength(2);
  await undisturbed();
});

test('a gigabyte without a newline takes no memory', async () => {
  const residentMiB = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1]) / 1024;
  const client = await daemon.client();
  const before = residentMiB();
  const chunk = Buffer.alloc(1 << 20, 'x');
  let peak = before;
  for (let sent = 0; sent < 1024 && !client.isClosed; sent++) {
    await client.write(chunk);
    if (sent % 64 === 0) peak = Math.max(peak, residentMiB());
  }
  await client.untilClosed();
  expect(peak - before).toBeLessThan(64);
  expect(client.lines.filter((text) => text.includes('-32600'))).toHaveLength(1);
  await undisturbed();
});

test('answers, cancels and progress for requests of others are dropped and counted', async () => {
  const [victim, guesser] = [await daemon.client(), await daemon.client()];
  const before = (await daemon.status()).counters;
  victim.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
  await daemon.until(({ instances }) => (instances[0]?.calls ?? 0) > 0);
  for (let id = 0; id < 200; id++) {
    guesser.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    guesser.send({ jsonrpc: '2.0', id, result: { forged: true } });
    guesser.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } });
  }
  expect(textOf(await guesser.callTool('r', 'release'))).toBe('ok');
  expect(textOf(await victim.answerTo(1))).toBe('released');
  const after = (await daemon.status()).counters;
  const grown = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
  expect([grown('strayCancels'), grown('strayResponses'), grown('strayProgress')]).toEqual([200, 200, 200]);
  victim.destroy();
  guesser.destroy();
  await undisturbed();
});

test('every split point of a conversation gives the same answers', async () => {
  const talk = [
    {
      jsonrpc: '2.0',
      id: 'é',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'split', version: '1' } },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: '漢\\"' } } },
  ];
  const bytes = Buffer.from(`${talk.map((message) => JSON.stringify(message)).join('\r\n')}\r\n`);
  const answers = new Set<string>();
  for (let at = 1; at < bytes.length; at++) {
    const client = await daemon.connect();
    await client.write(bytes.subarray(0, at));
    await new Promise((resolve) => setImmediate(resolve));
    await client.write(bytes.subarray(at));
    expect((await client.next()).id).toBe('é');
    const answer: Message = await client.next();
    answers.add(JSON.stringify(answer));
    client.destroy();
  }
  expect([...answers]).toEqual(['{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"漢\\\\\\""}]}}']);
  await undisturbed();
});
