// Many clients that are as alike as can be: every answer and every note must still find its own.

import { expect, test } from 'vitest';
import { type Message, textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const CLIENTS = 1000;
const CALLS = 100;
const NOTES = 2;

test('a thousand clients with a hundred calls each, all with ids 0, 1, 2… and one progress token', async () => {
  // However long this machine takes, nobody is asked meanwhile if it is still there.
  const config = { mcpServers: { fixture: fixtureServer() }, liveness: { pingPeriodMs: 0 } };
  const daemon = await TestDaemon.start(config);
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => daemon.client()));
  await Promise.all(
    clients.map(async (client, n) => {
      for (let id = 0; id < CALLS; id++) {
        const args = { text: `${n}:${id}`, notes: NOTES };
        client.send({
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'noted', arguments: args, _meta: { progressToken: 'token' } },
        });
      }
      const answers = new Map<unknown, string>();
      const notes = new Map<unknown, number>();
      for (let left = CALLS * (1 + NOTES); left > 0; left--) {
        const message: Message = await client.next();
        if (message.method === undefined) {
          expect(answers.has(message.id)).toBe(false);
          answers.set(message.id, textOf(message));
        } else {
          expect(message).toMatchObject({ method: 'notifications/progress', params: { progressToken: 'token' } });
          const about = message.params?.message;
          notes.set(about, (notes.get(about) ?? 0) + 1);
        }
      }
      for (let id = 0; id < CALLS; id++) {
        expect(answers.get(id)).toBe(`${n}:${id}`);
        expect(notes.get(`${n}:${id}`)).toBe(NOTES);
      }
    }),
  );
  // Nothing else has come, and nothing is left.
  for (const client of clients) expect(client.lines).toHaveLength(1 + CALLS * (1 + NOTES));
  const { counters, instances, configFaults } = await daemon.status();
  expect(configFaults).toEqual([]);
  expect(instances).toMatchObject([{ sessions: CLIENTS, calls: CLIENTS * CALLS, restarts: 0 }]);
  expect(counters).toMatchObject({ strayResponses: 0, strayProgress: 0, clientsCutOff: 0 });
  for (const client of clients) client.destroy();
  await daemon.until((status) => status.clients === 0);
  await daemon.stop();
});
