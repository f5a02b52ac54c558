import { expect, test } from 'vitest';
import { rpcError, rpcErrorOf } from '../../../src/protocol/rpc-error.ts';
import { BridgeError, type BridgeErrorCode } from '../../../src/util/bridge-error.ts';

test.each<[BridgeErrorCode, number]>([
  ['SERVER_NOT_FOUND', -32601],
  ['TOOL_NOT_FOUND', -32601],
  ['RESOURCE_NOT_FOUND', -32002],
  ['VIEW_UNKNOWN', -32602],
  ['REQUEST_REFUSED', -32600],
  ['SERVER_CRASHED', -32603],
  ['SERVER_BUSY', -32603],
  ['SERVER_START_FAILED', -32603],
  ['SHUTTING_DOWN', -32603],
])('%s is told as %i', (code, rpcCode) => {
  const error = new BridgeError(code, 'what happened', { server: 'x', hint: 'what to do', cause: new Error('secret') });
  expect(JSON.parse(rpcErrorOf(error))).toEqual({
    code: rpcCode,
    message: 'what happened',
    data: { code, server: 'x', hint: 'what to do' },
  });
});

test('what an error does not have is left out, and neither its cause nor its stack is told', () => {
  const error = new BridgeError('SERVER_CRASHED', 'gone', { cause: new Error('secret') });
  expect(rpcErrorOf(error)).toBe('{"code":-32603,"message":"gone","data":{"code":"SERVER_CRASHED"}}');
  expect(rpcError(-32600, 'a\n"b"')).toBe('{"code":-32600,"message":"a\\n\\"b\\""}');
  expect(rpcError(-32600, 'a', { b: 1 })).toBe('{"code":-32600,"message":"a","data":{"b":1}}');
});
