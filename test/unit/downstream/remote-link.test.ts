import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { RemoteLink } from '../../../src/downstream/remote-link.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ignored = () => undefined;

/** A link over a transport in memory, what arrives over it, and which requests have got a token to go on with. */
function linked(send: (message: JSONRPCMessage, options: TransportSendOptions) => Promise<void>) {
  const arrived: unknown[] = [];
  const refused: unknown[] = [];
  const clock = new FakeClock();
  const transport = { start: () => Promise.resolve(), close: () => Promise.resolve(), send } as Transport;
  const link = new RemoteLink(Promise.resolve(transport), {
    turn: new FlushTurn(),
    maxFrameBytes: 1 << 20,
    clock,
    errorOf: (error) => new BridgeError('SERVER_UNREACHABLE', String(error)),
    lost: () => new BridgeError('SERVER_CRASHED', 'lost'),
    refused: (error) => refused.push(error),
  });
  link.start({
    frame: (b, start, end) => arrived.push(JSON.parse(b.toString('utf8', start, end))),
    overflowed: ignored,
    badFrame: ignored,
    ended: ignored,
    drained: ignored,
    closed: ignored,
  });
  const ask = async (message: object): Promise<void> => {
    link.outbox.utf8(JSON.stringify({ jsonrpc: '2.0', ...message }));
    link.outbox.endFrame();
    link.outbox.flush();
    await settled();
  };
  return { link, ask, clock, arrived, refused };
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
