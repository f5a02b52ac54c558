import { expect, test } from 'vitest';
import { MirroredHeaders } from '../../../src/protocol/mirrored-headers.ts';
import type { Frame } from '../../../src/wire/frame-splitter.ts';

function frameOf(text: string): Frame {
  const b = Buffer.from(`${text}\n`);
  return { b, start: 0, end: b.length - 1 };
}

const textOf = ({ b, start, end }: Frame): string => b.toString('utf8', start, end);

interface Sifted {
  readonly headers: MirroredHeaders;
  readonly text: string;
  readonly leftOut: readonly string[];
}

function sifted(result: string): Sifted {
  const leftOut: string[] = [];
  const headers = new MirroredHeaders(
    (tool, why) => void leftOut.push(`${tool}: ${why}`),
    () => 0,
  );
  const text = textOf(headers.sift(frameOf(`{"jsonrpc":"2.0","id":1,"result":${result}}`), true));
  return { headers, text, leftOut };
}

const toolOf = (name: string, properties: object): string =>
  JSON.stringify({ name, inputSchema: { type: 'object', properties } });

const request = (method: string, params: unknown): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));

const none = new MirroredHeaders(
  () => undefined,
  () => 0,
);

test.each<[string, unknown, object]>([
  ['tools/list', {}, {}],
  ['notifications/cancelled', { requestId: 1 }, {}],
  ['tools/call', { name: 'a', arguments: {} }, { 'mcp-name': 'a' }],
  ['prompts/get', { name: 'a b' }, { 'mcp-name': 'a b' }],
  ['resources/read', { uri: 'file:///a%20b' }, { 'mcp-name': 'file:///a%20b' }],
  ['tasks/get', { taskId: 't' }, { 'mcp-name': 't' }],
  ['tools/call', { name: 'é' }, { 'mcp-name': '=?base64?w6k=?=' }],
  ['tools/call', { name: 7 }, {}],
  ['x/y', { name: 'a' }, {}],
])('a request says its method and what it is about: %s %j', (method, params, others) => {
  expect(none.headersOf(request(method, params))).toEqual({ 'mcp-method': method, ...others });
});

