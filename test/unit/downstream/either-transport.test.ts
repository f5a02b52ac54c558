import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { expect, test } from 'vitest';
import { EitherTransport } from '../../../src/downstream/either-transport.ts';
import { RemoteFailure } from '../../../src/downstream/remote-failure.ts';

const MESSAGE = { jsonrpc: '2.0', id: 1, method: 'initialize' } as const;

/** Both transports, with what they refuse the first message with; what happened to them. */
function either(refusals: { http?: Error; sse?: Error }) {
  const happened: string[] = [];
  const start = (kind: 'http' | 'sse'): Promise<Transport> =>
    Promise.resolve({
      start: () => Promise.resolve(),
      close: () => Promise.resolve(void happened.push(`${kind} closed`)),
      send: () => {
        happened.push(`${kind} sends`);
        return refusals[kind] === undefined ? Promise.resolve() : Promise.reject(refusals[kind]);
      },
    });
  return { transport: new EitherTransport(start), happened };
}

const refused = (status: number): Error => new RemoteFailure(`status ${status}`, { status });

test('keeps to HTTP where that works', async () => {
  const { transport, happened } = either({});
  await transport.send(MESSAGE);
  await transport.send(MESSAGE);
  expect(happened).toEqual(['http sends', 'http sends']);
});

test.each([400, 404, 405, 200])('closes HTTP and turns to SSE where HTTP is refused with %i', async (status) => {
  const { transport, happened } = either({ http: refused(status) });
  await Promise.all([transport.send(MESSAGE), transport.send(MESSAGE)]);
  expect(happened).toEqual(['http sends', 'http closed', 'sse sends', 'sse sends']);
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
  await expect(transport.send(MESSAGE)).rejects.toThrow(said);
  expect(happened.filter((event) => event.endsWith('closed'))).toHaveLength(sse === undefined ? 1 : 2);
});
