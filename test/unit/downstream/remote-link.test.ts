import { expect, test } from 'vitest';
import { ExchangeGate } from '../../../src/downstream/exchange-gate.ts';
import { RemoteFailure, sessionDoubted } from '../../../src/downstream/remote-failure.ts';
import { type Exchange, RemoteLink, type RemoteTransport } from '../../../src/downstream/remote-link.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { deferred } from '../../../src/util/deferred.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ignored = () => undefined;

interface Said {
  readonly id?: unknown;
  readonly method?: string;
}
type Send = (message: Said, exchange: Exchange) => Promise<unknown>;

/** A link over a transport in memory, and what arrives over it. */
function linked(send: Send, { isForgotten = false, takesBack = true, most = 1024 } = {}) {
  const returned: unknown[] = [];
  const arrived: unknown[] = [];
  const refused: unknown[] = [];
  const versions: string[] = [];
  let drains = 0;
  const clock = new FakeClock();
  const transport: RemoteTransport = {
    send: async ({ body }, exchange) => {
      const failure = await send(JSON.parse(Buffer.from(body).toString()) as Said, exchange);
      return failure instanceof RemoteFailure ? failure : undefined;
    },
    negotiated: ignored,
    sayGoodbye: () => Promise.resolve(),
    close: ignored,
  };
  const link = new RemoteLink(Promise.resolve(transport), {
    turn: new FlushTurn(),
    clock,
    errorOf: (error) => new BridgeError('SERVER_UNREACHABLE', String(error)),
    refused: (error) => refused.push(error),
    negotiated: (version) => versions.push(version),
    session: { noteFailure: ignored, isForgotten: () => Promise.resolve(isForgotten) },
    door: new ExchangeGate(most).door(),
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
  const receive = (message: unknown): RemoteFailure | undefined => {
    const b = Buffer.from(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
    return link.receive({ b, start: 0, end: b.length - 1 });
  };
  return { link, ask, receive, clock, arrived, refused, returned, versions, drains: () => drains };
}

const forever = (): Promise<void> => new Promise(() => undefined);
const cancel = (requestId: unknown): object => ({ method: 'notifications/cancelled', params: { requestId } });

test('a request whose exchange ends without its answer gets an error', async () => {
  const ends = deferred<void>();
  const { ask, receive, arrived } = linked(() => ends.promise.then(() => new RemoteFailure('has ended')));
  await ask({ id: 1, method: 'a' });
  await ask({ id: 2, method: 'b' });
  receive({ jsonrpc: '2.0', id: 1, result: {} });
  ends.resolve();
  await settled();
  expect(arrived).toEqual([
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, error: expect.objectContaining({ message: 'Error: has ended' }) },
  ]);
});

test('a request whose answer comes another way waits for it', async () => {
  const { ask, receive, arrived } = linked(() => Promise.resolve());
  await ask({ id: 1, method: 'a' });
  expect(arrived).toEqual([]);
  receive({ jsonrpc: '2.0', id: 1, result: {} });
  expect(arrived).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
});

test('a message is handed on as it is spelled', () => {
  const { link } = linked(() => Promise.resolve());
  const frames: string[] = [];
  link.start({
    frame: (b, start, end) => frames.push(b.toString('latin1', start, end)),
    ...{ overflowed: ignored, badFrame: ignored, ended: ignored, closed: ignored, drained: ignored },
  });
  const spelled = '{"jsonrpc":"2.0", "result":{"n":1.0e2,"n":12345678901234567890},"id":7 }';
  const b = Buffer.from(`${spelled}\n`);
  link.receive({ b, start: 0, end: b.length - 1 });
  expect(frames).toEqual([spelled]);
});

test('a cancelled request loses its connection, and gets no error', async () => {
  const signals = new Map<unknown, AbortSignal>();
  const { ask, arrived } = linked(({ id }, { signal }) => {
    if (id === undefined) return Promise.resolve();
    signals.set(id, signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  });
  await ask({ id: 1, method: 'a' });
  await ask({ id: 2, method: 'a' });
  await ask(cancel(1));
  expect([signals.get(1)?.aborted, signals.get(2)?.aborted, arrived]).toEqual([true, false, []]);
});

test('a message that is sent because another one has gone stands in no message that is being written', async () => {
  const bodies: Said[] = [];
  const { link, ask } = linked((message) => {
    bodies.push(message);
    return message.method === 'tools/call' ? forever() : Promise.resolve();
  });
  await ask({ id: 1, method: 'tools/call' });
  let isWritten = false;
  const { outbox } = link;
  const write = (message: object): void => {
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    outbox.bytes(bytes, 0, bytes.length);
    outbox.endFrame();
  };
  link.start({
    ...{ frame: ignored, overflowed: ignored, badFrame: ignored, ended: ignored, closed: ignored },
    drained: () => {
      if (isWritten) return;
      isWritten = true;
      write({ id: 2, method: 'from drained' });
    },
  });
  write(cancel(1));
  // What was gathered before a large message leaves with its beginning, and the cancellation in it makes room.
  write({ id: 3, method: 'large', params: 'x'.repeat(200_000) });
  write({ id: 4, method: 'behind it' });
  outbox.flush();
  await settled();
  outbox.flush();
  await settled();
  expect(bodies.map(({ method }) => method).sort()).toEqual(
    ['behind it', 'from drained', 'large', 'notifications/cancelled', 'tools/call'].sort(),
  );
});

test('all connections are lost with the link', async () => {
  const signals: AbortSignal[] = [];
  const { link, ask } = linked((_, { signal }) => {
    signals.push(signal);
    return forever();
  });
  await ask({ id: 1, method: 'a' });
  await ask({ method: 'notifications/x' });
  await ask(cancel(7));
  link.destroy();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
});

test('a server that accepts no notification delays later messages for half a minute', async () => {
  const sent: unknown[] = [];
  const { ask, clock } = linked(({ method }, { signal }) => {
    sent.push(method);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  });
  await ask({ method: 'notifications/x' });
  await ask({ id: 1, method: 'a' });
  expect(sent).toEqual(['notifications/x']);
  clock.advance(30_000);
  await settled();
  expect(sent).toEqual(['notifications/x', 'a']);
});

test('cancellations delay nobody, and at most eight are kept for a server that accepts none', async () => {
  const sent: unknown[] = [];
  const { link, ask } = linked(({ method }) => {
    sent.push(method);
    return method === 'a' ? Promise.resolve() : forever();
  });
  for (let id = 1; id <= 20; id++) await ask({ id, method: 'a' });
  for (let id = 1; id <= 20; id++) await ask(cancel(id));
  expect(sent.filter((method) => method === 'notifications/cancelled')).toHaveLength(8);
  await ask({ id: 21, method: 'a' });
  expect(sent.at(-1)).toBe('a');
  expect(link.writableLength).toBe(0);
});

test('requests beyond what one server may have open wait; one that is cancelled meanwhile is never sent', async () => {
  const sent: unknown[] = [];
  const { ask } = linked(
    ({ id, method }, { signal }) => {
      sent.push(id ?? method);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    },
    { most: 8 },
  );
  for (const id of [1, 2, 3, 4]) await ask({ id, method: 'a' });
  await ask(cancel(3));
  expect(sent).toEqual([1, 2]);
  await ask(cancel(1));
  expect(sent).toEqual([1, 2, 'notifications/cancelled', 4]);
});

test('a listen that the server has taken holds up no request, and leaves its place once', async () => {
  const sent: unknown[] = [];
  const ends = deferred<void>();
  const { ask } = linked(
    ({ id }, { taken }) => {
      sent.push(id);
      taken();
      return id === 1 ? ends.promise : forever();
    },
    { most: 1 },
  );
  await ask({ id: 1, method: 'subscriptions/listen' });
  await ask({ id: 2, method: 'a' });
  expect(sent).toEqual([1, 2]);
  ends.resolve();
  await settled();
  await ask({ id: 3, method: 'b' });
  expect(sent).toEqual([1, 2]);
});

test('several answers in one array are one each; of more than a thousand none is passed on', async () => {
  const { ask, receive, arrived } = linked(() => Promise.resolve());
  await ask({ id: 1, method: 'a' });
  await ask({ id: 2, method: 'a' });
  const answers = [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} }));
  expect(receive(answers)).toBeUndefined();
  expect(arrived).toEqual(answers);
  const many = Array(1001).fill({ jsonrpc: '2.0', method: 'notifications/x' });
  expect(receive(many)?.message).toBe('answered with more than 1000 messages in one array');
  expect(arrived.at(-1)).toEqual(many); // who is the bridge's to refuse
});

