// The dashboard's connection to the daemon: one, however often pages come and go.

import { expect, test } from 'vitest';
import type { ControlClient } from '../../../src/client/control-client.ts';
import { DaemonWatch } from '../../../src/ui/daemon-watch.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const STATUS = { pid: 7, instances: [], latencies: [], counters: {}, errors: {} };

/** A daemon that answers at once, once its connection is let through. */
function scripted() {
  const open: (() => void)[] = [];
  const connections: { isClosed: boolean; onEvents: ControlClient['onEvents'] | undefined }[] = [];
  const answer = (method: string): unknown =>
    method === 'bridge/status' ? STATUS : method === 'bridge/tools' ? { servers: [] } : [];
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
