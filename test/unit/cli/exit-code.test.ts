import { describe, expect, test } from 'vitest';
import { exitCodeOf, lineFor } from '../../../src/cli/exit-code.ts';
import { confirm } from '../../../src/cli/terminal.ts';
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

  test('is one line without control characters, whatever a server has said', () => {
    const error = new BridgeError('SERVER_START_FAILED', 'Server x refused: a\nb\x1b[2J', {
      hint: 'Its last words were: c\nd',
    });
    expect(lineFor(error)).toMatch(/^[^\p{Cc}]+\n$/u);
  });

  test('reads lines of a server as parts of one, and a cut-off command as an end', () => {
    expect(lineFor(new Error('It said: a\n  b'))).toBe('mcp-bridge: It said: a | b.\n');
    expect(lineFor(new Error('add NAME -- COMMAND…'))).toBe('mcp-bridge: add NAME -- COMMAND…\n');
  });

  test('is none where a person has pressed Ctrl-C at a question', async () => {
    const host = fakeHost('/home/me', '/home/me', { columns: 80, answer: '\u0003' });
    const error = await confirm('Really?', host).catch((reason: unknown) => reason);
    expect([exitCodeOf(error), lineFor(error)]).toEqual([130, '']);
  });
});
