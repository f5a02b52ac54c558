// The dashboard's connection to the daemon: one, however often pages come and go.

import { expect, test } from 'vitest';
import type { ControlClient } from '../../../src/client/control-client.ts';
import { DaemonWatch } from '../../../src/ui/daemon-watch.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const STATUS = { pid: 7, instances: [], latencies: [], counters: {}, errors: {} };

/** A daemon that answers at once, once its connection is let through. */
function scripted(watched: object = {}) {
  const open: (() => void)[] = [];
  const connections: { isClosed: boolean; onEvents: ControlClient['onEvents'] | undefined }[] = [];
  const answer = (method: string): unknown =>
    ({ 'bridge/status': STATUS, 'bridge/tools': { servers: [] }, 'bridge/watch': watched })[method] ?? [];
  const connect = (): Promise<ControlClient> =>
    new Promise((resolve) => {
      open.push(() => {
        const connection = { isClosed: false, onEvents: undefined as ControlClient['onEvents'] | undefined };
        connections.push(connection);
        const client = {
          call: async (method: string) => answer(method),
          untilClosed: () => new Promise<void>(() => undefined),
          close: () => {
            connection.isClosed = true;
          },
          set onEvents(heard: ControlClient['onEvents']) {
            connection.onEvents = heard;
          },
        };
        resolve(client as unknown as ControlClient);
      });
    });
  const told: object[] = [];
  const clock = new FakeClock();
  const watch = new DaemonWatch({
    ...{ connect, clock, cwd: '/', memoryOf: () => new Map(), tell: (message) => void told.push(message) },
  });
  return { watch, open, connections, told, clock };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a page that is closed and loaded again while the daemon is slow leaves one connection', async () => {
  const { watch, open, connections, told } = scripted();
  watch.start();
  watch.stop();
  watch.start();
  for (const one of open) one();
  await settled();
  expect(connections.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  expect(told.filter((message) => 'daemon' in message)).toHaveLength(1);
  watch.stop();
  expect(connections.every(({ isClosed }) => isClosed)).toBe(true);
});

test('a daemon that tells no events to one more is up, and the page is told why there are none', async () => {
  const { watch, open, told } = scripted({ watch: null, refused: '64 watches are open' });
  watch.start();
  for (const one of open) one();
  await settled();
  expect(told).toContainEqual({ daemon: { isUp: true, generation: 1, reason: '64 watches are open' } });
  watch.stop();
});

test('the same daemon is the same generation after a pause, and nothing is left behind', async () => {
  const { watch, open, told, clock } = scripted();
  watch.start();
  open[0]?.();
  await settled();
  watch.stop();
  watch.start();
  open[1]?.();
  await settled();
  const generations = told.flatMap((message) => ('daemon' in message ? [message.daemon] : []));
  expect(generations).toMatchObject([
    { isUp: true, generation: 1 },
    { isUp: true, generation: 1 },
  ]);
  watch.stop();
  expect(clock.pending).toBe(0);
});
