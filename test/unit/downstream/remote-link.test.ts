import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { sessionDoubted } from '../../../src/downstream/remote-failure.ts';
import { RemoteLink } from '../../../src/downstream/remote-link.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { deferred } from '../../../src/util/deferred.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ignored = () => undefined;

/** A link over a transport in memory, what arrives over it, and which requests have got a token to go on with. */
function linked(
  send: (message: JSONRPCMessage, options: TransportSendOptions) => Promise<void>,
  { isForgotten = false, takesBack = true } = {},
) {
  const returned: unknown[] = [];
  const arrived: unknown[] = [];
  const refused: unknown[] = [];
  let drains = 0;
  const clock = new FakeClock();
  const transport = { start: () => Promise.resolve(), close: () => Promise.resolve(), send } as Transport;
  const link = new RemoteLink(Promise.resolve(transport), {
    turn: new FlushTurn(),
    maxFrameBytes: 1 << 20,
    clock,
    errorOf: (error) => new BridgeError('SERVER_UNREACHABLE', String(error)),
    lost: () => new BridgeError('SERVER_CRASHED', 'lost'),
    refused: (error) => refused.push(error),
    session: { examine: ignored, isForgotten: () => Promise.resolve(isForgotten) },
  });
  link.start({
    frame: (b, start, end) => arrived.push(JSON.parse(b.toString('utf8', start, end))),
    returned: ({ b, start, end }) => {
      returned.push(JSON.parse(b.toString('utf8', start, end)));
      return takesBack;
    },
    overflowed: ignored,
    badFrame: ignored,
    ended: ignored,
    drained: () => void drains++,
    closed: ignored,
  });
  const ask = async (message: object): Promise<void> => {
    link.outbox.utf8(JSON.stringify({ jsonrpc: '2.0', ...message }));
    link.outbox.endFrame();
    link.outbox.flush();
    await settled();
  };
  return { link, ask, clock, arrived, refused, returned, drains: () => drains };
}

const lost = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32603, message: 'lost', data: { code: 'SERVER_CRASHED' } },
});

test('a request whose stream ends without its answer is told so, once what is on its way has come', async () => {
  const { link, ask, clock, arrived } = linked(() => Promise.resolve());
  await ask({ id: 1, method: 'a' });
  await ask({ id: 2, method: 'b' });
  link.streamEnded(1);
  link.streamEnded(2);
  link.receive({ jsonrpc: '2.0', id: 1, result: {} });
  expect(arrived).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  clock.advance(100);
  expect(arrived.slice(1)).toEqual([lost(2)]);
});

test('a request whose stream can be taken up again waits, until that has failed', async () => {
  const { link, ask, clock, arrived } = linked((_, options) => Promise.resolve(options.onresumptiontoken?.('t')));
  await ask({ id: 1, method: 'broken' });
  await ask({ id: 2, method: 'whole' });
  link.streamEnded(1);
  clock.advance(100);
  expect(arrived).toEqual([]);
  link.gaveUp();
  expect(arrived).toEqual([lost(1)]);
});

test('nothing is told of a request that was cancelled', async () => {
  const { link, ask, clock, arrived } = linked(() => Promise.resolve());
  await ask({ id: 1, method: 'a' });
  await ask({ method: 'notifications/cancelled', params: { requestId: 1 } });
  link.streamEnded(1);
  clock.advance(100);
  expect(arrived).toEqual([]);
});

test('a request that cannot be sent is told why; what is no request, nobody', async () => {
  const { ask, arrived } = linked(() => Promise.reject(new Error('no')));
  await ask({ id: 1, method: 'a' });
  await ask({ method: 'notifications/x' });
  await ask({ id: 5, result: {} });
  expect(arrived).toEqual([
    { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Error: no', data: { code: 'SERVER_UNREACHABLE' } } },
  ]);
});

test('the first message of all that cannot be sent ends it', async () => {
  const { ask, arrived, refused } = linked(() => Promise.reject(new Error('no')));
  await ask({ id: 0, method: 'initialize' });
  expect(arrived).toEqual([]);
  expect(refused).toEqual([new Error('no')]);
});

const CALL = { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 'ü' } };
const unheard = (): Promise<void> => Promise.reject(sessionDoubted(400));

test('a request that was refused for its session goes back', async () => {
  const { ask, arrived, returned } = linked(unheard, { isForgotten: true });
  await ask(CALL);
  expect([arrived, returned]).toEqual([[], [CALL]]);
});

test.each([
  ['the server knows the session', { isForgotten: false, takesBack: true }],
  ['it was tried twice', { isForgotten: true, takesBack: false }],
])('it is told why where %s', async (_, how) => {
  const { ask, arrived } = linked(unheard, how);
  await ask(CALL);
  expect(arrived).toMatchObject([{ id: 1, error: { data: { code: 'SERVER_UNREACHABLE' } } }]);
});

test('a link that is retired sends nothing, gives back what it has not sent, and waits for what it has', async () => {
  const sent: unknown[] = [];
  const notice = deferred<void>();
  const { link, ask, arrived, returned } = linked((message) => {
    sent.push('method' in message && message.method);
    return 'id' in message ? Promise.resolve() : notice.promise;
  });
  await ask({ id: 1, method: 'a' });
  await ask({ method: 'notifications/x' });
  await ask({ id: 2, method: 'b' });
  let isQuiet = false;
  void link.retire().then(() => {
    isQuiet = true;
  });
  await ask({ id: 3, method: 'c' });
  notice.resolve();
  await settled();
  expect([sent, isQuiet]).toEqual([['a', 'notifications/x'], false]);
  expect(returned).toMatchObject([{ id: 2 }, { id: 3 }]);
  link.receive({ jsonrpc: '2.0', id: 1, result: {} });
  await settled();
  expect([arrived, isQuiet]).toEqual([[{ jsonrpc: '2.0', id: 1, result: {} }], true]);
});

test('what stands in the queue of a retired link goes back when it closes', async () => {
  const { link, returned } = linked(() => Promise.resolve());
  await link.retire();
  link.outbox.utf8(JSON.stringify(CALL));
  link.outbox.endFrame();
  link.destroy();
  expect(returned).toEqual([CALL]);
});

test('requests that a server works on do not count as not taken, but for what is beyond 16 MiB of them', async () => {
  const { link, ask, drains } = linked(() => new Promise(() => undefined));
  const large = (id: number): object => ({ id, method: 'a', params: { text: 'x'.repeat(4 << 20) } });
  for (const id of [1, 2, 3]) await ask(large(id));
  expect(link.writableLength).toBe(0);
  for (const id of [4, 5]) await ask(large(id));
  expect(link.writableLength).toBeGreaterThan(4 << 20);
  await ask({ method: 'notifications/cancelled', params: { requestId: 4 } });
  expect(drains()).toBe(1);
  link.receive({ jsonrpc: '2.0', id: 5, result: {} });
  expect([link.writableLength, drains()]).toEqual([0, 2]);
  link.receive({ jsonrpc: '2.0', id: 5, result: {} });
  expect(drains()).toBe(2);
});
