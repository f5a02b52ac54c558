import { expect, test } from 'vitest';
import { ToolAccounts } from '../../../src/core/tool-accounts.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const say = (core: CoreInMemory, result: object): void => {
  const request = core.server().requests.at(-1);
  core.server().say({ jsonrpc: '2.0', id: request?.id, result });
};

test('each tool has an account of its answers, whatever view they go to', async () => {
  const core = new CoreInMemory({ results: { maxBytes: 1000 } });
  const client = await core.ready();
  const give = async (id: number, name: string, result: object): Promise<void> => {
    client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } });
    await core.settle();
    say(core, result);
    await core.settle();
  };
  const small = { content: [{ type: 'text', text: 'é' }] };
  const bytes = Buffer.byteLength(JSON.stringify(small)) + 1; // with the brace behind it
  await give(1, 'one', small);
  await give(2, 'one', small);
  await give(3, 'two', { content: [{ type: 'image', data: 'A'.repeat(4000), mimeType: 'image/png' }] });
  client.say({ jsonrpc: '2.0', id: 4, method: 'tools/call', params: { name: 'three', arguments: {} } });
  await core.settle();
  core.server().say({ jsonrpc: '2.0', id: core.server().requests.at(-1)?.id, error: { code: 1, message: 'no' } });
  await core.settle();
  const [one, two, ...others] = core.accounts.report();
  expect(one).toEqual({
    ...{ server: 'memory', tool: 'one', answers: 2, bytes: 2 * bytes, largestBytes: bytes, passedBytes: 2 * bytes },
    ...{ tokens: 2 * Math.ceil(bytes / 4), cut: 0 },
  });
  expect(two).toMatchObject({ tool: 'two', answers: 1, tokens: 0 });
  expect(others).toEqual([]);
});

test('a cut answer counts with the server’s bytes and with the client’s', async () => {
  const core = new CoreInMemory({ servers: ['memory', 'other'], results: { maxBytes: 1000 } });
  for (const server of ['memory', 'other']) core.server(server).has({ tools: [{ name: 'tool', inputSchema: {} }] });
  const joined = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
  joined.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory__tool', arguments: {} } });
  for (let n = 0; n < 10 && core.server().requests.at(-1)?.method !== 'tools/call'; n++) await core.settle();
  say(core, { content: [{ type: 'text', text: 'line\n'.repeat(1000) }] });
  await core.settle();
  expect(joined.answersTo(1)).toHaveLength(1);
  const [account] = core.accounts.report();
  expect(account).toMatchObject({ server: 'memory', tool: 'tool', answers: 1, cut: 1 });
  expect(account?.bytes).toBeGreaterThan(6000);
  expect(account?.passedBytes).toBeLessThan(2000);
  expect(account?.tokens).toBe(Math.ceil((account?.passedBytes ?? 0) / 4));
});

test('names are told apart up to a number, by bytes and by text alike', () => {
  const accounts = new ToolAccounts().of('s');
  const b = Buffer.from('"tool"');
  expect(accounts.of(b, 0, b.length)).toBe(accounts.named('"tool"'));
  expect(accounts.named('"other"')).not.toBe(accounts.named('"tool"'));
  expect(accounts.named('17')).toBe(accounts.others);
  expect(accounts.named(`"${'x'.repeat(300)}"`)).toBe(accounts.others);
  for (let n = 0; n < 5000; n++) accounts.named(`"${n}"`);
  expect([...accounts.all()].length).toBeLessThanOrEqual(2001);
});
