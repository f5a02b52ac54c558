import { expect, test } from 'vitest';
import { withSocketInHint } from '../../../src/cli/start-hint.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';

const failed = (hint: string) => new BridgeError('DAEMON_START_FAILED', 'The daemon did not start', { hint });
const TRY = 'Try it in the foreground with: mcp-bridge serve. Its log is /l';

test.each([
  [{ 'mcp-bridge-socket': 'b.sock' }, 'mcp-bridge serve --mcp-bridge-socket b.sock. Its log'],
  [{ config: '/a b/$&.json' }, "mcp-bridge serve --config '/a b/$&.json'. Its log"],
  [{ 'mcp-bridge-socket': '/s', config: 'c' }, 'mcp-bridge serve --mcp-bridge-socket /s --config c. Its log'],
  [{ 'mcp-bridge-socket': '' }, 'mcp-bridge serve. Its log'],
])('a hint to start a daemon has the place that was given: %j', (values, words) => {
  const error = withSocketInHint(failed(TRY), values);
  expect(error).toMatchObject({ code: 'DAEMON_START_FAILED', message: 'The daemon did not start' });
  expect((error as BridgeError).hint).toContain(words);
});

test('other errors stay as they are', () => {
  for (const error of [new Error('x'), new BridgeError('USAGE', 'x', { hint: 'mcp-bridge start' }), undefined])
    expect(withSocketInHint(error, { 'mcp-bridge-socket': '/s' })).toBe(error);
});
