import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { patientFetch } from '../../../src/auth/sign-in-request.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function urlOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('an answer comes as it is', async () => {
  const url = await urlOf((_, response) => response.writeHead(400, { 'x-why': 'so' }).end('{"error":"no"}'));
  const response = await patientFetch(url);
  expect([response.status, response.headers.get('x-why'), await response.json()]).toEqual([400, 'so', { error: 'no' }]);
});

test('one without a body comes too', async () => {
  const url = await urlOf((_, response) => void response.writeHead(204).end());
  expect((await patientFetch(url)).status).toBe(204);
});

test.each<[string, RequestListener]>([
  [
    'that is small until it is decompressed',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(300 << 20))),
  ],
  [
    'that never ends',
    (_, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        response.once('drain', write);
      };
      write();
    },
  ],
])('an answer %s is not read to its end', async (_, listener) => {
  const responses: ServerResponse[] = [];
  const url = await urlOf((request, response) => {
    responses.push(response);
    listener(request, response);
  });
  await expect(patientFetch(url)).rejects.toThrow('an answer was longer than 256 KiB');
  while (!responses[0]?.closed) await new Promise((resolve) => setTimeout(resolve, 5));
});
