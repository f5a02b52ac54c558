// Daemons of several hosts on a real nats-server: each has a home, a socket and servers of its own.

import { afterAll, afterEach, expect } from 'vitest';
import { endNats, NatsServer, natsTest } from '../support/nats-server.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { cleanUp, fixtureServer, TestDaemon } from '../support/test-daemon.ts';

afterEach(endNats);
afterAll(() => void cleanUp());

interface HostOptions {
  readonly servers?: Record<string, object>;
  readonly offer?: readonly string[];
  readonly use?: readonly string[];
  readonly user?: string;
  readonly nats?: object;
  readonly more?: object;
}

function startHost(
  nats: NatsServer,
  host: string,
  { servers = {}, offer = [], use, user, nats: more, more: config }: HostOptions = {},
) {
  const federation = {
    nats: { servers: [nats.url], ...more },
    ...{ host, offer, tenant: 'acme', user: user ?? 'ann' },
    ...(use !== undefined && { use }),
  };
  return TestDaemon.start({ mcpServers: servers, federation, client: { view: 'all' }, ...config });
}

/** Waits until a client of the view `all` sees a tool. */
async function untilTool(client: RawClient, name: string): Promise<void> {
  for (let id = 100; ; id++) {
    const { result } = (await client.request(id, 'tools/list')) as { result?: { tools: { name: string }[] } };
    if (result?.tools.some((tool) => tool.name === name) === true) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

natsTest('calls a tool of another host', async () => {
  const nats = await NatsServer.start();
  const builder = await startHost(nats, 'builder', { servers: { fixture: fixtureServer() }, offer: ['fixture'] });
  const laptop = await startHost(nats, 'laptop');
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  const answer = await client.request(1, 'tools/call', {
    name: 'fixture_builder__echo',
    arguments: { text: 'over there' },
  });
  expect(textOf(answer)).toBe('over there');
  await laptop.stop();
  await builder.stop();
});
