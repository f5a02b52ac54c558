import { describe, expect, test } from 'vitest';
import { resolveView } from '../../../src/core/view.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

function directory(...names: string[]): Parameters<typeof resolveView>[1] {
  const core = new CoreInMemory({ servers: names });
  const backend = (name: string) => (names.includes(name) ? core.server(name).backend : undefined);
  return { names: () => names, backend, origin: 'They are defined here.' };
}

function refusal(view: string | undefined, ...names: string[]): BridgeError {
  try {
    resolveView(view, directory(...names));
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('a view', () => {
  test('of a server by name is that server', () => {
    const resolved = resolveView('server:b', directory('a', 'b'));
    expect([resolved.view, resolved.backend.server]).toEqual(['server:b', 'b']);
  });

  test('may be left out where there is one server', () => {
    expect(resolveView(undefined, directory('a')).view).toBe('server:a');
  });

  test('may hold a colon in its name', () => {
    expect(resolveView('server:a:b', directory('a:b')).backend.server).toBe('a:b');
  });

  test.each([
    ['server:c', 'SERVER_NOT_FOUND'],
    ['server:', 'SERVER_NOT_FOUND'],
    ['server:toString', 'SERVER_NOT_FOUND'],
    ['all', 'VIEW_UNKNOWN'],
    ['', 'VIEW_UNKNOWN'],
    ['Server:a', 'VIEW_UNKNOWN'],
    [undefined, 'SERVER_NOT_CHOSEN'],
  ])('%j is refused with %s, and the servers there are', (view, code) => {
    const error = refusal(view, 'a', 'b');
    expect([error.code, error.hint]).toEqual([code, expect.stringContaining('a, b')]);
  });

  test('that is a long text is not repeated as a whole', () => {
    expect(refusal('x'.repeat(100_000), 'a', 'b').message.length).toBeLessThan(200);
  });

  test('of a server with a long name is not repeated as a whole', () => {
    expect(refusal(`server:${'x'.repeat(100_000)}`, 'a', 'b').message.length).toBeLessThan(1000);
  });

  test('that is left out where there is no server says so', () => {
    expect(refusal(undefined)).toMatchObject({ message: 'There is no server', hint: 'They are defined here.' });
  });
});
