// Notices of servers on other hosts, and what a home refuses to speak to.

import { afterAll, afterEach, expect } from 'vitest';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { cleanUp, fixtureServer } from '../support/test-daemon.ts';
import { endHosts, startHost, until, untilAnswered, untilKnown } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

natsTest('a client hears that the tools of a server on another host have changed', async () => {
  const nats = await NatsServer.start();
  await startHost(nats, 'builder', { servers: { fixture: fixtureServer() } });
  const laptop = await startHost(nats, 'laptop');
  await untilKnown(laptop, 'fixture@builder');
  const client = await laptop.client({ 'mcp-bridge/view': 'server:fixture' });
  await untilAnswered(client, 'echo', { text: 'warm' });
  const before = client.lines.length;
  // The listen of the home is on its way when the server runs.
  await until(async () => {
    await untilAnswered(client, 'notify', { method: 'notifications/tools/list_changed' });
    return client.lines.slice(before).some((line) => line.includes('notifications/tools/list_changed'));
  });
  expect(await untilAnswered(client, 'echo', { text: 'still there' })).toBe('still there');
});

natsTest('a server without TLS gets nothing if the address asks for it', async () => {
  const nats = await NatsServer.start();
  const federation = { nats: { servers: [nats.url.replace('nats://', 'tls://')], token: 'choose-one' } };
  const laptop = await startHost(nats, 'laptop', { federation });
  const control = await laptop.client({ 'mcp-bridge/role': 'control' });
  let told = '';
  await until(async () => {
    told = JSON.stringify(await control.request(1, 'bridge/hosts'));
    return told.includes('speaks no TLS');
  });
  expect(told).not.toContain('choose-one');
  expect(nats.log).not.toContain('choose-one');
});
