// Frames of clients that are refused: under which id, and whether the client goes on.

import { describe, expect, test } from 'vitest';
import { CoreInMemory } from '../../support/core-in-memory.ts';

describe('a frame that cannot be read', () => {
  test('is answered, under its id where that is certain, and the client goes on', async () => {
    const core = new CoreInMemory({ limits: { maxDepth: 16 } });
    const client = await core.ready();
    const lines: [string, number, unknown][] = [
      ['nonsense', -32700, null],
      ['[]', -32600, null],
      ['7', -32600, null],
      ['{"jsonrpc":"2.0","id":1}', -32600, 1],
      ['{"jsonrpc":"1.0","id":"a","method":"x"}', -32600, 'a'],
      ['{"jsonrpc":"2.0","id":1,"ID":2,"method":"x"}', -32600, null],
      ['{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600, null],
      ['{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, null],
      ['{"jsonrpc":"2.0","id":3,"method":4}', -32600, 3],
      [`{"jsonrpc":"2.0","id":5,"method":"x","params":${'['.repeat(16)}${']'.repeat(16)}}`, -32600, 5],
    ];
    for (const [line] of lines) client.say(line);
    client.link.push(Buffer.from('ff0a', 'hex'));
    await core.settle();
    expect(client.received.map(({ id, error }) => [error?.code, id])).toEqual([
      ...lines.map(([, code, id]) => [code, id]),
      [-32700, null],
    ]);
    expect(core.counters.badFrames).toBe(11);
    client.call(6);
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
  });

  test('over the limit ends the connection', async () => {
    const core = new CoreInMemory({ limits: { maxMessageBytes: 1024 } });
    const client = await core.ready();
    client.call(1);
    client.say('x'.repeat(1025));
    await core.settle();
    expect(client.received.at(-1)).toMatchObject({ id: null, error: { code: -32600 } });
    expect([client.link.isClosed, core.openCalls]).toEqual([true, 0]);
    expect(core.server().cancelled).toEqual([1]);
    expect(core.counters).toMatchObject({ oversizedFrames: 1, clientsCutOff: 1 });
  });
});