test('an answer to a server says nothing', () => {
  expect(none.headersOf(new Uint8Array(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}')))).toEqual({});
});

test.each<[unknown, string | undefined]>([
  ['plain text', 'plain text'],
  ['', '=?base64??='],
  [' a', '=?base64?IGE=?='],
  ['a ', '=?base64?YSA=?='],
  ['a\tb', '=?base64?YQli?='],
  ['a\r\nb: c', '=?base64?YQ0KYjogYw==?='],
  ['Hello, 世界', `=?base64?${Buffer.from('Hello, 世界').toString('base64')}?=`],
  ['=?base64?YQ==?=', `=?base64?${Buffer.from('=?base64?YQ==?=').toString('base64')}?=`],
  [42, '42'],
  [-1.5, '-1.5'],
  [2 ** 60, undefined],
  [true, 'true'],
  [false, 'false'],
  [null, undefined],
  [{ a: 1 }, undefined],
])('a parameter with a mark goes along: %j', (value, header) => {
  const { headers } = sifted(`{"tools":[${toolOf('t', { p: { type: 'string', 'x-mcp-header': 'Place' } })}]}`);
  const found = headers.headersOf(request('tools/call', { name: 't', arguments: { p: value, other: 'x' } }));
  expect(found).toEqual({
    ...{ 'mcp-method': 'tools/call', 'mcp-name': 't' },
    ...(header === undefined ? {} : { 'mcp-param-Place': header }),
  });
});

test('a parameter within another one goes along, and one that is not there does not', () => {
  const inner = { type: 'object', properties: { q: { type: 'integer', 'x-mcp-header': 'Q' } } };
  const { headers } = sifted(`{"tools":[${toolOf('t', { p: inner })}]}`);
  const headersOf = (values: unknown) => headers.headersOf(request('tools/call', { name: 't', arguments: values }));
  expect(headersOf({ p: { q: 3 } })).toMatchObject({ 'mcp-param-Q': '3' });
  for (const values of [{}, { p: {} }, { p: 3 }, { q: 3 }, undefined])
    expect(Object.keys(headersOf(values))).toEqual(['mcp-method', 'mcp-name']);
});

const marked = (header: unknown, type = 'string'): object => ({ p: { type, 'x-mcp-header': header } });

test.each<[string, object]>([
  ['an empty name', marked('')],
  ['a name with a space', marked('a b')],
  ['a name with a colon', marked('a:b')],
  ['a name beyond ASCII', marked('Région')],
  ['a name with a tab', marked('a\tb')],
  ['no name', marked(7)],
  ['an object', marked('A', 'object')],
  ['a list', marked('A', 'array')],
  ['null', marked('A', 'null')],
  ['a number', marked('A', 'number')],
  ['one name twice', { p: { type: 'string', 'x-mcp-header': 'A' }, q: { type: 'string', 'x-mcp-header': 'a' } }],
  ['an item of a list', { p: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
  ['one of several shapes', { p: { anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }],
  ['a definition', { p: { $defs: { x: { properties: { y: { 'x-mcp-header': 'A' } } } } } }],
])('a tool with a mark for %s is left out of the list', (_, properties) => {
  const good = ' { "name":"good", "n": 1.0, "inputSchema": {} } ';
  const { text, leftOut } = sifted(`{"a": 1, "tools": [${toolOf('bad', properties)},${good}], "b":2}`);
  expect(text).toBe(`{"jsonrpc":"2.0","id":1,"result":{"a": 1, "tools": [${good.trim()}], "b":2}}`);
  expect(leftOut).toEqual([expect.stringMatching(/^bad: /)]);
});

test.each([
  ['a list without marks', `{"tools": [ {"name":"a"} ,{"name":"b"}] }`],
  ['a list whose marks are allowed', `{"tools": [ ${toolOf('t', { p: { type: 'string', 'x-mcp-header': 'P' } })} ] }`],
  ['a property of that name', `{"tools":[${toolOf('t', { 'x-mcp-header': { type: 'object' } })}]}`],
  ['data of that name', `{"tools":[${toolOf('t', { p: { default: { 'x-mcp-header': 1 } } })}]}`],
  ['no list', '{"tools":{"x-mcp-header":1}}'],
  ['an empty result', '{}'],
])('%s is as it was', (_, result) => {
  expect(sifted(result)).toMatchObject({ text: `{"jsonrpc":"2.0","id":1,"result":${result}}`, leftOut: [] });
});

test('the marks of a tool are those of its newest definition', () => {
  const { headers } = sifted(`{"tools":[${toolOf('t', { p: { type: 'string', 'x-mcp-header': 'P' } })}]}`);
  headers.sift(
    frameOf(`{"jsonrpc":"2.0","id":2,"result":{"tools":[${toolOf('t', { p: { type: 'string' } })}]}}`),
    false,
  );
  const found = headers.headersOf(request('tools/call', { name: 't', arguments: { p: 'a' } }));
  expect(found).toEqual({ 'mcp-method': 'tools/call', 'mcp-name': 't' });
});

test('the list is known at its end', () => {
  expect(sifted('{"tools":[],"nextCursor":"2"}').headers.isListed).toBe(false);
  expect(sifted('{"tools":[]}').headers.isListed).toBe(true);
});

const pageOf = (tools: readonly string[], next = ''): Frame =>
  frameOf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools.join()}]${next}}}`);
const callHeaders = (headers: MirroredHeaders, name: string): object =>
  headers.headersOf(request('tools/call', { name, arguments: { p: 'a' } }));

test('a list that begins takes the place of the one before, and is known at its own end', () => {
  const headers = new MirroredHeaders(
    () => undefined,
    () => 0,
  );
  headers.sift(pageOf([toolOf('old', marked('P'))]), true);
  headers.sift(pageOf([toolOf('a', marked('P'))], ',"nextCursor":"2"'), true);
  expect(headers.isListed).toBe(false);
  headers.sift(pageOf([toolOf('b', marked('P'))]), false);
  expect(headers.isListed).toBe(true);
  expect(callHeaders(headers, 'old')).not.toHaveProperty('mcp-param-P');
  for (const name of ['a', 'b']) expect(callHeaders(headers, name)).toHaveProperty('mcp-param-P');
});

test('pages without end do not fill the memory with marks', () => {
  const headers = new MirroredHeaders(
    () => undefined,
    () => 0,
  );
  const long = 'n'.repeat(300_000);
  for (let n = 0; n < 10; n++) headers.sift(pageOf([toolOf(`${n}${long}`, marked('P'))]), false);
  const kept = Array.from({ length: 10 }, (_, n) => 'mcp-param-P' in callHeaders(headers, `${n}${long}`));
  expect(kept.filter(Boolean)).toHaveLength(3);
  // The room is there again for a tool that is defined once more.
  for (let n = 0; n < 10; n++) headers.sift(pageOf([toolOf(`0${long}`, marked('P'))]), false);
  expect(callHeaders(headers, `0${long}`)).toHaveProperty('mcp-param-P');
});

test('a server that names new bad tools in each list is reported a few times in ten minutes', () => {
  let nowMs = 0;
  const leftOut: string[] = [];
  const headers = new MirroredHeaders(
    (tool) => void leftOut.push(tool),
    () => nowMs,
  );
  const list = (from: number): void => {
    const tools = Array.from({ length: 50 }, (_, n) => toolOf(`bad${from + n}`, marked('')));
    expect(textOf(headers.sift(pageOf(tools), true))).toContain('"tools":[]');
  };
  for (let from = 0; from < 1_000; from += 50) list(from);
  expect(leftOut).toHaveLength(20);
  nowMs = 600_000;
  list(0);
  expect(leftOut).toHaveLength(40);
  list(0);
  expect(new Set(leftOut.slice(20)).size).toBe(20);
});
