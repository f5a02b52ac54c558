// A call in the log of a daemon: step by step at the level debug, and not at all at others.

import { expect, test } from 'vitest';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

async function logOfACall(logLevel: 'info' | 'debug'): Promise<string> {
  const daemon = await TestDaemon.start({ mcpServers: { s: fixtureServer() } }, { logLevel });
  const client = await daemon.connect();
  await client.initialize();
  const params = { name: 'echo', arguments: { text: 'quite-secret' } };
  await client.request('first', 'tools/call', params);
  client.destroy();
  await daemon.stop();
  return daemon.log;
}

test('at the level debug each step of a call is logged, without its arguments', async () => {
  const log = await logOfACall('debug');
  const steps = [...log.matchAll(/"message":"([^"]*)",.*"id":"\\"first\\""/g)].map(([, step]) => step);
  expect(steps).toEqual(['call begun', 'call sent', 'server answered', 'call ended']);
  expect(log).toMatch(/"message":"a tool is asked for".*"tool":"\\"echo\\""/);
  expect(log).not.toContain('quite-secret');
});

test('at the level info no call is logged', async () => {
  expect(await logOfACall('info')).not.toMatch(/call begun|call ended|is asked for/);
});
