import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainValues, readArguments } from '../../../src/cli/arguments.ts';
import { CONNECT, LISTING, SERVE } from '../../../src/cli/options.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';

function refusal(args: readonly string[]): BridgeError {
  try {
    readArguments('serve', args, { ...SERVE, ...LISTING });
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
  throw new Error('they were taken');
}

describe('arguments', () => {
  test('are read in both spellings, the last one of an option', () => {
    expect({ ...readArguments('serve', ['--config', 'a', '--mcp-bridge-socket=/x', '--config=b'], SERVE) }).toEqual({
      config: 'b',
      'mcp-bridge-socket': '/x',
    });
    expect({ ...readArguments('status', ['--json'], LISTING) }).toEqual({ json: true });
    expect({ ...readArguments('connect', ['--no-autostart', '--view', 'server:a'], CONNECT) }).toEqual({
      'no-autostart': true,
      view: 'server:a',
    });
    expect({ ...readArguments('serve', [], SERVE) }).toEqual({});
  });

  test('may choose among the choices of an option only', () => {
    expect(readArguments('serve', ['--log-level', 'silent'], SERVE)['log-level']).toBe('silent');
    expect(refusal(['--log-level', 'loud']).message).toBe('--log-level is one of debug, info, warn, error, silent');
  });

  test.each([
    [['--unknown']],
    [['--config']],
    [['file.json']],
    [['--json=yes']],
    [['-x']],
    [['--', 'x']],
    [['--toString', 'x']],
  ])('%j are wrong usage, in one line with a hint', (args) => {
    const error = refusal(args);
    expect(error.code).toBe('USAGE');
    expect(error.message).toMatch(/^[^\n]+$/);
    expect(error.hint).toBe('See: mcp-bridge serve --help');
  });

  test('in which an option stands where a value should are wrong usage in one line', () => {
    expect(refusal(['--config', '--json']).message).toBe('--config needs a value. Give it one, or leave it out');
  });

  test.each([[['--config', '']], [['--config=']], [['--config']], [['--config', 'a', '--config', '']]])(
    '%j leave an option without its value, and are not the same as none',
    (args) => {
      expect(refusal(args).message).toBe('--config needs a value. Give it one, or leave it out');
    },
  );
});

test('a line of plain options is read as Node reads it', () => {
  const words = [...Object.keys(CONNECT).map((name) => `--${name}`), '--view=all', '--x', '-x', '--', '-', '', 'word'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 6 }), (args) => {
      const plain = plainValues(args, CONNECT);
      if (plain === undefined) return;
      const options = Object.fromEntries(Object.entries(CONNECT).map(([name, { type }]) => [name, { type }]));
      expect(plain).toEqual({ ...parseArgs({ args, options, allowPositionals: false }).values });
    }),
  );
  expect(plainValues(['--view', 'all', '--no-autostart'], CONNECT)).toEqual({ view: 'all', 'no-autostart': true });
});
