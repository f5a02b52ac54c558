import { expect, test } from 'vitest';
import { isAnswered } from '../../../src/downstream/remote-fetch.ts';

const JSON_TYPE = 'application/json';

function refusal(body: string | object | null, contentType = JSON_TYPE): Response {
  const text = typeof body === 'object' && body !== null ? JSON.stringify(body) : body;
  return new Response(text, { status: 400, headers: { 'content-type': contentType } });
}

test.each<[string, Response, boolean]>([
  ['nothing', refusal(null), false],
  ['a text', refusal('Bad Request', 'text/plain'), false],
  ['a page', refusal('<html>', 'text/html'), false],
  ['an error without an id', refusal({ jsonrpc: '2.0', error: { code: -32000 } }), false],
  ['an error of no request', refusal({ jsonrpc: '2.0', error: { code: -32000 }, id: null }), false],
  ['an answer to another', refusal({ jsonrpc: '2.0', error: {}, id: 8 }), false],
  ['an id that is spelled otherwise', refusal({ jsonrpc: '2.0', error: {}, id: '7' }), false],
  ['JSON that is no message', refusal('null'), false],
  ['an answer', refusal({ jsonrpc: '2.0', error: { code: -32602 }, id: 7 }), true],
  ['an answer among others', refusal([null, { id: 8 }, { id: 7, result: {} }]), true],
  ['a stream', refusal('', 'text/event-stream'), true],
  ['more than is read', refusal(' '.repeat(70_000)), true],
])('%s', async (_, response, answered) => {
  expect(await isAnswered(7, response)).toBe(answered);
});

test('a body that breaks off may have been an answer', async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('broken')) });
  expect(await isAnswered(7, new Response(body, { status: 400 }))).toBe(true);
});
