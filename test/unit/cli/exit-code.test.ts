import { describe, expect, test } from 'vitest';
import { exitCodeOf, lineFor } from '../../../src/cli/exit-code.ts';
import { confirm } from '../../../src/cli/render/terminal.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { fakeHost } from '../../support/cli-host.ts';

describe('an error in a shell', () => {
  test('exits with 2 for wrong usage and with 1 for anything else', () => {
    expect(exitCodeOf(new BridgeError('USAGE', 'x'))).toBe(2);
    for (const error of [new BridgeError('DAEMON_NOT_RUNNING', 'x'), new Error('x'), 'x', undefined])
      expect(exitCodeOf(error)).toBe(1);
  });

  test.each<[unknown, string]>([
    [
      new BridgeError('DAEMON_NOT_RUNNING', 'No daemon runs', { hint: 'Start one with: mcp-bridge start' }),
      'mcp-bridge: No daemon runs. Start one with: mcp-bridge start\n',
    ],
    [new BridgeError('USAGE', 'What?', { hint: 'See.' }), 'mcp-bridge: What? See.\n'],
    [new Error('It failed.'), 'mcp-bridge: It failed.\n'],
    ['text', 'mcp-bridge: text.\n'],
  ])('%s is one line that says what to do next', (error, line) => {
    expect(lineFor(error)).toBe(line);
  });

  test('has as many lines as a server has said, all but the first indented, and no other control character', () => {
    const error = new BridgeError('SERVER_START_FAILED', 'Server x refused: a\r\n\n  b\x1b[2J\n', {
      hint: 'Its last words were: c\rd\t',
    });
    expect(lineFor(error)).toBe('mcp-bridge: Server x refused: a\n  b\\u{1b}[2J. Its last words were: c\n  d\n');
  });

  test('reads a cut-off command as an end', () => {
    expect(lineFor(new Error('add NAME -- COMMAND…'))).toBe('mcp-bridge: add NAME -- COMMAND…\n');
  });

  test('is none where a person has pressed Ctrl-C at a question', async () => {
    const host = fakeHost('/home/me', '/home/me', { columns: 80, answer: '\u0003' });
    const error = await confirm('Really?', host).catch((reason: unknown) => reason);
    expect([exitCodeOf(error), lineFor(error)]).toEqual([130, '']);
  });
});
