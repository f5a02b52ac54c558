import { expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

test('two clients share one server process', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const [one, other] = [await daemon.client(), await daemon.client()];
  expect(textOf(await one.callTool(1, 'echo', { text: 'a' }))).toBe('a');
  expect(textOf(await other.callTool(1, 'echo', { text: 'b' }))).toBe('b');
  const status = await daemon.status();
  expect(status.instances).toMatchObject([{ server: 'fixture', state: 'ready', sessions: 2, calls: 2 }]);
  await daemon.stop();
});

test('a faulty config in a test fails the test at once, and names the fault', async () => {
  const faulty = { mcpServers: { fixture: fixtureServer() }, limits: { callTimeoutMs: 'long' } };
  await expect(TestDaemon.start(faulty)).rejects.toThrow('limits.callTimeoutMs');
  const daemon = await TestDaemon.start(faulty, { isFaulty: true });
  expect((await daemon.status()).configFaults).toEqual([expect.stringContaining('limits.callTimeoutMs')]);
  await daemon.stop();
});
