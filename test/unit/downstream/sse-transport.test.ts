import { expect, test } from 'vitest';
import { RemoteFailure } from '../../../src/downstream/remote-failure.ts';
import type { Exchange, RemoteTransport } from '../../../src/downstream/remote-link.ts';
import { EitherTransport } from '../../../src/downstream/sse-transport.ts';

const MESSAGE = { body: new Uint8Array(), method: 'initialize', requestId: '1' };
const ignored = () => undefined;
const EXCHANGE: Exchange = {
  signal: new AbortController().signal,
  ...{ abort: ignored, taken: ignored, isAwaited: () => true },
};

/** Both transports, with what they refuse the first message with; what happened to them. */
function either(refusals: { http?: Error; sse?: Error }) {
  const happened: string[] = [];
  const start = (kind: 'http' | 'sse'): Promise<RemoteTransport> =>
    Promise.resolve({
      negotiated: ignored,
      sayGoodbye: () => Promise.resolve(),
      close: () => void happened.push(`${kind} closed`),
      send: (_, { taken }) => {
        happened.push(`${kind} sends`);
        if (refusals[kind] !== undefined) return Promise.reject(refusals[kind]);
        taken();
        return Promise.resolve(undefined);
      },
    });
  return { transport: new EitherTransport(start), happened };
}

const refused = (status: number): Error => new RemoteFailure(`status ${status}`, { status });

test('keeps to HTTP where that works', async () => {
  const { transport, happened } = either({});
  await transport.send(MESSAGE, EXCHANGE);
  await transport.send(MESSAGE, EXCHANGE);
  expect(happened).toEqual(['http sends', 'http sends']);
});

test.each([400, 404, 405, 200])('closes HTTP and turns to SSE where HTTP is refused with %i', async (status) => {
  const { transport, happened } = either({ http: refused(status) });
  await Promise.all([transport.send(MESSAGE, EXCHANGE), transport.send(MESSAGE, EXCHANGE)]);
  expect(happened).toEqual(['http sends', 'http closed', 'sse sends', 'sse sends']);
});

test('messages after the first go out once that is accepted, however long its answer takes', async () => {
  const sent: string[] = [];
  const http: RemoteTransport = {
    ...{ negotiated: ignored, sayGoodbye: () => Promise.resolve(), close: ignored },
    send: ({ method }, { taken }) => {
      sent.push(method);
      taken();
      return new Promise(() => undefined);
    },
  };
  const transport = new EitherTransport(() => Promise.resolve(http));
  void transport.send(MESSAGE, EXCHANGE);
  void transport.send({ ...MESSAGE, method: 'second' }, EXCHANGE);
  await new Promise(setImmediate);
  expect(sent).toEqual(['initialize', 'second']);
});

test.each([
  [401, undefined, 'status 401'],
  [403, undefined, 'status 403'],
  [500, undefined, 'status 500'],
  [404, 404, 'status 404'],
  [405, 500, 'status 500'],
])('where HTTP is refused with %i, and SSE with %s, says %s', async (http, sse, said) => {
  const { transport, happened } = either({
    http: refused(http),
    ...(sse === undefined ? {} : { sse: refused(sse) }),
  });
  await expect(transport.send(MESSAGE, EXCHANGE)).rejects.toThrow(said);
  expect(happened.filter((event) => event.endsWith('closed'))).toHaveLength(sse === undefined ? 1 : 2);
});
