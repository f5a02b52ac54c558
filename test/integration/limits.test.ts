// Limits of processes, met by processes.

import { afterAll, expect, test } from 'vitest';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';

afterAll(() => expect(cleanUp()).toEqual([]));

/**
 * Answers nothing, and does not end when its input does; nor by SIGTERM, if it is stubborn. A shell, as it has said so long
 * before its time is up also where the machine is busy.
 */
function silent(isStubborn: boolean): object {
  const script = `${isStubborn ? "trap '' TERM; " : ''}while :; do sleep 1; done`;
  return { command: '/bin/sh', args: ['-c', script] };
}

test.each([
  [false, 0],
  [true, 1],
])(
  'a server that has not started after startTimeoutMs is ended, and killed after termGraceMs (%s)',
  async (is, killed) => {
    const daemon = await TestDaemon.start({
      mcpServers: { silent: silent(is), fixture: { ...fixtureServer(), startTimeoutMs: 60_000 } },
      limits: { startTimeoutMs: 1500, termGraceMs: is ? 50 : 60_000 },
    });
    const [client, other] = [await daemon.connect(), await daemon.connect()];
    const { result } = await other.initialize({ 'mcp-bridge/view': 'server:fixture' });
    expect(result).toBeDefined();
    expect((await daemon.status()).counters).toMatchObject({ startTimeouts: 0 });
    let startTimeouts = 0;
    do {
      // On a busy machine a shell may not have come to its first line by then, and ends by SIGTERM.
      const { error } = await client.initialize({ 'mcp-bridge/view': 'server:silent' });
      expect(error?.message).toContain('did not answer initialize within 1500 ms (its startTimeoutMs');
      startTimeouts++;
      await daemon.until(({ instances }) => instances.every(({ server, pid }) => server !== 'silent' || pid === null));
    } while ((await daemon.status()).counters.serversKilled !== killed);
    expect((await daemon.status()).counters).toMatchObject({ startTimeouts, serversKilled: killed });
    client.destroy();
    other.destroy();
    await daemon.stop();
  },
);

test('a server is broken at maxDeathsPerMinute, and tried again after brokenMs', async () => {
  const limits = { maxDeathsPerMinute: 2, brokenMs: 1500 };
  const daemon = await TestDaemon.start({ mcpServers: { dies: fixtureServer({ FIXTURE_EXIT: '3' }) }, limits });
  const client = await daemon.connect();
  const errors: string[] = [];
  for (let broken = 0; broken < 1; broken = (await daemon.status()).counters.serversBroken ?? 0) {
    expect((await daemon.status()).counters).toMatchObject({ serversBroken: 0, serverStarts: errors.length });
    errors.push((await client.initialize()).error?.message ?? '');
  }
  expect(errors).toHaveLength(2);
  const { error } = await client.initialize();
  expect(error).toMatchObject({
    data: { code: 'SERVER_BROKEN', hint: 'A call starts it again 1.5 s after it last died.' },
  });
  expect(error?.message).toContain('has died 2 times within a minute');
  while ((await daemon.status()).counters.serverStarts === 2) await client.initialize();
  client.destroy();
  await daemon.stop();
});

test('a server without any client is stopped after idleMs, and not one that has any', async () => {
  // Two definitions: of two that are the same, the second server need not be started to be known.
  const servers = { left: fixtureServer(), used: fixtureServer({ N: '1' }) };
  const daemon = await TestDaemon.start({ mcpServers: servers, limits: { idleMs: 200 } });
  const [left, used] = [await daemon.connect(), await daemon.connect()];
  await left.initialize({ 'mcp-bridge/view': 'server:left' });
  await used.initialize({ 'mcp-bridge/view': 'server:used' });
  expect((await daemon.status()).counters).toMatchObject({ idleStops: 0 });
  left.destroy();
  const { instances } = await daemon.until(({ counters }) => counters.idleStops === 1);
  expect(instances.map(({ server, state }) => [server, state])).toContainEqual(['used', 'ready']);
  used.destroy();
  await daemon.stop();
});
