// The search over lists as servers gave them: found by what they say, and put into the index without keeping others waiting.

import { expect, test, vi } from 'vitest';
import { toolsIn } from '../../../src/catalog/known-tools.ts';
import { type SearchedServer, ToolFinder } from '../../../src/catalog/tool-finder.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

function searched(names: readonly string[]): SearchedServer {
  const tools = names.map((name) => ({ name, description: 'Does it', inputSchema: { properties: { path: {} } } }));
  const pages = [{ cursor: undefined, result: Buffer.from(`${JSON.stringify({ tools })}\n`) }];
  toolsIn(pages);
  return { server: new CoreInMemory().server().server, pages };
}

test('the definitions of a long list are decoded a few in each turn', async () => {
  const finder = new ToolFinder();
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
