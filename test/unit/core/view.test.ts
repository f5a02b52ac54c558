import { describe, expect, test } from 'vitest';
import { chooseView, type ServerDirectory, type ViewChoice } from '../../../src/core/view-choice.ts';
import { PLAIN_SETTINGS } from '../../../src/model/client-settings.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

function directory(names: readonly string[], defaultView?: string): ServerDirectory {
  const core = new CoreInMemory({ servers: names });
  return {
    prepare: () => undefined,
    names: () => names,
    find: (name) => (names.includes(name) ? core.server(name).server : undefined),
    servers: () => [],
    defaultView,
    origin: 'They are defined here.',
  };
}

function chosen(view: string | undefined, names: readonly string[], defaultView?: string): string[] {
  const choice: ViewChoice = chooseView(
    view,
    { cwd: undefined, settings: PLAIN_SETTINGS },
    directory(names, defaultView),
  );
  return [choice.kind, ...(choice.kind === 'server' ? [choice.server] : choice.servers).map(({ name }) => name)];
}

function refusal(view: string | undefined, ...names: string[]): BridgeError {
  try {
    chosen(view, names);
  } catch (error) {
    if (error instanceof BridgeError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('a view', () => {
  test('of a server by name is that server', () => {
    expect(chosen('server:b', ['a', 'b'])).toEqual(['server', 'b']);
  });

  test('of all is all of them, in their order', () => {
    expect(chosen('all', ['b', 'a'])).toEqual(['all', 'b', 'a']);
  });

  test('that is left out is the default of the config', () => {
    expect(chosen(undefined, ['a', 'b'], 'server:b')).toEqual(['server', 'b']);
    expect(chosen(undefined, ['a'], 'all')).toEqual(['all', 'a']);
  });

  test('that is left out everywhere is that of a client which looks for tools first', () => {
    expect(chosen(undefined, ['a', 'b'])).toEqual(['discover', 'a', 'b']);
    expect(chosen(undefined, [])).toEqual(['discover']);
  });

  test('may hold a colon in its name', () => {
    expect(chosen('server:a:b', ['a:b'])).toEqual(['server', 'a:b']);
  });

  test.each([
    ['server:c', 'SERVER_NOT_FOUND'],
    ['server:', 'SERVER_NOT_FOUND'],
    ['server:toString', 'SERVER_NOT_FOUND'],
    ['sideways', 'VIEW_UNKNOWN'],
    ['', 'VIEW_UNKNOWN'],
    ['Server:a', 'VIEW_UNKNOWN'],
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
});
