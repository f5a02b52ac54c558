// Clients that hang up with everything pending, at a real daemon: it goes on, and so do the others.

import { afterAll, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';

afterAll(() => expect(cleanUp()).toEqual([]));

const ABLE = { elicitation: {} };

test.each([
  ['logging/setLevel', { level: 'error' }],
  ['resources/unsubscribe', { uri: 'x:1' }],
])('a client that hangs up with a call and %s waiting ends no other client’s call', async (method, params) => {
  const daemon = await TestDaemon.start({ mcpServers: { s: { ...fixtureServer(), sharing: 'shared' } } });
  const talker = await daemon.connect();
  await talker.initialize(undefined, 'init', ABLE);
  for (let n = 0; n < 3; n++) {
    await talker.request(`level ${n}`, 'logging/setLevel', { level: 'debug' });
    await talker.request(`end ${n}`, 'resources/unsubscribe', { uri: 'x:1' });
  }
  await talker.request('wish', 'resources/subscribe', { uri: 'x:1' });
  talker.send({ jsonrpc: '2.0', id: 'talk', method: 'tools/call', params: { name: 'ask' } });
  const question = await talker.next();
  const leaver = await daemon.connect();
  await leaver.initialize(undefined, 'init', ABLE);
  leaver.send({ jsonrpc: '2.0', id: 'waits', method: 'tools/call', params: { name: 'echo', arguments: {} } });
  leaver.send({ jsonrpc: '2.0', id: 'own', method, params });
  await leaver.request('both are there', 'ping');
  leaver.destroy();
  await daemon.until(({ clients }) => clients === 1);
  talker.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept' } });
  expect(textOf(await talker.answerTo('talk'))).toContain('accept');
  expect((await daemon.status()).counters.internalErrors).toBe(0);
  talker.destroy();
  await daemon.stop();
});
