import { describe, expect, test } from 'vitest';
import { cancelNotice, type Method, type MethodRole } from '../../../src/protocol/era.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { negotiateVersion, PROTOCOL_VERSIONS } from '../../../src/protocol/versions.ts';
import { Envelope, Field } from '../../../src/wire/envelope.ts';
import { frameAt } from '../../support/json-text.ts';

/** `method` as it is spelled, between its quotes. */
function read(method: string, behind = ''): Method {
  const { b, end } = frameAt(`{"jsonrpc":"2.0","id":1,"method":"${method}"${behind}}`);
  const envelope = new Envelope(ERA_2025.keys);
  envelope.scan(b, 0, end, 128);
  return ERA_2025.methods.of(b, envelope);
}
const readsOf = (method: string): string[] =>
  Object.entries(Field).flatMap(([name, field]) => (read(method).reads.includes(field) ? [name] : []));

describe('a method', () => {
  test.each<[string, MethodRole]>([
    ['initialize', 'initialize'],
    ['notifications/initialized', 'initialized'],
    ['ping', 'ping'],
    ['server/discover', 'discover'],
    ['notifications/cancelled', 'cancelled'],
    ['notifications/progress', 'progress'],
    ['notifications/message', 'log'],
    ['notifications/tools/list_changed', 'list-changed'],
    ['notifications/prompts/list_changed', 'list-changed'],
    ['notifications/resources/list_changed', 'list-changed'],
    ['notifications/resources/updated', 'updated'],
    ['notifications/tasks/status', 'task-status'],
    ['notifications/elicitation/complete', 'elicited'],
    ['notifications/roots/list_changed', 'roots-changed'],
    ['tools/call', 'call'],
    ['tools/list', 'list'],
    ['tasks/list', 'list-tasks'],
    ['tasks/result', 'task-result'],
    ['completion/complete', 'complete'],
    ['Ping', 'other'],
    ['ping ', 'other'],
    ['', 'other'],
    ['é', 'other'],
  ])('%j has the role %s', (method, role) => {
    expect(read(method).role).toBe(role);
  });

  test('is the same in any spelling', () => {
    for (const [spelling, method] of [
      ['tools\\/call', 'tools/call'],
      ['\\u0074ools/call', 'tools/call'],
      ['pin\\u0067', 'ping'],
      ['initialize\\u0020', 'x'],
      ['\\"', 'x'],
      ['notifications\\/cancelled', 'notifications/cancelled'],
    ] as const)
      expect(read(spelling)).toBe(read(method));
  });

  test('is not changed by escapes elsewhere in the frame', () => {
    expect(read('ping', ',"params":{"a":"\\n"}').role).toBe('ping');
    expect(read('pings', ',"params":{"a":"\\n"}').role).toBe('other');
  });

  test.each([
    ['tools/call', ['name', 'meta', 'metaProgressToken', 'task', 'arguments']],
    ['tools\\/call', ['name', 'meta', 'metaProgressToken', 'task', 'arguments']],
    ['prompts/get', ['name', 'meta', 'metaProgressToken']],
    ['resources/read', ['uri', 'meta', 'metaProgressToken']],
    ['resources/subscribe', ['uri', 'meta', 'metaProgressToken']],
    ['resources/unsubscribe', ['uri', 'meta', 'metaProgressToken']],
    ['tools/list', ['meta', 'metaProgressToken']],
    ['tasks/get', ['meta', 'metaProgressToken', 'taskId']],
    ['notifications/cancelled', ['requestId']],
    ['notifications/progress', ['progressToken']],
    ['ping', []],
  ])('%s is decided by %j', (method, fields) => {
    expect(readsOf(method)).toEqual(fields);
  });
});

describe('the protocol version of an answer', () => {
  test('is the one that was asked for where it is known, else the newest', () => {
    for (const version of PROTOCOL_VERSIONS) expect(negotiateVersion(version)).toBe(version);
    for (const version of ['2026-07-28', '', 'x']) expect(negotiateVersion(version)).toBe('2025-11-25');
  });
});

test('a cancellation of our own is one line of JSON, whatever its reason says', () => {
  const line = cancelNotice('7', 'a "reason"\nwith é');
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 7, reason: 'a "reason"\nwith é' },
  });
});