test.each([
  ['{"s3cret', 'answered with something that is not JSON'],
  ['["s3cret"]', 'answered with something that is not JSON-RPC'],
  ['7', 'answered with something that is not JSON-RPC'],
])('for %s it says why it is no message', (said, why) => {
  const { link, receive } = linked(() => Promise.resolve());
  link.start({
    ...{ frame: ignored, overflowed: ignored, badFrame: ignored, ended: ignored, closed: ignored, drained: ignored },
  });
  expect(receive(said)?.message).toBe(why);
});

test('events that are no messages do not each create an error', () => {
  const { link, receive } = linked(forever);
  const handler = { frame: ignored, overflowed: ignored, badFrame: ignored };
  link.start({ ...handler, ended: ignored, closed: ignored, drained: ignored });
  for (const junk of ['x', '7', '{}', '[]']) {
    expect(receive(junk)).toBeInstanceOf(RemoteFailure);
    expect(receive(junk)).toBe(receive(junk));
  }
});

test('the version that the server has settled on is told', async () => {
  const { ask, receive, versions } = linked(() => Promise.resolve());
  await ask({ id: 0, method: 'initialize' });
  receive({ jsonrpc: '2.0', id: 0, result: { protocolVersion: '2025-06-18' } });
  expect(versions).toEqual(['2025-06-18']);
});

