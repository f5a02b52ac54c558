// The search over lists as servers gave them: found by what they say, and put into the index without keeping others waiting.

import { expect, test, vi } from 'vitest';
import { toolsIn } from '../../../src/meta-tools/known-tools.ts';
import { type SearchedServer, ToolFinder } from '../../../src/meta-tools/tool-finder.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function searched(names: readonly string[]): SearchedServer {
  const tools = names.map((name) => ({ name, description: 'Does it', inputSchema: { properties: { path: {} } } }));
  const pages = [{ cursor: undefined, result: Buffer.from(`${JSON.stringify({ tools })}\n`) }];
  toolsIn(pages);
  const { server } = new CoreInMemory().server();
  return { joined: { server, name: server.name, gate: server.gate }, pages };
}

test('the definitions of a long list are decoded a few in each turn', async () => {
  const finder = new ToolFinder({ clock: new FakeClock() });
  await finder.find('warm', { servers: [searched(['warm'])], limit: 1 });
  const servers = [searched(Array.from({ length: 2000 }, (_, i) => `tool_${i}`))];
  const decode = vi.spyOn(JSON, 'parse');
  let most = 0;
  const turn = (): void => {
    most = Math.max(most, decode.mock.calls.length);
    decode.mockClear();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const [first] = await finder.find('tool_1234', { servers, limit: 1 });
  clearImmediate(next);
  decode.mockRestore();
  expect(first?.tool.name).toBe('tool_1234');
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(200);
});

test('an index that nobody has used for ten minutes is let go, and made anew when somebody searches', async () => {
  const clock = new FakeClock();
  const finder = new ToolFinder({ clock });
  const servers = [searched(['read_file', 'write_file', 'read_page'])];
  const decode = vi.spyOn(JSON, 'parse');
  /** How many definitions a search has to read, beside what it finds. */
  const readFor = async (): Promise<number> => {
    decode.mockClear();
    const found = await finder.find('read a file', { servers, limit: 1 });
    expect(found.map(({ tool }) => tool.name)).toEqual(['read_file']);
    return decode.mock.calls.length;
  };
  expect(await readFor()).toBeGreaterThanOrEqual(3);
  for (let n = 0; n < 3; n++) {
    clock.advance(9 * 60_000);
    expect(await readFor()).toBe(0);
  }
  clock.advance(10 * 60_000);
  expect(clock.pending).toBe(0);
  expect(await readFor()).toBeGreaterThanOrEqual(3);
  decode.mockRestore();
});