test('a ping is answered, and its answer goes no further', async () => {
  const { link, receive, arrived } = linked(forever);
  const ping = link.ping(new AbortController().signal);
  await settled();
  receive({ jsonrpc: '2.0', id: 'mcp-bridge/ping', result: {} });
  await ping;
  expect(arrived).toEqual([]);
});

test('the server is not read while the link is paused', async () => {
  const { link } = linked(forever);
  expect(link.mayRead()).toBeUndefined();
  link.pause();
  let isRead = false;
  void link.mayRead()?.then(() => {
    isRead = true;
  });
  await settled();
  expect(isRead).toBe(false);
  link.resume();
  await settled();
  expect([isRead, link.mayRead()]).toEqual([true, undefined]);
});

test('a request that cannot be sent gets the reason; other messages do not', async () => {
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
const unheard = (): Promise<never> => Promise.reject(sessionDoubted(400));

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

test('a retired link sends nothing, gives back unsent requests, and waits for the others', async () => {
  const sent: unknown[] = [];
  const notice = deferred<void>();
  const { link, ask, receive, arrived, returned } = linked((message) => {
    sent.push(message.method);
    return message.id === undefined ? notice.promise : Promise.resolve();
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
  receive({ jsonrpc: '2.0', id: 1, result: {} });
  await settled();
  expect([arrived, isQuiet]).toEqual([[{ jsonrpc: '2.0', id: 1, result: {} }], true]);
});

test('the queue of a retired link is given back when it closes', async () => {
  const { link, returned } = linked(() => Promise.resolve());
  await link.retire();
  link.outbox.utf8(JSON.stringify(CALL));
  link.outbox.endFrame();
  link.destroy();
  expect(returned).toEqual([CALL]);
});

test('requests that a server works on do not count as unread, up to 16 MiB', async () => {
  const { link, ask, receive, drains } = linked(forever);
  const large = (id: number): object => ({ id, method: 'a', params: { text: 'x'.repeat(4 << 20) } });
  for (const id of [1, 2, 3]) await ask(large(id));
  expect(link.writableLength).toBe(0);
  for (const id of [4, 5]) await ask(large(id));
  expect(link.writableLength).toBeGreaterThan(4 << 20);
  await ask(cancel(4));
  expect(drains()).toBe(1);
  receive({ jsonrpc: '2.0', id: 5, result: {} });
  expect([link.writableLength, drains()]).toEqual([0, 2]);
  receive({ jsonrpc: '2.0', id: 5, result: {} });
  expect(drains()).toBe(2);
});
